//! Ids: `ext_` and a 26-character Crockford ULID, so that they sort by time.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// The id of an extraction: 30 characters, sorts by the time it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtractionId(Ulid);

impl ExtractionId {
    /// What every id starts with.
    pub const PREFIX: &'static str = "ext_";

    /// Makes an id from a time in milliseconds since 1970 and 80 bits of randomness.
    pub fn from_parts(unix_ms: u64, random: u128) -> Self {
        Self(Ulid::from_parts(unix_ms, random))
    }
}

impl fmt::Display for ExtractionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

/// A text that is no extraction id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not an extraction id (\"ext_\" and 26 characters of Crockford base 32)")]
pub struct InvalidId {
    /// What was given.
    pub given: String,
}

impl FromStr for ExtractionId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidId {
            given: text.chars().take(64).collect(),
        };
        let body = text.strip_prefix(Self::PREFIX).ok_or_else(invalid)?;
        // Only the canonical spelling, so that one row has one id.
        let ulid = Ulid::from_string(body).map_err(|_| invalid())?;
        if ulid.to_string() == body {
            Ok(Self(ulid))
        } else {
            Err(invalid())
        }
    }
}

impl Serialize for ExtractionId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ExtractionId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_thirty_characters_and_reads_back() {
        let id = ExtractionId::from_parts(1_780_000_000_000, 42);
        assert_eq!(id.to_string().len(), 30);
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn ids_sort_by_time_as_text_too() {
        let early = ExtractionId::from_parts(1_000, u128::MAX);
        let late = ExtractionId::from_parts(1_001, 0);
        assert!(early < late && early.to_string() < late.to_string());
    }

    #[test]
    fn other_spellings_are_refused() {
        for bad in [
            "",
            "ext_",
            "ext_01",
            "job_01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "ext_01arz3ndektsv4rrffq69g5fav",
        ] {
            assert!(bad.parse::<ExtractionId>().is_err(), "{bad}");
        }
    }
}
