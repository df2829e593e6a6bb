//! A network between a client and a server that a test can cut.

use std::net::SocketAddr;

use anyhow::Result;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Connections pass through it while it is whole. While it is cut those that were open are broken, and new ones are
/// accepted and closed.
#[derive(Debug)]
pub struct Cable {
    address: SocketAddr,
    whole: watch::Sender<bool>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Cable {
    /// A cable to the server, on a port of its own.
    pub async fn to(server: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let whole = watch::Sender::new(true);
        let accepting = tokio::spawn(accept(listener, server, whole.subscribe()));
        Ok(Self {
            address,
            whole,
            accepting,
        })
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks every connection.
    pub fn cut(&self) {
        self.whole.send_replace(false);
    }

    /// Lets connections pass again.
    pub fn mend(&self) {
        self.whole.send_replace(true);
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.cut();
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, server: SocketAddr, whole: watch::Receiver<bool>) {
    while let Ok((mut client, _from)) = listener.accept().await {
        let mut whole = whole.clone();
        if !*whole.borrow_and_update() {
            continue;
        }
        tokio::spawn(async move {
            let Ok(mut server) = TcpStream::connect(server).await else {
                return;
            };
            tokio::select! {
                _ended = copy_bidirectional(&mut client, &mut server) => {}
                _cut = whole.wait_for(|whole| !whole) => {}
            }
        });
    }
}
