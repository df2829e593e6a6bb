//! Words that were read once: bounded by memory, least recently used first out.

use std::{collections::HashMap, hash::Hash};

use parking_lot::Mutex;

/// A bounded cache. Values are cheap to clone.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    budget: u64,
    inner: Mutex<Inner<K, V>>,
}

#[derive(Debug)]
struct Inner<K, V> {
    entries: HashMap<K, Entry<V>>,
    bytes: u64,
    tick: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: u64,
    used: u64,
}

impl<K: Eq + Hash + Clone, V: Clone> Cache<K, V> {
    pub(crate) fn new(budget: u64) -> Self {
        Self {
            budget,
            inner: Mutex::new(Inner {
                entries: HashMap::new(),
                bytes: 0,
                tick: 0,
            }),
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let mut inner = self.inner.lock();
        inner.tick += 1;
        let tick = inner.tick;
        let entry = inner.entries.get_mut(key)?;
        entry.used = tick;
        Some(entry.value.clone())
    }

    /// Keeps a value that takes about `bytes`; one that is larger than the whole budget is not kept.
    pub(crate) fn put(&self, key: K, value: V, bytes: u64) {
        if bytes > self.budget {
            return;
        }
        let mut inner = self.inner.lock();
        inner.tick += 1;
        let used = inner.tick;
        let entry = Entry { value, bytes, used };
        if let Some(old) = inner.entries.insert(key, entry) {
            inner.bytes -= old.bytes;
        }
        inner.bytes += bytes;
        if inner.bytes > self.budget {
            evict(&mut inner, self.budget);
        }
    }
}

/// Goes down to nine tenths of the budget, so that a full cache is not sorted at every insertion.
fn evict<K: Eq + Hash + Clone, V>(inner: &mut Inner<K, V>, budget: u64) {
    let mut by_age: Vec<(u64, K)> = inner
        .entries
        .iter()
        .map(|(key, entry)| (entry.used, key.clone()))
        .collect();
    by_age.sort_unstable_by_key(|(used, _)| *used);
    for (_, key) in by_age {
        if inner.bytes <= budget / 10 * 9 {
            break;
        }
        if let Some(gone) = inner.entries.remove(&key) {
            inner.bytes -= gone.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first() {
        let cache = Cache::new(30);
        for key in 0..3 {
            cache.put(key, key, 10);
        }
        assert_eq!(cache.get(&0), Some(0));
        cache.put(3, 3, 10);
        assert_eq!(cache.get(&0), Some(0));
        assert_eq!(cache.get(&1), None);
        assert_eq!(cache.get(&3), Some(3));
    }

    #[test]
    fn it_never_holds_more_than_its_budget() {
        let cache = Cache::new(100);
        for key in 0..1000_u32 {
            cache.put(key, key, u64::from(key % 17) + 1);
            assert!(cache.inner.lock().bytes <= 100);
        }
        cache.put(5000, 1, 101);
        assert_eq!(cache.get(&5000), None);
    }

    #[test]
    fn replacing_a_value_does_not_count_it_twice() {
        let cache = Cache::new(100);
        for _ in 0..50 {
            cache.put("a", 1, 60);
        }
        assert_eq!(cache.inner.lock().bytes, 60);
    }
}
