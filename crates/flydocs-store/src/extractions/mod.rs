//! The table `extractions`: one file a concern, each with its statements and the steps that use them.

pub(crate) mod beat;
pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod leg;
pub(crate) mod list;
pub(crate) mod reap;
pub(crate) mod settle;
pub(crate) mod submit;
