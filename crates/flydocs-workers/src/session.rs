//! The life of a worker: registered as alive, taking events, ending in order.
//!
//! A session lasts as long as the registration. When that is lost although the worker lives, its claims may be gone:
//! their work is stopped and a new session begins.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use flydocs_bus::{Consumer, Subscription};
use flydocs_contract::EventType;
use flydocs_store::{Store, WorkerLiveness};
use tokio::time::{sleep, timeout};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tracing::{info, warn};

use crate::{
    error::{Error, Result},
    heart::{Heart, Stop},
    intake::{Handler, Intake},
    measure::Kind,
    options::Options,
    ports::Services,
};

/// How long stopped work may take to be given back.
const GIVE_BACK: Duration = Duration::from_secs(10);
/// How long a worker that ends may take to sign off.
const SIGN_OFF: Duration = Duration::from_secs(5);
/// How long to wait for a database or a bus that is away; doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What one kind of worker is.
pub(crate) struct Role {
    pub(crate) kind: Kind,
    pub(crate) group: &'static str,
    pub(crate) destination: String,
    pub(crate) event_type: EventType,
    pub(crate) slots: NonZeroUsize,
}

/// What a handler needs of the session it runs in.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// What `claimed_by` says.
    pub(crate) instance: Arc<str>,
    pub(crate) heart: Arc<Heart>,
    /// Fires when nothing new may be started.
    pub(crate) ending: CancellationToken,
}

/// Runs sessions until the shutdown is over.
pub(crate) async fn serve<H: Handler>(
    services: &Services,
    options: &Options,
    role: &Role,
    handler: impl Fn(Session) -> H,
    shutdown: CancellationToken,
) -> Result<()> {
    let mut outcome = Ok(());
    while outcome.is_ok() && !shutdown.is_cancelled() {
        let Some(liveness) = register(services.store.as_ref(), options, &shutdown).await? else {
            break;
        };
        let Some(consumer) = join(services, role, liveness.instance(), &shutdown).await? else {
            sign_off(services.store.as_ref(), liveness).await;
            break;
        };
        let left;
        (outcome, left) = session(
            services, options, role, &handler, &consumer, &liveness, &shutdown,
        )
        .await;
        match consumer.close().await {
            Ok(()) if left == Left::Nothing => {
                sign_off(services.store.as_ref(), liveness).await;
            }
            Ok(()) => {}
            Err(error) => warn!(
                error = &error as &dyn std::error::Error,
                "the group {} could not be left; its leases run out by themselves", role.group
            ),
        }
    }
    outcome
}

/// What a session leaves to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Everything ended or was given back: the worker can sign off.
    Nothing,
    /// Work that could not be given back: others must find the worker dead.
    Work,
}

/// Without it the others would say that the worker died.
async fn sign_off(store: &dyn Store, liveness: WorkerLiveness) {
    if liveness.lost().is_cancelled() {
        return;
    }
    let worker = liveness.instance().to_owned();
    match timeout(SIGN_OFF, store.sign_off(liveness)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => warn!(
            worker,
            error = &error as &dyn std::error::Error,
            "the worker could not sign off; the others will find it dead"
        ),
        Err(_) => warn!(
            worker,
            "the worker could not sign off in {SIGN_OFF:?}; the others will find it dead"
        ),
    }
}

async fn session<H: Handler>(
    services: &Services,
    options: &Options,
    role: &Role,
    handler: impl Fn(Session) -> H,
    consumer: &Arc<dyn Consumer>,
    liveness: &WorkerLiveness,
    shutdown: &CancellationToken,
) -> (Result<()>, Left) {
    let heart = Heart::new(Arc::clone(&services.store), role.kind);
    let ending = shutdown.child_token();
    let handler = Arc::new(handler(Session {
        instance: liveness.instance().into(),
        heart: Arc::clone(&heart),
        ending: ending.clone(),
    }));
    let mut intake = Intake::new(Arc::clone(consumer), handler, role.slots, role.kind);
    let _beating = AbortOnDropHandle::new(tokio::spawn({
        let heart = Arc::clone(&heart);
        async move { heart.beat_on().await }
    }));
    let _leases = AbortOnDropHandle::new(tokio::spawn(intake.keep_leases()));
    info!(
        worker = liveness.instance(),
        slots = role.slots,
        "the {} worker takes work",
        role.kind.as_str()
    );
    let lost = liveness.lost();
    let _end_when_lost = AbortOnDropHandle::new(tokio::spawn({
        let ending = ending.clone();
        async move {
            lost.cancelled().await;
            ending.cancel();
        }
    }));
    let taken = intake.take_until(&ending).await;
    ending.cancel();
    if shutdown.is_cancelled() {
        let grace = options.shutdown_grace;
        info!(
            running = intake.running(),
            "the {} worker stops, running work has {grace:?}",
            role.kind.as_str()
        );
        if !intake.finish_within(grace).await {
            info!(
                running = intake.running(),
                "the grace is over, the rest is given back"
            );
            heart.stop_all(Stop::Shutdown);
        }
    } else if taken.is_ok() {
        warn!(
            worker = liveness.instance(),
            "this worker counts as dead: its work is stopped, it registers anew"
        );
        heart.stop_all(Stop::Lost);
    } else {
        heart.stop_all(Stop::Shutdown);
    }
    let left = if intake.finish_within(GIVE_BACK).await {
        Left::Nothing
    } else {
        warn!(
            running = intake.running(),
            "work that was stopped could not be given back; a reaper will find it"
        );
        Left::Work
    };
    let taken = taken.map_err(|source| Error::Take {
        group: role.group,
        source,
    });
    (taken, left)
}

/// Joins the group under the worker's own name, so that what it holds is free when it is found dead; waits for a bus
/// that is away. `None` when the shutdown came first.
async fn join(
    services: &Services,
    role: &Role,
    instance: &str,
    shutdown: &CancellationToken,
) -> Result<Option<Arc<dyn Consumer>>> {
    let subscription = Subscription {
        group: role.group.to_owned(),
        destinations: vec![role.destination.clone()],
        event_types: vec![role.event_type.as_str().to_owned()],
        consumer: instance.to_owned(),
        start: flydocs_bus::Start::Earliest,
    };
    let mut pause = FIRST_PAUSE;
    loop {
        match services.bus.subscribe(subscription.clone()).await {
            Ok(consumer) => return Ok(Some(consumer)),
            Err(error) if error.is_transient() => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "the group {} cannot be joined, trying again in {pause:?}", role.group
                );
            }
            Err(source) => {
                return Err(Error::Subscribe {
                    group: role.group,
                    source,
                });
            }
        }
        if !pause_ended(&mut pause, shutdown).await {
            return Ok(None);
        }
    }
}

/// Waits, longer each time; false when the shutdown came first.
async fn pause_ended(pause: &mut Duration, shutdown: &CancellationToken) -> bool {
    tokio::select! {
        () = sleep(*pause) => *pause = (*pause * 2).min(LONGEST_PAUSE),
        () = shutdown.cancelled() => return false,
    }
    true
}

/// Registers the worker, waiting for a database that is away; `None` when the shutdown came first.
async fn register(
    store: &dyn Store,
    options: &Options,
    shutdown: &CancellationToken,
) -> Result<Option<WorkerLiveness>> {
    let mut pause = FIRST_PAUSE;
    loop {
        match store.register_worker(&options.name).await {
            Ok(liveness) => return Ok(Some(liveness)),
            Err(error) if error.is_unavailable() => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "the worker cannot be registered, trying again in {pause:?}"
                );
            }
            Err(source) => return Err(Error::Register { source }),
        }
        if !pause_ended(&mut pause, shutdown).await {
            return Ok(None);
        }
    }
}
