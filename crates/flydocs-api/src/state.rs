//! What the routes work with: the ports of the rooms below, and the settings.

use std::{fmt, sync::Arc};

use axum::http::{HeaderMap, HeaderValue, header};
use flydocs_bus::Bus;
use flydocs_contract::{ErrorCode, ExtractionId};
use flydocs_pages::Reader;
use flydocs_pipeline::{EngineSource, Pipeline};
use flydocs_store::Store;
use parking_lot::RwLock;
use rand::Rng;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    context::CallContext,
    keys::{self, Holder, Keys},
    options::Options,
    problem::{Answer, Refusal},
    rate::{Caller, Peer, Rates},
};

/// New ids: time and chance come in here and nowhere else.
pub trait Mint: fmt::Debug + Send + Sync {
    /// An id for a new extraction.
    fn extraction_id(&self) -> ExtractionId;

    /// An id for a call that brought none.
    fn call_id(&self) -> Uuid;
}

/// Ids from this machine's clock and randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemMint;

impl Mint for SystemMint {
    fn extraction_id(&self) -> ExtractionId {
        let now = u64::try_from(chrono::Utc::now().timestamp_millis()).unwrap_or_default();
        ExtractionId::from_parts(now, rand::rng().random())
    }

    fn call_id(&self) -> Uuid {
        uuid::Builder::from_random_bytes(rand::rng().random()).into_uuid()
    }
}

/// Writes the metrics of this process as Prometheus text.
pub type MetricsText = Arc<dyn Fn() -> String + Send + Sync>;

/// The rooms below, as the composition root built them.
#[derive(Clone)]
pub struct Ports {
    /// The table.
    pub store: Arc<dyn Store>,
    /// The bus.
    pub bus: Arc<dyn Bus>,
    /// The stages, for the synchronous route.
    pub pipeline: Pipeline,
    /// The engines, to refuse a model nobody knows at once.
    pub engines: Arc<dyn EngineSource>,
    /// The reader, for page images.
    pub reader: Arc<dyn Reader>,
    /// New ids.
    pub mint: Arc<dyn Mint>,
    /// The metrics.
    pub metrics: MetricsText,
    /// Fires when the process is asked to end: whoever holds a line lets go.
    pub shutdown: CancellationToken,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports")
            .field("store", &self.store)
            .field("bus", &self.bus)
            .finish_non_exhaustive()
    }
}

/// The HTTP surface. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Api {
    pub(crate) ports: Ports,
    pub(crate) options: Arc<Options>,
    pub(crate) sync_slots: Arc<Semaphore>,
    keys: Arc<RwLock<Keys>>,
    rates: Option<Arc<Rates>>,
}

impl Api {
    /// Builds the surface on its ports.
    pub fn new(ports: Ports, options: Options) -> Self {
        Self {
            ports,
            sync_slots: Arc::new(Semaphore::new(options.sync_concurrency.max(1))),
            keys: Arc::new(RwLock::new(options.keys.clone())),
            rates: options
                .rate_limit_per_minute
                .map(|limit| Arc::new(Rates::new(limit))),
            options: Arc::new(options),
        }
    }

    /// Takes other keys from now on.
    pub fn replace_keys(&self, keys: Keys) {
        *self.keys.write() = keys;
    }

    /// Lets a call in, or refuses it: 401 without a key, 429 when its caller calls too often.
    pub(crate) fn admit(
        &self,
        path: &str,
        headers: &HeaderMap,
        peer: Option<Peer>,
        context: &mut CallContext,
    ) -> Answer<()> {
        if !path.starts_with("/api/") {
            return Ok(());
        }
        let caller = self.holder(headers, context)?.unwrap_or_else(|| {
            peer.map_or(Caller::Unknown, |Peer(address)| Caller::Address(address))
        });
        match &self.rates {
            Some(rates) => rates.admit(caller),
            None => Ok(()),
        }
    }

    /// Who calls by its key, and what that key may see; `None` when no key is asked for.
    fn holder(&self, headers: &HeaderMap, context: &mut CallContext) -> Answer<Option<Caller>> {
        let known = self.keys.read();
        if known.is_open() {
            return Ok(None);
        }
        let refuse = |detail: &str| {
            Refusal::new(ErrorCode::Unauthorized, detail).header(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"flydocs\""),
            )
        };
        let given = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, key)| key.trim());
        let Some(given) = given else {
            return Err(refuse("a key is needed: send Authorization: Bearer <key>"));
        };
        match known.holder(given) {
            None => Err(refuse("nobody has this key")),
            Some(Holder::Anyone) => Ok(Some(Caller::Key(keys::digest(given)))),
            Some(Holder::Tenant(tenant)) => {
                if context
                    .tenant_id
                    .as_ref()
                    .is_some_and(|asked| *asked != tenant)
                {
                    return Err(refuse(
                        "this key is bound to another tenant than X-Tenant-Id says",
                    ));
                }
                context.tenant_id = Some(tenant.clone());
                context.bound_to = Some(tenant);
                Ok(Some(Caller::Key(keys::digest(given))))
            }
        }
    }
}
