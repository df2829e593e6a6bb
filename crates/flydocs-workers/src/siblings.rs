//! Services that live and end together: when one ends without being asked, the process must not go on half alive.

use std::{future::Future, pin::Pin};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::error::{Error, Result};

type Service = Pin<Box<dyn Future<Output = Result<()>> + Send>>;
type Start = Box<dyn FnOnce(CancellationToken) -> Service + Send>;

/// Services that are to run side by side.
#[derive(Default)]
pub struct Siblings {
    services: Vec<(&'static str, Start)>,
}

impl std::fmt::Debug for Siblings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.services.iter().map(|(name, _)| name))
            .finish()
    }
}

impl Siblings {
    /// Nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more; `name` is what logs and errors call it.
    #[must_use]
    pub fn with<F>(
        mut self,
        name: &'static str,
        run: impl FnOnce(CancellationToken) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let start = Box::new(|shutdown| Box::pin(run(shutdown)) as Service);
        self.services.push((name, start));
        self
    }

    /// Runs them until `shutdown` fires and each has ended in order.
    ///
    /// When one ends before that, the reason is logged, the others are shut down, and the error says which it was.
    pub async fn run(self, shutdown: CancellationToken) -> Result<()> {
        let together = shutdown.child_token();
        let mut running = JoinSet::new();
        let mut names = std::collections::HashMap::new();
        for (name, start) in self.services {
            let service = start(together.clone());
            let id = running.spawn(service).id();
            names.insert(id, name);
        }
        let mut outcome = Ok(());
        while let Some(ended) = running.join_next_with_id().await {
            let (id, ended) = match ended {
                Ok((id, ended)) => (id, Some(ended)),
                Err(panicked) => (panicked.id(), None),
            };
            let service = names.get(&id).copied().unwrap_or("service");
            let failure = match ended {
                Some(Ok(())) if together.is_cancelled() => {
                    info!("the {service} has ended");
                    continue;
                }
                Some(Ok(())) => Error::ServiceEnded { service },
                Some(Err(source)) => Error::ServiceFailed {
                    service,
                    source: Box::new(source),
                },
                None => Error::ServicePanicked { service },
            };
            error!(
                error = &failure as &dyn std::error::Error,
                "the process ends: {failure}"
            );
            together.cancel();
            if outcome.is_ok() {
                outcome = Err(failure);
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn patient(shutdown: CancellationToken) -> Result<()> {
        shutdown.cancelled().await;
        Ok(())
    }

    #[tokio::test]
    async fn a_shutdown_ends_all_of_them_in_order() {
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(
            Siblings::new()
                .with("first", patient)
                .with("second", patient)
                .run(shutdown.clone()),
        );
        shutdown.cancel();
        running.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn one_that_ends_takes_the_others_with_it_and_is_named() {
        let ended = Siblings::new()
            .with("patient", patient)
            .with("short", |_| async { Ok(()) })
            .run(CancellationToken::new())
            .await;
        assert!(matches!(
            ended,
            Err(Error::ServiceEnded { service: "short" })
        ));
        let panicked = Siblings::new()
            .with("patient", patient)
            .with("wild", |_| async { panic!("on purpose") })
            .run(CancellationToken::new())
            .await;
        assert!(matches!(
            panicked,
            Err(Error::ServicePanicked { service: "wild" })
        ));
    }
}
