//! The words of the wire and the rules of the state.
//!
//! Every shape of the HTTP API, of the events and of the webhooks, every error code, and `Status` with its
//! legal moves as data. No I/O, no async, no clock and no randomness: those come in through parameters.

pub mod code;
pub mod event;
pub mod geometry;
pub mod id;
pub mod page;
pub mod problem;
pub mod request;
pub mod result;
pub mod status;

pub use code::ErrorCode;
pub use event::{Envelope, EventType};
pub use geometry::{BoundingBox, BoxQuality, BoxSource, Rect};
pub use id::ExtractionId;
pub use page::{PageWords, Word, WordSource};
pub use problem::{Fault, Problem};
pub use request::{ExtractRequest, Field, FieldType};
pub use result::{ExtractedField, ExtractionResult, FieldValue};
pub use status::{Extraction, LegStatus, Status};

/// A point in time: RFC 3339, UTC, ending in `Z` on the wire.
pub type Timestamp = chrono::DateTime<chrono::Utc>;

/// A free JSON object, in the caller's own key order.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
