//! Splits a JSON body while it arrives: the text of `files[i].content_base64` goes one way, all the rest is
//! kept as a small skeleton that is parsed at the end. So a request of any size costs little memory.
//!
//! The scanner only finds where those strings begin and end. Whether the skeleton is JSON at all, and of the
//! right shape, is judged later; a body that fools it (escaped keys, a second `files`) only keeps more text.

/// A part of the body, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// The content of a file begins; its name when it came before.
    Open {
        /// Which entry of `files`.
        index: usize,
        /// Its `filename`, when that key came first.
        filename: Option<String>,
    },
    /// Some of its text, unescaped.
    Text(Vec<u8>),
    /// It ended.
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Object { at_key: bool },
    Array,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Structure,
    Key,
    Value,
    Name,
    File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Started,
    Unicode { seen: u8, code: u32 },
}

/// The state between two chunks.
#[derive(Debug)]
pub(crate) struct Scanner {
    skeleton: Vec<u8>,
    frames: Vec<Frame>,
    inside: Inside,
    escape: Escape,
    /// The last key at depth 1 (of the body) and at depth 3 (of a file).
    body_key: Vec<u8>,
    file_key: Vec<u8>,
    name: Vec<u8>,
    filename: Option<String>,
    index: usize,
}

/// Longer keys are none of ours.
const LONGEST_KEY: usize = 32;
const LONGEST_NAME: usize = 1024;

impl Scanner {
    /// At the start of a body.
    pub(crate) fn new() -> Self {
        Self {
            skeleton: Vec::new(),
            frames: Vec::new(),
            inside: Inside::Structure,
            escape: Escape::None,
            body_key: Vec::new(),
            file_key: Vec::new(),
            name: Vec::new(),
            filename: None,
            index: 0,
        }
    }

    /// How much is kept.
    pub(crate) fn kept(&self) -> usize {
        self.skeleton.len()
    }

    /// The body without the contents.
    pub(crate) fn into_skeleton(self) -> Vec<u8> {
        self.skeleton
    }

    /// Takes the next chunk.
    pub(crate) fn feed(&mut self, chunk: &[u8], pieces: &mut Vec<Piece>) {
        let mut rest = chunk;
        while let Some((&byte, after)) = rest.split_first() {
            if self.inside == Inside::File && self.escape == Escape::None {
                let run = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                if run > 0 {
                    let (text, after) = rest.split_at(run);
                    pieces.push(Piece::Text(text.to_vec()));
                    rest = after;
                    continue;
                }
            }
            rest = after;
            match self.inside {
                Inside::Structure => self.structure(byte, pieces),
                Inside::Key | Inside::Value | Inside::Name => self.string(byte),
                Inside::File => self.file(byte, pieces),
            }
        }
    }

    fn structure(&mut self, byte: u8, pieces: &mut Vec<Piece>) {
        self.skeleton.push(byte);
        match byte {
            b'{' => {
                self.frames.push(Frame::Object { at_key: true });
                if self.frames.len() == 3 {
                    self.file_key.clear();
                    self.filename = None;
                }
            }
            b'[' => {
                self.frames.push(Frame::Array);
                if self.frames.len() == 2 {
                    self.index = 0;
                }
            }
            b'}' | b']' => {
                self.frames.pop();
            }
            b',' => {
                if self.frames.len() == 2 {
                    self.index += 1;
                }
                if let Some(Frame::Object { at_key }) = self.frames.last_mut() {
                    *at_key = true;
                }
            }
            b':' => {
                if let Some(Frame::Object { at_key }) = self.frames.last_mut() {
                    *at_key = false;
                }
            }
            b'"' => self.open_string(pieces),
            _ => {}
        }
    }

    fn open_string(&mut self, pieces: &mut Vec<Piece>) {
        self.escape = Escape::None;
        if self.frames.last() == Some(&(Frame::Object { at_key: true })) {
            self.inside = Inside::Key;
            match self.frames.len() {
                1 => self.body_key.clear(),
                3 => self.file_key.clear(),
                _ => {}
            }
            return;
        }
        let in_file = self.body_key == b"files"
            && self.frames.as_slice()
                == [
                    Frame::Object { at_key: false },
                    Frame::Array,
                    Frame::Object { at_key: false },
                ];
        self.inside = if in_file && self.file_key == b"content_base64" {
            pieces.push(Piece::Open {
                index: self.index,
                filename: self.filename.clone(),
            });
            Inside::File
        } else if in_file && self.file_key == b"filename" {
            self.name.clear();
            Inside::Name
        } else {
            Inside::Value
        };
    }

    /// Any other string: kept as it is, only its end is looked for.
    fn string(&mut self, byte: u8) {
        self.skeleton.push(byte);
        if self.escape == Escape::Started {
            self.escape = Escape::None;
            self.remember(byte);
            return;
        }
        match byte {
            b'\\' => {
                self.escape = Escape::Started;
                self.remember(byte);
            }
            b'"' => {
                if self.inside == Inside::Name {
                    let quoted = [b"\"", self.name.as_slice(), b"\""].concat();
                    self.filename = serde_json::from_slice(&quoted).ok();
                }
                self.inside = Inside::Structure;
            }
            _ => self.remember(byte),
        }
    }

    fn remember(&mut self, byte: u8) {
        let (kept, most) = match (self.inside, self.frames.len()) {
            (Inside::Key, 1) => (&mut self.body_key, LONGEST_KEY),
            (Inside::Key, 3) => (&mut self.file_key, LONGEST_KEY),
            (Inside::Name, _) => (&mut self.name, LONGEST_NAME),
            _ => return,
        };
        if kept.len() < most {
            kept.push(byte);
        }
    }

    /// A content that meets a quote or an escape.
    fn file(&mut self, byte: u8, pieces: &mut Vec<Piece>) {
        match self.escape {
            Escape::None if byte == b'"' => {
                self.skeleton.push(b'"');
                self.inside = Inside::Structure;
                pieces.push(Piece::Close);
            }
            Escape::None => self.escape = Escape::Started,
            Escape::Started if byte == b'u' => {
                self.escape = Escape::Unicode { seen: 0, code: 0 };
            }
            Escape::Started => {
                self.escape = Escape::None;
                // "\/" is how some encoders write a slash; anything else is no base64 and is refused there
                pieces.push(Piece::Text(vec![if byte == b'/' { b'/' } else { b'\\' }]));
            }
            Escape::Unicode { seen, code } => {
                let digit = char::from(byte).to_digit(16);
                let code = code * 16 + digit.unwrap_or(0);
                if digit.is_none() {
                    self.escape = Escape::None;
                    pieces.push(Piece::Text(b"\\".to_vec()));
                } else if seen == 3 {
                    self.escape = Escape::None;
                    let plain = u8::try_from(code)
                        .ok()
                        .filter(u8::is_ascii)
                        .unwrap_or(b'\\');
                    pieces.push(Piece::Text(vec![plain]));
                } else {
                    self.escape = Escape::Unicode {
                        seen: seen + 1,
                        code,
                    };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Contents = Vec<(usize, Option<String>, String)>;

    fn scan(body: &str, step: usize) -> (String, Contents) {
        let mut scanner = Scanner::new();
        let mut pieces = Vec::new();
        for chunk in body.as_bytes().chunks(step) {
            scanner.feed(chunk, &mut pieces);
        }
        let mut contents: Contents = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Open { index, filename } => contents.push((index, filename, String::new())),
                Piece::Text(text) => contents
                    .last_mut()
                    .unwrap()
                    .2
                    .push_str(std::str::from_utf8(&text).unwrap()),
                Piece::Close => {}
            }
        }
        (
            String::from_utf8(scanner.into_skeleton()).unwrap(),
            contents,
        )
    }

    #[test]
    fn contents_are_taken_out_whatever_the_chunks() {
        let body = r#"{"intention":"a \"b\" {[", "files" : [ {"filename":"a\"1.pdf","content_base64":"QUJD"},
            {"content_base64":"Rm9v\/Yg\u003d\u003d","filename":"b"}, {"content_base64":null} ],
            "metadata":{"files":[{"content_base64":"stays"}]}}"#;
        for step in 1..=body.len() {
            let (skeleton, contents) = scan(body, step);
            assert_eq!(
                contents,
                [
                    (0, Some("a\"1.pdf".to_owned()), "QUJD".to_owned()),
                    (1, None, "Rm9v/Yg==".to_owned())
                ],
                "{step}"
            );
            let value: serde_json::Value = serde_json::from_str(&skeleton).unwrap();
            assert_eq!(value["files"][0]["content_base64"], "");
            assert_eq!(value["files"][2]["content_base64"], serde_json::Value::Null);
            assert_eq!(value["metadata"]["files"][0]["content_base64"], "stays");
        }
    }

    #[test]
    fn an_escape_that_is_no_base64_stays_a_fault() {
        let (_, contents) = scan(r#"{"files":[{"content_base64":"QU\nJD\u00e9"}]}"#, 3);
        assert_eq!(contents[0].2, "QU\\JD\\");
    }

    #[test]
    fn a_body_that_is_no_json_is_kept_for_the_parser() {
        let (skeleton, contents) = scan("]]}{\"files\"::[[", 2);
        assert_eq!(skeleton, "]]}{\"files\"::[[");
        assert!(contents.is_empty());
    }
}
