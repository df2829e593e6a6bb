//! What one member holds: its leases and when each ends unless beaten.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::event::{Delivery, Ticket};

#[derive(Debug, Default)]
pub(crate) struct Held {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    leases: HashMap<Ticket, Instant>,
    suspect: Option<Ticket>,
}

/// How much is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    Idle,
    Busy,
    /// A suspect runs: nothing beside it.
    Suspect,
}

impl Held {
    pub(crate) fn load(&self, now: Instant) -> Load {
        let mut inner = self.lock();
        inner.leases.retain(|_, until| *until > now);
        if inner
            .suspect
            .as_ref()
            .is_some_and(|suspect| !inner.leases.contains_key(suspect))
        {
            inner.suspect = None;
        }
        match (&inner.suspect, inner.leases.is_empty()) {
            (Some(_), _) => Load::Suspect,
            (None, true) => Load::Idle,
            (None, false) => Load::Busy,
        }
    }

    pub(crate) fn take(&self, deliveries: &[Delivery], until: Instant, suspect: bool) {
        let mut inner = self.lock();
        inner.leases.extend(
            deliveries
                .iter()
                .map(|delivery| (delivery.ticket.clone(), until)),
        );
        if suspect {
            inner.suspect = deliveries.first().map(|delivery| delivery.ticket.clone());
        }
    }

    /// Renews those that are still held; a ticket settled meanwhile stays settled.
    pub(crate) fn renew(&self, tickets: &[Ticket], until: Instant) {
        let mut inner = self.lock();
        for ticket in tickets {
            if let Some(deadline) = inner.leases.get_mut(ticket) {
                *deadline = until;
            }
        }
    }

    /// Forgets the ticket; true when that made the member idle.
    pub(crate) fn drop_ticket(&self, ticket: &Ticket) -> bool {
        let mut inner = self.lock();
        inner.leases.remove(ticket);
        if inner.suspect.as_ref() == Some(ticket) {
            inner.suspect = None;
        }
        inner.leases.is_empty()
    }

    /// How long the lease still holds; zero when it is over.
    pub(crate) fn remaining(&self, ticket: &Ticket, now: Instant) -> Duration {
        self.lock()
            .leases
            .get(ticket)
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
