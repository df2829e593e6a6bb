//! From a lock's name and key to its file's name.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The file name of the lock `name` (and `key`): a readable part and 128 bits of SHA-256 over the
/// exact name and key, always shorter than 255 bytes.
///
/// The same in the attribute (`name = "..."`, `key = ...`), the library and the command
/// (`-n NAME -k KEY`), and the same in all releases.
///
/// ```
/// assert_eq!(
///     lockfn::lock_file_name("refresh", Some("eu/../1")),
///     "refresh@eu-..-1-d496fdb4952b7c27816c506e78fde12e.lock",
/// );
/// ```
pub fn lock_file_name(name: &str, key: Option<&str>) -> String {
    let mut hash = Sha256::new();
    hash.update(b"lockfn-name-1\0");
    // The length keeps ("a", "b") and ("a\0b", no key) apart.
    hash.update((name.len() as u64).to_le_bytes());
    hash.update(name.as_bytes());
    if let Some(key) = key {
        hash.update(b"\x01");
        hash.update(key.as_bytes());
    }
    let mut file_name = String::with_capacity(160);
    readable(&name.replace("::", "."), 80, &mut file_name);
    if let Some(key) = key {
        file_name.push('@');
        readable(key, 40, &mut file_name);
    }
    file_name.push('-');
    for byte in hash.finalize().iter().take(16) {
        // Writing to a String cannot fail.
        write!(file_name, "{byte:02x}").unwrap_or_default();
    }
    file_name.push_str(".lock");
    // Not hidden, and not an option of anybody's `rm *`.
    if file_name.starts_with(['.', '-']) {
        file_name.replace_range(..1, "_");
    }
    file_name
}

/// The last `limit` characters of `text`, each one harmless in a file name.
fn readable(text: &str, limit: usize, into: &mut String) {
    let skip = text.chars().count().saturating_sub(limit);
    into.extend(text.chars().skip(skip).map(|c| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            c
        } else {
            '-'
        }
    }));
}

/// The identity of a function from the `type_name` of an item nested in it: no file system, no
/// build path. Type parameters appear as `_`, so all instances of a generic share one lock, and
/// `impl Job for Vec<u8>` and `impl Job for Vec<u16>` do not.
pub(crate) fn function_identity(probe: &'static str) -> &'static str {
    let path = probe.strip_suffix("::__lockfn_here").unwrap_or(probe);
    // The body of an `async fn` is a closure in it.
    path.strip_suffix("::{{closure}}").unwrap_or(path)
}
