//! `doctor`: what this machine has and what it lacks, one line each, with what to do.

use crate::{
    Outcome,
    exit::Exit,
    failure::Failure,
    output::{
        Out, Paint,
        rows::{Lean, pad},
    },
    roles,
    settings::Settings,
};

enum Finding {
    Good(String),
    Lacks(String),
    Broken(String),
}

/// Looks at everything a process would stand on.
pub(super) async fn run(settings: Settings, out: &mut Out) -> Outcome {
    let mut broken = false;
    let findings = [
        (
            "settings",
            Finding::Good("every one fits, none contradicts another".to_owned()),
        ),
        ("database", database(&settings).await),
        ("ocr", ocr(&settings).await),
        ("engine", engine(&settings)),
        ("temp", temporary()),
    ];
    let paint = Paint::stdout();
    for (name, finding) in findings {
        let (mark, text) = match finding {
            Finding::Good(text) => (paint.good("✓"), text),
            Finding::Lacks(text) => (paint.warn("!"), text),
            Finding::Broken(text) => {
                broken = true;
                (paint.bad("✗"), text)
            }
        };
        out.line(&format!("{mark} {}  {text}", pad(name, 10, Lean::Left)))?;
    }
    Ok(if broken { Exit::Unexpected } else { Exit::Done })
}

async fn database(settings: &Settings) -> Finding {
    match opened(settings).await {
        Ok(text) => Finding::Good(text),
        Err(failure) => Finding::Broken(failure.to_string()),
    }
}

async fn opened(settings: &Settings) -> Result<String, Failure> {
    let store = roles::store(settings).await?;
    let health = store
        .health()
        .await
        .map_err(|error| roles::store_failure(&error));
    store.close().await;
    let health = health?;
    let watch = if health.watches_workers {
        "dead workers are noticed at once"
    } else {
        "dead workers are noticed by their heartbeat alone"
    };
    Ok(format!("{} {}; {watch}", health.database, health.version))
}

async fn ocr(settings: &Settings) -> Finding {
    match roles::pages(settings).check_ocr().await {
        Ok(()) => Finding::Good(format!(
            "reads {}",
            settings.bbox_refine_tesseract_lang.replace('+', ", ")
        )),
        Err(error) => Finding::Lacks(error.to_string()),
    }
}

fn engine(settings: &Settings) -> Finding {
    match roles::engines(settings).engine(None) {
        Ok(engine) => Finding::Good(engine.model().to_owned()),
        Err(error) => Finding::Broken(error.to_string()),
    }
}

fn temporary() -> Finding {
    let dir = std::env::temp_dir();
    match std::fs::metadata(&dir) {
        Ok(facts) if facts.is_dir() && !facts.permissions().readonly() => {
            Finding::Good(format!("{} can be written", dir.display()))
        }
        Ok(_) => Finding::Broken(format!("{} cannot be written", dir.display())),
        Err(error) => Finding::Broken(format!("{}: {error}", dir.display())),
    }
}
