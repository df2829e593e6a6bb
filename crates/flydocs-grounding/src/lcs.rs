//! Longest common subsequence, 64 characters of the target a machine word (Hyyro's recurrence).
//!
//! The target is the pattern and the page the text, so one walk from a start gives the length for every window
//! that begins there: a window costs its last character, not its whole length.

/// The target as bit masks over a page's alphabet.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// `masks[id * blocks ..][..blocks]`: where in the target the character stands.
    masks: Vec<u64>,
    blocks: usize,
    length: usize,
}

impl Pattern {
    /// Builds the masks; a character the page does not have is `None`.
    pub(crate) fn new(target: &[Option<u32>], alphabet: usize) -> Self {
        let blocks = target.len().div_ceil(64).max(1);
        let mut masks = vec![0_u64; alphabet * blocks];
        for (position, id) in target.iter().enumerate() {
            let Some(id) = id else { continue };
            if let Some(mask) = masks.get_mut(*id as usize * blocks + position / 64) {
                *mask |= 1 << (position % 64);
            }
        }
        Self {
            masks,
            blocks,
            length: target.len(),
        }
    }

    /// A walk that has read nothing.
    pub(crate) fn walk(&self) -> Walk<'_> {
        Walk {
            pattern: self,
            state: vec![u64::MAX; self.blocks],
        }
    }
}

/// A walk over a text against a pattern.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    pattern: &'a Pattern,
    state: Vec<u64>,
}

impl Walk<'_> {
    /// Back to the start.
    pub(crate) fn reset(&mut self) {
        self.state.fill(u64::MAX);
    }

    /// Reads one character.
    #[inline]
    pub(crate) fn read(&mut self, id: u32) {
        let at = id as usize * self.pattern.blocks;
        let Some(masks) = self.pattern.masks.get(at..at + self.pattern.blocks) else {
            return;
        };
        let mut carry = false;
        for (state, mask) in self.state.iter_mut().zip(masks) {
            let common = *state & mask;
            let (sum, over) = state.overflowing_add(common);
            let (sum, over_carry) = sum.overflowing_add(u64::from(carry));
            carry = over || over_carry;
            *state = sum | (*state & !mask);
        }
    }

    /// The length of the common subsequence so far.
    #[inline]
    pub(crate) fn common(&self) -> usize {
        let zeros: u32 = self.state.iter().map(|state| state.count_zeros()).sum();
        // Bits above the target never turn to zero on their own account: no mask has them.
        (zeros as usize).min(self.pattern.length)
    }
}

/// A scan for places where a target of at most 64 characters may end: at each character of a text, the least edits
/// that turn the target into any text ending there (Myers). Never more than the insertions and deletions alone.
#[derive(Debug)]
pub(crate) struct EndScan<'a> {
    pattern: &'a Pattern,
    plus: u64,
    minus: u64,
    edits: usize,
}

impl<'a> EndScan<'a> {
    /// A scan that has read nothing; `None` for a longer target.
    pub(crate) fn new(pattern: &'a Pattern) -> Option<Self> {
        (pattern.blocks == 1 && pattern.length > 0).then_some(Self {
            pattern,
            plus: u64::MAX,
            minus: 0,
            edits: pattern.length,
        })
    }

    /// Reads one character and gives the least edits up to here.
    #[inline]
    pub(crate) fn read(&mut self, id: u32) -> usize {
        let equal = self.pattern.masks.get(id as usize).copied().unwrap_or(0);
        let vertical = equal | self.minus;
        let horizontal = ((equal & self.plus).wrapping_add(self.plus) ^ self.plus) | equal;
        let mut plus = self.minus | !(horizontal | self.plus);
        let mut minus = self.plus & horizontal;
        let last = self.pattern.length - 1;
        self.edits += (plus >> last & 1) as usize;
        self.edits -= (minus >> last & 1) as usize;
        plus <<= 1;
        minus <<= 1;
        self.plus = minus | !(vertical | plus);
        self.minus = plus & vertical;
        self.edits
    }
}

/// Normalised indel similarity from the common length: `2 * common / (a + b)`.
pub(crate) fn similarity(common: usize, a: usize, b: usize) -> f64 {
    if a + b == 0 {
        return 0.0;
    }
    2.0 * common as f64 / (a + b) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0_usize; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y {
                    diagonal + 1
                } else {
                    above.max(row[j])
                };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    /// The least edits that turn `a` into any run of `b` ending with `b`.
    fn edits(a: &[u32], b: &[u32]) -> usize {
        let mut column: Vec<usize> = (0..=a.len()).collect();
        for y in b {
            let mut diagonal = 0;
            for (i, x) in a.iter().enumerate() {
                let left = column[i + 1];
                column[i + 1] = (diagonal + usize::from(x != y))
                    .min(left + 1)
                    .min(column[i] + 1);
                diagonal = left;
            }
        }
        column[a.len()]
    }

    proptest! {
        #[test]
        fn the_scan_agrees_with_the_table(
            a in prop::collection::vec(0_u32..5, 1..=64),
            b in prop::collection::vec(0_u32..5, 0..100),
        ) {
            let target: Vec<Option<u32>> = a.iter().copied().map(Some).collect();
            let pattern = Pattern::new(&target, 5);
            let mut scan = EndScan::new(&pattern).unwrap();
            for (read, id) in b.iter().enumerate() {
                prop_assert_eq!(scan.read(*id), edits(&a, &b[..=read]));
            }
        }

        #[test]
        fn the_bits_agree_with_the_table(
            a in prop::collection::vec(0_u32..6, 0..200),
            b in prop::collection::vec(0_u32..6, 0..200),
        ) {
            let target: Vec<Option<u32>> = a.iter().copied().map(Some).collect();
            let pattern = Pattern::new(&target, 6);
            let mut walk = pattern.walk();
            for (read, id) in b.iter().enumerate() {
                walk.read(*id);
                if read % 37 == 0 {
                    prop_assert_eq!(walk.common(), table(&a, &b[..=read]));
                }
            }
            prop_assert_eq!(walk.common(), table(&a, &b));
        }
    }

    #[test]
    fn a_character_the_page_does_not_have_matches_nothing() {
        let pattern = Pattern::new(&[Some(0), None, Some(1)], 2);
        let mut walk = pattern.walk();
        for id in [0, 1, 7] {
            walk.read(id);
        }
        assert_eq!(walk.common(), 2);
    }
}
