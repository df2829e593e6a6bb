//! Queues in memory over a SQLite file of one test.

use std::sync::Arc;

use async_trait::async_trait;
use flydocs_bus::{Bus, Error, NewEvent, Options, adapters::memory::MemoryBus};
use tokio::sync::OnceCell;

use super::{
    House, OpenTransaction, options,
    sqlite::{self, SqliteHouse},
};
use crate::conformance::{TOPIC, event, exactly, join, n, one, settle};

#[derive(Debug)]
struct MemoryHouse {
    file: SqliteHouse,
    bus: OnceCell<Arc<MemoryBus>>,
}

impl MemoryHouse {
    async fn open() -> Self {
        Self {
            file: SqliteHouse::open().await,
            bus: OnceCell::new(),
        }
    }
}

#[async_trait]
impl House for MemoryHouse {
    async fn bus(&self, options: Options) -> Arc<dyn Bus> {
        let database = self.file.database.clone();
        let bus = self
            .bus
            .get_or_init(|| async { Arc::new(MemoryBus::new(database, options).unwrap()) });
        Arc::clone(bus.await) as Arc<dyn Bus>
    }

    async fn transaction(&self, events: &[NewEvent], commit: bool) {
        sqlite::transaction(&self.file.database, events, commit).await;
    }

    async fn open_transaction(&self, event: NewEvent) -> OpenTransaction {
        sqlite::open_transaction(&self.file.database, event).await
    }

    async fn live(&self, destination: &str, key: &str) -> bool {
        sqlite::live(&self.file.database, destination, key).await
    }

    async fn flood(&self, destination: &str, event_type: &str, events: u32) {
        sqlite::flood(&self.file.database, destination, event_type, events).await;
    }
}

crate::conformance::suite!(super::MemoryHouse::open().await);

#[tokio::test]
async fn a_second_memory_bus_on_one_database_is_refused() {
    let house = SqliteHouse::open().await;
    let first = MemoryBus::new(house.database.clone(), options()).unwrap();
    let second = sqlite::open(&house.database.path).await;
    let refused = MemoryBus::new(second.clone(), options()).unwrap_err();
    assert!(matches!(&refused, Error::SecondProcess { .. }));
    assert!(
        refused.to_string().contains("FLYDOCS_EDA_ADAPTER=sqlite"),
        "{refused}"
    );
    drop(first);
    MemoryBus::new(second, options()).unwrap();
}

#[tokio::test]
async fn what_was_not_settled_when_the_process_died_is_handed_out_again() {
    let house = SqliteHouse::open().await;
    {
        let bus: Arc<dyn Bus> =
            Arc::new(MemoryBus::new(house.database.clone(), options()).unwrap());
        let consumer = join(&bus, "before").await;
        sqlite::transaction(&house.database, &[event(1), event(2), event(3)], true).await;
        bus.wake(TOPIC);
        let mut held = exactly(&consumer, 3).await;
        settle(&consumer, &held.split_off(2)).await;
        settle(&consumer, &[held.remove(0)]).await;
    }
    let bus: Arc<dyn Bus> = Arc::new(MemoryBus::new(house.database.clone(), options()).unwrap());
    let consumer = join(&bus, "after").await;
    // 1 is below the mark; 3 was settled above it and comes again: at least once.
    assert_eq!(n(&one(&consumer).await), 2);
    assert_eq!(n(&one(&consumer).await), 3);
}

#[tokio::test]
async fn no_more_than_the_capacity_is_in_memory_at_once() {
    let house = SqliteHouse::open().await;
    sqlite::flood(&house.database, TOPIC, crate::conformance::KIND, 50).await;
    let small = Options {
        memory_capacity: 8,
        ..options()
    };
    let bus: Arc<dyn Bus> = Arc::new(MemoryBus::new(house.database.clone(), small).unwrap());
    let consumer = join(&bus, "a").await;
    for expected in 1..=50 {
        let delivery = one(&consumer).await;
        assert_eq!(n(&delivery), expected);
        let group = bus.status().await.unwrap().groups.remove(0);
        assert!(group.due + group.in_flight <= 8, "{group:?}");
        settle(&consumer, &[delivery]).await;
    }
}
