//! Around the bus of the database, the bus on a broker that is fed from it, when the settings ask for one.

use std::sync::Arc;

use flydocs_bus::{
    Bus, Options,
    adapters::redis::RedisBus,
    relay::{Outbox, RelayLock},
};
use flydocs_contract::{ErrorCode, EventType};

use crate::{
    exit::Exit,
    failure::Failure,
    settings::{EdaAdapter, Settings},
};

/// How the bus of the database is to behave: by itself, or as the outbox of a relay.
pub(super) fn options(settings: &Settings) -> Options {
    let options = Options::default();
    if settings.has_broker() {
        options.for_relay()
    } else {
        options
    }
}

/// The bus of the settings, of which `bus` is that of the database.
pub(super) fn around(
    settings: &Settings,
    bus: Arc<dyn Bus>,
    lock: RelayLock,
) -> Result<Arc<dyn Bus>, Failure> {
    let outbox = Outbox {
        bus,
        lock,
        destinations: vec![
            settings.jobs_topic.clone(),
            settings.bbox_refine_topic.clone(),
        ],
        event_types: EventType::ALL
            .iter()
            .map(|event_type| event_type.as_str().to_owned())
            .collect(),
    };
    match settings.adapter() {
        EdaAdapter::Redis => {
            let (url, prefix) = (settings.redis_url(), &settings.redis_prefix);
            let bus = RedisBus::new(url, prefix, outbox, Options::default());
            Ok(Arc::new(bus.map_err(|error| wrong(&error))?))
        }
        EdaAdapter::Kafka => kafka(settings, outbox),
        EdaAdapter::Sqlite | EdaAdapter::Postgres | EdaAdapter::Memory => Ok(outbox.bus),
    }
}

#[cfg(feature = "kafka")]
fn kafka(settings: &Settings, outbox: Outbox) -> Result<Arc<dyn Bus>, Failure> {
    use flydocs_bus::adapters::kafka::KafkaBus;

    let bus = KafkaBus::new(settings.kafka(), outbox, Options::default());
    Ok(Arc::new(bus.map_err(|error| wrong(&error))?))
}

#[cfg(not(feature = "kafka"))]
fn kafka(_settings: &Settings, _outbox: Outbox) -> Result<Arc<dyn Bus>, Failure> {
    Err(Failure::new(
        ErrorCode::InvalidSetting,
        "FLYDOCS_EDA_ADAPTER=kafka is not in this flydocs: build it with `cargo build --release --features kafka`",
        Exit::Settings,
    ))
}

/// The sentence alone: what is under it may hold an address with a password.
fn wrong(error: &flydocs_bus::Error) -> Failure {
    Failure::new(ErrorCode::InvalidSetting, error.to_string(), Exit::Settings)
}
