//! discover: files of several documents become several segments.

use flydocs_engines::{Segment, SplitQuestion};
use futures::FutureExt;

use crate::{
    error::Result,
    failure::Failure,
    ledger::Answered,
    run::{FileRow, Run, SegmentState},
    scope::{Outcome, Scope},
    stage::Stage,
    words::Sheets,
};

pub(crate) const STAGE: Stage = Stage {
    node: "discover",
    setting: Some("FLYDOCS_SPLITTER_TIMEOUT_S"),
    ceiling: |options| options.splitter_timeout,
    applies: |run| run.request.options.stages.splitter && run.rows.iter().any(may_hold_several),
    work: |run, scope| discover(run, scope).boxed(),
};

fn may_hold_several(file: &FileRow) -> bool {
    file.expected_type.is_none() && file.row.page_count > 1
}

async fn discover(run: &mut Run, scope: &Scope) -> Result<()> {
    let engine = match scope.engine(run.request.options.model.as_deref()) {
        Ok(engine) => engine,
        Err(failure) => {
            run.ledger.note(scope.node, failure);
            return Ok(());
        }
    };
    let asked: Vec<_> = (0..run.rows.len())
        .filter(|i| run.rows.get(*i).is_some_and(may_hold_several))
        .collect();
    let units: Vec<_> = asked
        .iter()
        .filter_map(|i| {
            let file = run.rows.get(*i)?;
            let pages: Vec<_> = (1..=file.row.page_count).collect();
            let subject = run.subject(*i, &pages);
            let hint = run.request.options.language_hint.as_deref();
            Some((Sheets::new(scope, &file.row, pages, hint), subject))
        })
        .collect();
    let request = &run.request;
    let outcomes = scope
        .each(units, |(sheets, subject)| {
            let (engine, request) = (engine.clone(), request.clone());
            async move {
                let words = sheets.words().await?;
                let question = SplitQuestion {
                    pages: words.pages,
                    images: sheets.images(),
                    document_types: request.document_types.clone(),
                    intention: request.intention.clone(),
                };
                let answer = engine.split(question, sheets.stop()).await;
                let answer = answer.map_err(|error| Failure::of_engine(&error, &subject))?;
                Ok(Answered {
                    value: answer.value,
                    question: "split",
                    model: engine.model().to_owned(),
                    usage: answer.usage,
                    failures: words.failures,
                })
            }
        })
        .await?;
    let mut found: Vec<Option<Vec<Segment>>> = vec![None; run.rows.len()];
    for (i, outcome) in asked.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Done(answered) => {
                let segments = run.ledger.take(scope.node, answered);
                if let Some(slot) = found.get_mut(i) {
                    *slot = Some(segments);
                }
            }
            Outcome::Failed(failure) => run.ledger.note(scope.node, failure),
            Outcome::Late => {}
        }
    }
    let rows = run.rows.iter().enumerate().zip(found);
    run.segments = rows
        .flat_map(|((i, file), found)| segments_of(i, file, found.unwrap_or_default()))
        .collect();
    Ok(())
}

fn segments_of(row: usize, file: &FileRow, found: Vec<Segment>) -> Vec<SegmentState> {
    let whole = SegmentState::whole(row, file);
    let found = clamped(found, file.row.page_count);
    if found.is_empty() {
        return vec![whole];
    }
    let segments = found.into_iter().map(|segment| SegmentState {
        page_start: segment.page_start,
        page_end: segment.page_end,
        split: Some(segment),
        ..whole.clone()
    });
    segments.collect()
}

/// Segments inside the file, in page order, none over another: where two overlap, the earlier keeps the pages.
fn clamped(mut segments: Vec<Segment>, page_count: u32) -> Vec<Segment> {
    segments.retain(|s| s.page_start <= s.page_end && s.page_start <= page_count && s.page_end > 0);
    segments.sort_by_key(|s| (s.page_start, s.page_end));
    let mut next = 1;
    segments.retain_mut(|segment| {
        segment.page_start = segment.page_start.max(next);
        segment.page_end = segment.page_end.min(page_count);
        segment.confidence = crate::shape::confidence(segment.confidence);
        let is_left = segment.page_start <= segment.page_end;
        if is_left {
            next = segment.page_end + 1;
        }
        is_left
    });
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(given: &[(u32, u32)], page_count: u32) -> Vec<(u32, u32)> {
        let segments = given.iter().map(|(page_start, page_end)| Segment {
            page_start: *page_start,
            page_end: *page_end,
            provisional_type: None,
            description: None,
            confidence: 0.5,
        });
        clamped(segments.collect(), page_count)
            .into_iter()
            .map(|s| (s.page_start, s.page_end))
            .collect()
    }

    #[test]
    fn segments_stay_inside_the_file_and_beside_each_other() {
        for (given, page_count, wanted) in [
            (vec![(1, 2), (3, 9)], 5, vec![(1, 2), (3, 5)]),
            (vec![(0, 2), (3, 3)], 3, vec![(1, 2), (3, 3)]),
            (vec![(3, 4), (1, 3)], 4, vec![(1, 3), (4, 4)]),
            (vec![(1, 4), (2, 3)], 4, vec![(1, 4)]),
            (vec![(5, 3), (9, 12), (0, 0)], 4, vec![]),
            (vec![(1, u32::MAX)], 4, vec![(1, 4)]),
        ] {
            assert_eq!(spans(&given, page_count), wanted, "{given:?}");
        }
    }
}
