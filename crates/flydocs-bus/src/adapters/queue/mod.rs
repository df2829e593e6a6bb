//! The queue of one group in memory: at most so many deliveries, the rest waits where it comes from. [`ledger`] keeps
//! a member's book in it, for `memory` and for `kafka`.

pub(super) mod ledger;

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
pub(in crate::adapters) struct Queue {
    pub(in crate::adapters) group: String,
    state: Mutex<State>,
    /// Held by whoever feeds: the drain of this group, one at a time.
    pub(in crate::adapters) feeding: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
pub(in crate::adapters) struct State {
    pub(in crate::adapters) entries: BTreeMap<i64, Entry>,
    /// The outbox was read up to here.
    pub(in crate::adapters) read: i64,
    /// Deliveries that another adapter or a registration left in the table were read up to here.
    pub(in crate::adapters) table_read: i64,
    /// What the table of groups says; everything up to there is settled.
    pub(in crate::adapters) saved: i64,
}

/// One delivery that is not settled.
#[derive(Debug)]
pub(in crate::adapters) struct Entry {
    pub(in crate::adapters) delivery: Delivery,
    pub(in crate::adapters) visible: Instant,
    pub(in crate::adapters) holder: Option<Ticket>,
    pub(in crate::adapters) claimed_by: String,
    pub(in crate::adapters) last_error: Option<String>,
    /// It has a row in `bus_deliveries` that goes with it.
    pub(in crate::adapters) in_table: bool,
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
pub(in crate::adapters) struct Counts {
    pub(in crate::adapters) due: u64,
    pub(in crate::adapters) delayed: u64,
    pub(in crate::adapters) in_flight: u64,
    pub(in crate::adapters) suspects: u64,
    pub(in crate::adapters) oldest_due: Option<Duration>,
}

impl Queue {
    pub(in crate::adapters) fn new(group: String, begin: i64) -> Self {
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

    pub(in crate::adapters) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What is due now and when the next one is.
    pub(in crate::adapters) fn look(&self, now: Instant) -> Drained {
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

    pub(in crate::adapters) fn claim(
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

    pub(in crate::adapters) fn held(&mut self, ticket: &Ticket) -> Option<&mut Entry> {
        self.entries
            .get_mut(&ticket.outbox_id)
            .filter(|entry| entry.holder.as_ref() == Some(ticket))
    }

    pub(in crate::adapters) fn take(&mut self, ticket: &Ticket) -> Option<Entry> {
        self.held(ticket)?;
        self.entries.remove(&ticket.outbox_id)
    }

    pub(in crate::adapters) fn retry(&mut self, ticket: &Ticket, delay: Duration, error: &str) {
        if let Some(entry) = self.held(ticket) {
            entry.delivery.failures += 1;
            entry.last_error = Some(error.to_owned());
            entry.release(Instant::now() + delay);
        }
    }

    pub(in crate::adapters) fn defer(&mut self, ticket: &Ticket, delay: Duration) -> bool {
        let Some(entry) = self.held(ticket) else {
            return false;
        };
        entry.delivery.attempts -= 1;
        entry.release(Instant::now() + delay);
        true
    }

    pub(in crate::adapters) fn leave(&mut self, claimed_by: &str) -> u64 {
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
    pub(in crate::adapters) fn overdue(&self, max_unsettled: u32) -> Vec<i64> {
        let now = Instant::now();
        let overdue = |entry: &Entry| entry.visible <= now && entry.unsettled() >= max_unsettled;
        self.entries
            .iter()
            .filter(|(_, entry)| overdue(entry))
            .map(|(&id, _)| id)
            .collect()
    }

    /// Every event up to here is settled.
    pub(in crate::adapters) fn settled_up_to(&self) -> i64 {
        let first_owed = self.entries.iter().find(|(_, entry)| !entry.in_table);
        first_owed.map_or(self.read, |(id, _)| id - 1)
    }

    pub(in crate::adapters) fn counts(&self) -> Counts {
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
