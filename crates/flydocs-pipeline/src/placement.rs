//! Which file each document of a stored result stands in, also when several files have one name.
//!
//! A result names files, and names may repeat. Files and documents stand in one order though (file by file, then by
//! page), so that names, page counts and the type each file was matched to leave one way to put them together.

use std::collections::HashSet;

use flydocs_contract::result::{Document, ExtractionResult, FileSummary};

use crate::{
    error::{Error, Result},
    run::FileRow,
};

/// The position in `rows` of each document's file.
pub(crate) fn of(result: &ExtractionResult, rows: &[FileRow]) -> Result<Vec<usize>> {
    if result.files.len() != rows.len() {
        return Err(Error::FilesDiffer {
            detail: format!(
                "the result has {} files, {} were given",
                result.files.len(),
                rows.len()
            ),
        });
    }
    for (file, row) in result.files.iter().zip(rows) {
        let (known, given) = (file, &row.row);
        if known.filename != given.filename || known.page_count != given.page_count {
            return Err(Error::FilesDiffer {
                detail: format!(
                    "{} with {} pages was extracted, {} with {} pages was given",
                    known.filename, known.page_count, given.filename, given.page_count
                ),
            });
        }
    }
    let mut places = vec![0; result.documents.len()];
    let mut search = Search {
        files: &result.files,
        documents: &result.documents,
        places: &mut places,
        dead_ends: HashSet::new(),
    };
    if search.place(0, 0) {
        return Ok(places);
    }
    Err(Error::FilesDiffer {
        detail: "the documents of the result do not fit its files".to_owned(),
    })
}

struct Search<'a> {
    files: &'a [FileSummary],
    documents: &'a [Document],
    places: &'a mut [usize],
    /// Where no way was found: each is tried once.
    dead_ends: HashSet<(usize, usize)>,
}

impl Search<'_> {
    /// Places the documents from one on into the files from one on; false when there is no way.
    fn place(&mut self, document: usize, file: usize) -> bool {
        if file >= self.files.len() {
            return document >= self.documents.len();
        }
        if self.dead_ends.contains(&(document, file)) {
            return false;
        }
        // Files come one after the other, so the first that takes as few as it may leaves most to the others.
        let mut taken = 0;
        if self.is_complete(file, document, taken) && self.place(document, file + 1) {
            return true;
        }
        while self.fits(file, document, taken) {
            if let Some(place) = self.places.get_mut(document + taken) {
                *place = file;
            }
            taken += 1;
            if self.is_complete(file, document, taken) && self.place(document + taken, file + 1) {
                return true;
            }
        }
        self.dead_ends.insert((document, file));
        false
    }

    /// Whether the file's next document is the one `taken` after `first`.
    fn fits(&self, file: usize, first: usize, taken: usize) -> bool {
        let (Some(file), Some(document)) =
            (self.files.get(file), self.documents.get(first + taken))
        else {
            return false;
        };
        let before = taken
            .checked_sub(1)
            .and_then(|back| self.documents.get(first + back));
        let is_behind = before.is_none_or(|before| before.pages.last() < document.pages.first());
        let is_its_type = taken > 0 || file.matched_type.as_deref() == Some(&document.type_id);
        document.source_file == file.filename
            && document
                .pages
                .iter()
                .all(|p| (1..=file.page_count).contains(p))
            && is_behind
            && is_its_type
    }

    /// Whether a file may have exactly these documents: some when it was matched, none when not; and a file whose
    /// name no later file has takes all of its name.
    fn is_complete(&self, file: usize, first: usize, taken: usize) -> bool {
        let Some(summary) = self.files.get(file) else {
            return false;
        };
        let next = self.documents.get(first + taken);
        let is_last_of_name = !self
            .files
            .iter()
            .skip(file + 1)
            .any(|f| f.filename == summary.filename);
        let leaves_own = next.is_some_and(|d| d.source_file == summary.filename);
        summary.matched_type.is_some() == (taken > 0) && !(leaves_own && is_last_of_name)
    }
}
