//! Names of keys. All of one bus carry one hash tag: a script may touch any of them, in a cluster too.

use std::fmt;

/// The hash tag of a bus.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            prefix: format!("{{{prefix}}}:"),
        }
    }

    fn of(&self, rest: impl fmt::Display) -> String {
        format!("{}{rest}", self.prefix)
    }

    /// The stream of a topic.
    pub(super) fn topic(&self, destination: &str) -> String {
        self.of(format_args!("topic:{destination}"))
    }

    /// The topic of a stream.
    pub(super) fn destination<'k>(&self, topic: &'k str) -> &'k str {
        topic
            .strip_prefix(&self.prefix)
            .and_then(|rest| rest.strip_prefix("topic:"))
            .unwrap_or(topic)
    }

    /// What wakes the consumers of a topic.
    pub(super) fn channel(&self, destination: &str) -> String {
        self.of(format_args!("wake:{destination}"))
    }

    /// The names of all groups.
    pub(super) fn groups(&self) -> String {
        self.of("groups")
    }

    /// The topics of a group.
    pub(super) fn destinations(&self, group: &str) -> String {
        self.of(format_args!("group:{group}:destinations"))
    }

    /// The dead letters of all groups.
    pub(super) fn letters(&self) -> String {
        self.of("dead")
    }

    /// Which dead letters went back, and when.
    pub(super) fn requeued(&self) -> String {
        self.of("dead:requeued")
    }

    /// The keys of one topic and one group in the order of `head.lua`.
    pub(super) fn pair(&self, destination: &str, group: &str) -> [String; 9] {
        let of = |part: &str| self.of(format_args!("group:{group}:{destination}:{part}"));
        [
            self.topic(destination),
            of("back"),
            of("later"),
            of("keys"),
            of("types"),
            of(""),
            self.channel(destination),
            self.letters(),
            self.of("dead:last"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_the_same_hash_tag() {
        let keys = Keys::new("flydocs");
        let all = keys.pair("flydocs.extractions", "flydocs-workers");
        assert!(all.iter().all(|key| key.starts_with("{flydocs}:")));
        assert!(keys.groups().starts_with("{flydocs}:"));
        assert_eq!(keys.destination(&all[0]), "flydocs.extractions");
    }
}
