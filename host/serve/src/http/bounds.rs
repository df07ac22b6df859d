//! How much anybody gets.

use std::time::Duration;

/// Bounds of a server. The defaults are those of the design's table.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Connections at the same time.
    pub connections: usize,
    /// Bytes of a request's line and headers.
    pub head: usize,
    /// Time for them to come, also that of a connection without requests.
    pub head_time: Duration,
    /// Bytes of a request's body, for [`Bounds::read_body`].
    pub body: usize,
    /// Time for all of it to come.
    pub body_time: Duration,
    /// Time in which a client takes nothing of a reply.
    pub stall: Duration,
    /// Time for requests that have begun, once the server is to end.
    pub drain: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            connections: 1024,
            head: 16 << 10,
            head_time: Duration::from_secs(30),
            body: 1 << 20,
            body_time: Duration::from_secs(30),
            stall: Duration::from_secs(30),
            drain: Duration::from_secs(30),
        }
    }
}
