//! From a stored request to what the pipeline takes: the request's words and its files with their bytes.

use flydocs_pages::Source;
use flydocs_pipeline::{InputFile, Request};
use flydocs_store::{Store, StoredFile, StoredRequest};

use crate::disposition::Failure;

/// The request without its files.
pub(crate) fn request(stored: &StoredRequest) -> Request {
    Request {
        intention: stored.intention.clone(),
        document_types: stored.document_types.clone().into(),
        rules: stored.rules.clone(),
        options: stored.options.clone(),
    }
}

/// The files of a request with their bytes, in the caller's order.
pub(crate) async fn read(
    store: &dyn Store,
    files: &[StoredFile],
) -> Result<Vec<InputFile>, Failure> {
    let mut read = Vec::with_capacity(files.len());
    for file in files {
        let filename = || file.filename.clone();
        let failed = |source| Failure::Read {
            filename: filename(),
            source,
        };
        let download = store.get_blob(&file.sha256).await.map_err(failed)?;
        let Some(download) = download else {
            return Err(Failure::BytesMissing {
                filename: filename(),
            });
        };
        read.push(InputFile {
            source: Source {
                filename: filename(),
                content: download.collect().await.map_err(failed)?.into(),
                declared_media_type: file.content_type.clone(),
            },
            expected_type: file.expected_type.clone(),
        });
    }
    Ok(read)
}
