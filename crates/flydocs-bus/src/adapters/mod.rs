//! One module for each value of `FLYDOCS_EDA_ADAPTER`.

/// The clock of a SQLite database in milliseconds, as a part of a statement.
macro_rules! now {
    () => {
        "CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)"
    };
}

mod broker;
#[cfg(feature = "kafka")]
pub mod kafka;
pub mod memory;
pub mod postgres;
mod queue;
pub mod redis;
pub mod sqlite;
