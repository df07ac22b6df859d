//! A server that does nothing: reads a body, and answers always the same.

use std::net::SocketAddr;

use anyhow::Context;
use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::routing::post;
use tokio::net::TcpListener;

/// About as long as an answer of `auto-host serve`.
const ANSWER: &str = r#"{"artifact":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","output":"PLEASE SEND THE BLUE KEY","tier":1}"#;

/// Starts it in threads of its own; as many as there are cores, as in `auto-host serve`.
pub fn start() -> anyhow::Result<SocketAddr> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let answer = |body: Bytes| async move {
        std::hint::black_box(body);
        ([(header::CONTENT_TYPE, "application/json")], ANSWER)
    };
    let router = Router::new().route("/run/{name}", post(answer));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).context("binding a loopback port")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            use axum::serve::ListenerExt as _;
            let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
            // Until the process ends.
            let _ = axum::serve(listener, router).await;
        });
    });
    Ok(address)
}
