//! Checks, provisioning, evaluation and benchmarks of the project.
fn main() {}
