//! Every answer of every test is held against the published document: a status it does not name, or a body that
//! does not fit, fails the test.

use std::{collections::HashMap, sync::LazyLock};

use axum::http::Method;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::house::Reply;

static COMPONENTS: LazyLock<HashMap<String, Validator>> = LazyLock::new(|| {
    let document = flydocs_api::openapi::document();
    let names = document["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys();
    names
        .map(|name| {
            let schema = json!({
                "$ref": format!("#/components/schemas/{name}"),
                "components": document["components"],
            });
            (name.clone(), jsonschema::validator_for(&schema).unwrap())
        })
        .collect()
});

/// Holds one answer against the document, when it speaks of that route.
#[track_caller]
pub(crate) fn hold(method: &Method, path: &str, reply: &Reply) {
    let document = flydocs_api::openapi::document();
    let paths = document["paths"].as_object().unwrap();
    let Some(item) = paths
        .iter()
        .find(|(known, _)| fits(known, path))
        .map(|(_, item)| item)
    else {
        return;
    };
    let Some(operation) = item.get(method.as_str().to_ascii_lowercase()) else {
        return;
    };
    let status = reply.status.as_str();
    let response = &operation["responses"][status];
    assert!(
        !response.is_null(),
        "{method} {path} answered {status}, which its document does not name: {}",
        reply.text()
    );
    let kind = reply.header("content-type").unwrap_or_default();
    let content = response["content"].as_object();
    let named = content.and_then(|c| c.iter().find(|(name, _)| kind.starts_with(name.as_str())));
    if reply.body.is_empty() && content.is_none() {
        return;
    }
    let (_, media) = named.unwrap_or_else(|| {
        panic!("{method} {path} {status} answered {kind}, which its document does not name")
    });
    if kind.contains("json") {
        let name = media["schema"]["$ref"]
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap();
        component(name, &reply.json());
    }
}

/// Holds a value against a component of the document.
#[track_caller]
pub(crate) fn component(name: &str, value: &Value) {
    let faults: Vec<String> = COMPONENTS[name]
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(faults.is_empty(), "not a {name}: {faults:#?}\n{value:#}");
}

fn fits(known: &str, path: &str) -> bool {
    let (known, path): (Vec<_>, Vec<_>) = (known.split('/').collect(), path.split('/').collect());
    known.len() == path.len()
        && known
            .iter()
            .zip(&path)
            .all(|(k, p)| match k.strip_prefix('{') {
                None => k == p,
                Some(rest) => {
                    let suffix = rest.split_once('}').map_or("", |(_, suffix)| suffix);
                    let action = p.contains(':');
                    p.ends_with(suffix) && action == suffix.starts_with(':')
                }
            })
}
