//! TLS in front of a server: a certificate that nobody knows but the test, and a server that ends TLS and passes on what
//! was in it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tempfile::TempDir;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

/// A certificate for `127.0.0.1` and `localhost`, signed by itself, with its key; in files that go with it.
#[derive(Debug)]
pub struct Identity {
    folder: TempDir,
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Identity {
    /// A new one.
    pub fn new() -> Result<Self> {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names)?;
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("certificate.pem"), made.cert.pem())?;
        let key = made.signing_key.serialize_pem();
        std::fs::write(folder.path().join("key.pem"), key)?;
        Ok(Self {
            folder,
            certificate: made.cert.der().clone(),
            key: made.signing_key.serialize_der(),
        })
    }

    /// Its certificate (PEM): whoever trusts this file trusts the server.
    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    /// Its key (PEM).
    pub fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// The folder of both.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Ends TLS in front of a server that has none.
#[derive(Debug)]
pub struct Terminator {
    address: SocketAddr,
    accepting: tokio::task::JoinHandle<()>,
}

impl Terminator {
    /// Listens at an address of its own, which it has before the server behind it is there.
    pub async fn new(identity: &Identity, server: SocketAddr) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.key.clone()));
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![identity.certificate.clone()], key)
            .context("the certificate of the test")?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(accept(listener, Arc::new(config).into(), server));
        Ok(Self { address, accepting })
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Terminator {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, server: SocketAddr) {
    while let Ok((client, _from)) = listener.accept().await {
        let tls = tls.clone();
        tokio::spawn(async move {
            // A client that does not trust us leaves here.
            let (Ok(mut client), Ok(mut server)) =
                (tls.accept(client).await, TcpStream::connect(server).await)
            else {
                return;
            };
            // Either end may leave without a goodbye.
            copy_bidirectional(&mut client, &mut server)
                .await
                .map(drop)
                .unwrap_or_default();
        });
    }
}
