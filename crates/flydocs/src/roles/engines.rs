//! Engines by name.

use std::sync::Arc;

use flydocs_engines::{Engine, Error, LocalLayout, Result};
use flydocs_pipeline::EngineSource;

/// Every engine of this process.
#[derive(Debug)]
pub(crate) struct Engines {
    own: String,
    known: Vec<Arc<dyn Engine>>,
}

impl Engines {
    /// `own` answers requests that name none (`FLYDOCS_MODEL`).
    pub(crate) fn new(own: String) -> Self {
        Self {
            own,
            known: vec![Arc::new(LocalLayout)],
        }
    }
}

impl EngineSource for Engines {
    fn engine(&self, model: Option<&str>) -> Result<Arc<dyn Engine>> {
        let model = model.unwrap_or(&self.own);
        let found = self.known.iter().find(|engine| engine.model() == model);
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = self.known.iter().map(|engine| engine.model()).collect();
            Error::UnknownModel {
                model: model.chars().take(80).collect(),
                known: names.join(", "),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_model_names_those_there_are() {
        let engines = Engines::new("local:layout".to_owned());
        assert_eq!(engines.engine(None).unwrap().model(), "local:layout");
        let said = engines.engine(Some("local:magic")).unwrap_err().to_string();
        assert!(
            said.contains("local:magic") && said.contains("local:layout"),
            "{said}"
        );
    }
}
