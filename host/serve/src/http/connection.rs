//! Connections: how many there may be, and how each is served and ended.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::future::RouteFuture;
use futures_util::future::Either;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tower::Service as _;

use super::local::refuse_foreign;
use super::stall::Stalling;
use super::{Bounds, Listener, Problem, Stop};

/// How many that are turned away are told why at the same time; the others are only closed.
const TURNED_AWAY: usize = 64;

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every request that had begun was answered.
    Drained,
    /// So many connections were cut off, after [`Bounds::drain`] or because it was insisted.
    CutOff(usize),
}

/// What connections came to, for whoever counts.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Open now.
    pub open: AtomicU64,
    /// Accepted since the start.
    pub accepted: AtomicU64,
    /// Turned away, because there were too many.
    pub turned_away: AtomicU64,
}

impl Listener {
    /// Serves until it is asked to stop, and then finishes what has begun.
    pub async fn serve(self, router: Router, bounds: Bounds, stop: &Stop) -> Ended {
        self.serve_counted(router, bounds, stop, Arc::default()).await
    }

    /// The same, with what connections came to in `traffic`.
    pub async fn serve_counted(self, router: Router, bounds: Bounds, stop: &Stop, traffic: Arc<Traffic>) -> Ended {
        let (router, local) = (super::whole(router), self.is_local());
        let (slots, told) = (Arc::new(Semaphore::new(bounds.connections)), Arc::new(Semaphore::new(TURNED_AWAY)));
        let graceful = GracefulShutdown::new();
        let server = builder(&bounds);
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.asked() => break,
                accepted = self.listener.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else {
                // No descriptor is left, or the client is gone already. Either passes.
                sleep(Duration::from_millis(10)).await;
                continue;
            };
            let Ok(slot) = slots.clone().try_acquire_owned() else {
                traffic.turned_away.fetch_add(1, Relaxed);
                if let Ok(told) = told.clone().try_acquire_owned() {
                    tokio::spawn(async move {
                        turn_away(stream).await;
                        drop(told);
                    });
                }
                continue;
            };
            // Replies are short, and whole when they are written.
            let _ = stream.set_nodelay(true);
            let door = Door { router: router.clone(), head: bounds.head, local };
            let io = TokioIo::new(Stalling::new(stream, bounds.stall));
            let connection = graceful.watch(server.serve_connection(io, door));
            traffic.accepted.fetch_add(1, Relaxed);
            traffic.open.fetch_add(1, Relaxed);
            let traffic = traffic.clone();
            tokio::spawn(async move {
                // A client that breaks off is its own business.
                let _ = connection.await;
                traffic.open.fetch_sub(1, Relaxed);
                drop(slot);
            });
        }
        drop(self.listener);
        let left = bounds.connections.saturating_sub(slots.available_permits());
        tokio::select! {
            () = graceful.shutdown() => Ended::Drained,
            () = sleep(bounds.drain) => Ended::CutOff(bounds.connections.saturating_sub(slots.available_permits())),
            () = stop.insisted() => Ended::CutOff(left),
        }
    }
}

fn builder(bounds: &Bounds) -> http1::Builder {
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head_time)
        // What is between this and the bound is refused in words, by the door.
        .max_header_size(bounds.head.saturating_mul(2))
        .max_buf_size(bounds.head.saturating_mul(2).max(64 << 10));
    server
}

/// What every request passes before it is routed.
#[derive(Clone)]
struct Door {
    router: Router,
    head: usize,
    local: bool,
}

impl Door {
    fn check(&self, request: &hyper::Request<Incoming>) -> Result<(), Problem> {
        let headers = request.headers();
        // `NAME: VALUE\r\n`, and about that for the first line.
        let lines: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
        let line = request.uri().path_and_query().map_or(0, |path| path.as_str().len()) + 16;
        if lines + line > self.head {
            let message = format!("the request's line and headers have more than {} bytes", self.head);
            let problem = Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "head-too-large", message);
            return Err(Problem { closes: true, ..problem.help("send less in headers and address") });
        }
        if self.local { refuse_foreign(headers) } else { Ok(()) }
    }
}

type Answer = Result<Response, Infallible>;

impl hyper::service::Service<hyper::Request<Incoming>> for Door {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Ready<Answer>, RouteFuture<Infallible>>;

    fn call(&self, request: hyper::Request<Incoming>) -> Self::Future {
        match self.check(&request) {
            Ok(()) => Either::Right(self.router.clone().call(request.map(Body::new))),
            Err(problem) => Either::Left(ready(Ok(problem.into_response()))),
        }
    }
}

/// Tells a client that there are too many, without reading what it wants.
async fn turn_away(mut stream: TcpStream) {
    let body = Problem::busy("too-many-connections", "this server has as many connections as it may").to_value();
    let body = body.to_string();
    let reply = format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let telling = async {
        stream.write_all(reply.as_bytes()).await?;
        stream.shutdown().await?;
        // Closing with something unread would take the reply back.
        let mut rest = [0; 1024];
        for _ in 0..64 {
            if stream.read(&mut rest).await? == 0 {
                break;
            }
        }
        std::io::Result::Ok(())
    };
    // Whoever does not listen is not told.
    let _ = timeout(Duration::from_secs(1), telling).await;
}
