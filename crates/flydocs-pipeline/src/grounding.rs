//! Boxes of one document after another, grounded among the words of their pages: what the inline stage and the
//! bbox worker share. A page is read, and recognised where it is a picture, only when a value needs it.

use std::{cell::RefCell, sync::Arc};

use flydocs_contract::{PageWords, request::DocumentTypeSpec, result::ExtractedFieldGroup};
use flydocs_grounding::{Pages, ground, quality};
use futures::FutureExt;
use tokio::runtime::Handle;

use crate::{
    error::Result,
    failure::Failure,
    scope::{Outcome, Scope},
    words::Sheets,
};

/// One document to be grounded.
pub(crate) struct Unit {
    pub(crate) sheets: Sheets,
    pub(crate) groups: Vec<ExtractedFieldGroup>,
    pub(crate) document_type: Option<Arc<DocumentTypeSpec>>,
    pub(crate) language: Option<String>,
}

/// What became of it.
pub(crate) struct Grounded {
    pub(crate) groups: Vec<ExtractedFieldGroup>,
    /// Pages that could not be read.
    pub(crate) failures: Vec<Failure>,
    /// How many pages were read.
    pub(crate) pages_read: usize,
}

/// Grounds documents on the blocking pool; outcomes in their order.
pub(crate) async fn ground_all(scope: &Scope, units: Vec<Unit>) -> Result<Vec<Outcome<Grounded>>> {
    let runtime = Handle::current();
    let threshold = scope.services.options.bbox_refine_threshold;
    let outcomes = scope
        .each_blocking(units, move |unit, stop| {
            let pages = Lazy {
                sheets: unit.sheets,
                runtime: runtime.clone(),
                failures: RefCell::default(),
                read: RefCell::default(),
            };
            let options = flydocs_grounding::Options {
                threshold,
                language_hint: unit.language,
            };
            let mut groups = unit.groups;
            let schema = unit.document_type.as_deref();
            let done = ground(&mut groups, schema, &pages, &options, &|| {
                stop.is_cancelled()
            });
            if done.is_err() || stop.is_cancelled() {
                return None;
            }
            quality::judge(&mut groups);
            Some(Grounded {
                groups,
                failures: pages.failures.into_inner(),
                pages_read: pages.read.into_inner(),
            })
        })
        .await?;
    let outcomes = outcomes.into_iter().map(|outcome| match outcome {
        Outcome::Done(Some(grounded)) => Outcome::Done(grounded),
        Outcome::Done(None) | Outcome::Late => Outcome::Late,
        Outcome::Failed(failure) => Outcome::Failed(failure),
    });
    Ok(outcomes.collect())
}

/// The pages of a document for a matcher that computes: each is fetched from the async side when it is asked for.
struct Lazy {
    sheets: Sheets,
    runtime: Handle,
    failures: RefCell<Vec<Failure>>,
    read: RefCell<usize>,
}

impl Pages for Lazy {
    fn numbers(&self) -> Vec<u32> {
        self.sheets.numbers().to_vec()
    }

    fn words(&self, page: u32) -> Option<Arc<PageWords>> {
        let stop = self.sheets.stop();
        let read = self.runtime.block_on(async {
            tokio::select! {
                read = self.sheets.one(page).fuse() => Some(read),
                () = stop.cancelled() => None,
            }
        })?;
        match read {
            Ok(words) => {
                let done = self.read.replace_with(|read| *read + 1) + 1;
                self.sheets.tell(done);
                Some(words)
            }
            Err(failure) => {
                self.failures.borrow_mut().push(failure);
                None
            }
        }
    }
}
