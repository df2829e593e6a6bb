//! Kinds of documents: what a type is called in a schema, and what such documents call themselves.

use std::sync::LazyLock;

use super::text::phrase_pieces;

/// One kind.
#[derive(Debug)]
pub(crate) struct DocumentKind {
    /// Words of a type's id or description.
    pub names: Vec<Vec<String>>,
    /// Titles and words of its documents.
    pub titles: Vec<Vec<String>>,
}

static KINDS: LazyLock<Vec<DocumentKind>> =
    LazyLock::new(|| parse(include_str!("../../data/kinds.txt")));

fn parse(text: &str) -> Vec<DocumentKind> {
    let phrases = |part: &str| {
        part.split(" | ")
            .map(phrase_pieces)
            .filter(|p| !p.is_empty())
            .collect()
    };
    text.lines()
        .filter(|l| !l.starts_with('#'))
        .filter_map(|l| l.split_once(" = "))
        .map(|(names, titles)| DocumentKind {
            names: phrases(names),
            titles: phrases(titles),
        })
        .collect()
}

/// All kinds.
pub(crate) fn kinds() -> &'static [DocumentKind] {
    &KINDS
}

#[cfg(test)]
mod tests {
    use super::kinds;

    #[test]
    fn every_kind_has_names_and_titles() {
        assert!(kinds().len() > 10);
        assert!(
            kinds()
                .iter()
                .all(|k| !k.names.is_empty() && !k.titles.is_empty())
        );
    }
}
