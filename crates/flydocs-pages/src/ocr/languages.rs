//! From a caller's language hint to tesseract's names.

const NAMES: &[(&str, &str)] = &[
    ("es", "spa"),
    ("en", "eng"),
    ("fr", "fra"),
    ("de", "deu"),
    ("it", "ita"),
    ("pt", "por"),
    ("nl", "nld"),
    ("ca", "cat"),
    ("eu", "eus"),
    ("gl", "glg"),
    ("ja", "jpn"),
    ("ko", "kor"),
    ("zh", "chi_sim"),
    ("ar", "ara"),
    ("ru", "rus"),
    ("pl", "pol"),
];

/// The configured languages plus the hinted one (`de`, `de-AT`), each once, joined by `+`.
/// A hint nobody knows changes nothing.
pub(crate) fn languages(configured: &str, hint: Option<&str>) -> String {
    let hinted = hint.and_then(|hint| {
        let primary = hint
            .split(['-', '_'])
            .next()
            .unwrap_or(hint)
            .trim()
            .to_ascii_lowercase();
        NAMES
            .iter()
            .find(|(code, _)| *code == primary)
            .map(|(_, name)| *name)
    });
    let mut names: Vec<&str> = Vec::new();
    for name in configured.split('+').map(str::trim).chain(hinted) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names.join("+")
}

#[cfg(test)]
mod tests {
    use super::languages;

    #[test]
    fn a_hint_is_added_to_the_configured_languages() {
        assert_eq!(languages("eng", Some("de")), "eng+deu");
        assert_eq!(languages("eng", Some("pt-BR")), "eng+por");
        assert_eq!(languages("eng+spa", Some("es")), "eng+spa");
        assert_eq!(languages("eng", Some("ZH_hant")), "eng+chi_sim");
        assert_eq!(languages("deu", None), "deu");
        assert_eq!(languages("eng", Some("tlh")), "eng");
    }
}
