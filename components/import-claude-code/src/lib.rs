//! The importer of `claude-code`: the sessions that this coding agent keeps of itself, JSON Lines under
//! `~/.claude/projects`. The format is declared internal and changes, so what is not known is left out
//! and said.
//!
//! A session holds each tool with what it was called with and what it gave: those are operations. Of the
//! calls of its model it holds the answers, and not the requests (the system's prompt, the tools that
//! were offered, what was compacted), so these are structure, and uncaptured. What a helper of the agent
//! did is a trace of its own.

mod session;

use auto_importer::{
    Batch, Document, Fault, Importer, Notes, Record, Source, Value, bad, batch, check_text, documents,
};
use session::Sessions;

/// The task where the caller names none.
pub(crate) const TASK: &str = "claude-code";

/// The pass.
pub struct Component;

impl Importer for Component {
    const FORMAT: &'static str = "claude-code";

    fn detect(head: &str) -> bool {
        // Summaries and snapshots of files may come first.
        head.lines().take(64).filter_map(|line| Value::parse(line).ok()).any(|line| is_ours(&line))
    }

    fn parse(source: &Source, from: u32) -> Result<Batch, Fault> {
        if !source.recover_partial {
            check_text(source)?;
        }
        let mut notes = Notes::default();
        let mut sessions = Sessions::default();
        let documents = documents(&source.text)?;
        let mut partial = source.undecodable > 0;
        for (number, document) in documents.iter().enumerate() {
            match record(document) {
                Ok(record) => sessions.line(record, &document.place(), &mut notes),
                // The agent may be at it: what follows the last line end is not finished.
                Err(_) if number + 1 == documents.len() && !source.text.ends_with('\n') => {
                    torn(source, document)?;
                    partial = true;
                }
                Err(fault) => return Err(fault),
            }
        }
        let task = source.task.as_deref().unwrap_or(TASK);
        Ok(batch(sessions.traces(task, partial, &mut notes), from, notes))
    }
}

auto_importer::component!(Component);

fn is_ours(line: &Value) -> bool {
    let text = |key: &str| line.get(key).and_then(Value::as_text);
    text("sessionId").is_some()
        && text("uuid").is_some()
        && line.get("parentUuid").is_some()
        && matches!(text("type"), Some("user" | "assistant" | "system" | "attachment" | "progress"))
}

fn record(document: &Document<'_>) -> Result<Record, Fault> {
    match document.value()? {
        Value::Record(record) => Ok(record),
        other => Err(bad(&document.place(), format!("{} where an object belongs", other.kind()))),
    }
}

fn torn(source: &Source, document: &Document<'_>) -> Result<(), Fault> {
    if source.recover_partial {
        return Ok(());
    }
    let message = format!("{}: the last line is cut off; --recover-partial keeps those before it", document.place());
    Err(Fault::new("torn-trace", message).at(document.place()))
}
