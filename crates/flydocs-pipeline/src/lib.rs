//! The stages of an extraction, in order, with trace and failure isolation
