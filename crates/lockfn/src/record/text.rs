//! Numbers, checksums and lines in a record.

/// Only digits; what is too long for a number was not written by us, and means nothing.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    let mut only_digits = true;
    let value = digits.iter().fold(0_u64, |value, digit| {
        let digit = digit.wrapping_sub(b'0');
        only_digits &= digit <= 9;
        value.wrapping_mul(10).wrapping_add(u64::from(digit))
    });
    only_digits.then_some(value)
}

/// The opposite, with leading zeros. All fields have an even number of digits: two at a time.
pub(super) fn write_number(digits: &mut [u8], mut value: u64) {
    for pair in digits.as_rchunks_mut::<2>().1.iter_mut().rev() {
        let two = (value % 100) as u8;
        *pair = [b'0' + two / 10, b'0' + two % 10];
        value /= 100;
    }
}

/// Finds torn and foreign text; no protection against forgery. Eight bytes at a time: it is
/// computed twice for every hold.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        sum = (sum.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(ODD);
    }
    for byte in rest {
        sum = (sum.rotate_left(23) ^ u64::from(*byte)).wrapping_mul(ODD);
    }
    (sum >> 32) as u32
}

/// A fixed piece of text, filled from the left; what does not fit is cut.
pub(super) struct Line<const N: usize> {
    pub(super) bytes: [u8; N],
    pub(super) used: usize,
}

impl<const N: usize> Line<N> {
    pub(super) fn text(&mut self, text: &str) {
        self.raw(text.as_bytes());
    }

    fn raw(&mut self, text: &[u8]) {
        let end = (self.used + text.len()).min(N);
        if let Some(room) = self.bytes.get_mut(self.used..end) {
            for (to, from) in room.iter_mut().zip(text) {
                *to = *from;
            }
        }
        self.used = end;
    }

    pub(super) fn number(&mut self, mut value: u64) {
        let mut digits = [b'0'; 20];
        let mut first = digits.len();
        for (place, digit) in digits.iter_mut().enumerate().rev() {
            *digit = b'0' + (value % 10) as u8;
            value /= 10;
            first = place;
            if value == 0 {
                break;
            }
        }
        self.raw(digits.get(first..).unwrap_or_default());
    }

    /// `text` without line breaks and other control characters, cut to `limit` bytes.
    pub(super) fn one_line(&mut self, text: &str, limit: usize) {
        let end = self.used + limit;
        for c in text.chars() {
            let c = if c.is_control() { ' ' } else { c };
            if self.used + c.len_utf8() > end {
                break;
            }
            let mut bytes = [0; 4];
            self.text(c.encode_utf8(&mut bytes));
        }
    }
}
