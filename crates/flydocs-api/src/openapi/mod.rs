//! The OpenAPI document: made from the types and the routes, then finished where the derives cannot say it.
//!
//! `/openapi.json` serves it, `crates/flydocs-api/openapi.json` is a committed copy held by a test, and
//! requests are checked against it (`decode/shape.rs`).

mod finish;

use std::sync::LazyLock;

use serde_json::Value;
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};

use crate::{routes, wire};

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let document = serde_json::to_value(Declared::openapi()).unwrap_or(Value::Null);
    finish::finish(document)
});

/// The document as JSON.
pub fn document() -> &'static Value {
    &DOCUMENT
}

/// The document as the committed file holds it.
pub fn text() -> String {
    let mut text = serde_json::to_string_pretty(document()).unwrap_or_default();
    text.push('\n');
    text
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "flydocs",
        version = "1.0.0",
        description = "Documents in, fields with boxes out.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    paths(
        routes::extract::extract,
        routes::validate::validate,
        routes::extractions::submit::submit,
        routes::extractions::list::list,
        routes::extractions::get::get,
        routes::extractions::result::result,
        routes::extractions::delete::delete,
        routes::extractions::actions::cancel,
        routes::extractions::actions::retry,
        routes::extractions::events::events,
        routes::extractions::pages::page,
        routes::extractions::deliveries::deliveries,
        routes::extractions::deliveries::redeliver,
        routes::version::version,
        routes::actuator::health,
        routes::actuator::liveness,
        routes::actuator::readiness,
        routes::actuator::metrics,
    ),
    components(schemas(
        flydocs_contract::request::Field,
        flydocs_contract::result::ExtractedField,
        flydocs_contract::result::FieldValidation,
        flydocs_contract::result::FieldValidationError,
        flydocs_contract::result::ValidationRule,
        flydocs_contract::result::JudgeVerdict,
        flydocs_contract::result::JudgeStatus,
        flydocs_contract::geometry::BoundingBox,
        flydocs_contract::geometry::BoxSource,
        flydocs_contract::geometry::BoxQuality,
        flydocs_contract::event::Envelope,
        wire::MultipartRequest,
        wire::FileOptions,
        wire::StateChange,
        wire::StageProgress,
    )),
    modifiers(&Keys),
    security(("api_key" = []), ()),
    tags(
        (name = "extract", description = "One request, one answer."),
        (name = "extractions", description = "Accepted now, done later."),
        (name = "webhooks", description = "What was delivered, and again."),
        (name = "service", description = "Version, health, metrics."),
    )
)]
struct Declared;

struct Keys;

impl Modify for Keys {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(
            HttpBuilder::new()
                .scheme(HttpAuthScheme::Bearer)
                .description(Some("Asked for when FLYDOCS_API_KEYS is set."))
                .build(),
        );
        openapi
            .components
            .get_or_insert_with(Default::default)
            .add_security_scheme("api_key", scheme);
    }
}
