//! The frames of a TIFF: the chain of directories is walked, and a copy whose header points at one of them
//! is decoded like any other image.

use std::{borrow::Cow, collections::HashSet};

/// Offsets of the directories that are pages, in order; reduced-size copies of a page are left out.
pub(super) fn directories(tiff: &[u8], most: usize) -> Vec<u64> {
    let Some(layout) = Layout::of(tiff) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut at = layout.first(tiff);
    while let Some(offset) = at.filter(|o| *o > 0) {
        if !seen.insert(offset) || seen.len() > most.saturating_mul(4) {
            break;
        }
        if found.is_empty() || !layout.is_reduced(tiff, offset) {
            found.push(offset);
        }
        if found.len() > most {
            break;
        }
        at = layout.next(tiff, offset);
    }
    found
}

/// The file as if the directory at `offset` were its first.
pub(super) fn starting_at(tiff: &[u8], offset: u64) -> Cow<'_, [u8]> {
    let Some(layout) = Layout::of(tiff) else {
        return Cow::Borrowed(tiff);
    };
    if layout.first(tiff) == Some(offset) {
        return Cow::Borrowed(tiff);
    }
    let mut copy = tiff.to_vec();
    let (at, bytes) = if layout.big {
        (8, layout.bytes8(offset).to_vec())
    } else {
        let bytes = (offset as u32).to_le_bytes();
        let bytes = if layout.little {
            bytes
        } else {
            (offset as u32).to_be_bytes()
        };
        (4, bytes.to_vec())
    };
    if let Some(place) = copy.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(&bytes);
    }
    Cow::Owned(copy)
}

#[derive(Clone, Copy)]
struct Layout {
    little: bool,
    big: bool,
}

/// "This is a reduced-size copy of another image of the file."
const NEW_SUBFILE_TYPE: u64 = 254;

impl Layout {
    fn of(tiff: &[u8]) -> Option<Self> {
        let little = tiff.starts_with(b"II");
        let version = tiff.get(2..4)?;
        let version = if little { version[0] } else { version[1] };
        Some(Self {
            little,
            big: version == 43,
        })
    }

    fn bytes8(self, value: u64) -> [u8; 8] {
        if self.little {
            value.to_le_bytes()
        } else {
            value.to_be_bytes()
        }
    }

    fn number(self, tiff: &[u8], at: u64, size: usize) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let bytes = tiff.get(at..at.checked_add(size)?)?;
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if self.little {
            bytes.iter().rev().fold(0, fold)
        } else {
            bytes.iter().fold(0, fold)
        })
    }

    fn first(self, tiff: &[u8]) -> Option<u64> {
        if self.big {
            self.number(tiff, 8, 8)
        } else {
            self.number(tiff, 4, 4)
        }
    }

    /// Where the entries begin, how many there are, and the size of one.
    fn entries(self, tiff: &[u8], directory: u64) -> Option<(u64, u64, u64)> {
        if self.big {
            Some((
                directory.checked_add(8)?,
                self.number(tiff, directory, 8)?,
                20,
            ))
        } else {
            Some((
                directory.checked_add(2)?,
                self.number(tiff, directory, 2)?,
                12,
            ))
        }
    }

    fn next(self, tiff: &[u8], directory: u64) -> Option<u64> {
        let (start, count, size) = self.entries(tiff, directory)?;
        let at = start.checked_add(count.checked_mul(size)?)?;
        self.number(tiff, at, if self.big { 8 } else { 4 })
    }

    fn is_reduced(self, tiff: &[u8], directory: u64) -> bool {
        let Some((start, count, size)) = self.entries(tiff, directory) else {
            return false;
        };
        (0..count.min(512)).any(|index| {
            let entry = start.saturating_add(index * size);
            let value = entry.saturating_add(if self.big { 12 } else { 8 });
            self.number(tiff, entry, 2) == Some(NEW_SUBFILE_TYPE)
                && self.number(tiff, value, 4).is_some_and(|v| v & 1 == 1)
        })
    }
}
