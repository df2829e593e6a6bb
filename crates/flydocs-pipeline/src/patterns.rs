//! A caller's patterns: the linear-time dialect of the `regex` crate, held against the whole value.

use regex::Regex;

/// Compiles a pattern so that it must match the whole value; the reason when it is none.
pub(crate) fn whole(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| reason(&error))?;
    Regex::new(&format!(r"\A(?:{pattern})\z"))
        // The pattern may end in a comment, which would swallow what closes it.
        .or_else(|_| Regex::new(&format!("\\A(?:{pattern}\n)\\z")))
        .map_err(|error| reason(&error))
}

/// The parser's last line says what is wrong; the lines before draw where.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("compiles to more than the {limit} bytes a pattern may take")
        }
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_the_whole_value_or_not_at_all() {
        for (pattern, value, wanted) in [
            ("a|ab", "ab", true),
            ("a|ab", "abc", false),
            (r"\d{4}", "1234", true),
            (r"\d{4}", "12345", false),
            (r"\d{4}", "1234\n", false),
            ("(?i)ab", "AB", true),
            ("(?x) a b # letters", "ab", true),
            ("^a$", "a", true),
            ("", "", true),
        ] {
            assert_eq!(
                whole(pattern).unwrap().is_match(value),
                wanted,
                "{pattern} {value:?}"
            );
        }
    }

    #[test]
    fn what_is_not_linear_or_not_small_is_refused_with_its_reason() {
        for (pattern, wanted) in [
            (r"(?=a)b", "look-around"),
            (r"(a)\1", "backreferences"),
            ("(", "unclosed group"),
            (r"((\w{100}){100}){100}", "bytes"),
        ] {
            let reason = whole(pattern).unwrap_err();
            assert!(reason.contains(wanted), "{pattern}: {reason}");
        }
    }
}
