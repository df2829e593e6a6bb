//! From bytes to rows, pages, words and images
