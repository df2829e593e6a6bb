//! The extractions table: transitions, queries, results, blobs and webhook deliveries
