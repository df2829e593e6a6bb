//! Dead letters, trimming, and what an operator sees of a Redis bus.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use redis::{AsyncCommands as _, FromRedisValue, RedisResult, Value, aio::ConnectionManager};

use super::{connect::while_doing, keys::Keys, scripts};
use crate::{
    error::{Error, Result},
    event::DeadLetter,
    group::group_lock_key,
    options::Options,
    status::GroupStatus,
};

/// How long handled events stay in a stream: as long as a member that comes may handle more types than the others.
const KEEP_HANDLED_MS: u128 = 10 * 60 * 1000;

/// Removes from each stream what every group has settled, and old dead letters; how many entries of each.
pub(super) async fn trim(
    connection: &ConnectionManager,
    keys: &Keys,
    destinations: &[String],
    options: &Options,
) -> Result<(u64, u64)> {
    let mut connection = connection.clone();
    let keep = options.keep_events.as_millis().min(KEEP_HANDLED_MS) as u64;
    let mut events = 0;
    for destination in destinations {
        let trimmed: u64 = scripts::TRIM
            .key(keys.topic(destination))
            .arg(keep)
            .invoke_async(&mut connection)
            .await
            .map_err(while_doing("trim a stream", destination))?;
        events += trimmed;
    }
    let letters = trim_letters(&mut connection, keys, options)
        .await
        .map_err(while_doing("trim", "the dead letters"))?;
    Ok((events, letters))
}

async fn trim_letters(
    connection: &mut ConnectionManager,
    keys: &Keys,
    options: &Options,
) -> RedisResult<u64> {
    let before = Utc::now().timestamp_millis() - options.keep_dead_letters.as_millis() as i64;
    let oldest: Vec<(String, HashMap<String, String>)> = redis::cmd("XRANGE")
        .arg(keys.letters())
        .arg("-")
        .arg("+")
        .arg("COUNT")
        .arg(200)
        .query_async(connection)
        .await?;
    let old: Vec<&str> = oldest
        .iter()
        .filter(|(_, letter)| millis(letter, "at") < before)
        .map(|(id, _)| id.as_str())
        .collect();
    if old.is_empty() {
        return Ok(0);
    }
    let numbers: Vec<&str> = old.iter().map(|id| id.trim_end_matches("-0")).collect();
    redis::pipe()
        .xdel(keys.letters(), &old)
        .ignore()
        .hdel(keys.requeued(), &numbers)
        .ignore()
        .exec_async(connection)
        .await?;
    Ok(old.len() as u64)
}

/// The newest first; of one group or of all.
pub(super) async fn letters(
    connection: &ConnectionManager,
    keys: &Keys,
    group: Option<&str>,
    limit: u32,
) -> Result<Vec<DeadLetter>> {
    const PAGE: usize = 500;
    let failed = || while_doing("list dead letters", group.unwrap_or("all groups"));
    let mut connection = connection.clone();
    let mut found = Vec::new();
    let mut from = "+".to_owned();
    loop {
        let page: Vec<(String, HashMap<String, String>)> = redis::cmd("XREVRANGE")
            .arg(keys.letters())
            .arg(&from)
            .arg("-")
            .arg("COUNT")
            .arg(PAGE)
            .query_async(&mut connection)
            .await
            .map_err(failed())?;
        let last = page.last().map(|(id, _)| format!("({id}"));
        let is_full = page.len() == PAGE;
        for (id, letter) in page {
            if group.is_none_or(|group| letter.get("g").is_some_and(|of| of == group)) {
                found.push(read(keys, &id, &letter)?);
            }
            if found.len() >= limit as usize {
                break;
            }
        }
        match last {
            Some(last) if is_full && found.len() < limit as usize => from = last,
            _ => break,
        }
    }
    for letter in &mut found {
        let at: Option<i64> = connection
            .hget(keys.requeued(), letter.id)
            .await
            .map_err(failed())?;
        letter.requeued_at = at.and_then(DateTime::from_timestamp_millis);
    }
    Ok(found)
}

fn read(keys: &Keys, id: &str, letter: &HashMap<String, String>) -> Result<DeadLetter> {
    let text = |field: &str| letter.get(field).cloned().unwrap_or_default();
    let unreadable = |source| Error::Decode {
        what: "event_id",
        subject: format!("dead letter {id}"),
        source,
    };
    Ok(DeadLetter {
        id: id.trim_end_matches("-0").parse().unwrap_or_default(),
        group: text("g"),
        event_id: text("e").parse().map_err(|e| unreadable(Box::new(e)))?,
        destination: keys.destination(&text("d")).to_owned(),
        event_type: text("t"),
        payload: text("p"),
        attempts: text("n").parse().unwrap_or_default(),
        reason: text("reason"),
        error: Some(text("error")).filter(|error| !error.is_empty()),
        failed_at: DateTime::from_timestamp_millis(millis(letter, "at")).unwrap_or_default(),
        requeued_at: None,
    })
}

fn millis(letter: &HashMap<String, String>, field: &str) -> i64 {
    letter
        .get(field)
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}

/// True when the letter went back to its group.
pub(super) async fn requeue(
    connection: &ConnectionManager,
    keys: &Keys,
    letter: i64,
) -> Result<bool> {
    let back: i64 = scripts::REQUEUE
        .key(keys.letters())
        .key(keys.requeued())
        .arg(letter)
        .invoke_async(&mut connection.clone())
        .await
        .map_err(while_doing("send a dead letter back", letter.to_string()))?;
    Ok(back == 1)
}

/// Every group as it stands on the server.
pub(super) async fn status(
    connection: &ConnectionManager,
    keys: &Keys,
    options: &Options,
) -> Result<Vec<GroupStatus>> {
    let failed = || while_doing("read the status", "all groups");
    let mut connection = connection.clone();
    let mut names: Vec<String> = connection.smembers(keys.groups()).await.map_err(failed())?;
    names.sort();
    let mut groups = Vec::with_capacity(names.len());
    for name in names {
        let group = group_status(&mut connection, keys, options, name)
            .await
            .map_err(failed())?;
        groups.push(group);
    }
    for letter in letters(&connection, keys, None, u32::MAX).await? {
        if letter.requeued_at.is_none()
            && let Some(group) = groups.iter_mut().find(|group| group.group == letter.group)
        {
            group.dead_letters += 1;
        }
    }
    Ok(groups)
}

async fn group_status(
    connection: &mut ConnectionManager,
    keys: &Keys,
    options: &Options,
    group: String,
) -> RedisResult<GroupStatus> {
    let mut destinations: Vec<String> = connection.smembers(keys.destinations(&group)).await?;
    destinations.sort();
    let mut status = GroupStatus {
        lock_key: group_lock_key(&group),
        lock_holder: None,
        destinations: Vec::new(),
        event_types: Vec::new(),
        undrained: 0,
        due: 0,
        delayed: 0,
        in_flight: 0,
        suspects: 0,
        dead_letters: 0,
        oldest_due_seconds: None,
        last_drain_at: Utc::now(),
        group,
    };
    for destination in destinations {
        let pair = keys.pair(&destination, &status.group);
        let [.., types_key, _, _, _, _] = &pair;
        let types: Vec<String> = connection.smembers(types_key).await?;
        let counts: Vec<i64> =
            run(connection, &scripts::STATUS, &pair, &status.group, options).await?;
        if let [undrained, due, delayed, in_flight, suspects, oldest] = *counts.as_slice() {
            status.undrained += undrained as u64;
            status.due += due as u64;
            status.delayed += delayed as u64;
            status.in_flight += in_flight as u64;
            status.suspects += suspects as u64;
            if oldest >= 0 {
                let seconds = oldest as f64 / 1000.0;
                let so_far = status.oldest_due_seconds.unwrap_or(0.0);
                status.oldest_due_seconds = Some(so_far.max(seconds));
            }
        }
        status.event_types.extend(types);
        status.destinations.push(destination);
    }
    status.event_types.sort();
    status.event_types.dedup();
    Ok(status)
}

async fn run<T: FromRedisValue>(
    connection: &mut ConnectionManager,
    script: &redis::Script,
    pair: &[String; 9],
    group: &str,
    options: &Options,
) -> RedisResult<T> {
    let mut script = script.prepare_invoke();
    for key in pair {
        script.key(key);
    }
    script
        .arg(group)
        .arg("")
        .arg(options.lease.as_millis() as u64)
        .invoke_async(connection)
        .await
}

/// Removes the group; how many deliveries it still owed.
pub(super) async fn forget(
    connection: &ConnectionManager,
    keys: &Keys,
    options: &Options,
    group: &str,
) -> Result<u64> {
    let failed = || while_doing("forget a group", group);
    let mut connection = connection.clone();
    let status = group_status(&mut connection, keys, options, group.to_owned())
        .await
        .map_err(failed())?;
    for destination in &status.destinations {
        let pair = keys.pair(destination, group);
        let _gone: Value = run(&mut connection, &scripts::FORGET, &pair, group, options)
            .await
            .map_err(failed())?;
    }
    redis::pipe()
        .srem(keys.groups(), group)
        .ignore()
        .del(keys.destinations(group))
        .ignore()
        .exec_async(&mut connection)
        .await
        .map_err(failed())?;
    Ok(status.undrained + status.due + status.delayed + status.in_flight)
}
