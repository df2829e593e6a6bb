//! How far each partition is settled: the offset to commit is that of the first record not settled.

use std::collections::VecDeque;

/// One partition of one reader, from its first record on.
#[derive(Debug, Default)]
pub(super) struct Prefix {
    /// In the order of the partition; true when settled.
    records: VecDeque<(i64, bool)>,
    /// The offset to commit.
    next: Option<i64>,
    committed: Option<i64>,
}

impl Prefix {
    /// A record came; `settled` when nobody here wants it.
    pub(super) fn arrived(&mut self, offset: i64, settled: bool) {
        self.records.push_back((offset, settled));
        self.advance();
    }

    /// A record is settled.
    pub(super) fn settled(&mut self, offset: i64) {
        if let Ok(at) = self
            .records
            .binary_search_by_key(&offset, |record| record.0)
            && let Some(record) = self.records.get_mut(at)
        {
            record.1 = true;
        }
        self.advance();
    }

    fn advance(&mut self) {
        while let Some(&(offset, true)) = self.records.front() {
            self.records.pop_front();
            self.next = Some(offset + 1);
        }
    }

    /// The offset to commit, when it moved since the last time.
    pub(super) fn next_commit(&mut self) -> Option<i64> {
        if self.next == self.committed {
            return None;
        }
        self.committed = self.next;
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_the_finished_prefix_and_nothing_beyond() {
        let mut prefix = Prefix::default();
        // Offsets of a compacted or transactional topic have gaps.
        for offset in [10, 11, 13, 20] {
            prefix.arrived(offset, offset == 11);
        }
        assert_eq!(prefix.next_commit(), None);
        prefix.settled(13);
        assert_eq!(prefix.next_commit(), None);
        prefix.settled(10);
        assert_eq!(prefix.next_commit(), Some(14));
        assert_eq!(prefix.next_commit(), None);
        prefix.settled(20);
        assert_eq!(prefix.next_commit(), Some(21));
        prefix.settled(20);
        assert_eq!(prefix.next_commit(), None);
    }
}
