//! load: files become rows (an archive its members), each row one whole-file segment.
//!
//! The only stage that ends a run: a file that cannot be read is the caller's to mend.

use std::sync::Arc;

use flydocs_contract::ErrorCode;
use flydocs_pages::{Error as ReadError, Row, Source};
use futures::FutureExt;

use crate::{
    error::{Error, Result},
    input::InputFile,
    run::{FileRow, Run, SegmentState},
    scope::{Outcome, Scope},
    stage::Stage,
};

pub(crate) const STAGE: Stage = Stage {
    node: super::LOAD,
    setting: Some("FLYDOCS_LOAD_TIMEOUT_S"),
    ceiling: |options| options.load_timeout,
    applies: |_| true,
    work: |run, scope| load(run, scope).boxed(),
};

async fn load(run: &mut Run, scope: &Scope) -> Result<()> {
    let files = std::mem::take(&mut run.files);
    let declared = run.request.options.declared_media_type.clone();
    run.rows = rows(scope, files, declared.as_deref()).await?;
    // Nothing to find out: one document, and only one thing it can be.
    if !run.request.options.stages.classifier
        && let Some(only) = run.only_type().map(|t| t.id.clone())
        && let [row] = run.rows.as_mut_slice()
        && row.pin.is_none()
    {
        row.pin = Some(only);
    }
    let segments = run.rows.iter().enumerate();
    run.segments = segments
        .map(|(i, row)| SegmentState::whole(i, row))
        .collect();
    Ok(())
}

/// Reads files into rows, in their order.
pub(crate) async fn rows(
    scope: &Scope,
    files: Vec<InputFile>,
    declared_media_type: Option<&str>,
) -> Result<Vec<FileRow>> {
    let names: Vec<_> = files.iter().map(|f| f.source.filename.clone()).collect();
    let expected: Vec<_> = files.iter().map(|f| f.expected_type.clone()).collect();
    let read = scope
        .each(files, |file| {
            let (reader, stop) = (Arc::clone(&scope.services.reader), scope.stop());
            let hint = declared_media_type.map(str::to_owned);
            let source = Source {
                declared_media_type: hint.or(file.source.declared_media_type),
                ..file.source
            };
            // The reader's refusal is this stage's answer, not a failure of the unit.
            async move { Ok(reader.load(source, &stop).await) }
        })
        .await?;
    let mut rows = Vec::new();
    for ((outcome, filename), expected_type) in read.into_iter().zip(names).zip(expected) {
        let members = match outcome {
            Outcome::Done(loaded) => loaded.map_err(|source| match source {
                ReadError::Cancelled => Error::Cancelled,
                source => Error::Load {
                    source: Box::new(source),
                },
            })?,
            Outcome::Failed(_) => return Err(Error::Internal { node: scope.node }),
            Outcome::Late => {
                let seconds = scope.services.options.load_timeout.as_secs();
                return Err(Error::LoadTimeout { filename, seconds });
            }
        };
        if members.is_empty() {
            return Err(empty(filename));
        }
        let alone = members.len() == 1;
        rows.extend(members.into_iter().map(|row: Row| {
            // What is expected of a container is not expected of each of its members.
            let expected_type = expected_type.clone().filter(|_| alone);
            FileRow {
                pin: expected_type.clone(),
                expected_type,
                row: Arc::new(row),
            }
        }));
    }
    Ok(rows)
}

fn empty(filename: String) -> Error {
    Error::Load {
        source: Box::new(ReadError::Refused {
            code: ErrorCode::EmptyFile,
            detail: format!("{filename} holds no file that could be read; send a document"),
            filename,
            facts: flydocs_contract::JsonObject::new(),
        }),
    }
}
