//! Settings: read here and nowhere else, checked at start, handed to each room as its own `Options`.

mod checks;
mod document;
mod read;
mod rooms;
mod table;
mod value;

pub(crate) use document::markdown;
pub(crate) use read::{Loaded, Origin, read};
pub(crate) use table::Settings;
pub(crate) use value::{Bytes, EdaAdapter, LogFormat, Value};

/// The environment of this process: read here and nowhere else.
pub(crate) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
