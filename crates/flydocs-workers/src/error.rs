//! Why a service ended. What goes wrong inside one extraction never ends a service.

/// Why a service ended although nobody asked it to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The worker could not be registered as alive.
    #[error("cannot register the worker")]
    Register {
        /// What the store said.
        #[source]
        source: flydocs_store::Error,
    },
    /// The group could not be joined.
    #[error("cannot join the group {group}")]
    Subscribe {
        /// The consumer group.
        group: &'static str,
        /// What the bus said.
        #[source]
        source: flydocs_bus::Error,
    },
    /// The bus does not hand out events any more.
    #[error("cannot take events for the group {group}")]
    Take {
        /// The consumer group.
        group: &'static str,
        /// What the bus said.
        #[source]
        source: flydocs_bus::Error,
    },
    /// The relay cannot carry events to the broker.
    #[error("cannot relay events")]
    Relay {
        /// What the bus said.
        #[source]
        source: flydocs_bus::Error,
    },
    /// The client for webhooks could not be made.
    #[error("cannot make the webhook client")]
    WebhookClient {
        /// What the client said.
        #[source]
        source: reqwest::Error,
    },
    /// The health server stopped.
    #[error("the health server stopped")]
    HealthServer {
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A service of the process failed, so the others were stopped with it.
    #[error("the {service} failed")]
    ServiceFailed {
        /// Which.
        service: &'static str,
        /// Why.
        #[source]
        source: Box<Self>,
    },
    /// A service of the process ended without being asked, so the others were stopped with it.
    #[error("the {service} ended without being asked to")]
    ServiceEnded {
        /// Which.
        service: &'static str,
    },
    /// A service of the process panicked, so the others were stopped with it.
    #[error("the {service} panicked")]
    ServicePanicked {
        /// Which.
        service: &'static str,
    },
}

/// The result of a service.
pub type Result<T, E = Error> = std::result::Result<T, E>;
