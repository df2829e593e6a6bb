//! Webhooks for people: each delivery, and how each of its attempts went.

use flydocs_api::wire::{Delivery, DeliveryAttempt, DeliveryStatus};

use super::{
    Paint,
    rows::{Grid, Lean},
};

/// The deliveries of one extraction.
pub(crate) fn list(deliveries: &[Delivery], width: usize, paint: Paint) -> String {
    if deliveries.is_empty() {
        return format!("{}\n", paint.dim("no webhook was written for it"));
    }
    let mut text = String::new();
    for delivery in deliveries {
        text.push_str(&format!(
            "{}  {}  {}\n",
            paint.bold(&delivery.id.to_string()),
            delivery.event_type,
            status(delivery.status, paint)
        ));
        if let Some(at) = delivery.next_attempt_at {
            let due = format!("due {}", at.format("%Y-%m-%d %H:%M:%S UTC"));
            text.push_str(&format!("  {}\n", paint.dim(&due)));
        }
        let mut grid = Grid::new(vec![Lean::Right, Lean::Left, Lean::Right, Lean::Left]);
        for attempt in &delivery.log {
            grid.row(vec![
                attempt.attempt.to_string(),
                attempt.at.format("%m-%d %H:%M:%S").to_string(),
                format!("{:.2} s", attempt.duration_ms as f64 / 1000.0),
                said(attempt),
            ]);
        }
        for line in grid.lines(width.saturating_sub(2)).into_iter().flatten() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

fn status(status: DeliveryStatus, paint: Paint) -> String {
    match status {
        DeliveryStatus::Pending => paint.dim("pending"),
        DeliveryStatus::Delivered => paint.good("delivered"),
        DeliveryStatus::Failed => paint.bad("failed"),
    }
}

fn said(attempt: &DeliveryAttempt) -> String {
    let status = attempt.status_code.map(|status| status.to_string());
    let rest = attempt.error.as_deref().or(attempt.answer.as_deref());
    let words = [status.as_deref(), rest];
    let words: Vec<&str> = words.into_iter().flatten().map(str::trim).collect();
    words.join(" ").trim().to_owned()
}
