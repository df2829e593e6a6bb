//! RTF: its text, with code pages, `\u`, tables by cells and rows.

use bytes::Bytes;
use encoding_rs::Encoding;

use super::failed;
use crate::{
    error::Result,
    laid_out::{Block, Blocks},
};

/// Groups nested deeper than this are no document.
const MAX_DEPTH: usize = 1024;

/// Groups that hold no text of the document.
const SILENT: &[&str] = &[
    "fonttbl",
    "colortbl",
    "stylesheet",
    "info",
    "pict",
    "object",
    "objdata",
    "themedata",
    "colorschememapping",
    "latentstyles",
    "datastore",
    "generator",
    "listtable",
    "listoverridetable",
    "rsidtbl",
    "xmlnstbl",
    "filetbl",
    "fldinst",
    "bkmkstart",
    "bkmkend",
    "nonshppict",
    "mmathPr",
    "revtbl",
    "pgptbl",
];

pub(super) fn read(filename: &str, content: &Bytes) -> Result<Blocks> {
    let mut reader = Reader::new();
    reader.run(content).map_err(|why| failed(filename, why))?;
    Ok(reader.finish())
}

#[derive(Clone, Copy)]
struct Group {
    silent: bool,
    /// Characters that stand after a `\u` for readers that do not know it.
    skip: usize,
    bold: bool,
}

struct Reader {
    groups: Vec<Group>,
    encoding: &'static Encoding,
    bytes: Vec<u8>,
    high: Option<u16>,
    pending_skip: usize,
    text: String,
    bold: bool,
    row: Vec<String>,
    table: Vec<Vec<String>>,
    blocks: Blocks,
}

impl Reader {
    fn new() -> Self {
        Self {
            groups: vec![Group {
                silent: false,
                skip: 1,
                bold: false,
            }],
            encoding: encoding_rs::WINDOWS_1252,
            bytes: Vec::new(),
            high: None,
            pending_skip: 0,
            text: String::new(),
            bold: false,
            row: Vec::new(),
            table: Vec::new(),
            blocks: Blocks::default(),
        }
    }

    fn group(&mut self) -> Group {
        self.groups.last().copied().unwrap_or(Group {
            silent: false,
            skip: 1,
            bold: false,
        })
    }

    fn run(&mut self, rtf: &[u8]) -> std::result::Result<(), String> {
        let mut at = 0;
        while let Some(byte) = rtf.get(at) {
            at += 1;
            match byte {
                b'{' => {
                    if self.groups.len() > MAX_DEPTH {
                        return Err(format!("its groups nest deeper than {MAX_DEPTH}"));
                    }
                    let group = self.group();
                    self.groups.push(group);
                }
                b'}' => {
                    self.flush();
                    if self.groups.len() > 1 {
                        self.groups.pop();
                    }
                }
                b'\\' => at = self.control(rtf, at),
                b'\r' | b'\n' => {}
                byte => self.byte(*byte),
            }
        }
        self.flush();
        Ok(())
    }

    /// A control word or symbol at `at`, just after its backslash; where it ends.
    fn control(&mut self, rtf: &[u8], at: usize) -> usize {
        let rest = rtf.get(at..).unwrap_or_default();
        let Some(first) = rest.first() else {
            return at;
        };
        if !first.is_ascii_alphabetic() {
            return at + 1 + self.symbol(*first, rest);
        }
        let letters = rest
            .iter()
            .take_while(|b| b.is_ascii_alphabetic())
            .count()
            .min(32);
        let word = std::str::from_utf8(&rest[..letters]).unwrap_or_default();
        let tail = &rest[letters..];
        let sign = usize::from(tail.first() == Some(&b'-'));
        let digits = tail[sign.min(tail.len())..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
            .min(10);
        let number: Option<i64> = (digits > 0)
            .then(|| {
                std::str::from_utf8(&tail[..sign + digits])
                    .ok()?
                    .parse()
                    .ok()
            })
            .flatten();
        let mut end = letters + if digits > 0 { sign + digits } else { 0 };
        if rest.get(end) == Some(&b' ') {
            end += 1;
        }
        if word == "bin" {
            let skip = usize::try_from(number.unwrap_or(0)).unwrap_or(0);
            return at.saturating_add(end).saturating_add(skip);
        }
        self.word(word, number);
        at + end
    }

    /// Characters eaten after the symbol itself.
    fn symbol(&mut self, symbol: u8, rest: &[u8]) -> usize {
        match symbol {
            b'\'' => {
                let code = rest
                    .get(1..3)
                    .and_then(|hex| std::str::from_utf8(hex).ok())
                    .and_then(|hex| u8::from_str_radix(hex, 16).ok());
                if let Some(code) = code {
                    self.byte(code);
                    return 2;
                }
                0
            }
            b'*' => {
                self.silence();
                0
            }
            b'~' => {
                self.character(' ');
                0
            }
            b'_' => {
                self.character('-');
                0
            }
            b'\r' | b'\n' => {
                self.end_paragraph();
                0
            }
            b'{' | b'}' | b'\\' => {
                self.byte(symbol);
                0
            }
            _ => 0,
        }
    }

    fn silence(&mut self) {
        if let Some(group) = self.groups.last_mut() {
            group.silent = true;
        }
    }

    fn word(&mut self, word: &str, number: Option<i64>) {
        match word {
            "u" => {
                let code = number.unwrap_or(0).rem_euclid(65_536) as u16;
                self.flush();
                self.utf16(code);
                self.pending_skip = self.group().skip;
            }
            "uc" => {
                if let Some(group) = self.groups.last_mut() {
                    group.skip = usize::try_from(number.unwrap_or(1)).unwrap_or(1).min(16);
                }
            }
            "ansicpg" => {
                let label = format!("windows-{}", number.unwrap_or(1252));
                self.encoding = Encoding::for_label(label.as_bytes()).unwrap_or(self.encoding);
            }
            "b" => {
                if let Some(group) = self.groups.last_mut() {
                    group.bold = number != Some(0);
                }
            }
            "plain" => {
                if let Some(group) = self.groups.last_mut() {
                    group.bold = false;
                }
            }
            "par" | "line" | "sect" => self.end_paragraph(),
            "page" => {
                self.end_paragraph();
                if !self.group().silent {
                    self.end_table();
                    self.blocks.0.push(Block::PageBreak);
                }
            }
            "tab" => self.character('\t'),
            "cell" | "nestcell" => self.end_cell(),
            "row" | "nestrow" => self.end_row(),
            "emdash" => self.character('\u{2014}'),
            "endash" => self.character('\u{2013}'),
            "bullet" => self.character('\u{2022}'),
            "lquote" => self.character('\u{2018}'),
            "rquote" => self.character('\u{2019}'),
            "ldblquote" => self.character('\u{201c}'),
            "rdblquote" => self.character('\u{201d}'),
            word if SILENT.contains(&word) => self.silence(),
            _ => {}
        }
    }

    fn byte(&mut self, byte: u8) {
        if self.pending_skip > 0 {
            self.pending_skip -= 1;
            return;
        }
        if !self.group().silent {
            self.bytes.push(byte);
        }
    }

    fn character(&mut self, ch: char) {
        self.flush();
        self.pending_skip = 0;
        if !self.group().silent {
            self.text.push(ch);
        }
    }

    fn utf16(&mut self, unit: u16) {
        if self.group().silent {
            return;
        }
        let units: Vec<u16> = self.high.take().into_iter().chain([unit]).collect();
        if (0xd800..0xdc00).contains(&unit) {
            self.high = Some(unit);
            return;
        }
        self.text.push_str(&String::from_utf16_lossy(&units));
    }

    /// Bytes gathered so far become text of the document's code page.
    fn flush(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let (text, _) = self.encoding.decode_without_bom_handling(&self.bytes);
        self.text.push_str(&text);
        self.bytes.clear();
        self.bold = self.group().bold;
    }

    fn end_paragraph(&mut self) {
        self.flush();
        if self.group().silent {
            return;
        }
        if !self.row.is_empty() {
            self.text.push(' ');
            return;
        }
        self.end_table();
        let text = std::mem::take(&mut self.text);
        let bold = self.bold;
        self.blocks.0.push(Block::Line { text, bold });
    }

    fn end_cell(&mut self) {
        self.flush();
        if !self.group().silent {
            self.row
                .push(std::mem::take(&mut self.text).trim().to_owned());
        }
    }

    fn end_row(&mut self) {
        self.flush();
        if !self.group().silent && !self.row.is_empty() {
            self.table.push(std::mem::take(&mut self.row));
        }
    }

    fn end_table(&mut self) {
        if !self.table.is_empty() {
            self.blocks
                .0
                .push(Block::Table(std::mem::take(&mut self.table)));
        }
    }

    fn finish(mut self) -> Blocks {
        self.end_row();
        if !self.text.trim().is_empty() {
            self.end_paragraph();
        }
        self.end_table();
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rtf: &str) -> Vec<Block> {
        read("x.rtf", &Bytes::copy_from_slice(rtf.as_bytes()))
            .expect("it is read")
            .0
    }

    #[test]
    fn code_pages_unicode_and_paragraphs_are_kept() {
        let rtf =
            r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}Gr\'f6\'dfe \u8364?5\par{\b Total}\par}";
        assert_eq!(
            lines(rtf),
            [
                Block::Line {
                    text: "Größe €5".to_owned(),
                    bold: false
                },
                Block::Line {
                    text: "Total".to_owned(),
                    bold: true
                },
            ]
        );
    }

    #[test]
    fn cells_and_rows_become_a_table() {
        let rtf =
            r"{\rtf1 \trowd Item\cell Price\cell\row \trowd Pen\cell 1.50\cell\row\pard end\par}";
        assert_eq!(
            lines(rtf),
            [
                Block::Table(vec![
                    vec!["Item".to_owned(), "Price".to_owned()],
                    vec!["Pen".to_owned(), "1.50".to_owned()],
                ]),
                Block::Line {
                    text: "end".to_owned(),
                    bold: false
                },
            ]
        );
    }
}
