//! Strict base64 while it arrives: standard alphabet, padding where it belongs, nothing else; a
//! `data:<type>;base64,` prefix is cut.

use base64::{Engine, engine::general_purpose::STANDARD};

/// The text is not base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotBase64;

/// The state between two chunks.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    held: Vec<u8>,
    past_prefix: bool,
}

/// Longer prefixes are no media type.
const LONGEST_PREFIX: usize = 256;
const SCHEME: &[u8] = b"data:";
const MARK: &[u8] = b";base64";

impl Decoder {
    /// Takes some text and gives the bytes that are certain.
    pub(crate) fn feed(&mut self, text: &[u8]) -> Result<Vec<u8>, NotBase64> {
        self.held.extend_from_slice(text);
        if !self.past_prefix && !self.cut_prefix(false)? {
            return Ok(Vec::new());
        }
        // the last quad may carry padding, and only it may: it waits
        let certain = self.held.len().saturating_sub(1) / 4 * 4;
        let later = self.held.split_off(certain);
        let quads = std::mem::replace(&mut self.held, later);
        if quads.contains(&b'=') {
            return Err(NotBase64);
        }
        STANDARD.decode(quads).map_err(|_| NotBase64)
    }

    /// Gives what is left.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, NotBase64> {
        if !self.past_prefix {
            self.cut_prefix(true)?;
        }
        STANDARD.decode(&self.held).map_err(|_| NotBase64)
    }

    /// True once it is known where the base64 begins.
    fn cut_prefix(&mut self, at_end: bool) -> Result<bool, NotBase64> {
        let start = self
            .held
            .get(..SCHEME.len().min(self.held.len()))
            .unwrap_or_default();
        if !start.eq_ignore_ascii_case(SCHEME.get(..start.len()).unwrap_or_default()) {
            self.past_prefix = true;
            return Ok(true);
        }
        if start.len() == SCHEME.len()
            && let Some(comma) = self
                .held
                .iter()
                .take(LONGEST_PREFIX)
                .position(|&b| b == b',')
        {
            let rest = self.held.split_off(comma + 1);
            let prefix = std::mem::replace(&mut self.held, rest);
            let media = prefix.get(..comma).unwrap_or_default();
            let marked = media.len() >= MARK.len()
                && media
                    .get(media.len() - MARK.len()..)
                    .is_some_and(|end| end.eq_ignore_ascii_case(MARK));
            self.past_prefix = true;
            return if marked { Ok(true) } else { Err(NotBase64) };
        }
        if self.held.len() >= LONGEST_PREFIX {
            return Err(NotBase64);
        }
        if at_end && start.len() < SCHEME.len() {
            // "d", "da", ...: too short for a prefix, so it is content
            self.past_prefix = true;
            return Ok(true);
        }
        if at_end { Err(NotBase64) } else { Ok(false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(text: &str, step: usize) -> Result<Vec<u8>, NotBase64> {
        let mut decoder = Decoder::default();
        let mut bytes = Vec::new();
        for chunk in text.as_bytes().chunks(step) {
            bytes.extend(decoder.feed(chunk)?);
        }
        bytes.extend(decoder.finish()?);
        Ok(bytes)
    }

    #[test]
    fn good_text_decodes_whatever_the_chunks() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("QQ==", b"A"),
            ("data", b"u\xab\x5a"),
            ("QUJDRA==", b"ABCD"),
            ("data:application/pdf;base64,QUJD", b"ABC"),
            ("DATA:;BASE64,QUJDREU=", b"ABCDE"),
            ("data:text/plain;charset=utf-8;base64,", b""),
        ] {
            for step in 1..=text.len().max(1) {
                assert_eq!(decode(text, step).as_deref(), Ok(bytes), "{text} by {step}");
            }
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "QQ",
            "QQ=",
            "QR==",
            "QQ==QQ==",
            "QU JD",
            "QUJD\n",
            "QU-_",
            "data:application/pdf,QUJD",
            "data:QUJD",
            "=",
        ] {
            for step in 1..=text.len() {
                assert_eq!(decode(text, step), Err(NotBase64), "{text} by {step}");
            }
        }
    }
}
