//! Where a server listens.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// A bound address; [`Listener::serve`] serves on it.
pub struct Listener {
    pub(super) listener: TcpListener,
    /// With the port that was given where 0 was asked for.
    pub address: SocketAddr,
}

impl Listener {
    /// Binds `HOST:PORT`.
    pub async fn bind(address: &str) -> io::Result<Listener> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Listener { listener, address })
    }

    /// Whether only this machine reaches it.
    pub fn is_local(&self) -> bool {
        self.address.ip().is_loopback()
    }
}

/// Whether only this machine reaches every address that `HOST:PORT` stands for.
pub fn is_loopback(address: &str) -> io::Result<bool> {
    use std::net::ToSocketAddrs as _;
    Ok(address.to_socket_addrs()?.all(|address| address.ip().is_loopback()))
}

/// A runtime with so many threads for connections.
pub fn runtime(threads: usize) -> io::Result<Runtime> {
    runtime_with_stack(threads, STACK)
}

/// Bytes of stack of a thread, unless somebody needs more.
const STACK: usize = 2 << 20;

/// The same, with so many bytes of stack each.
pub fn runtime_with_stack(threads: usize, stack: usize) -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads.max(1)).thread_name("auto-serve").thread_stack_size(stack).enable_all().build()
}
