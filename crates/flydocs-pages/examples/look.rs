//! `cargo run -p flydocs-pages --example look -- FILE [PAGE BOXES.png]`: what a file looks like to the reader.
#![expect(clippy::print_stdout, reason = "an example prints what it saw")]

use std::{env, error::Error, fs, path::Path, process::ExitCode};

use flydocs_pages::{
    ImageSize, Isolation, Options, Pages, Source,
    inspect::{Look, boxes, inspect},
    isolated,
};
use tokio_util::sync::CancellationToken;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments
        .first()
        .is_some_and(|a| a == isolated::CHILD_ARGUMENT)
    {
        return Ok(isolated::child_main());
    }
    let Some(path) = arguments.first() else {
        return Err("a file, please".into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let pages = Pages::new(Options {
            isolation: Isolation::Process,
            ..Options::default()
        });
        let never = CancellationToken::new();
        let filename = Path::new(path)
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let source = Source {
            filename,
            content: fs::read(path)?.into(),
            declared_media_type: None,
        };
        let look = Look {
            max_pages: Some(5),
            with_text: true,
            ..Look::default()
        };
        let seen = match inspect(&pages, source, &look, &never).await {
            Ok(seen) => seen,
            Err(error) => {
                println!("{}: {error}", error.code());
                return Ok(ExitCode::FAILURE);
            }
        };
        println!("{}", serde_json::to_string_pretty(&seen)?);
        if let ([_, page, out], Some(first)) = (arguments.as_slice(), seen.rows.first()) {
            let image = boxes(
                &pages,
                &first.row,
                page.parse()?,
                ImageSize::Width(1200),
                None,
                &never,
            )
            .await?;
            fs::write(out, image.bytes)?;
        }
        Ok(ExitCode::SUCCESS)
    })
}
