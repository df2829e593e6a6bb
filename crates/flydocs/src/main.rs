//! The flydocs binary.
fn main() {}
