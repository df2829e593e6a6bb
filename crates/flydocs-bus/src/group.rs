//! The key of a group's drain lock.

use sha2::{Digest, Sha256};

/// The first eight bytes of SHA-256 of the group's name, big endian.
///
/// ```
/// assert_eq!(flydocs_bus::group_lock_key("flydocs-workers"), -6_664_241_359_945_616_607);
/// ```
pub fn group_lock_key(group: &str) -> i64 {
    let hash = Sha256::digest(group.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    i64::from_be_bytes(first)
}
