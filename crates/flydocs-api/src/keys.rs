//! API keys: several at once, each perhaps bound to a tenant, compared in constant time; from a list or a file.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The keys of `FLYDOCS_API_KEYS` (`key,...` or `tenant:key,...`) and of `FLYDOCS_API_KEYS_FILE` (one a line). Without
/// either no key is asked for.
#[derive(Clone, Default)]
pub struct Keys {
    known: Vec<Key>,
    asked: bool,
}

#[derive(Clone)]
struct Key {
    digest: [u8; 32],
    tenant: Option<String>,
}

/// Whose key it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// Somebody who may see everything.
    Anyone,
    /// Somebody who sees one tenant's extractions.
    Tenant(String),
}

impl Keys {
    /// The keys of a file: one a line, `key` or `tenant:key`; empty lines and lines that begin with `#` are passed over.
    /// A file asks for a key even when none stands in it.
    pub fn from_lines(text: &str) -> Result<Self, InvalidKeys> {
        let known = text
            .lines()
            .enumerate()
            .map(|(i, line)| (i, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .map(|(i, line)| Key::read(line, i + 1))
            .collect::<Result<_, _>>()?;
        Ok(Self { known, asked: true })
    }

    /// These and those.
    pub fn and(mut self, more: Self) -> Self {
        self.known.extend(more.known);
        self.asked |= more.asked;
        self
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// True when no key is asked for.
    pub fn is_open(&self) -> bool {
        !self.asked
    }

    /// Whose key this is; `None` for a key nobody knows. Takes as long for every key.
    pub fn holder(&self, given: &str) -> Option<Holder> {
        let digest = digest(given);
        let mut found = None;
        for key in &self.known {
            // no early end: the time must not tell which key was near
            if bool::from(key.digest.ct_eq(&digest)) {
                found = Some(key);
            }
        }
        found.map(|key| match &key.tenant {
            None => Holder::Anyone,
            Some(tenant) => Holder::Tenant(tenant.clone()),
        })
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({} hidden)", self.known.len())
    }
}

/// A list of keys that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("entry {position} of the list has an empty {part}; write key or tenant:key")]
pub struct InvalidKeys {
    position: usize,
    part: &'static str,
}

impl FromStr for Keys {
    type Err = InvalidKeys;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let known = text
            .split(',')
            .enumerate()
            .map(|(i, entry)| Key::read(entry.trim(), i + 1))
            .collect::<Result<_, _>>()?;
        Ok(Self { known, asked: true })
    }
}

impl Key {
    fn read(entry: &str, position: usize) -> Result<Self, InvalidKeys> {
        let (tenant, key) = match entry.split_once(':') {
            Some((tenant, key)) => (Some(tenant), key),
            None => (None, entry),
        };
        let empty = |part| InvalidKeys { position, part };
        if tenant.is_some_and(str::is_empty) {
            return Err(empty("tenant"));
        }
        if key.is_empty() {
            return Err(empty("key"));
        }
        Ok(Self {
            digest: digest(key),
            tenant: tenant.map(str::to_owned),
        })
    }
}

/// What stands for a key wherever it is kept.
pub(crate) fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_may_be_bound_to_a_tenant() {
        let keys: Keys = "first, acme:second".parse().unwrap();
        assert_eq!(keys.holder("first"), Some(Holder::Anyone));
        assert_eq!(
            keys.holder("second"),
            Some(Holder::Tenant("acme".to_owned()))
        );
        assert_eq!(keys.holder("acme:second"), None);
        assert_eq!(keys.holder(""), None);
    }

    #[test]
    fn an_empty_key_is_a_mistake() {
        for bad in ["a,,b", ":key", "tenant:", ","] {
            assert!(bad.parse::<Keys>().is_err(), "{bad}");
        }
        assert!("".parse::<Keys>().unwrap().is_open());
    }

    #[test]
    fn a_file_has_one_key_a_line_and_asks_for_one_even_when_it_is_empty() {
        let keys = Keys::from_lines("# rotated in May\n\nfirst\r\n  acme:second  \n").unwrap();
        assert_eq!((keys.len(), keys.is_open()), (2, false));
        assert_eq!(keys.holder("first"), Some(Holder::Anyone));
        assert_eq!(
            keys.holder("second"),
            Some(Holder::Tenant("acme".to_owned()))
        );
        let none = Keys::from_lines("# nobody any more\n").unwrap();
        assert!(none.is_empty() && !none.is_open());
        assert!(!none.and(Keys::default()).is_open());
        let said = Keys::from_lines("a\n\nacme:\n").unwrap_err().to_string();
        assert!(said.starts_with("entry 3"), "{said}");
    }

    #[test]
    fn keys_never_print() {
        let keys: Keys = "hunter2".parse().unwrap();
        assert_eq!(format!("{keys:?}"), "Keys(1 hidden)");
    }
}
