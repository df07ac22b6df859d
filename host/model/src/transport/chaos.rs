//! The network on a bad day: every other question or so meets a fault, which one is a matter of
//! the seed and the number of the question alone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use auto_schema::digest::Digest;

use super::http::Http;
use super::{Incoming, Lost, Outgoing, Transport, script};

pub(super) struct Chaos {
    seed: u64,
    asked: AtomicU64,
    http: Http,
}

/// What happens to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Nothing is sent.
    Refused,
    Limited,
    Overloaded,
    /// It is sent, and the reply does not come back as it was.
    Lost,
    Late,
    Garbled,
    Cut,
    Failed,
    /// The model does not want to.
    Declined,
}

impl Chaos {
    pub(super) fn new(seed: u64, http: Http) -> Chaos {
        Chaos { seed, asked: AtomicU64::new(0), http }
    }
}

fn fault(seed: u64, number: u64) -> Fault {
    use Fault::{Cut, Declined, Failed, Garbled, Late, Limited, Lost, None, Overloaded, Refused};
    let digest = Digest::of(format!("chaos {seed} {number}").as_bytes());
    match digest.as_bytes()[0] % 16 {
        0 => Refused,
        1 => Limited,
        2 => Overloaded,
        3 => Lost,
        4 => Late,
        5 => Garbled,
        6 => Cut,
        7 => Failed,
        8 => Declined,
        _ => None,
    }
}

impl Transport for Chaos {
    fn send(&self, question: &Outgoing) -> Result<Incoming, Lost> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let busy = |status| Incoming {
            status,
            content_type: "application/json".to_owned(),
            retry_after: Some(Duration::ZERO),
            body: b"{\"error\":\"chaos\"}".to_vec(),
        };
        let sent = || self.http.send(question);
        match fault(self.seed, number) {
            Fault::None => sent(),
            Fault::Refused => Err(Lost::before("model-connect", "no connection: chaos")),
            Fault::Limited => Ok(busy(429)),
            Fault::Overloaded => Ok(busy(503)),
            Fault::Lost => sent().and(Err(Lost::after("model-interrupted", "the reply was lost: chaos"))),
            Fault::Late => sent().and(Err(Lost::after("model-timeout", "the reply came too late: chaos"))),
            Fault::Garbled => sent().map(|reply| Incoming { body: b"\x00chaos".to_vec(), ..reply }),
            Fault::Cut => sent().map(|mut reply| {
                reply.body.truncate(reply.body.len() / 2);
                reply
            }),
            Fault::Declined => sent().map(|reply| {
                let body = script::said(question, "I'm sorry, but I cannot help with that.");
                Incoming { body: body.into_bytes(), ..reply }
            }),
            Fault::Failed => sent().map(|_| Incoming { retry_after: None, ..busy(500) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_alone_decides_and_every_fault_happens() {
        let of = |seed: u64| (0..200).map(|number| format!("{:?}", fault(seed, number))).collect::<Vec<_>>();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let kinds: std::collections::BTreeSet<String> = of(1).into_iter().collect();
        assert_eq!(kinds.len(), 10);
    }
}
