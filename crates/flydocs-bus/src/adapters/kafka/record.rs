//! An event as a record: its envelope is the value, its extraction the key, the rest is in headers.

use chrono::{DateTime, Utc};
use rdkafka::{
    message::{BorrowedMessage, Header, Headers as _, Message as _, OwnedHeaders},
    producer::FutureRecord,
};
use serde::Deserialize;
use tokio::time::Instant;
use uuid::Uuid;

use crate::{
    adapters::queue::Entry,
    event::{Delivery, Ticket},
};

pub(super) const EVENT_ID: &str = "event_id";
pub(super) const EVENT_TYPE: &str = "event_type";
pub(super) const HEADERS: &str = "headers";
pub(super) const ORDERING_KEY: &str = "ordering_key";
pub(super) const PUBLISHED_AT: &str = "published_at";
pub(super) const AVAILABLE_AT: &str = "available_at";
/// Only this group wants it: a dead letter that was sent back.
pub(super) const ONLY_GROUP: &str = "only_group";

/// The key of a record: events of one extraction lie in one partition, in their order.
pub(super) fn key(event: &Delivery) -> String {
    #[derive(Deserialize)]
    struct Envelope {
        extraction: Subject,
    }
    #[derive(Deserialize)]
    struct Subject {
        id: String,
    }
    if let Some(key) = &event.ordering_key {
        return key.clone();
    }
    serde_json::from_str::<Envelope>(&event.payload).map_or_else(
        |_foreign| event.event_id.to_string(),
        |envelope| envelope.extraction.id,
    )
}

/// The headers of a record.
pub(super) fn headers(event: &Delivery) -> OwnedHeaders {
    let mut fields = vec![
        (EVENT_ID, event.event_id.to_string()),
        (EVENT_TYPE, event.event_type.clone()),
        (HEADERS, event.headers.to_string()),
        (
            PUBLISHED_AT,
            event.published_at.timestamp_millis().to_string(),
        ),
        (
            AVAILABLE_AT,
            event.available_at.timestamp_millis().to_string(),
        ),
    ];
    if let Some(key) = &event.ordering_key {
        fields.push((ORDERING_KEY, key.clone()));
    }
    with(OwnedHeaders::new_with_capacity(fields.len()), &fields)
}

/// More headers.
pub(super) fn with(headers: OwnedHeaders, fields: &[(&str, String)]) -> OwnedHeaders {
    fields.iter().fold(headers, |headers, (key, value)| {
        headers.insert(Header {
            key,
            value: Some(value),
        })
    })
}

/// The record of an event.
pub(super) fn record<'r>(
    topic: &'r str,
    key: &'r str,
    payload: &'r str,
    headers: OwnedHeaders,
) -> FutureRecord<'r, str, str> {
    FutureRecord::to(topic)
        .key(key)
        .payload(payload)
        .headers(headers)
}

/// One header of a record.
pub(super) fn header(message: &BorrowedMessage<'_>, name: &str) -> Option<String> {
    let headers = message.headers()?;
    let found = headers.iter().find(|header| header.key == name)?;
    Some(String::from_utf8_lossy(found.value?).into_owned())
}

/// The delivery that a record becomes; `None` when it is not one of ours.
pub(super) fn delivery(message: &BorrowedMessage<'_>, destination: &str) -> Option<Delivery> {
    Some(Delivery {
        ticket: Ticket {
            outbox_id: 0,
            token: Uuid::nil(),
        },
        event_id: header(message, EVENT_ID)?.parse().ok()?,
        destination: destination.to_owned(),
        event_type: header(message, EVENT_TYPE)?,
        payload: std::str::from_utf8(message.payload()?).ok()?.to_owned(),
        headers: serde_json::from_str(&header(message, HEADERS)?).ok()?,
        ordering_key: header(message, ORDERING_KEY),
        attempts: 0,
        failures: 0,
        published_at: time(message, PUBLISHED_AT),
        available_at: time(message, AVAILABLE_AT),
    })
}

pub(super) fn time(message: &BorrowedMessage<'_>, name: &str) -> DateTime<Utc> {
    let millis = header(message, name).and_then(|text| text.parse().ok());
    millis
        .and_then(DateTime::from_timestamp_millis)
        .unwrap_or_default()
}

/// An entry of the queue, due at once: the relay has waited for its time.
pub(super) fn entry(mut delivery: Delivery, id: i64) -> Entry {
    delivery.ticket.outbox_id = id;
    Entry {
        delivery,
        visible: Instant::now(),
        holder: None,
        claimed_by: String::new(),
        last_error: None,
        in_table: false,
    }
}
