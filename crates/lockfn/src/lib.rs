//! One caller at a time, across threads and processes of one host
