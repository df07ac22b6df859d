//! Server-sent events (WHATWG HTML, section 9.2), as a provider streamed them.

/// An event: its type, empty where it names none, and its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What `event:` says.
    pub name: String,
    /// The lines of `data:`, joined.
    pub data: String,
}

/// The events of a stream. An event that the end cut off is none.
pub fn events(text: &str) -> Vec<Event> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let (mut found, mut name, mut data) = (Vec::new(), String::new(), None::<String>);
    let Some(end) = text.rfind('\n') else { return found };
    for line in text[..end].split('\n') {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                let name = core::mem::take(&mut name);
                found.extend(data.take().map(|data| Event { name, data }));
            }
            "event" => name = value.to_owned(),
            "data" => {
                data = Some(data.map_or_else(|| value.to_owned(), |before| before + "\n" + value));
            }
            // Comments, ids, retries.
            _ => {}
        }
    }
    // Servers do leave out the blank line after the last event.
    found.extend(data.map(|data| Event { name, data }));
    found
}

/// Whether a text looks like a stream of events.
pub fn is_stream(text: &str) -> bool {
    let start = text.trim_start_matches(['\u{feff}', '\r', '\n']);
    ["data:", "event:", ":", "id:", "retry:"].iter().any(|field| start.starts_with(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_the_standard_says() {
        let text = ": hello\r\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\ndata: x\rid: 4\r\rdata\n\nevent: none\n\ndata: cut";
        let found: Vec<_> = events(text).into_iter().map(|one| (one.name, one.data)).collect();
        assert_eq!(found, [("a".into(), "1\n2".into()), (String::new(), "x".into()), (String::new(), String::new())]);
        assert!(is_stream(text) && !is_stream("{}") && events("data: cut").is_empty());
    }
}
