//! The audit is shown a run in order and then the same run doctored: each lie must be found, under its name.

use super::audit::{
    Broken, Ended, Event, Facts, Hook, Moment, Owed, Received, Recovery, Row, Submission, Wanted,
    audit,
};

const W1: &str = "worker@host:101-aaaa";
const W2: &str = "worker@host:102-bbbb";
const B1: &str = "bbox-worker@host:201-cccc";

fn moment(
    id: &str,
    at: f64,
    method: &str,
    state: (&str, Option<&str>),
    attempts: i64,
    worker: Option<&str>,
) -> Moment {
    Moment {
        id: id.to_owned(),
        at,
        method: method.to_owned(),
        status: state.0.to_owned(),
        leg: state.1.map(str::to_owned),
        attempts,
        worker: worker.map(str::to_owned),
    }
}

fn event(event_id: &str, event_type: &str, status: &str, leg: Option<&str>) -> Event {
    Event {
        event_id: event_id.to_owned(),
        id: "ext_1".to_owned(),
        event_type: event_type.to_owned(),
        status: status.to_owned(),
        leg: leg.map(str::to_owned),
    }
}

fn hook(event_id: &str, event_type: &str) -> Hook {
    Hook {
        event_id: event_id.to_owned(),
        id: "ext_1".to_owned(),
        event_type: event_type.to_owned(),
        status: "delivered".to_owned(),
        body: format!("body of {event_id}"),
    }
}

fn received(event_id: &str, accepted: bool) -> Received {
    Received {
        event_id: event_id.to_owned(),
        body: format!("body of {event_id}"),
        accepted,
    }
}

fn recovery(seconds: f64, over_outage: bool) -> Recovery {
    Recovery {
        seconds,
        over_outage,
    }
}

/// One document with boxes and webhooks: its first worker was killed at 12, its second finished it.
fn in_order() -> Facts {
    let pending = ("succeeded", Some("pending"));
    Facts {
        submissions: vec![Submission {
            nonce: "doc-1".to_owned(),
            wanted: Wanted::Result,
            key: Some("key-1".to_owned()),
            boxes: true,
            callback: true,
            accepted: vec!["ext_1".to_owned(), "ext_1".to_owned()],
            unsure: 1,
            cancelled: false,
        }],
        rows: vec![Row {
            id: "ext_1".to_owned(),
            nonce: "doc-1".to_owned(),
            status: "succeeded".to_owned(),
            attempts: 2,
            error: None,
            results: 1,
            leg: Some("succeeded".to_owned()),
            leg_error: None,
        }],
        moments: vec![
            moment("ext_1", 10.0, "submit", ("queued", None), 0, None),
            moment(
                "ext_1",
                11.0,
                "mark_running",
                ("running", None),
                1,
                Some(W1),
            ),
            moment(
                "ext_1",
                14.5,
                "mark_running",
                ("running", None),
                2,
                Some(W2),
            ),
            moment("ext_1", 15.0, "mark_succeeded", pending, 2, Some(W2)),
            moment(
                "ext_1",
                15.1,
                "mark_bbox_refinement_running",
                ("succeeded", Some("running")),
                1,
                Some(B1),
            ),
            moment(
                "ext_1",
                15.2,
                "mark_bbox_refinement_succeeded",
                ("succeeded", Some("succeeded")),
                1,
                Some(B1),
            ),
        ],
        events: vec![
            event("e1", "extraction.submitted", "queued", None),
            event("e2", "extraction.submitted", "running", None),
            event("e3", "extraction.completed", "succeeded", Some("pending")),
            event(
                "e4",
                "extraction.post_processing.requested",
                "succeeded",
                Some("pending"),
            ),
            event(
                "e5",
                "extraction.post_processing.completed",
                "succeeded",
                Some("succeeded"),
            ),
        ],
        hooks: vec![
            hook("e3", "extraction.completed"),
            hook("e5", "extraction.post_processing.completed"),
        ],
        received: vec![
            received("e3", false),
            received("e3", true),
            received("e3", true),
            received("e5", true),
        ],
        ended: vec![Ended { pid: 101, at: 12.0 }],
        silence: 30.0,
        ..Facts::default()
    }
}

#[test]
fn a_run_in_order_has_no_findings_and_one_recovery() {
    let (findings, recoveries) = audit(&in_order());
    assert_eq!(findings, []);
    assert_eq!(recoveries, [recovery(2.5, false)]);

    let mut facts = in_order();
    facts.outages.push((11.0, 13.0));
    assert_eq!(audit(&facts).1, [recovery(2.5, true)]);
}

/// A lie and what it is called.
type Lie = (&'static str, Broken, fn(&mut Facts));

const LIES: &[Lie] = &[
    ("an accepted row is gone", Broken::Lost, |facts| {
        facts.rows.clear();
    }),
    ("a key has two rows", Broken::Twice, |facts| {
        let mut second = facts.rows[0].clone();
        second.id = "ext_2".to_owned();
        facts.rows.push(second);
    }),
    (
        "two callers of a key were told different ids",
        Broken::Twice,
        |facts| {
            facts.submissions[0].accepted[1] = "ext_2".to_owned();
        },
    ),
    ("a row nobody submitted", Broken::Unexplained, |facts| {
        facts.rows[0].nonce = "doc-2".to_owned();
    }),
    ("a row is left running", Broken::Stuck, |facts| {
        facts.rows[0].status = "running".to_owned();
    }),
    ("a leg is left pending", Broken::Stuck, |facts| {
        facts.rows[0].leg = Some("pending".to_owned());
    }),
    ("the result is gone", Broken::Lost, |facts| {
        facts.rows[0].results = 0;
    }),
    ("a result of a row that failed", Broken::Twice, |facts| {
        facts.rows[0].status = "failed".to_owned();
    }),
    ("two results were accepted", Broken::Twice, |facts| {
        let again = facts.moments[3].clone();
        facts.moments.insert(4, again);
    }),
    (
        "a zombie finished the first attempt",
        Broken::Twice,
        |facts| {
            facts.moments[3].attempts = 1;
        },
    ),
    ("a dead worker finished", Broken::Twice, |facts| {
        facts.ended.push(Ended { pid: 102, at: 14.6 });
    }),
    (
        "the claim was taken from a living worker",
        Broken::Twice,
        |facts| {
            facts.ended.clear();
        },
    ),
    (
        "the claim was taken before the worker died",
        Broken::Twice,
        |facts| {
            facts.ended[0].at = 14.9;
        },
    ),
    ("two bbox workers had the leg", Broken::Twice, |facts| {
        let again = facts.moments[4].clone();
        facts.moments.insert(5, again);
    }),
    (
        "the log says something else than the row",
        Broken::Untrue,
        |facts| {
            facts.moments.pop();
        },
    ),
    ("an ending without its event", Broken::Lost, |facts| {
        facts.events.remove(2);
    }),
    (
        "the end of the leg without its event",
        Broken::Lost,
        |facts| {
            facts.events.remove(4);
        },
    ),
    ("two completed events", Broken::Twice, |facts| {
        let again = facts.events[2].clone();
        facts.events.push(again);
    }),
    (
        "a completed event of another state",
        Broken::Untrue,
        |facts| {
            facts.events[2].status = "failed".to_owned();
        },
    ),
    ("a row that was never announced", Broken::Lost, |facts| {
        facts
            .events
            .retain(|event| event.event_type != "extraction.submitted");
    }),
    ("a webhook was not owed", Broken::Lost, |facts| {
        facts.hooks.remove(0);
    }),
    ("a webhook never came", Broken::Lost, |facts| {
        facts.received.retain(|received| received.event_id != "e5");
    }),
    ("a webhook was only ever refused", Broken::Lost, |facts| {
        facts
            .received
            .retain(|received| !received.accepted || received.event_id == "e5");
    }),
    ("a webhook waits", Broken::Stuck, |facts| {
        facts.hooks[1].status = "pending".to_owned();
    }),
    ("a webhook came with other bytes", Broken::Untrue, |facts| {
        facts.received[2].body.push(' ');
    }),
    ("a webhook that nobody owes", Broken::Untrue, |facts| {
        facts.received.push(received("e9", true));
    }),
    ("an event is still owed", Broken::Stuck, |facts| {
        facts.undelivered.push(Owed::default());
    }),
    ("a dead letter", Broken::Unexplained, |facts| {
        facts.dead_letters.push(Owed::default());
    }),
    ("a good document failed", Broken::Unexplained, |facts| {
        facts.rows[0].status = "failed".to_owned();
        facts.rows[0].error = Some("internal".to_owned());
        facts.rows[0].results = 0;
    }),
    (
        "given up for lost workers of which one is not lost",
        Broken::Unexplained,
        |facts| {
            facts.rows[0].status = "failed".to_owned();
            facts.rows[0].error = Some("worker_lost".to_owned());
        },
    ),
    (
        "cancelled although nobody asked",
        Broken::Unexplained,
        |facts| {
            facts.rows[0].status = "cancelled".to_owned();
        },
    ),
    (
        "the boxes failed for no reason of theirs",
        Broken::Unexplained,
        |facts| {
            facts.rows[0].leg = Some("failed".to_owned());
            facts.rows[0].leg_error = Some("internal".to_owned());
        },
    ),
    ("the boxes were never begun", Broken::Lost, |facts| {
        facts.rows[0].leg = None;
    }),
];

#[test]
fn every_lie_is_found() {
    for (lie, broken, tell) in LIES {
        let mut facts = in_order();
        tell(&mut facts);
        let (findings, _) = audit(&facts);
        assert!(
            findings.iter().any(|finding| finding.broken == *broken),
            "{lie}: wanted {broken:?}, found {findings:?}"
        );
        assert!(
            findings.iter().all(|finding| !finding.what.is_empty()),
            "{lie}: a finding says what"
        );
    }
}

#[test]
fn a_claim_may_be_taken_from_a_worker_that_the_database_buried_or_that_was_silent() {
    let mut facts = in_order();
    facts.ended.clear();
    facts.buried.insert(W1.to_owned(), 13.0);
    assert_eq!(audit(&facts).0, []);

    let mut facts = in_order();
    facts.ended.clear();
    for moment in &mut facts.moments[2..] {
        moment.at += 30.0;
    }
    assert_eq!(audit(&facts).0, []);
}

#[test]
fn a_killer_may_end_with_its_workers_lost_and_a_good_document_only_when_each_claim_was() {
    let mut facts = in_order();
    let failed = ("failed", None);
    facts.moments = vec![
        moment("ext_1", 10.0, "submit", ("queued", None), 0, None),
        moment(
            "ext_1",
            11.0,
            "mark_running",
            ("running", None),
            1,
            Some(W1),
        ),
        moment(
            "ext_1",
            14.0,
            "mark_running",
            ("running", None),
            2,
            Some(W2),
        ),
        moment("ext_1", 18.0, "mark_running", failed, 2, Some(W2)),
    ];
    facts.ended = vec![Ended { pid: 101, at: 12.0 }, Ended { pid: 102, at: 15.0 }];
    facts.rows[0] = Row {
        status: "failed".to_owned(),
        error: Some("worker_lost".to_owned()),
        results: 0,
        leg: None,
        ..facts.rows[0].clone()
    };
    facts.events = vec![
        event("e1", "extraction.submitted", "queued", None),
        event("e3", "extraction.completed", "failed", None),
    ];
    facts.hooks.truncate(1);
    facts.received.retain(|received| received.event_id == "e3");
    let (findings, recoveries) = audit(&facts);
    assert_eq!(findings, []);
    assert_eq!(recoveries, [recovery(2.0, false), recovery(3.0, false)]);
}
