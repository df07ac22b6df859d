//! What an operation was given and gave: content that each convention keeps somewhere else.
//! Nothing is made up: what was not captured is none.

use std::collections::BTreeMap;

use auto_importer::chat::{self, Message};
use auto_importer::exchange::cut_off;
use auto_importer::{Record, SpanKind, Value, as_json};

use crate::Event;

/// The content of a span, and which attributes held it.
#[derive(Default)]
pub struct Content {
    /// What it was given, where that was captured.
    pub input: Option<Value>,
    /// What it gave.
    pub output: Option<Value>,
    /// Why what it gave is not whole.
    pub error: Option<String>,
    /// Attributes that are content now, by name or as a prefix.
    taken: Vec<String>,
}

impl Content {
    /// Whether an attribute is content, and so no note.
    pub fn taken(&self, key: &str) -> bool {
        self.taken.iter().any(|taken| {
            key.strip_prefix(taken.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || taken.ends_with('.'))
        })
    }

    fn take(&mut self, keys: &[&str]) {
        self.taken.extend(keys.iter().map(|key| (*key).to_owned()));
    }
}

/// The content of a span of that kind.
pub fn of(kind: &SpanKind, attributes: &Record, events: &[Event]) -> Content {
    match kind {
        SpanKind::ModelCall => model(attributes, events),
        SpanKind::ToolCall => tool(attributes),
        _ => values(attributes),
    }
}

/// Attributes of a tool's span: what it was called with, and what it gave, in this order.
const ARGUMENTS: [&str; 6] = [
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.arguments",
    "tool.parameters",
    "gcp.vertex.agent.tool_call_args",
    "input.value",
    "traceloop.entity.input",
];
const RESULTS: [&str; 5] = [
    "gen_ai.tool.call.result",
    "gen_ai.tool.result",
    "gcp.vertex.agent.tool_response",
    "output.value",
    "traceloop.entity.output",
];

fn tool(attributes: &Record) -> Content {
    // OpenInference keeps a tool's schema under `tool.parameters`, and the call in the input.
    let is_schema = |value: &Value| as_json(value.clone()).get("properties").is_some();
    let found = |keys: &[&str]| {
        let given = |key: &&str| attributes.get(key).filter(|value| *key != "tool.parameters" || !is_schema(value));
        keys.iter().find_map(given).map(|value| as_json(value.clone()))
    };
    let mut content = Content { input: found(&ARGUMENTS), output: found(&RESULTS), ..Content::default() };
    content.take(&ARGUMENTS);
    content.take(&RESULTS);
    content.take(&["input.mime_type", "output.mime_type", "gen_ai.tool.call.id", "tool_call.id"]);
    content
}

/// Of anything else: the two values that OpenInference and OpenLLMetry give every span, or the
/// messages of an agent.
fn values(attributes: &Record) -> Content {
    let found = |keys: [&str; 3]| keys.iter().find_map(|key| attributes.get(key)).map(|value| as_json(value.clone()));
    let input = ["input.value", "traceloop.entity.input", "gen_ai.input.messages"];
    let output = ["output.value", "traceloop.entity.output", "gen_ai.output.messages"];
    let read =
        |value: Value, read: fn(&Value) -> Value| if chat::messages(&value).is_some() { read(&value) } else { value };
    let mut content = Content {
        input: found(input).map(|value| read(value, chat::asked_of)),
        output: found(output).map(|value| read(value, chat::answer_of)),
        ..Content::default()
    };
    content.take(&input);
    content.take(&output);
    content.take(&["input.mime_type", "output.mime_type"]);
    content
}

/// What of a model's span was said and heard.
#[derive(Default)]
struct Heard {
    history: Vec<Message>,
    answer: Vec<Message>,
    /// Why the answer ended.
    reason: Option<String>,
    /// Where there are no messages: the input and the output as they are.
    raw: (Option<Value>, Option<Value>),
}

/// How one convention is read; none where it was not used.
type Reader = fn(&Record, &[Event]) -> Option<Heard>;

fn model(attributes: &Record, events: &[Event]) -> Content {
    let readers: [Reader; 5] = [current, by_event, flattened, older, plain];
    let heard = readers.iter().find_map(|read| read(attributes, events)).unwrap_or_default();
    let mut content = Content::default();
    content.take(&TAKEN);
    let mut more = parameters(attributes);
    let Heard { mut history, answer, reason, raw } = heard;
    chat::pair(&mut history);
    content.input = match (history.is_empty(), raw.0) {
        (false, _) => {
            more.set("messages", chat::list(&history));
            Some(more.into())
        }
        (true, Some(raw)) => match chat::asked_of(&raw) {
            Value::Record(asked) => Some(more.into_iter().chain(asked).collect::<Record>().into()),
            other if more.is_empty() => Some(other),
            other => Some(more.with("prompt", other).into()),
        },
        (true, None) => None,
    };
    content.output = match (&answer[..], raw.1) {
        ([], raw) => raw.map(|raw| chat::answer_of(&raw)),
        ([one], _) => Some(one.said().into()),
        (several, _) => Some(Record::new().with("messages", chat::list(several)).into()),
    };
    let reasons = as_json(attributes.get("gen_ai.response.finish_reasons").cloned().unwrap_or(Value::Null));
    let first = reasons.as_list().and_then(<[Value]>::first).and_then(Value::as_text).map(str::to_owned);
    content.error = cut_off(reason.or(first).as_deref());
    content
}

/// Attributes whose content is in the input or the output of a model's span.
const TAKEN: [&str; 21] = [
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "gen_ai.prompt",
    "gen_ai.completion",
    "gen_ai.request.",
    "llm.input_messages",
    "llm.output_messages",
    "llm.prompts",
    "llm.completions",
    "llm.invocation_parameters",
    "llm.tools",
    "llm.request.functions",
    "input.value",
    "output.value",
    "input.mime_type",
    "output.mime_type",
    "traceloop.entity.input",
    "traceloop.entity.output",
    "gcp.vertex.agent.llm_re",
];

/// What else the answer depends on.
fn parameters(attributes: &Record) -> Record {
    let mut more = Record::new();
    for (key, value) in attributes.iter() {
        match key.strip_prefix("gen_ai.request.") {
            Some("model" | "choice.count" | "is_stream" | "encoding_formats") | None => {}
            Some(name) => more.set(name, value.clone()),
        }
    }
    let told = attributes.get("llm.invocation_parameters").cloned().map(as_json);
    for (key, value) in told.as_ref().and_then(Value::as_record).into_iter().flat_map(Record::iter) {
        if !["model", "model_name", "stream", "user", "_type"].contains(&key) && *value != Value::Null {
            more.set(key, value.clone());
        }
    }
    let schemas = nested(attributes, "llm.tools").or_else(|| nested(attributes, "llm.request.functions"));
    let tools = attributes.get("gen_ai.tool.definitions").cloned().map(as_json).or(schemas);
    if let Some(tools) = tools.filter(|tools| *tools != Value::Null) {
        let schema = |tool: &Value| auto_importer::at(tool, "/tool/json_schema").cloned().map_or(tool.clone(), as_json);
        more.set(
            "tools",
            tools
                .as_list()
                .map(|tools| tools.iter().map(schema).collect::<Vec<_>>())
                .map_or(tools.clone(), Value::List),
        );
    }
    more
}

/// The conventions of today: messages of parts in three attributes, or in an event that carries
/// the same three.
fn current(attributes: &Record, events: &[Event]) -> Option<Heard> {
    let details = events.iter().find(|event| tells_all(event));
    let found = |key: &str| {
        let own = attributes.get(key);
        let told = details.and_then(|event| event.attributes.get(key).or_else(|| event.body.get(key)));
        own.or(told).cloned().map(as_json)
    };
    let (input, output) = (found("gen_ai.input.messages"), found("gen_ai.output.messages"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let mut heard = Heard::default();
    if let Some(said) = found("gen_ai.system_instructions") {
        heard.history.extend(instructions(&said));
    }
    heard.history.extend(input.as_ref().and_then(chat::messages).unwrap_or_default());
    if let Some(output) = output {
        heard.reason = auto_importer::text_of(&output, "/0/finish_reason").map(str::to_owned);
        heard.answer = chat::messages(&output).unwrap_or_default();
    }
    Some(heard)
}

/// The system's instructions: parts, or text.
fn instructions(said: &Value) -> Option<Message> {
    if said.as_text().is_some() {
        return Some(Message::new("system", said.clone()));
    }
    let message = Record::new().with("role", "system").with("parts", said.clone());
    chat::message(&message.into())?.into_iter().next_back()
}

/// The event that carries all that a call of a model says.
const DETAILS: &str = "gen_ai.client.inference.operation.details";

/// Whether an event tells of a call of a model all that its span would.
pub fn tells_all(event: &Event) -> bool {
    event.name == DETAILS
}

/// Whether an event carries a message, which then is content.
pub fn is_message(event: &Event) -> bool {
    tells_all(event)
        || event.name == "gen_ai.choice"
        || (event.name.starts_with("gen_ai.") && event.name.ends_with(".message"))
        || event.name.starts_with("gen_ai.content.")
}

/// An event for each message (until 1.36 of the conventions), as the event's body or its
/// attributes; or the two events before that.
fn by_event(_: &Record, events: &[Event]) -> Option<Heard> {
    let mut heard = Heard::default();
    for event in events {
        let member = |key: &str| event.body.get(key).or_else(|| event.attributes.get(key)).cloned().map(as_json);
        let role = event.name.strip_prefix("gen_ai.").and_then(|name| name.strip_suffix(".message"));
        match (event.name.as_str(), role) {
            ("gen_ai.choice", _) => {
                let mut said = member("message").unwrap_or(Value::Null);
                if said.as_record().is_none() {
                    let content = if said == Value::Null { member("content") } else { Some(said) };
                    said = Record::new().with("content", content).with("tool_calls", member("tool_calls")).into();
                }
                heard.answer.push(chat::openai("assistant", said.as_record()?));
                heard.reason = member("finish_reason").and_then(|reason| reason.as_text().map(str::to_owned));
            }
            ("gen_ai.content.prompt", _) => heard.raw.0 = member("gen_ai.prompt"),
            ("gen_ai.content.completion", _) => heard.raw.1 = member("gen_ai.completion"),
            (_, Some(role)) => {
                let mut record = Record::new();
                for key in ["content", "tool_calls", "name"] {
                    record.set(key, member(key));
                }
                if role == "tool" {
                    record.set("tool_call_id", member("id"));
                }
                heard.history.push(chat::openai(role, &record));
            }
            _ => {}
        }
    }
    let empty = heard.history.is_empty() && heard.answer.is_empty() && heard.raw == (None, None);
    (!empty).then_some(heard)
}

/// Messages taken apart into an attribute for each member: OpenInference's, OpenLLMetry's.
fn flattened(attributes: &Record, _: &[Event]) -> Option<Heard> {
    let read = |keys: [&str; 2]| -> Vec<Message> {
        let tree = keys.iter().find_map(|key| nested(attributes, key));
        tree.as_ref().and_then(Value::as_list).unwrap_or_default().iter().filter_map(unflattened).collect()
    };
    let heard = Heard {
        history: read(["llm.input_messages", "gen_ai.prompt"]),
        answer: read(["llm.output_messages", "gen_ai.completion"]),
        reason: attributes.get("gen_ai.completion.0.finish_reason").and_then(Value::as_text).map(str::to_owned),
        raw: (None, None),
    };
    (!heard.history.is_empty() || !heard.answer.is_empty()).then_some(heard)
}

/// One message that was taken apart.
fn unflattened(tree: &Value) -> Option<Message> {
    let message = tree.get("message").unwrap_or(tree).as_record()?;
    let mut record = Record::new();
    for (key, value) in message.iter() {
        match key {
            "contents" => {
                record.set("content", value.as_list().map(|parts| parts.iter().map(part).collect::<Vec<_>>()))
            }
            "tool_calls" => {
                let call = |call: &Value| call.get("tool_call").unwrap_or(call).clone();
                record.set("tool_calls", value.as_list().map(|calls| calls.iter().map(call).collect::<Vec<_>>()));
            }
            "content" => record.set("content", listed(value)),
            "function_call_name" | "function_call_arguments_json" => {}
            _ => record.set(key, value.clone()),
        }
    }
    let role = record.get("role").and_then(Value::as_text).unwrap_or("assistant").to_owned();
    Some(chat::openai(&role, &record))
}

/// Content that is a list of parts may be written as text; any other text is what was said.
fn listed(value: &Value) -> Value {
    match as_json(value.clone()) {
        parts @ Value::List(_) if chat::content(&parts) != parts || has_types(&parts) => parts,
        _ => value.clone(),
    }
}

fn has_types(parts: &Value) -> bool {
    parts.as_list().is_some_and(|parts| !parts.is_empty() && parts.iter().all(|part| part.get("type").is_some()))
}

fn part(tree: &Value) -> Value {
    tree.get("message_content").unwrap_or(tree).clone()
}

/// Prompt and completion as two attributes of JSON (1.26 of the conventions and before).
fn older(attributes: &Record, _: &[Event]) -> Option<Heard> {
    let found = |keys: [&str; 3]| keys.iter().find_map(|key| attributes.get(key)).cloned().map(as_json);
    let raw = (
        found(["gen_ai.prompt", "llm.prompts", "gcp.vertex.agent.llm_request"]),
        found(["gen_ai.completion", "llm.completions", "gcp.vertex.agent.llm_response"]),
    );
    (raw != (None, None)).then(|| Heard { raw, ..Heard::default() })
}

/// The two values that every span may have.
fn plain(attributes: &Record, _: &[Event]) -> Option<Heard> {
    let found = |keys: [&str; 2]| keys.iter().find_map(|key| attributes.get(key)).cloned().map(as_json);
    let raw = (found(["input.value", "traceloop.entity.input"]), found(["output.value", "traceloop.entity.output"]));
    (raw != (None, None)).then(|| Heard { raw, ..Heard::default() })
}

/// A tree that was taken apart into attributes with dots in their names; where all names at a
/// place are numbers, a list in their order.
#[derive(Default)]
struct Tree {
    leaf: Option<Value>,
    members: BTreeMap<String, Tree>,
}

/// How deep names are followed; a name of dots alone has a hundred thousand.
const DEEPEST: usize = 24;

fn nested(attributes: &Record, prefix: &str) -> Option<Value> {
    if let Some(whole) = attributes.get(prefix) {
        return Some(as_json(whole.clone())).filter(|whole| whole.as_list().is_some());
    }
    let mut tree = Tree::default();
    for (key, value) in attributes.iter() {
        let Some(rest) = key.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.')) else { continue };
        let mut at = &mut tree;
        for name in rest.splitn(DEEPEST, '.') {
            at = at.members.entry(name.to_owned()).or_default();
        }
        at.leaf = Some(value.clone());
    }
    (!tree.members.is_empty()).then(|| tree.value())
}

impl Tree {
    fn value(self) -> Value {
        if self.members.is_empty() {
            return self.leaf.unwrap_or(Value::Null);
        }
        let numbers: Option<Vec<u32>> = self.members.keys().map(|key| key.parse().ok()).collect();
        let Some(numbers) = numbers else {
            return self.members.into_iter().map(|(key, tree)| (key, tree.value())).collect::<Record>().into();
        };
        let mut items: Vec<(u32, Value)> =
            numbers.into_iter().zip(self.members.into_values().map(Tree::value)).collect();
        items.sort_by_key(|(number, _)| *number);
        items.into_iter().map(|(_, value)| value).collect::<Vec<_>>().into()
    }
}
