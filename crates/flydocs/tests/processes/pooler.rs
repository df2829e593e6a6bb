//! PgBouncer in transaction mode between the processes and PostgreSQL: no statement keeps its name, nobody listens.

use flydocs_testkit::{
    pgbouncer::Pooler,
    postgres::{Server, database_on},
};

use crate::house::{House, example};

const EXTRACTIONS: usize = 12;

#[test]
fn behind_a_pooler_extractions_go_through_serve_worker_and_bbox_worker() {
    let server = Server::start().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(database_on(&server)).unwrap();
    let pooler = Pooler::start(&server).unwrap();
    let mut house = House::on(pooler.url(&database.name));
    house.start("worker", &[]);
    house.start("worker", &[]);
    house.start("bbox-worker", &[]);
    let types = house.folder().join("types.json");
    let mut spec: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(example("id-form.types.json")).unwrap())
            .unwrap();
    spec["options"] = serde_json::json!({"stages": {"bbox_refine": true}});
    std::fs::write(&types, spec.to_string()).unwrap();
    let (file, types) = (example("id-form.pdf"), types.to_str().unwrap().to_owned());

    let ids: Vec<String> = (0..EXTRACTIONS)
        .map(|_| {
            house.ask(&["submit", &file, "--types", &types])["id"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    for id in &ids {
        house.ask(&["wait", id]);
        house.ask(&["result", id, "--wait-for-bboxes"]);
        let extraction = house.ask(&["get", id]);
        assert_eq!(extraction["status"], "succeeded", "{extraction}");
        assert_eq!(extraction["attempts"], 1, "{extraction}");
    }
    let log = server.log().unwrap();
    assert!(
        !log.contains("prepared statement"),
        "a statement had a name: {log}"
    );
}
