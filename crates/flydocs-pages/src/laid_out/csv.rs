//! CSV: the separator found by itself, quotes honoured, one table.

use super::{Block, Blocks};

pub(super) fn blocks(text: &str) -> Blocks {
    let separator = separator(text);
    let rows = rows(text, separator);
    Blocks(vec![Block::Table(rows)])
}

/// The one of `; , tab |` that splits the first lines into the same number of cells most often; rarer ones win a tie.
fn separator(text: &str) -> char {
    let head: Vec<&str> = text
        .lines()
        .filter(|l| !l.trim().is_empty())
        .take(20)
        .collect();
    [',', '|', '\t', ';']
        .into_iter()
        .max_by_key(|separator| {
            let counts: Vec<usize> = head
                .iter()
                .map(|line| count_outside_quotes(line, *separator))
                .collect();
            let first = counts.first().copied().unwrap_or(0);
            let same = counts.iter().filter(|c| **c == first && first > 0).count();
            (same, first)
        })
        .unwrap_or(',')
}

fn count_outside_quotes(line: &str, separator: char) -> usize {
    let mut quoted = false;
    line.chars()
        .filter(|c| {
            quoted ^= *c == '"';
            *c == separator && !quoted
        })
        .count()
}

fn rows(text: &str, separator: char) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row: Vec<String> = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(ch) = chars.next() {
        match ch {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => quoted = true,
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c if c == separator && !quoted => row.push(std::mem::take(&mut cell)),
            '\n' | '\r' => cell.push(' '),
            c => cell.push(c),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows.retain(|row| row.iter().any(|cell| !cell.trim().is_empty()));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_and_quotes_are_found() {
        let text = "name;total\n\"Smith; Sons\";1,5\n\"a \"\"b\"\"\";2,0\n";
        assert_eq!(separator(text), ';');
        assert_eq!(
            rows(text, ';'),
            [
                ["name", "total"],
                ["Smith; Sons", "1,5"],
                ["a \"b\"", "2,0"]
            ]
        );
        assert_eq!(separator("a\tb, c\n1\t2, 3\n"), '\t');
    }
}
