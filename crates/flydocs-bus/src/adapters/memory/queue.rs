//! The queue of one group in memory: at most so many deliveries, the rest waits in the outbox.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    event::{Delivery, Ticket},
    ledger::{Ask, Drained},
    options::Options,
};

#[derive(Debug)]
pub(super) struct Queue {
    pub(super) group: String,
    state: Mutex<State>,
    /// Held by whoever feeds: the drain of this group, one at a time.
    pub(super) feeding: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) entries: BTreeMap<i64, Entry>,
    /// The outbox was read up to here.
    pub(super) read: i64,
    /// Deliveries that another adapter or a registration left in the table were read up to here.
    pub(super) table_read: i64,
    /// What the table of groups says; everything up to there is settled.
    pub(super) saved: i64,
}

/// One delivery that is not settled.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) delivery: Delivery,
    pub(super) visible: Instant,
    pub(super) holder: Option<Ticket>,
    pub(super) claimed_by: String,
    pub(super) last_error: Option<String>,
    /// It has a row in `bus_deliveries` that goes with it.
    pub(super) in_table: bool,
}

impl Entry {
    fn unsettled(&self) -> u32 {
        self.delivery
            .attempts
            .saturating_sub(self.delivery.failures)
    }

    fn release(&mut self, visible: Instant) {
        self.holder = None;
        self.claimed_by.clear();
        self.visible = visible;
    }
}

/// How many are where.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) due: u64,
    pub(super) delayed: u64,
    pub(super) in_flight: u64,
    pub(super) suspects: u64,
    pub(super) oldest_due: Option<Duration>,
}

impl Queue {
    pub(super) fn new(group: String, begin: i64) -> Self {
        let state = State {
            read: begin,
            saved: begin,
            ..State::default()
        };
        Self {
            group,
            state: Mutex::new(state),
            feeding: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What is due now and when the next one is.
    pub(super) fn look(&self, now: Instant) -> Drained {
        let mut found = Drained::default();
        for entry in self.entries.values() {
            if entry.visible <= now {
                found.due = true;
                found.suspects |= entry.unsettled() >= 2;
            } else {
                let wait = entry.visible - now;
                found.next_due = Some(found.next_due.map_or(wait, |next| next.min(wait)));
            }
        }
        found
    }

    pub(super) fn claim(
        &mut self,
        ask: Ask,
        event_types: &[String],
        claimed_by: &str,
        options: &Options,
    ) -> Vec<Delivery> {
        let now = Instant::now();
        let mut keys = HashSet::new();
        let mut claimed = Vec::new();
        for (&outbox_id, entry) in &mut self.entries {
            if claimed.len() == ask.limit {
                break;
            }
            let first_of_key = entry
                .delivery
                .ordering_key
                .as_ref()
                .is_none_or(|key| keys.insert(key.clone()));
            let wanted = first_of_key
                && entry.visible <= now
                && entry.unsettled() < options.max_unsettled
                && (entry.unsettled() >= 2) == ask.suspects
                && event_types.contains(&entry.delivery.event_type);
            if !wanted {
                continue;
            }
            let ticket = Ticket {
                outbox_id,
                token: ask.token,
            };
            entry.visible = now + options.lease;
            entry.delivery.attempts += 1;
            entry.delivery.ticket = ticket.clone();
            entry.holder = Some(ticket);
            claimed_by.clone_into(&mut entry.claimed_by);
            claimed.push(entry.delivery.clone());
        }
        claimed
    }

    pub(super) fn held(&mut self, ticket: &Ticket) -> Option<&mut Entry> {
        self.entries
            .get_mut(&ticket.outbox_id)
            .filter(|entry| entry.holder.as_ref() == Some(ticket))
    }

    pub(super) fn take(&mut self, ticket: &Ticket) -> Option<Entry> {
        self.held(ticket)?;
        self.entries.remove(&ticket.outbox_id)
    }

    pub(super) fn retry(&mut self, ticket: &Ticket, delay: Duration, error: &str) {
        if let Some(entry) = self.held(ticket) {
            entry.delivery.failures += 1;
            entry.last_error = Some(error.to_owned());
            entry.release(Instant::now() + delay);
        }
    }

    pub(super) fn defer(&mut self, ticket: &Ticket, delay: Duration) -> bool {
        let Some(entry) = self.held(ticket) else {
            return false;
        };
        entry.delivery.attempts -= 1;
        entry.release(Instant::now() + delay);
        true
    }

    pub(super) fn leave(&mut self, claimed_by: &str) -> u64 {
        let now = Instant::now();
        let held = self
            .entries
            .values_mut()
            .filter(|entry| entry.claimed_by == claimed_by);
        held.map(|entry| {
            entry.delivery.attempts -= 1;
            entry.release(now);
        })
        .count() as u64
    }

    /// Ids that were claimed too often without being settled.
    pub(super) fn overdue(&self, max_unsettled: u32) -> Vec<i64> {
        let now = Instant::now();
        let overdue = |entry: &Entry| entry.visible <= now && entry.unsettled() >= max_unsettled;
        self.entries
            .iter()
            .filter(|(_, entry)| overdue(entry))
            .map(|(&id, _)| id)
            .collect()
    }

    /// Every event up to here is settled.
    pub(super) fn settled_up_to(&self) -> i64 {
        let first_owed = self.entries.iter().find(|(_, entry)| !entry.in_table);
        first_owed.map_or(self.read, |(id, _)| id - 1)
    }

    pub(super) fn counts(&self) -> Counts {
        let now = Instant::now();
        let mut counts = Counts::default();
        for entry in self.entries.values() {
            counts.suspects += u64::from(entry.unsettled() >= 2);
            if entry.visible <= now {
                counts.due += 1;
                let age = now - entry.visible;
                counts.oldest_due = Some(counts.oldest_due.map_or(age, |oldest| oldest.max(age)));
            } else if entry.holder.is_some() {
                counts.in_flight += 1;
            } else {
                counts.delayed += 1;
            }
        }
        counts
    }
}
