//! The leases of a consumer that is known to be dead: who knows it says so here, in the transaction that notes the
//! death, and what the dead one held is due at once instead of when its leases are over.
//!
//! Only for the adapters whose deliveries lie in the same database. A claim that ends like this counts like one that
//! ran out: an event that kills its process is a suspect all the same.

pub mod postgres;
pub mod sqlite;
