//! `ops`: what operators ask of the database itself, with no server between: orphans, dead letters, locks.

use flydocs_bus::{BusStatus, DeadLetter};
use flydocs_contract::{ErrorCode, ExtractionId};
use flydocs_store::{Orphan, OrphanClass, OrphanCursor, Store};
use serde_json::{Value, json};

use crate::{
    Outcome,
    cli::{BusAction, DeadLettersAction, Format, OpsAction},
    exit::Exit,
    failure::Failure,
    output::{Out, Paint, extraction, ops as show, streams},
    roles::{self, store_failure},
    settings::Settings,
};

/// How many orphans are read at a time.
const PAGE: u32 = 500;

/// Runs the action.
pub(super) async fn run(action: OpsAction, settings: Settings, out: &mut Out) -> Outcome {
    let (store, bus) = roles::store_and_bus_as_they_are(&settings).await?;
    let done = match action {
        OpsAction::Orphans { limit, output, .. } => {
            let orphans = orphans(store.as_ref(), limit).await?;
            let items: Vec<Value> = orphans.iter().map(orphan_json).collect();
            print(out, output, &items, |width, paint| {
                show::orphans(&orphans, width, paint)
            })
        }
        OpsAction::Reclaim { id, output, .. } => {
            let row = reclaim(store.as_ref(), &id).await?;
            match output {
                Format::Table => {
                    out.text(&extraction::one(&row, streams::width(), Paint::stdout()))
                }
                Format::Json => out.json(&row),
                Format::Jsonl => out.jsonl(&row),
            }
        }
        OpsAction::DeadLetters {
            action:
                DeadLettersAction::List {
                    group,
                    limit,
                    output,
                    ..
                },
        } => {
            let letters = bus
                .dead_letters(group.as_deref(), limit)
                .await
                .map_err(|error| roles::unreachable(&error))?;
            let items: Vec<Value> = letters.iter().map(letter_json).collect();
            print(out, output, &items, |width, paint| {
                show::letters(&letters, width, paint)
            })
        }
        OpsAction::DeadLetters {
            action: DeadLettersAction::Requeue { ids, .. },
        } => {
            for id in ids {
                let sent = bus
                    .requeue(id)
                    .await
                    .map_err(|error| roles::unreachable(&error))?;
                if !sent {
                    return Err(Failure::new(
                        ErrorCode::NotFound,
                        format!(
                            "there is no dead letter {id}, or it was sent back before; \
                             `flydocs ops dead-letters list` has those that are left"
                        ),
                        Exit::Refused,
                    ));
                }
                out.line(&format!("dead letter {id} was sent back"))?;
            }
            Ok(())
        }
        OpsAction::DrainLock { output, .. } => {
            let status = status(bus.as_ref()).await?;
            let items = status.groups.iter().map(|group| {
                json!({"group": group.group, "lock_key": group.lock_key, "held_by": group.lock_holder})
            });
            print(out, output, &items.collect::<Vec<_>>(), |width, paint| {
                show::locks(&status, width, paint)
            })
        }
        OpsAction::Bus {
            action: BusAction::Status { output, .. },
        } => {
            let status = status(bus.as_ref()).await?;
            match output {
                Format::Table => out.text(&show::bus(&status, streams::width(), Paint::stdout())),
                Format::Json => out.json(&status),
                Format::Jsonl => out.jsonl(&status),
            }
        }
    };
    store.close().await;
    done?;
    Ok(Exit::Done)
}

/// What the reapers look for, of every class in its order.
async fn orphans(store: &dyn Store, limit: u32) -> Result<Vec<Orphan>, Failure> {
    let mut found: Vec<Orphan> = Vec::new();
    for class in OrphanClass::ALL {
        let mut after: Option<OrphanCursor> = None;
        loop {
            let left = (limit as usize).saturating_sub(found.len());
            let page = PAGE.min(u32::try_from(left).unwrap_or(PAGE));
            if page == 0 {
                return Ok(found);
            }
            let orphans = store
                .orphans(class, after.as_ref(), page)
                .await
                .map_err(|error| store_failure(&error))?;
            after = orphans.last().map(OrphanCursor::from);
            let is_last = orphans.len() < page as usize;
            found.extend(orphans);
            if is_last {
                break;
            }
        }
    }
    Ok(found)
}

async fn reclaim(store: &dyn Store, id: &str) -> Result<flydocs_contract::Extraction, Failure> {
    let id: ExtractionId = id.parse().map_err(|_| {
        Failure::new(
            ErrorCode::NotFound,
            format!("{id} is no id of an extraction; ids are ext_ and 26 letters and digits"),
            Exit::Refused,
        )
    })?;
    let reclaimed = store
        .reclaim(id)
        .await
        .map_err(|error| store_failure(&error))?;
    if let Some(row) = reclaimed {
        return Ok(row.extraction);
    }
    let there = store
        .get(id, None)
        .await
        .map_err(|error| store_failure(&error))?;
    Err(match there {
        None => Failure::new(
            ErrorCode::NotFound,
            format!("there is no extraction {id}"),
            Exit::Refused,
        ),
        Some(row) => Failure::new(
            ErrorCode::NotReady,
            format!(
                "{id} is {} and its boxes are not being worked on: only what runs can be claimed again",
                row.extraction.status
            ),
            Exit::Refused,
        ),
    })
}

async fn status(bus: &dyn flydocs_bus::Bus) -> Result<BusStatus, Failure> {
    bus.status()
        .await
        .map_err(|error| roles::unreachable(&error))
}

fn print(
    out: &mut Out,
    format: Format,
    items: &[Value],
    table: impl FnOnce(usize, Paint) -> String,
) -> Result<(), Failure> {
    match format {
        Format::Table => out.text(&table(streams::width(), Paint::stdout())),
        Format::Json => out.json(&items),
        Format::Jsonl => items.iter().try_for_each(|item| out.jsonl(item)),
    }
}

fn orphan_json(orphan: &Orphan) -> Value {
    json!({
        "class": orphan.class.as_str(),
        "id": orphan.id,
        "since": time(orphan.since),
        "attempts": orphan.attempts,
        "claimed_by": orphan.claimed_by,
    })
}

fn letter_json(letter: &DeadLetter) -> Value {
    json!({
        "id": letter.id,
        "group": letter.group,
        "event_id": letter.event_id,
        "event_type": letter.event_type,
        "extraction": show::subject(letter),
        "attempts": letter.attempts,
        "reason": letter.reason,
        "error": letter.error,
        "failed_at": time(letter.failed_at),
        "requeued_at": letter.requeued_at.map(time),
    })
}

fn time(at: flydocs_contract::Timestamp) -> String {
    at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
