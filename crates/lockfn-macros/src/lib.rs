//! The #[lock_function] attribute: parses it and expands to one hidden call into lockfn
