//! Walking XML by events. Entities other than XML's own five are not known, so nothing expands.

use quick_xml::{
    Reader,
    events::{BytesRef, BytesStart, Event},
};

/// What a walker is told.
#[derive(Debug, Clone, Copy)]
pub(super) enum Said<'a> {
    /// An element begins; its name without prefix.
    Open(&'a str, &'a BytesStart<'a>),
    Close(&'a str),
    Text(&'a str),
}

/// Elements nested deeper than this are no document.
const MAX_DEPTH: usize = 512;

/// Walks a document to its end or its first fault.
pub(super) fn walk(xml: &[u8], mut told: impl FnMut(Said<'_>)) -> Result<(), String> {
    let mut reader = Reader::from_reader(xml);
    reader.config_mut().check_end_names = true;
    let mut depth = 0_usize;
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match reader
            .read_event_into(&mut buffer)
            .map_err(|e| e.to_string())?
        {
            Event::Start(start) => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(format!("its elements nest deeper than {MAX_DEPTH}"));
                }
                told(Said::Open(local(&start), &start));
            }
            Event::Empty(start) => {
                told(Said::Open(local(&start), &start));
                told(Said::Close(local(&start)));
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                told(Said::Close(end.local_name().as_ref()));
            }
            Event::Text(text) => told(Said::Text(&text)),
            Event::CData(text) => told(Said::Text(&text)),
            Event::GeneralRef(reference) => {
                if let Some(text) = entity(&reference) {
                    told(Said::Text(&text));
                }
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

fn local<'a>(start: &'a BytesStart<'_>) -> &'a str {
    let name = start.name().into_inner();
    name.rsplit(':').next().unwrap_or(name)
}

fn entity(reference: &BytesRef<'_>) -> Option<String> {
    if let Ok(Some(ch)) = reference.resolve_char_ref() {
        return Some(ch.to_string());
    }
    quick_xml::escape::resolve_xml_entity(reference).map(ToOwned::to_owned)
}

/// An attribute by its name without prefix.
pub(super) fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    start.attributes().flatten().find_map(|attribute| {
        let key = attribute.key.local_name();
        if key.as_ref() != name {
            return None;
        }
        Some(attribute.value.into_owned())
    })
}
