//! Submission.

use std::sync::{Arc, Mutex};

use flydocs_contract::Status;
use flydocs_store::{BlobId, Error, Options, Submitted};

use crate::place::{Place, claim, error, fresh_id, new_extraction, result, submit, submitted};

pub(crate) async fn a_submission_is_there_with_its_event(place: &Place) {
    let store = place.open().await;
    let new = new_extraction(&*store).await;
    let id = new.id;
    let stored = submitted(store.submit(new).await.unwrap());
    assert_eq!(stored.extraction.status, Status::Queued);
    assert_eq!(stored.extraction.attempts, 0);
    assert_eq!(
        (stored.filename.as_str(), stored.content_bytes),
        ("invoice.pdf", 12)
    );
    assert_eq!(store.get(id, None).await.unwrap(), Some(stored));

    let events = place.outbox().await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].event_type, "extraction.submitted");
    let payload = events[0].payload.to_string();
    let envelope: flydocs_contract::Envelope = serde_json::from_str(&payload).unwrap();
    assert_eq!(envelope.extraction.id, id);
    assert_eq!(envelope.correlation_id.as_deref(), Some("corr-1"));
    assert!(envelope.result.is_none());
}

pub(crate) async fn what_callers_gave_comes_back_verbatim(place: &Place) {
    let store = place.open().await;
    let mut new = new_extraction(&*store).await;
    let metadata = r#"{"zebra":1,"apple":{"b":[1,2.50,"x\u0000y"],"a":null}}"#;
    new.metadata = serde_json::from_str(metadata).unwrap();
    new.request.files[0].filename = "a\0b.pdf".into();
    new.correlation.traceparent = Some("00-1-2-01".into());
    let (id, request, correlation) = (new.id, new.request.clone(), new.correlation.clone());
    store.submit(new).await.unwrap();

    let stored = store.get(id, None).await.unwrap().unwrap();
    assert_eq!(
        serde_json::to_string(&stored.metadata).unwrap(),
        metadata.replace("2.50", "2.5"),
        "also the order of the keys"
    );
    assert_eq!(stored.correlation, correlation);
    assert_eq!(store.request(id, None).await.unwrap(), Some(request));
    assert_eq!(store.result(id, None).await.unwrap(), None);
}

pub(crate) async fn a_repeated_key_gets_the_row_as_it_stands(place: &Place) {
    let store = place.open().await;
    let mut new = new_extraction(&*store).await;
    new.idempotency_key = Some("k".into());
    let first = submitted(store.submit(new.clone()).await.unwrap());
    store.mark_running(first.extraction.id, "w").await.unwrap();
    new.id = fresh_id();
    let Submitted::Replayed(again) = store.submit(new).await.unwrap() else {
        panic!("not replayed");
    };
    assert_eq!(again.extraction.id, first.extraction.id);
    assert_eq!(again.extraction.status, Status::Running);
    assert_eq!(
        place.events_of(first.extraction.id).await,
        ["extraction.submitted"]
    );
}

pub(crate) async fn a_key_with_another_body_is_a_mismatch(place: &Place) {
    let store = place.open().await;
    let mut new = new_extraction(&*store).await;
    new.idempotency_key = Some("k".into());
    let first = submitted(store.submit(new.clone()).await.unwrap());
    new.id = fresh_id();
    new.request_digest = "another".into();
    let Submitted::Mismatch(holder) = store.submit(new).await.unwrap() else {
        panic!("no mismatch");
    };
    assert_eq!(holder.extraction.id, first.extraction.id);
    assert_eq!(place.number("SELECT count(*) FROM extractions").await, 1);
}

pub(crate) async fn keys_are_scoped_by_tenant(place: &Place) {
    let store = place.open().await;
    let base = new_extraction(&*store).await;
    for tenant in [None, Some("a"), Some("b")] {
        let mut new = base.clone();
        new.id = fresh_id();
        new.tenant_id = tenant.map(str::to_owned);
        new.idempotency_key = Some("k".into());
        submitted(store.submit(new).await.unwrap());
    }
    let mut empty = base;
    empty.id = fresh_id();
    empty.tenant_id = Some(String::new());
    empty.idempotency_key = Some("k".into());
    let again = store.submit(empty).await.unwrap();
    assert!(
        matches!(again, Submitted::Replayed(_)),
        "an empty tenant is no tenant: {again:?}"
    );
}

pub(crate) async fn concurrent_submissions_with_one_key_make_one_row(place: &Place) {
    let stores = place.open_many(4).await;
    for round in 0..8 {
        let base = new_extraction(&*stores[0]).await;
        let mut calls = tokio::task::JoinSet::new();
        for n in 0..8 {
            let store = stores[n % stores.len()].clone();
            let mut new = base.clone();
            new.id = fresh_id();
            new.idempotency_key = Some(format!("round {round}"));
            calls.spawn(async move { store.submit(new).await.unwrap() });
        }
        let (mut new, mut ids) = (0, std::collections::BTreeSet::new());
        while let Some(call) = calls.join_next().await {
            match call.unwrap() {
                Submitted::New(stored) => {
                    new += 1;
                    ids.insert(stored.extraction.id);
                }
                Submitted::Replayed(stored) => {
                    ids.insert(stored.extraction.id);
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((new, ids.len()), (1, 1));
        let id = ids.into_iter().next().unwrap();
        assert_eq!(place.events_of(id).await, ["extraction.submitted"]);
    }
}

pub(crate) async fn a_full_backlog_refuses_but_still_answers_repeated_keys(place: &Place) {
    let store = place
        .open_with(Options {
            max_queued: Some(5),
            ..Options::default()
        })
        .await;
    let mut keyed = new_extraction(&*store).await;
    keyed.idempotency_key = Some("k".into());
    submitted(store.submit(keyed.clone()).await.unwrap());
    for _ in 0..4 {
        submit(&*store).await;
    }
    let over = new_extraction(&*store).await;
    let refused = store.submit(over.clone()).await.unwrap();
    assert!(
        matches!(refused, Submitted::TooMany { limit: 5 }),
        "{refused:?}"
    );
    assert_eq!(store.get(over.id, None).await.unwrap(), None);
    assert!(matches!(
        store.submit(keyed.clone()).await.unwrap(),
        Submitted::Replayed(_)
    ));

    store.mark_cancelled(keyed.id, None).await.unwrap().unwrap();
    submitted(store.submit(over).await.unwrap());
}

pub(crate) async fn a_file_that_is_not_stored_refuses_the_whole_submission(place: &Place) {
    let store = place.open().await;
    let mut new = new_extraction(&*store).await;
    let missing = BlobId::from_digest([7; 32]);
    let mut second = new.request.files[0].clone();
    second.sha256 = missing;
    new.request.files.push(second);
    let id = new.id;
    let refused = store.submit(new).await;
    assert!(
        matches!(refused, Err(Error::BlobMissing(blob)) if blob == missing),
        "{refused:?}"
    );
    assert_eq!(store.get(id, None).await.unwrap(), None);
    assert!(place.outbox().await.is_empty());
    assert_eq!(
        place
            .number("SELECT count(*) FROM blobs WHERE referenced > 0")
            .await,
        0
    );
}

pub(crate) async fn each_commit_with_an_event_wakes_its_topic(place: &Place) {
    let store = place.open().await;
    let woken: Arc<Mutex<Vec<String>>> = Arc::default();
    store.on_published(Arc::new({
        let woken = woken.clone();
        move |topic: &str| woken.lock().unwrap().push(topic.to_owned())
    }));
    let taken = || std::mem::take(&mut *woken.lock().unwrap());
    let (jobs, bbox) = ("flydocs.extractions", "flydocs.extractions.post_processing");

    let id = submit(&*store).await;
    assert_eq!(taken(), [jobs]);
    let token = claim(&*store, id, "w").await.token;
    assert!(taken().is_empty(), "a claim announces nothing");
    store
        .mark_succeeded(&token, &result(id, "x"), true)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(taken(), [jobs, bbox]);
    assert_eq!(store.mark_failed(&token, &error("x")).await.unwrap(), None);
    assert!(taken().is_empty(), "a lost race announces nothing");
}

pub(crate) async fn text_that_no_database_holds_is_no_failure(place: &Place) {
    let store = place.open().await;
    let mut new = new_extraction(&*store).await;
    new.tenant_id = Some("te\0nant".into());
    new.idempotency_key = Some("k\0".into());
    new.callback_url = Some("https://example.com/\0".into());
    submitted(store.submit(new.clone()).await.unwrap());
    new.id = fresh_id();
    let again = store.submit(new).await.unwrap();
    assert!(matches!(again, Submitted::Replayed(_)), "{again:?}");
    let filter = flydocs_store::Filter {
        idempotency_key: Some("k\0".into()),
        ..flydocs_store::Filter::default()
    };
    assert_eq!(store.list(&filter).await.unwrap().total, 1);
}
