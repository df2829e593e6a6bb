//! Blobs.

use bytes::Bytes;
use flydocs_store::{BlobId, BlobInfo, Error, Options, Store};
use futures::{StreamExt as _, stream};
use sha2::{Digest as _, Sha256};

use crate::place::{Place, put};

/// Bytes that do not repeat at the edges of chunks.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 31 + n / 251) as u8).collect()
}

/// Sends them in pieces of an odd size.
async fn put_in_pieces(store: &dyn Store, content: &[u8], piece: usize) -> BlobInfo {
    let pieces: Vec<_> = content
        .chunks(piece)
        .map(|p| Ok(Bytes::copy_from_slice(p)))
        .collect();
    store.put_blob(stream::iter(pieces).boxed()).await.unwrap()
}

async fn read(store: &dyn Store, id: &BlobId) -> Option<Vec<u8>> {
    let download = store.get_blob(id).await.unwrap()?;
    Some(download.collect().await.unwrap())
}

async fn comes_back(store: &dyn Store) {
    const CHUNK: usize = 1 << 20;
    for (length, piece) in [
        (0, 1),
        (1, 1),
        (100_000, 8_191),
        (CHUNK, 65_536),
        (CHUNK + 1, CHUNK + 1),
        (3 * CHUNK + 17, 300_007),
    ] {
        let content = content(length);
        let info = put_in_pieces(store, &content, piece).await;
        assert_eq!(info.bytes, length as u64);
        assert_eq!(
            info.id,
            BlobId::from_digest(Sha256::digest(&content).into())
        );
        assert!(
            read(store, &info.id).await.unwrap() == content,
            "{length} bytes"
        );
    }
    assert!(read(store, &BlobId::from_digest([1; 32])).await.is_none());
}

pub(crate) async fn bytes_come_back_as_they_went_in(place: &Place) {
    comes_back(&*place.open().await).await;
}

pub(crate) async fn the_same_bytes_are_stored_once(place: &Place) {
    let store = place.open().await;
    let content = content(1_500_000);
    let first = put_in_pieces(&*store, &content, 100_000).await;
    let second = put_in_pieces(&*store, &content, 777_777).await;
    assert_eq!(first, second);
    assert_eq!(place.number("SELECT count(*) FROM blobs").await, 1);
    assert_eq!(place.number("SELECT count(*) FROM blob_chunks").await, 2);
}

pub(crate) async fn concurrent_uploads_of_the_same_bytes_are_one_blob(place: &Place) {
    let stores = place.open_many(4).await;
    let content = content(1_200_000);
    let mut uploads = tokio::task::JoinSet::new();
    for n in 0..8 {
        let (store, content) = (stores[n % 4].clone(), content.clone());
        uploads.spawn(async move { put_in_pieces(&*store, &content, 50_000 + n).await });
    }
    let infos = uploads.join_all().await;
    assert!(infos.iter().all(|info| info == &infos[0]));
    assert_eq!(place.number("SELECT count(*) FROM blobs").await, 1);
    assert!(read(&*stores[0], &infos[0].id).await.unwrap() == content);
}

pub(crate) async fn an_upload_that_breaks_leaves_nothing(place: &Place) {
    let directory = tempfile::tempdir().unwrap();
    for blob_url in [
        "db:".to_owned(),
        format!("file://{}", directory.path().display()),
    ] {
        let store = place
            .open_with(Options {
                blob_url,
                ..Options::default()
            })
            .await;
        let pieces =
            stream::iter([Ok(Bytes::from(content(2_500_000)))]).chain(stream::iter([Err(
                std::io::ErrorKind::ConnectionReset.into(),
            )]));
        let broken = store.put_blob(pieces.boxed()).await;
        assert!(matches!(broken, Err(Error::Upload { .. })), "{broken:?}");
    }
    assert_eq!(place.number("SELECT count(*) FROM blobs").await, 0);
    assert_eq!(place.number("SELECT count(*) FROM blob_chunks").await, 0);
    let left = std::fs::read_dir(directory.path().join("uploads"))
        .unwrap()
        .count();
    assert_eq!(left, 0);
}

pub(crate) async fn blobs_can_lie_in_a_directory(place: &Place) {
    let directory = tempfile::tempdir().unwrap();
    let store = place
        .open_with(Options {
            blob_url: format!("file://{}", directory.path().display()),
            ..Options::default()
        })
        .await;
    comes_back(&*store).await;
    let id = put(&*store, b"on the shelf").await;
    let path = directory
        .path()
        .join(&id.to_string()[..2])
        .join(id.to_string());
    assert_eq!(std::fs::read(&path).unwrap(), b"on the shelf");
    assert_eq!(place.number("SELECT count(*) FROM blob_chunks").await, 0);

    place
        .execute(
            "UPDATE blobs SET touched_at = '2020-01-01T00:00:00.000Z'",
            "UPDATE blobs SET touched_at = '2020-01-01T00:00:00Z'",
        )
        .await;
    assert!(store.retain(100).await.unwrap().blobs > 1);
    assert!(!path.exists());
    assert_eq!(read(&*store, &id).await, None);
    put(&*store, b"on the shelf").await;
    assert_eq!(read(&*store, &id).await.unwrap(), b"on the shelf");
}
