//! API keys: several at once, each perhaps bound to a tenant, compared in constant time.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The keys of `FLYDOCS_API_KEYS`: `key,...` or `tenant:key,...`. Empty = no key is asked for.
#[derive(Clone, Default)]
pub struct Keys(Vec<Key>);

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
    /// True when no key is asked for.
    pub fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    /// Whose key this is; `None` for a key nobody knows. Takes as long for every key.
    pub fn holder(&self, given: &str) -> Option<Holder> {
        let digest: [u8; 32] = Sha256::digest(given.as_bytes()).into();
        let mut found = None;
        for key in &self.0 {
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
        write!(f, "Keys({} hidden)", self.0.len())
    }
}

/// A list of keys that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("entry {position} of the list has an empty {part}; write key,... or tenant:key,...")]
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
        let mut keys = Vec::new();
        for (i, entry) in text.split(',').enumerate() {
            let entry = entry.trim();
            let (tenant, key) = match entry.split_once(':') {
                Some((tenant, key)) => (Some(tenant), key),
                None => (None, entry),
            };
            let empty = |part| InvalidKeys {
                position: i + 1,
                part,
            };
            if tenant.is_some_and(str::is_empty) {
                return Err(empty("tenant"));
            }
            if key.is_empty() {
                return Err(empty("key"));
            }
            keys.push(Key {
                digest: Sha256::digest(key.as_bytes()).into(),
                tenant: tenant.map(str::to_owned),
            });
        }
        Ok(Self(keys))
    }
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
    fn keys_never_print() {
        let keys: Keys = "hunter2".parse().unwrap();
        assert_eq!(format!("{keys:?}"), "Keys(1 hidden)");
    }
}
