//! From a value and the words of a page to the box that surrounds it
