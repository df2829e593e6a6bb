//! The arrows rule: a crate imports only crates of a strictly lower floor.
//!
//! Each crate names its floor in `package.metadata.flydocs.floor`. Crates that only tests and tools use are
//! `floor = "dev"`: nothing else may import them except as a dev-dependency.

use std::{collections::BTreeMap, path::Path, process::Command};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::run;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Floor {
    Numbered(i64),
    Dev,
}

/// Fails with one line an arrow that runs up or sideways.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let text = run::output(
        Command::new(run::cargo_program())
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(root),
    )?;
    let metadata: Value = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
    let wrong = wrong_arrows(&metadata)?;
    if !wrong.is_empty() {
        bail!("arrows run up or sideways:\n  {}", wrong.join("\n  "));
    }
    run::say("arrows: every crate imports only lower floors");
    Ok(())
}

fn wrong_arrows(metadata: &Value) -> anyhow::Result<Vec<String>> {
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata has no packages")?;
    let mut floors = BTreeMap::new();
    for package in packages {
        let name = package["name"].as_str().context("a package has no name")?;
        floors.insert(name, floor(name, package)?);
    }
    let mut wrong = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let to = dependency["name"].as_str().unwrap_or_default();
            let Some(&to_floor) = floors.get(to) else {
                continue;
            };
            // Tests may reach anywhere: a dev-dependency is no arrow of the house.
            if dependency["kind"].as_str() == Some("dev") {
                continue;
            }
            let down = match (floors[name], to_floor) {
                (Floor::Dev, _) => true,
                (Floor::Numbered(_), Floor::Dev) => false,
                (Floor::Numbered(from), Floor::Numbered(to)) => to < from,
            };
            if !down {
                wrong.push(format!(
                    "{name} ({:?}) -> {to} ({to_floor:?})",
                    floors[name]
                ));
            }
        }
    }
    Ok(wrong)
}

fn floor(name: &str, package: &Value) -> anyhow::Result<Floor> {
    match &package["metadata"]["flydocs"]["floor"] {
        Value::Number(n) => Ok(Floor::Numbered(
            n.as_i64().context("a floor is a whole number")?,
        )),
        Value::String(s) if s == "dev" => Ok(Floor::Dev),
        other => {
            bail!("{name}: package.metadata.flydocs.floor is {other}, not a number or \"dev\"")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(dependency_kind: &Value) -> Value {
        serde_json::json!({"packages": [
            {"name": "low", "metadata": {"flydocs": {"floor": 1}}, "dependencies": []},
            {"name": "peer", "metadata": {"flydocs": {"floor": 2}}, "dependencies": [{"name": "low", "kind": null}]},
            {"name": "other", "metadata": {"flydocs": {"floor": 2}},
             "dependencies": [{"name": "peer", "kind": dependency_kind}]},
        ]})
    }

    #[test]
    fn a_sideways_arrow_is_named() {
        let wrong = wrong_arrows(&metadata(&Value::Null)).unwrap();
        assert_eq!(wrong, ["other (Numbered(2)) -> peer (Numbered(2))"]);
    }

    #[test]
    fn a_dev_dependency_is_no_arrow() {
        assert!(wrong_arrows(&metadata(&"dev".into())).unwrap().is_empty());
    }

    #[test]
    fn a_crate_without_a_floor_is_refused() {
        let metadata =
            serde_json::json!({"packages": [{"name": "x", "metadata": null, "dependencies": []}]});
        assert!(
            wrong_arrows(&metadata)
                .unwrap_err()
                .to_string()
                .contains("x: package.metadata")
        );
    }
}
