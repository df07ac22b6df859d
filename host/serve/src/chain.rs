//! Responses that others go on from (`previous_response_id`): their exchanges are kept for a while, so that
//! one that goes on can be read together with what was said before it. They are in memory alone, the
//! last ones up to a bound.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use auto_json::Value;

/// How many bytes of exchanges are kept.
const KEPT: usize = 64 << 20;

/// How many exchanges, and how many bytes of them, one may go on from.
const LONGEST: usize = 500;
const MOST: usize = 16 << 20;

/// Exchanges by the ids of their answers.
#[derive(Default)]
pub struct Chain {
    kept: HashMap<String, Kept>,
    order: VecDeque<String>,
    bytes: usize,
}

struct Kept {
    before: Option<String>,
    line: Arc<str>,
}

impl Chain {
    /// Keeps an exchange that others may go on from.
    pub fn keep(&mut self, document: &Value) {
        let Some(id) = answered(document) else { return };
        let line: Arc<str> = document.to_string().into();
        self.bytes += line.len();
        let kept = Kept { before: goes_on_from(document).map(str::to_owned), line };
        if let Some(replaced) = self.kept.insert(id.clone(), kept) {
            self.bytes -= replaced.line.len();
        } else {
            self.order.push_back(id);
        }
        while self.bytes > KEPT {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= self.kept.remove(&oldest).map_or(0, |gone| gone.line.len());
        }
    }

    /// What was said before these exchanges, the earliest first, each once. Nothing of a chain that does not
    /// go back to its beginning, or is too long.
    pub fn before(&self, documents: &[&Value]) -> Vec<Arc<str>> {
        let mut known: HashSet<String> = documents.iter().filter_map(|document| answered(document)).collect();
        let (mut lines, mut bytes) = (Vec::new(), 0);
        for document in documents {
            let links = self.links(document, &known, LONGEST - lines.len()).unwrap_or_default();
            for (id, kept) in links.into_iter().rev() {
                bytes += kept.line.len();
                known.insert(id.to_owned());
                lines.push(kept.line.clone());
            }
        }
        if bytes > MOST { Vec::new() } else { lines }
    }

    /// The exchanges that one goes on from, back to one that is known, or to the beginning.
    fn links<'c>(
        &'c self,
        document: &'c Value,
        known: &HashSet<String>,
        most: usize,
    ) -> Option<Vec<(&'c str, &'c Kept)>> {
        let (mut links, mut next) = (Vec::new(), goes_on_from(document));
        while let Some(id) = next.filter(|id| !known.contains(*id)) {
            let kept = self.kept.get(id).filter(|_| links.len() < most)?;
            links.push((id, kept));
            next = kept.before.as_deref();
        }
        Some(links)
    }
}

/// The answer that a request goes on from.
fn goes_on_from(document: &Value) -> Option<&str> {
    document.get("request")?.get("previous_response_id")?.as_text()
}

/// The id of an answer that came to its end.
fn answered(document: &Value) -> Option<String> {
    document.get("request")?.get("input")?;
    if document.get("complete") != Some(&Value::Bool(true)) || document.get("status") != Some(&Value::from(200_u32)) {
        return None;
    }
    match document.get("response")? {
        // A stream: each of its first events has the answer as far as it goes.
        Value::Text(stream) => {
            let events = stream.lines().filter_map(|line| line.strip_prefix("data:"));
            let mut ids = events.take(2).filter_map(|event| {
                let event = Value::parse(event.trim()).ok()?;
                Some(event.get("response")?.get("id")?.as_text()?.to_owned())
            });
            ids.next()
        }
        whole => whole.get("id")?.as_text().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(id: &str, before: Option<&str>, text: &str) -> Value {
        let before = before.map_or_else(String::new, |id| format!(r#","previous_response_id":"{id}""#));
        let document = format!(
            r#"{{"status":200,"complete":true,"request":{{"input":"{text}"{before}}},"response":{{"id":"{id}"}}}}"#
        );
        Value::parse(&document).unwrap()
    }

    fn before(chain: &Chain, documents: &[&Value]) -> Vec<String> {
        let id = |line: Arc<str>| answered(&Value::parse(&*line).unwrap()).unwrap();
        chain.before(documents).into_iter().map(id).collect()
    }

    #[test]
    fn what_was_said_before_comes_first_and_once() {
        let mut chain = Chain::default();
        for (id, earlier) in [("a", None), ("b", Some("a")), ("c", Some("b")), ("x", Some("gone"))] {
            chain.keep(&exchange(id, earlier, "hi"));
        }
        let (d, e) = (exchange("d", Some("c"), "hi"), exchange("e", Some("d"), "hi"));
        assert_eq!(before(&chain, &[&d]), ["a", "b", "c"]);
        assert_eq!(before(&chain, &[&d, &e]), ["a", "b", "c"], "what is asked about comes itself");
        assert!(before(&chain, &[&exchange("y", Some("x"), "hi")]).is_empty(), "its beginning is not there");
        assert!(before(&chain, &[&exchange("z", None, "hi")]).is_empty());
        // Ids in a circle end.
        chain.keep(&exchange("p", Some("q"), "hi"));
        chain.keep(&exchange("q", Some("p"), "hi"));
        assert_eq!(before(&chain, &[&exchange("r", Some("p"), "hi")]).len(), 0);
    }

    #[test]
    fn a_stream_says_its_id_and_what_broke_off_is_not_kept() {
        let stream =
            r#"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"s\"}}\n\n"#;
        let document = |complete: bool| {
            let text =
                format!(r#"{{"status":200,"complete":{complete},"request":{{"input":"x"}},"response":"{stream}"}}"#);
            Value::parse(&text).unwrap()
        };
        assert_eq!(answered(&document(true)).as_deref(), Some("s"));
        assert_eq!(answered(&document(false)), None);
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let mut chain = Chain::default();
        let text = "x".repeat(1 << 20);
        for number in 0..100 {
            chain.keep(&exchange(&number.to_string(), None, &text));
        }
        assert!(chain.bytes <= KEPT && chain.kept.len() == chain.order.len() && chain.kept.len() < 64);
        assert!(chain.kept.contains_key("99") && !chain.kept.contains_key("0"));
    }
}
