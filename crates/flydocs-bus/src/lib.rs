//! The outbox, the drain and deliveries, with one adapter for each kind of bus
