//! Files are parsed in child processes of the same program, so that a hostile one costs only itself.
//!
//! [`parent`] keeps children and gives them work; [`child_main`] is what a child runs; [`frame`] is what goes
//! over the pipes. A child has ceilings for memory and processor time, no network, no way to start programs or
//! to write files, and no environment. It is reused between files and replaced after a fault.

mod ceilings;
mod child;
mod frame;
mod parent;

pub use child::child_main;
pub(crate) use parent::Children;

/// The hidden first argument with which a program starts itself as a child: it must call [`child_main`] then.
pub const CHILD_ARGUMENT: &str = "__pages-child";
