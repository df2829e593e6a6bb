//! A PDF of set lines: Courier for what it can show, a face to be found at reading time for the rest.

use std::{collections::BTreeMap, fmt::Write as _};

use unicode_bidi::BidiInfo;
use unicode_width::UnicodeWidthChar;

use super::set::{Line, PAGE};
use crate::script::is_rtl;

const CATALOGUE: usize = 1;
const TREE: usize = 2;
const COURIER: usize = 3;
const COURIER_BOLD: usize = 4;
const OTHER: usize = 5;
const DESCENDANT: usize = 6;
const DESCRIPTOR: usize = 7;
const TO_UNICODE: usize = 8;
const FIRST_PAGE: usize = 9;

/// Writes the pages.
pub(super) fn pdf(pages: &[Vec<Line>]) -> Vec<u8> {
    let mut other = Other::default();
    let contents: Vec<String> = pages
        .iter()
        .map(|lines| content(lines, &mut other))
        .collect();
    let mut kids = String::new();
    for page in 0..pages.len() {
        push(&mut kids, format_args!("{} 0 R ", FIRST_PAGE + page * 2));
    }
    let courier = |name: &str| {
        format!("<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>")
    };
    let mut objects = vec![
        format!("<< /Type /Catalog /Pages {TREE} 0 R >>"),
        format!("<< /Type /Pages /Count {} /Kids [{kids}] >>", pages.len()),
        courier("Courier"),
        courier("Courier-Bold"),
        format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /FlydocsOther /Encoding /Identity-H \
             /DescendantFonts [{DESCENDANT} 0 R] /ToUnicode {TO_UNICODE} 0 R >>"
        ),
        format!(
            "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /FlydocsOther /DW 600 /W [{}] \
             /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> \
             /FontDescriptor {DESCRIPTOR} 0 R >>",
            other.widths()
        ),
        "<< /Type /FontDescriptor /FontName /FlydocsOther /Flags 5 /FontBBox [0 -300 1200 900] \
         /ItalicAngle 0 /Ascent 900 /Descent -300 /CapHeight 700 /StemV 80 >>"
            .to_owned(),
        stream(&other.to_unicode()),
    ];
    for (page, content) in contents.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent {TREE} 0 R /MediaBox [0 0 {} {}] /Contents {} 0 R /Resources \
             << /Font << /F1 {COURIER} 0 R /F2 {COURIER_BOLD} 0 R /F3 {OTHER} 0 R >> >> >>",
            PAGE.0,
            PAGE.1,
            FIRST_PAGE + page * 2 + 1
        ));
        objects.push(stream(content));
    }
    assemble(&objects)
}

pub(crate) fn stream(content: &str) -> String {
    format!(
        "<< /Length {} >>\nstream\n{content}\nendstream",
        content.len()
    )
}

/// Objects 1.. as a file; the first is the catalogue.
pub(crate) fn assemble(objects: &[String]) -> Vec<u8> {
    let mut file = String::from("%PDF-1.7\n");
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (index, object) in objects.iter().enumerate() {
        push(&mut table, format_args!("{:010} 00000 n \n", file.len()));
        push(
            &mut file,
            format_args!("{} 0 obj\n{object}\nendobj\n", index + 1),
        );
    }
    let start = file.len();
    file += &table;
    push(
        &mut file,
        format_args!(
            "trailer\n<< /Size {} /Root {CATALOGUE} 0 R >>\nstartxref\n{start}\n%%EOF\n",
            objects.len() + 1
        ),
    );
    file.into_bytes()
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    // writing to a string cannot fail
    let _infallible = text.write_fmt(what);
}

/// The characters Courier cannot show, each with a code of its own.
#[derive(Default)]
struct Other {
    codes: BTreeMap<char, u16>,
}

impl Other {
    fn code(&mut self, ch: char) -> u16 {
        let next = u16::try_from(self.codes.len() + 1).unwrap_or(u16::MAX);
        *self.codes.entry(ch).or_insert(next)
    }

    fn by_code(&self) -> Vec<(u16, char)> {
        let mut all: Vec<(u16, char)> = self.codes.iter().map(|(ch, code)| (*code, *ch)).collect();
        all.sort_unstable();
        all
    }

    fn widths(&self) -> String {
        let mut widths = String::new();
        for (code, ch) in self.by_code() {
            let cells = ch.width().unwrap_or(1);
            if cells != 1 {
                push(&mut widths, format_args!("{code} [{}] ", cells * 600));
            }
        }
        widths
    }

    fn to_unicode(&self) -> String {
        let mut map = String::from(
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n\
             /CMapName /FlydocsOther def /CMapType 2 def\n\
             1 begincodespacerange <0000> <FFFF> endcodespacerange\n",
        );
        for block in self.by_code().chunks(100) {
            push(&mut map, format_args!("{} beginbfchar\n", block.len()));
            for (code, ch) in block {
                let mut units = String::new();
                for unit in ch.encode_utf16(&mut [0; 2]) {
                    push(&mut units, format_args!("{unit:04X}"));
                }
                push(&mut map, format_args!("<{code:04X}> <{units}>\n"));
            }
            map += "endbfchar\n";
        }
        map += "endcmap CMapName currentdict /CMap defineresource pop end end\n";
        map
    }
}

fn content(lines: &[Line], other: &mut Other) -> String {
    let mut out = String::new();
    for line in lines {
        let text = visual(&line.text);
        let mut column = 0;
        for (shown, word) in runs(&text) {
            let x = line.x + column as f64 * line.size * 0.6;
            let y = PAGE.1 - line.baseline;
            column += word.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>();
            if word.trim().is_empty() {
                continue;
            }
            let (font, string) = if shown {
                (if line.bold { "F2" } else { "F1" }, literal(word))
            } else {
                let mut codes = String::from("<");
                for ch in word.chars() {
                    push(&mut codes, format_args!("{:04X}", other.code(ch)));
                }
                ("F3", codes + ">")
            };
            push(
                &mut out,
                format_args!(
                    "BT /{font} {:.3} Tf {x:.3} {y:.3} Td {string} Tj ET\n",
                    line.size
                ),
            );
        }
    }
    out
}

/// Text as it stands on paper, from left to right.
fn visual(text: &str) -> String {
    if !text.contains(is_rtl) {
        return text.to_owned();
    }
    let info = BidiInfo::new(text, None);
    info.paragraphs
        .iter()
        .map(|paragraph| {
            info.reorder_line(paragraph, paragraph.range.clone())
                .into_owned()
        })
        .collect()
}

/// Pieces that Courier can show and pieces that it cannot.
fn runs(text: &str) -> Vec<(bool, &str)> {
    let mut runs = Vec::new();
    let mut start = 0;
    let mut current = None;
    for (at, ch) in text.char_indices() {
        let shown = win_ansi(ch).is_some();
        if current.is_some_and(|c| c != shown) {
            runs.push((!shown, &text[start..at]));
            start = at;
        }
        current = Some(shown);
    }
    if let Some(shown) = current {
        runs.push((shown, &text[start..]));
    }
    runs
}

/// The code of a character in WinAnsiEncoding.
fn win_ansi(ch: char) -> Option<u8> {
    if matches!(ch, ' '..='~') {
        return Some(ch as u8);
    }
    let mut buffer = [0; 4];
    let (bytes, _, unmappable) = encoding_rs::WINDOWS_1252.encode(ch.encode_utf8(&mut buffer));
    match bytes.as_ref() {
        [byte] if !unmappable && *byte >= 0x80 && !ch.is_control() => Some(*byte),
        _ => None,
    }
}

fn literal(text: &str) -> String {
    let mut out = String::from("(");
    for ch in text.chars() {
        match (ch, win_ansi(ch)) {
            ('(' | ')' | '\\', _) => {
                out.push('\\');
                out.push(ch);
            }
            (_, Some(byte)) if byte < 0x80 => out.push(ch),
            (_, Some(byte)) => push(&mut out, format_args!("\\{byte:03o}")),
            (_, None) => out.push('?'),
        }
    }
    out.push(')');
    out
}
