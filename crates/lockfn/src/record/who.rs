//! The part of a record that says who.

use std::os::fd::AsFd;

use super::{
    HEAD, REQUEST, WAITS, WHO,
    text::{Line, checksum},
};

/// The part that says who, ready to be written. The same for all holds of one lock in one process.
#[derive(Debug)]
pub(crate) struct Who {
    bytes: [u8; REQUEST + WHO],
    pub(crate) sum: u32,
    pub(crate) pid: u32,
    /// Whether a record may be written at all: beyond `ulimit -f` the kernel ends the program.
    pub(crate) may_write: bool,
}

impl Who {
    pub(crate) fn new(me: &crate::process::Me, lock: &str, command: &str) -> Self {
        let mut line = Line {
            bytes: [b' '; WHO],
            used: 0,
        };
        line.text("pid=");
        line.number(u64::from(me.pid));
        line.text("\nstart=");
        line.number(me.start);
        line.text("\nnamespace=");
        line.number(me.namespace);
        for (name, text, limit) in [
            ("\nboot=", me.boot.as_str(), 32),
            ("\nhost=", me.host.as_str(), 64),
            ("\nlock=", lock, 250),
            ("\ncommand=", command, 300),
        ] {
            line.text(name);
            line.one_line(text, limit);
        }
        let sum = checksum(line.bytes.get(..line.used).unwrap_or_default());
        line.text("\nsum=");
        line.number(u64::from(sum));
        if let Some(last) = line.bytes.last_mut() {
            *last = b'\n';
        }
        let mut bytes = [b' '; REQUEST + WHO];
        if let Some(place) = bytes.last_chunk_mut() {
            *place = line.bytes;
        }
        Self {
            bytes,
            sum,
            pid: me.pid,
            may_write: me.file_limit >= (HEAD + WAITS + REQUEST + WHO) as u64,
        }
    }

    /// Best effort, as the head's. Whoever asked for a pause asked an earlier holder: that request
    /// is blanked.
    pub(crate) fn write(&self, fd: impl AsFd) -> bool {
        rustix::io::pwrite(fd, &self.bytes, (HEAD + WAITS) as u64) == Ok(REQUEST + WHO)
    }
}

/// The lines of this part, if they are whole and the head's.
pub(super) fn verified(bytes: &[u8], expected: u32) -> &str {
    std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.trim_end().rsplit_once("\nsum="))
        .filter(|(signed, sum)| {
            sum.parse() == Ok(expected) && checksum(signed.as_bytes()) == expected
        })
        .map(|(signed, _)| signed)
        .unwrap_or_default()
}
