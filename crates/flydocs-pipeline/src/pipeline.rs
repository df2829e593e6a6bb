//! The entry: one request through every stage, or one result through the grounding of its boxes.

use std::sync::Arc;

use flydocs_contract::result::ExtractionResult;
use flydocs_pages::Reader;
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Error, Result},
    input::{Input, RefineInput},
    options::Options,
    ports::{Clock, EngineSource, Progress},
    refine,
    run::Run,
    scope::Services,
    stages::STAGES,
};

/// Takes documents to fields. Cheap to clone; keeps nothing between runs, so that any run may run twice.
#[derive(Debug, Clone)]
pub struct Pipeline {
    services: Arc<Services>,
}

impl Pipeline {
    /// Builds a pipeline on its ports.
    pub fn new(
        reader: Arc<dyn Reader>,
        engines: Arc<dyn EngineSource>,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Self {
        Self {
            services: Arc::new(Services {
                reader,
                engines,
                clock,
                options,
            }),
        }
    }

    /// Runs every stage. What does not stop it stands in `pipeline.errors` of the result, which is then partial.
    ///
    /// The request is taken as valid: ask [`crate::validate::request`] first.
    pub async fn run(
        &self,
        input: Input,
        progress: Arc<dyn Progress>,
        cancel: &CancellationToken,
    ) -> Result<ExtractionResult> {
        let model = input.request.options.model.as_deref();
        if let Err(source) = self.services.engines.engine(model) {
            return Err(Error::Model { source });
        }
        let mut run = Run::new(&self.services, input, progress, cancel);
        for stage in STAGES {
            stage.pass(&mut run).await?;
        }
        crate::stages::assemble::finish(run)
    }

    /// Grounds every leaf of a stored result among the words of its pages and judges every box again.
    ///
    /// The bbox worker's half of an asynchronous extraction; the same code as the inline stage.
    pub async fn refine(
        &self,
        input: RefineInput,
        progress: Arc<dyn Progress>,
        cancel: &CancellationToken,
    ) -> Result<ExtractionResult> {
        refine::result(&self.services, input, progress, cancel).await
    }
}
