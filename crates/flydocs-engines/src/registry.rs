//! The engines of a process, by model name.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Engine, Error, LocalLayout, Result};

/// The model that is used when neither request nor settings name one.
pub const DEFAULT_MODEL: &str = "local:layout";

/// What the composition root says about engines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `FLYDOCS_MODEL`: the engine of requests that name none.
    pub model: String,
    /// `FLYDOCS_FALLBACK_MODEL`: tried when the first fails for a transient reason.
    pub fallback_model: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: DEFAULT_MODEL.to_owned(),
            fallback_model: None,
        }
    }
}

/// All engines this process can ask.
#[derive(Debug, Clone)]
pub struct Engines {
    by_name: BTreeMap<String, Arc<dyn Engine>>,
    model: String,
    fallback: Option<String>,
}

impl Engines {
    /// The engines of the settings; an unknown name in them is an error at start.
    pub fn from(settings: &Settings) -> Result<Self> {
        let mut engines = Self {
            by_name: BTreeMap::new(),
            model: settings.model.clone(),
            fallback: settings.fallback_model.clone(),
        };
        engines.add(Arc::new(LocalLayout));
        engines.resolve(None)?;
        if let Some(fallback) = &settings.fallback_model {
            engines.resolve(Some(fallback))?;
        }
        Ok(engines)
    }

    /// Adds an engine under its own name.
    pub fn add(&mut self, engine: Arc<dyn Engine>) {
        self.by_name.insert(engine.model().to_owned(), engine);
    }

    /// The engine of a model name; of the settings' model when the request names none.
    pub fn resolve(&self, model: Option<&str>) -> Result<Arc<dyn Engine>> {
        let model = model.unwrap_or(&self.model);
        self.by_name
            .get(model)
            .cloned()
            .ok_or_else(|| Error::UnknownModel {
                model: model.to_owned(),
                known: self.known().join(", "),
            })
    }

    /// The engine to try after a transient failure.
    pub fn fallback(&self) -> Option<Arc<dyn Engine>> {
        self.resolve(Some(self.fallback.as_deref()?)).ok()
    }

    /// The names there are.
    pub fn known(&self) -> Vec<&str> {
        self.by_name.keys().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Engines, Settings};
    use crate::Error;

    #[test]
    fn the_default_engine_needs_no_settings() {
        let engines = Engines::from(&Settings::default()).unwrap();
        assert_eq!(engines.resolve(None).unwrap().model(), "local:layout");
        assert!(engines.fallback().is_none());
    }

    #[test]
    fn an_unknown_model_is_named_with_those_that_are_known() {
        let engines = Engines::from(&Settings::default()).unwrap();
        let error = engines.resolve(Some("local:nothing")).unwrap_err();
        assert!(matches!(error, Error::UnknownModel { .. }));
        assert_eq!(
            error.to_string(),
            "no engine is called \"local:nothing\"; known are local:layout"
        );
    }

    #[test]
    fn an_unknown_model_in_the_settings_is_an_error_at_start() {
        let settings = Settings {
            fallback_model: Some("x:y".into()),
            ..Settings::default()
        };
        assert!(Engines::from(&settings).is_err());
    }
}
