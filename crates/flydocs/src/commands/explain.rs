//! `explain CODE`: the page of an error code, out of the binary.

use flydocs_contract::ErrorCode;
use include_dir::{Dir, include_dir};

use crate::{
    Outcome,
    exit::Exit,
    failure::Failure,
    output::{
        Out, Paint,
        rows::{Lean, pad},
    },
};

static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../docs/errors");

/// Prints the page, or the list of codes.
pub(super) fn run(code: Option<&str>, out: &mut Out) -> Outcome {
    let paint = Paint::stdout();
    let Some(code) = code else {
        let widest = ErrorCode::ALL
            .iter()
            .map(|c| c.as_str().len())
            .max()
            .unwrap_or(0);
        for code in ErrorCode::ALL {
            let name = paint.name(&pad(code.as_str(), widest, Lean::Left));
            out.line(&format!("{name}  {}", code.title()))?;
        }
        return Ok(Exit::Done);
    };
    let known: ErrorCode = code
        .parse()
        .map_err(|error: flydocs_contract::code::UnknownCode| {
            Failure::new(
                ErrorCode::NotFound,
                format!("{error}; `flydocs explain` lists all of them"),
                Exit::Usage,
            )
        })?;
    let page = PAGES
        .get_file(format!("{known}.md"))
        .and_then(|file| file.contents_utf8())
        .ok_or_else(|| anyhow::anyhow!("the page of {known} is not in this build"))?;
    for line in page.lines() {
        let line = match line.strip_prefix('#') {
            Some(heading) => paint.bold(heading.trim_start_matches('#').trim_start()),
            None => line.to_owned(),
        };
        out.line(&line)?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_page_in_the_binary() {
        for code in ErrorCode::ALL {
            assert!(PAGES.get_file(format!("{code}.md")).is_some(), "{code}");
        }
    }
}
