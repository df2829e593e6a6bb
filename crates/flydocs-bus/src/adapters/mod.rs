//! One module for each value of `FLYDOCS_EDA_ADAPTER`.

pub mod sqlite;
