//! The services beside the API: extraction worker, bbox worker, reapers, webhooks, retention, health
