//! The HTTP surface: routes, problem+json, OpenAPI and its viewer
