//! `ops` on both databases: an extraction and its boxes are orphaned by every class, looked at, and freed.

use std::time::Duration;

use flydocs_testkit::postgres::Database;
use serde_json::Value;
use sqlx::{AssertSqlSafe, PgPool, SqlitePool};

use crate::desk::{Desk, Run, still};

/// A migrated database, and a door behind its back.
enum Place {
    Sqlite(String, SqlitePool),
    Postgres(String, PgPool),
}

impl Place {
    async fn sqlite(desk: &Desk) -> Self {
        let url = format!("sqlite://{}", desk.path().join("ops.db").display());
        assert_eq!(
            desk.run_with(&[("FLYDOCS_DATABASE_URL", &url)], &["migrate"])
                .code,
            0
        );
        let pool = SqlitePool::connect(&url).await.unwrap();
        Self::Sqlite(url, pool)
    }

    async fn postgres(desk: &Desk) -> Self {
        let Database { url, .. } = flydocs_testkit::postgres::database().await.unwrap();
        let run = desk.run_with(&[("FLYDOCS_DATABASE_URL", &url)], &["migrate"]);
        assert_eq!(run.code, 0, "{}", run.shown());
        let pool = PgPool::connect(&url).await.unwrap();
        Self::Postgres(url, pool)
    }

    async fn execute(&self, sqlite: &str, postgres: &str) {
        match self {
            Self::Sqlite(_, pool) => {
                sqlx::raw_sql(AssertSqlSafe(sqlite))
                    .execute(pool)
                    .await
                    .unwrap();
            }
            Self::Postgres(_, pool) => {
                sqlx::raw_sql(AssertSqlSafe(postgres))
                    .execute(pool)
                    .await
                    .unwrap();
            }
        }
    }

    /// `ops ...` against it.
    fn ops(&self, desk: &Desk, args: &[&str]) -> Run {
        let (Self::Sqlite(url, _) | Self::Postgres(url, _)) = self;
        let mut all = vec!["ops"];
        all.extend(args);
        all.extend(["--database-url", url]);
        desk.run(&all)
    }

    /// One row of each class, all old; number 6 is as it should be.
    async fn orphan_one_of_each(&self) {
        let leg = |status: &str, started: &str| {
            format!(
                r#"'{{"bbox_refinement": {{"status": "{status}", "attempts": 1, "claimed_by": "bbox-worker@h:2-b",
                   "requested_at": "2026-01-01T00:00:00.000Z", "started_at": {started}}}}}'"#
            )
        };
        let rows = [
            ("queued", "NULL", "NULL", "NULL", "NULL".to_owned()),
            ("running", "T", "NULL", "NULL", "NULL".to_owned()),
            ("queued", "T", "NULL", "T", "NULL".to_owned()),
            ("succeeded", "T", "T", "NULL", leg("pending", "null")),
            (
                "succeeded",
                "T",
                "T",
                "NULL",
                leg("running", r#""2026-01-01T00:00:00.000Z""#),
            ),
            ("succeeded", "T", "T", "NULL", "NULL".to_owned()),
        ];
        for (number, (status, started, finished, due, leg)) in (1..).zip(rows) {
            let insert = format!(
                "INSERT INTO extractions (id, request_digest, status, filename, content_sha256, content_bytes, metadata,
                   correlation, attempts, submitted_at, started_at, finished_at, next_attempt_at, claimed_by,
                   heartbeat_at, post_processing, request)
                 VALUES ('{}', 'd', '{status}', 'f.pdf', 's', 1, '{{}}', '{{}}', 1, T, {started}, {finished}, {due},
                   'worker@h:1-a', T, {leg}, '{{}}')",
                id(number)
            )
            .replace(" T", " '2026-01-01T00:00:00.000Z'");
            self.execute(&insert, &insert).await;
        }
    }

    async fn bury_a_letter(&self) {
        let insert = |table: &str| {
            format!(
                "INSERT INTO {table} (consumer_group, outbox_id, event_id, destination, event_type, payload, headers,
                   attempts, reason, error{})
                 VALUES ('flydocs-workers', 1, '00000000-0000-0000-0000-000000000001', 'flydocs.extractions',
                   'extraction.submitted', '{{\"extraction\": {{\"id\": \"{}\"}}}}', '{{}}', 5,
                   'claimed repeatedly, never settled', 'the handler panicked'{})",
                if table.starts_with("bus.") { "" } else { ", failed_at" },
                id(2),
                if table.starts_with("bus.") { "" } else { ", 1767225600000" },
            )
        };
        self.execute(&insert("bus_dead_letters"), &insert("bus.dead_letters"))
            .await;
    }

    /// A worker registers its group.
    async fn register_the_group(&self) {
        use flydocs_bus::{Bus as _, Start, Subscription, adapters};
        let subscription = Subscription {
            group: "flydocs-workers".to_owned(),
            destinations: vec!["flydocs.extractions".to_owned()],
            event_types: vec!["extraction.submitted".to_owned()],
            consumer: "worker@h:1".to_owned(),
            start: Start::Earliest,
        };
        let options = flydocs_bus::Options::default();
        match self {
            Self::Sqlite(url, _) => {
                let path = flydocs_store::sqlite_path(url).unwrap();
                let file = flydocs_bus::sqlite::open(&path).await.unwrap();
                let bus = adapters::sqlite::SqliteBus::new(file, options).unwrap();
                bus.subscribe(subscription).await.unwrap();
            }
            Self::Postgres(_, pool) => {
                let bus = adapters::postgres::PostgresBus::new(pool.clone(), None, options);
                bus.subscribe(subscription).await.unwrap();
            }
        }
    }
}

fn id(number: u32) -> String {
    format!("ext_{number:026}")
}

fn ids(run: &Run) -> Vec<(String, String)> {
    let items: Vec<Value> = serde_json::from_value(run.json()).unwrap();
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
    items
        .iter()
        .map(|item| (text(item, "class"), text(item, "id")))
        .collect()
}

async fn the_five_classes_are_listed_and_one_is_freed(desk: &Desk, place: &Place) {
    let nothing = place.ops(desk, &["orphans"]);
    assert_eq!(
        (nothing.code, nothing.stdout.as_str()),
        (0, "no orphans\n"),
        "{}",
        nothing.shown()
    );

    place.orphan_one_of_each().await;
    let all = [
        ("queued", 1),
        ("running_lost", 2),
        ("retrying", 3),
        ("leg_pending", 4),
        ("leg_running_lost", 5),
    ]
    .map(|(class, number)| (class.to_owned(), id(number)));
    let found = place.ops(desk, &["orphans", "-o", "json"]);
    assert_eq!(ids(&found), all, "{}", found.shown());
    let three = place.ops(desk, &["orphans", "--limit", "3", "-o", "json"]);
    assert_eq!(ids(&three), all[..3], "{}", three.shown());
    let lines = place.ops(desk, &["orphans", "-o", "jsonl"]);
    assert_eq!(lines.stdout.lines().count(), 5);
    still().bind(|| {
        let table = place.ops(desk, &["orphans"]);
        insta::assert_snapshot!("orphans", table.shown());
    });

    // Alive by its beat and fresh, until an operator says otherwise.
    place
        .execute(
            &format!(
                "UPDATE extractions SET started_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
                        heartbeat_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = '{}'",
                id(2)
            ),
            &format!(
                "UPDATE extractions SET started_at = now(), heartbeat_at = now() WHERE id = '{}'",
                id(2)
            ),
        )
        .await;
    assert_eq!(ids(&place.ops(desk, &["orphans", "-o", "json"])).len(), 4);
    let freed = place.ops(desk, &["reclaim", &id(2), "-o", "json"]);
    assert_eq!(freed.json()["status"], "running", "{}", freed.shown());
    assert_eq!(ids(&place.ops(desk, &["orphans", "-o", "json"])), all);
    let boxes = place.ops(desk, &["reclaim", &id(5), "-o", "json"]);
    assert_eq!(
        boxes.json()["post_processing"]["bbox_refinement"]["status"],
        "running"
    );

    for (wrong, says) in [
        (id(6), "succeeded"),
        (id(7), "there is no extraction"),
        ("7".to_owned(), "is no id"),
    ] {
        let refused = place.ops(desk, &["reclaim", &wrong]);
        assert_eq!((refused.code, refused.stdout.as_str()), (6, ""));
        assert!(refused.stderr.contains(says), "{}", refused.shown());
    }
}

async fn letters_locks_and_groups_are_shown(desk: &Desk, place: &Place) {
    let nothing = place.ops(desk, &["dead-letters", "list"]);
    assert_eq!(
        (nothing.code, nothing.stdout.as_str()),
        (0, "no dead letters\n")
    );
    let nobody = place.ops(desk, &["drain-lock"]);
    assert!(
        nobody.stdout.contains("no group has registered"),
        "{}",
        nobody.shown()
    );

    place.register_the_group().await;
    let lock = &place.ops(desk, &["drain-lock", "-o", "json"]).json()[0];
    assert_eq!(lock["group"], "flydocs-workers");
    assert_eq!(lock["lock_key"], -6_664_241_359_945_616_607_i64);
    assert_eq!(lock["held_by"], Value::Null);

    place.bury_a_letter().await;
    let status = place.ops(desk, &["bus", "status", "-o", "json"]).json();
    assert_eq!(status["groups"][0]["dead_letters"], 1, "{status}");
    let letter = &place
        .ops(desk, &["dead-letters", "list", "-o", "json"])
        .json()[0];
    assert_eq!(letter["extraction"], id(2), "{letter}");
    assert_eq!(letter["reason"], "claimed repeatedly, never settled");
    still().bind(|| {
        for (name, args) in [
            ("letters", &["dead-letters", "list"][..]),
            ("lock", &["drain-lock"]),
        ] {
            insta::assert_snapshot!(name, place.ops(desk, args).shown());
        }
    });

    let sent = place.ops(desk, &["dead-letters", "requeue", "1"]);
    assert_eq!(
        (sent.code, sent.stdout.as_str()),
        (0, "dead letter 1 was sent back\n"),
        "{}",
        sent.shown()
    );
    let again = place.ops(desk, &["dead-letters", "requeue", "1"]);
    assert_eq!(again.code, 6, "{}", again.shown());
    let status = place.ops(desk, &["bus", "status", "-o", "json"]).json();
    assert_eq!(status["groups"][0]["dead_letters"], 0, "{status}");
    assert_eq!(status["groups"][0]["undrained"], 1, "{status}");
    let table = place.ops(desk, &["bus", "status"]);
    assert!(
        table.stdout.contains("flydocs-workers"),
        "{}",
        table.shown()
    );
}

#[tokio::test]
async fn an_operator_sees_and_frees_orphans_on_sqlite() {
    let desk = Desk::new();
    let place = Place::sqlite(&desk).await;
    the_five_classes_are_listed_and_one_is_freed(&desk, &place).await;
}

#[tokio::test]
async fn an_operator_sees_and_frees_orphans_on_postgres() {
    let desk = Desk::new();
    let place = Place::postgres(&desk).await;
    the_five_classes_are_listed_and_one_is_freed(&desk, &place).await;
}

#[tokio::test]
async fn an_operator_sees_letters_locks_and_groups_on_sqlite() {
    let desk = Desk::new();
    let place = Place::sqlite(&desk).await;
    letters_locks_and_groups_are_shown(&desk, &place).await;
}

#[tokio::test]
async fn an_operator_sees_letters_locks_and_groups_on_postgres() {
    let desk = Desk::new();
    let place = Place::postgres(&desk).await;
    letters_locks_and_groups_are_shown(&desk, &place).await;
    let Place::Postgres(_, pool) = &place else {
        panic!("on PostgreSQL");
    };
    let mut session = pool.acquire().await.unwrap();
    sqlx::query("SELECT pg_advisory_lock(-6664241359945616607)")
        .execute(&mut *session)
        .await
        .unwrap();
    let held = &place.ops(&desk, &["drain-lock", "-o", "json"]).json()[0]["held_by"];
    assert!(held.as_str().unwrap().starts_with("pid "), "{held}");
}

#[tokio::test]
async fn ops_makes_no_database() {
    let desk = Desk::new();
    let url = format!("sqlite://{}", desk.path().join("nowhere.db").display());
    let run = desk.run(&["ops", "orphans", "--database-url", &url]);
    assert_eq!(run.code, 4, "{}", run.shown());
    assert!(
        run.stderr.contains("there is no database"),
        "{}",
        run.shown()
    );
    assert!(!desk.path().join("nowhere.db").exists());
    // A server that nobody listens on is waited for, and not for ever.
    let run = tokio::time::timeout(
        Duration::from_mins(1),
        tokio::task::spawn_blocking(move || {
            desk.run(&[
                "ops",
                "bus",
                "status",
                "--database-url",
                "postgres://nobody@127.0.0.1:9/none",
            ])
        }),
    )
    .await
    .unwrap()
    .unwrap();
    assert_eq!(run.code, 4, "{}", run.shown());
}
