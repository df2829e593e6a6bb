//! One member's book on a Redis server. The server's list of pending entries is the book of leases: its idle time is
//! the lease, its owner and its count of deliveries are the proof of a claim.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use chrono::DateTime;
use redis::{FromRedisValue, RedisError, Script, aio::ConnectionManager};
use tokio::time::Instant;
use tracing::warn;
use uuid::Uuid;

use super::{
    connect::{group_is_gone, while_doing},
    keys::Keys,
    scripts,
};
use crate::{
    bus::{Start, Subscription},
    error::{Error, Result},
    event::{Delivery, Ticket},
    ledger::{Ask, Drained, Failed, Ledger, Pass},
    options::Options,
};

#[derive(Debug)]
pub(super) struct RedisLedger {
    pub(super) connection: ConnectionManager,
    pub(super) keys: Keys,
    pub(super) subscription: Subscription,
    /// Unique for this member: what it holds can be given back as a whole.
    pub(super) me: String,
    pub(super) options: Options,
    held: Mutex<HashMap<Ticket, Claim>>,
    tickets: AtomicI64,
}

/// What proves a claim to the server.
#[derive(Debug, Clone)]
struct Claim {
    destination: usize,
    which: i64,
    id: String,
    count: i64,
    key: String,
    attempts: u32,
    failures: u32,
    until: Instant,
}

/// What the server says of a claimed entry: stream, id, count, event, type, payload, headers, key, times, attempts, failures.
type Row = (
    i64,
    String,
    i64,
    String,
    String,
    String,
    String,
    String,
    i64,
    i64,
    u32,
    u32,
);

impl RedisLedger {
    pub(super) fn new(
        connection: ConnectionManager,
        keys: Keys,
        subscription: Subscription,
        options: Options,
    ) -> Self {
        Self {
            connection,
            keys,
            me: format!("{}#{}", subscription.consumer, Uuid::new_v4().simple()),
            subscription,
            options,
            held: Mutex::default(),
            tickets: AtomicI64::new(0),
        }
    }

    /// Makes the group known on the server, or grows what it wants.
    pub(super) async fn register(&self) -> Result<()> {
        let begin = match self.subscription.start {
            Start::Earliest => "0",
            Start::Latest => "$",
        };
        let group = &self.subscription.group;
        let failed = || while_doing("register a group", group.clone());
        let mut connection = self.connection.clone();
        redis::pipe()
            .sadd(self.keys.groups(), group)
            .ignore()
            .sadd(
                self.keys.destinations(group),
                &self.subscription.destinations,
            )
            .ignore()
            .exec_async(&mut connection)
            .await
            .map_err(failed())?;
        for destination in &self.subscription.destinations {
            let mut script = scripts::REGISTER.prepare_invoke();
            for key in self.keys.pair(destination, group) {
                script.key(key);
            }
            script.arg(group).arg(&self.me).arg(begin);
            for event_type in &self.subscription.event_types {
                script.arg(event_type);
            }
            script
                .invoke_async::<i64>(&mut connection)
                .await
                .map_err(failed())?;
        }
        Ok(())
    }

    /// Runs a script for one of the topics. A group that is gone is made again: what was lost with it is announced
    /// again from the rows.
    async fn run<T: FromRedisValue>(
        &self,
        operation: &'static str,
        destination: usize,
        script: &Script,
        arguments: &[String],
    ) -> Result<T> {
        match self.call(destination, script, arguments).await {
            Err(error) if group_is_gone(&error) => {
                warn!(bus.group = %self.subscription.group,
                    "redis does not know the group any more; it begins again with what is there");
                self.register().await?;
                self.call(destination, script, arguments).await
            }
            outcome => outcome,
        }
        .map_err(while_doing(
            operation,
            format!("group {}", self.subscription.group),
        ))
    }

    async fn call<T: FromRedisValue>(
        &self,
        destination: usize,
        script: &Script,
        arguments: &[String],
    ) -> std::result::Result<T, RedisError> {
        let topic = self
            .subscription
            .destinations
            .get(destination)
            .map_or("", String::as_str);
        let mut script = script.prepare_invoke();
        for key in self.keys.pair(topic, &self.subscription.group) {
            script.key(key);
        }
        script.arg(&self.subscription.group).arg(&self.me);
        for argument in arguments {
            script.arg(argument);
        }
        script.invoke_async(&mut self.connection.clone()).await
    }

    fn destinations(&self) -> std::ops::Range<usize> {
        0..self.subscription.destinations.len()
    }

    fn lease_ms(&self) -> String {
        self.options.lease.as_millis().to_string()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Ticket, Claim>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim_of(&self, ticket: &Ticket) -> Option<Claim> {
        self.held().get(ticket).cloned()
    }

    async fn claim_from(&self, destination: usize, ask: Ask) -> Result<Vec<Delivery>> {
        let mut arguments = vec![
            ask.limit.to_string(),
            self.lease_ms(),
            u8::from(ask.suspects).to_string(),
            self.options.max_unsettled.to_string(),
        ];
        arguments.extend(self.subscription.event_types.iter().cloned());
        let until = Instant::now() + self.options.lease;
        loop {
            let (more, rows): (i64, Vec<Row>) = self
                .run("claim deliveries", destination, &scripts::CLAIM, &arguments)
                .await?;
            // Whatever was passed by may hide what is due.
            if !rows.is_empty() || more == 0 {
                return rows
                    .into_iter()
                    .map(|row| self.take(destination, row, ask.token, until))
                    .collect();
            }
        }
    }

    fn take(&self, destination: usize, row: Row, token: Uuid, until: Instant) -> Result<Delivery> {
        let (
            which,
            id,
            count,
            event,
            event_type,
            payload,
            headers,
            key,
            created,
            available,
            attempts,
            failures,
        ) = row;
        let unreadable = |what: &'static str| {
            let subject = format!("entry {id}");
            move |source: Box<dyn std::error::Error + Send + Sync>| Error::Decode {
                what,
                subject,
                source,
            }
        };
        let event_id = event
            .parse()
            .map_err(|e| unreadable("event_id")(Box::new(e)))?;
        let headers =
            serde_json::from_str(&headers).map_err(|e| unreadable("headers")(Box::new(e)))?;
        let ticket = Ticket {
            outbox_id: self.tickets.fetch_add(1, Ordering::Relaxed),
            token,
        };
        let claim = Claim {
            destination,
            which,
            id,
            count,
            key: key.clone(),
            attempts,
            failures,
            until,
        };
        self.held().insert(ticket.clone(), claim);
        Ok(Delivery {
            ticket,
            event_id,
            destination: self
                .subscription
                .destinations
                .get(destination)
                .cloned()
                .unwrap_or_default(),
            event_type,
            payload,
            headers,
            ordering_key: (!key.is_empty()).then_some(key),
            attempts,
            failures,
            published_at: DateTime::from_timestamp_millis(created).unwrap_or_default(),
            available_at: DateTime::from_timestamp_millis(available).unwrap_or_default(),
        })
    }

    /// Tickets that nobody settled long after their lease would pile up.
    fn forget_the_lost(&self) {
        let long_ago = self.options.lease * 10;
        let now = Instant::now();
        self.held().retain(|_, claim| claim.until + long_ago > now);
    }

    /// Asks the server for many tickets at once; those of which it said yes.
    async fn ask(
        &self,
        operation: &'static str,
        script: &Script,
        tickets: &[Ticket],
        with_key: bool,
    ) -> Result<Vec<Ticket>> {
        let mut kept = Vec::with_capacity(tickets.len());
        for destination in self.destinations() {
            let mut asked = Vec::new();
            let mut arguments = Vec::new();
            for ticket in tickets {
                if let Some(claim) = self.claim_of(ticket)
                    && claim.destination == destination
                {
                    asked.push(ticket);
                    arguments.extend([
                        claim.which.to_string(),
                        claim.id.clone(),
                        claim.count.to_string(),
                    ]);
                    if with_key {
                        arguments.push(claim.key.clone());
                    }
                }
            }
            if asked.is_empty() {
                continue;
            }
            let answers: Vec<i64> = self.run(operation, destination, script, &arguments).await?;
            kept.extend(
                asked
                    .into_iter()
                    .zip(answers)
                    .filter(|(_, answer)| *answer == 1)
                    .map(|(ticket, _)| ticket.clone()),
            );
        }
        Ok(kept)
    }

    async fn give_back(
        &self,
        ticket: &Ticket,
        claim: &Claim,
        delay: Duration,
        attempts: u32,
        failures: u32,
        error: &str,
    ) -> Result<bool> {
        let arguments = [
            claim.which.to_string(),
            claim.id.clone(),
            claim.count.to_string(),
            delay.as_millis().to_string(),
            attempts.to_string(),
            failures.to_string(),
            error.chars().take(4000).collect(),
        ];
        let kept: i64 = self
            .run(
                "give a delivery back",
                claim.destination,
                &scripts::GIVE_BACK,
                &arguments,
            )
            .await?;
        self.held().remove(ticket);
        Ok(kept == 1)
    }
}

#[async_trait]
impl Ledger for RedisLedger {
    async fn drain(&self) -> Result<Drained> {
        let mut found = Drained {
            outcome: Pass::Idle,
            ..Drained::default()
        };
        let mut arguments = vec![self.lease_ms()];
        arguments.extend(self.subscription.event_types.iter().cloned());
        for destination in self.destinations() {
            let (due, suspects, next): (i64, i64, i64) = self
                .run("look for events", destination, &scripts::LOOK, &arguments)
                .await?;
            found.due |= due == 1;
            found.suspects |= suspects == 1;
            if let Ok(next) = u64::try_from(next) {
                let next = Duration::from_millis(next);
                found.next_due = Some(found.next_due.map_or(next, |before| before.min(next)));
            }
        }
        Ok(found)
    }

    async fn bury(&self) -> Result<u64> {
        let arguments = [self.lease_ms(), self.options.max_unsettled.to_string()];
        let mut all = 0;
        for destination in self.destinations() {
            let buried: u64 = self
                .run("bury events", destination, &scripts::BURY, &arguments)
                .await?;
            all += buried;
        }
        Ok(all)
    }

    async fn claim(&self, ask: Ask) -> Result<Vec<Delivery>> {
        self.forget_the_lost();
        let mut claimed: Vec<Delivery> = Vec::new();
        for destination in self.destinations() {
            let limit = ask.limit - claimed.len();
            if limit > 0 {
                claimed.extend(self.claim_from(destination, Ask { limit, ..ask }).await?);
            }
        }
        Ok(claimed)
    }

    async fn beat(&self, held: &[Ticket]) -> Result<Vec<Ticket>> {
        let until = Instant::now() + self.options.lease;
        let kept = self
            .ask("renew leases", &scripts::BEAT, held, false)
            .await?;
        let mut claims = self.held();
        for ticket in held {
            if kept.contains(ticket) {
                if let Some(claim) = claims.get_mut(ticket) {
                    claim.until = until;
                }
            } else {
                claims.remove(ticket);
            }
        }
        Ok(kept)
    }

    async fn done(&self, tickets: &[Ticket]) -> Result<Vec<Ticket>> {
        let kept = self
            .ask("settle deliveries", &scripts::DONE, tickets, true)
            .await?;
        let mut claims = self.held();
        for ticket in tickets {
            claims.remove(ticket);
        }
        Ok(kept)
    }

    async fn retry(&self, ticket: &Ticket, delay: Option<Duration>, error: &str) -> Result<Failed> {
        let Some(claim) = self.claim_of(ticket) else {
            return Ok(Failed::Lost);
        };
        let failures = claim.failures + 1;
        if failures >= self.options.max_failures {
            let kept = self.dead_letter(ticket, "handler failed", error).await?;
            return Ok(if kept {
                Failed::DeadLettered
            } else {
                Failed::Lost
            });
        }
        let (delay, jitter) = self.options.pause_after(failures, delay);
        // The ticket is as good as chance.
        let share = (ticket.token.as_u128() % 1000) as f64 / 1000.0;
        let delay = delay + jitter.mul_f64(share);
        let kept = self
            .give_back(ticket, &claim, delay, claim.attempts, failures, error)
            .await?;
        Ok(if kept { Failed::Again } else { Failed::Lost })
    }

    async fn defer(&self, ticket: &Ticket, delay: Duration) -> Result<bool> {
        let Some(claim) = self.claim_of(ticket) else {
            return Ok(false);
        };
        let attempts = claim.attempts.saturating_sub(1);
        self.give_back(ticket, &claim, delay, attempts, claim.failures, "")
            .await
    }

    async fn dead_letter(&self, ticket: &Ticket, reason: &str, error: &str) -> Result<bool> {
        let Some(claim) = self.claim_of(ticket) else {
            return Ok(false);
        };
        let arguments = [
            claim.which.to_string(),
            claim.id,
            claim.count.to_string(),
            claim.attempts.to_string(),
            reason.to_owned(),
            error.chars().take(4000).collect(),
        ];
        let kept: i64 = self
            .run(
                "keep a dead letter",
                claim.destination,
                &scripts::DEAD_LETTER,
                &arguments,
            )
            .await?;
        self.held().remove(ticket);
        Ok(kept == 1)
    }

    async fn leave(&self) -> Result<u64> {
        let mut back = 0;
        for destination in self.destinations() {
            let given: u64 = self
                .run("give deliveries back", destination, &scripts::LEAVE, &[])
                .await?;
            back += given;
        }
        self.held().clear();
        Ok(back)
    }

    fn tell_others(&self) {
        let (mut connection, keys) = (self.connection.clone(), self.keys.clone());
        let destinations = self.subscription.destinations.clone();
        // A hint: whoever misses it polls.
        drop(tokio::spawn(async move {
            for destination in destinations {
                let told: redis::RedisResult<i64> = redis::cmd("PUBLISH")
                    .arg(keys.channel(&destination))
                    .arg("")
                    .query_async(&mut connection)
                    .await;
                if told.is_err() {
                    return;
                }
            }
        }));
    }

    fn poll(&self) -> Duration {
        self.options.poll
    }
}
