//! A JSON body: contents of files are decoded on the way, the rest is parsed at the end.

use axum::body::Body;
use bytes::Bytes;
use flydocs_contract::{ErrorCode, ExtractRequest};
use futures::StreamExt;

use super::{
    Incoming, Landed, Landing, Shape,
    arrival::{Arrival, Arrived, request_too_large, too_many_files},
    base64::{Decoder, NotBase64},
    digest, patiently,
    scan::{Piece, Scanner},
    strict, typed,
};
use crate::{
    options::Limits,
    problem::{Answer, Refusal},
};

/// What became of one content.
enum Content {
    Arrived(Arrived),
    NotBase64,
}

/// Reads the body chunk by chunk; what is not read of it is left in `body`.
pub(super) async fn read(
    body: &mut Option<Body>,
    limits: &Limits,
    landing: &dyn Landing,
) -> Answer<Incoming> {
    let mut chunks = body.take().unwrap_or_default().into_data_stream();
    let result = collect(&mut chunks, limits, landing).await;
    if result.is_err() {
        *body = Some(Body::from_stream(chunks));
    }
    let (skeleton, contents) = result?;
    let request = request_of(&skeleton)?;
    let files = join(&request, contents, limits, landing).await?;
    let digest = digest(&request, &files);
    Ok(Incoming {
        request,
        files,
        digest,
    })
}

type Contents = Vec<(usize, Content)>;

async fn collect(
    chunks: &mut axum::body::BodyDataStream,
    limits: &Limits,
    landing: &dyn Landing,
) -> Answer<(Vec<u8>, Contents)> {
    let mut scanner = Scanner::new();
    let mut pieces = Vec::new();
    let mut contents = Contents::new();
    let mut open: Option<OpenFile<'_>> = None;
    while let Some(chunk) = patiently(chunks.next()).await? {
        let chunk = chunk.map_err(|_| Refusal::fault("", "the body ended early"))?;
        scanner.feed(&chunk, &mut pieces);
        if scanner.kept() as u64 > limits.max_request_bytes {
            return Err(request_too_large(limits));
        }
        for piece in pieces.drain(..) {
            match piece {
                Piece::Open { index, filename } => {
                    if contents.len() >= limits.max_files {
                        return Err(too_many_files(limits));
                    }
                    let name = filename.unwrap_or_else(|| format!("files[{index}]"));
                    let arrival = Arrival::begin(landing, name, limits).await?;
                    open = Some(OpenFile {
                        index,
                        decoder: Decoder::default(),
                        arrival: Some(arrival),
                    });
                }
                Piece::Text(text) => {
                    if let Some(file) = &mut open {
                        file.write(&text).await?;
                    }
                }
                Piece::Close => {
                    if let Some(file) = open.take() {
                        let index = file.index;
                        contents.push((index, file.finish().await?));
                    }
                }
            }
        }
    }
    Ok((scanner.into_skeleton(), contents))
}

struct OpenFile<'a> {
    index: usize,
    decoder: Decoder,
    /// `None` once the text turned out to be no base64: the rest of it is passed over.
    arrival: Option<Arrival<'a>>,
}

impl OpenFile<'_> {
    async fn write(&mut self, text: &[u8]) -> Answer<()> {
        if let Some(arrival) = &mut self.arrival {
            match self.decoder.feed(text) {
                Ok(bytes) => arrival.write(Bytes::from(bytes)).await?,
                Err(NotBase64) => self.arrival = None,
            }
        }
        Ok(())
    }

    async fn finish(self) -> Answer<Content> {
        let Some(mut arrival) = self.arrival else {
            return Ok(Content::NotBase64);
        };
        match self.decoder.finish() {
            Ok(bytes) => {
                arrival.write(Bytes::from(bytes)).await?;
                Ok(Content::Arrived(arrival.finish().await?))
            }
            Err(NotBase64) => Ok(Content::NotBase64),
        }
    }
}

fn request_of(skeleton: &[u8]) -> Answer<ExtractRequest> {
    let value = strict::parse(skeleton).map_err(|fault| Refusal::invalid(&[fault]))?;
    typed(value, Shape::Json)
}

async fn join(
    request: &ExtractRequest,
    contents: Contents,
    limits: &Limits,
    landing: &dyn Landing,
) -> Answer<Vec<Landed>> {
    let mut contents: std::collections::BTreeMap<usize, Content> = contents.into_iter().collect();
    let mut files = Vec::with_capacity(request.files.len());
    for (index, file) in request.files.iter().enumerate() {
        let content = match contents.remove(&index) {
            Some(content) => content,
            // the scanner did not see it (its key was written with escapes): it is in the skeleton
            None => decode_kept(&file.filename, &file.content_base64, limits, landing).await?,
        };
        let Content::Arrived(arrived) = content else {
            return Err(Refusal::new(
                ErrorCode::InvalidBase64,
                format!(
                    "the content of {} is not standard base64 with padding and without white space",
                    file.filename
                ),
            )
            .with("filename", file.filename.as_str()));
        };
        files.push(Landed {
            filename: file.filename.clone(),
            declared_media_type: request
                .options
                .declared_media_type
                .clone()
                .or_else(|| file.content_type.clone()),
            expected_type: file.expected_type.clone(),
            sha256: arrived.sha256,
            bytes: arrived.bytes,
            content: arrived.content,
        });
    }
    Ok(files)
}

async fn decode_kept(
    filename: &str,
    text: &str,
    limits: &Limits,
    landing: &dyn Landing,
) -> Answer<Content> {
    let arrival = Arrival::begin(landing, filename.to_owned(), limits).await?;
    let mut file = OpenFile {
        index: 0,
        decoder: Decoder::default(),
        arrival: Some(arrival),
    };
    file.write(text.as_bytes()).await?;
    file.finish().await
}
