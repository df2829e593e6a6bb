//! Many extractions, two workers: each is run once.

use crate::house::{House, example};

const EXTRACTIONS: usize = 200;

#[test]
fn two_hundred_extractions_are_run_once_each_by_two_workers_and_a_bbox_worker() {
    let mut house = House::new();
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
        let leg = &extraction["post_processing"]["bbox_refinement"];
        assert_eq!(
            (leg["status"].as_str(), leg["attempts"].as_u64()),
            (Some("succeeded"), Some(1)),
            "{extraction}"
        );
    }
}
