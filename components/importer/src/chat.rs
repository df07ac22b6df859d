//! Chat messages of every provider in one form.
//!
//! The form is OpenAI's without what differs between two runs that are alike: `role`,
//! `content`, and for calls `tool_calls` of `name` and parsed `arguments`; a tool's message has
//! the tool's `name`. Call ids are random, so they pair calls with results and are then kept
//! nowhere: results stand in the order of their calls. Reasoning is not part of what was
//! answered, and its signatures are random, so it is left out. What else a message says stays.

use std::collections::HashMap;

use crate::{Notes, Record, Value, at};

/// A tool that a model asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The id by which a result names it; random.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// What it is called with, parsed where it is JSON.
    pub arguments: Value,
}

/// A message of some provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// `system`, `developer`, `user`, `assistant`, `tool`.
    pub role: String,
    /// Text, a list of parts, or `null`.
    pub content: Value,
    /// The tools that it asks for.
    pub calls: Vec<Call>,
    /// The call that it is the result of.
    pub answers: Option<String>,
    /// Of a tool's message: the tool.
    pub name: Option<String>,
    /// What else it says.
    pub more: Record,
    /// Whether reasoning was left out of it.
    pub reasoned: bool,
}

/// Members of messages and of parts that differ between runs that are alike.
const VOLATILE: [&str; 12] = [
    "id",
    "tool_call_id",
    "tool_use_id",
    "cache_control",
    "finish_reason",
    "stop_reason",
    "response_metadata",
    "usage_metadata",
    "usage",
    "logprobs",
    "index",
    "signature",
];

/// Members that hold what a model said to itself.
const REASONING: [&str; 3] = ["reasoning", "reasoning_content", "thinking"];

impl Message {
    /// A message with that content and nothing else.
    pub fn new(role: &str, content: impl Into<Value>) -> Message {
        Message {
            role: role.to_owned(),
            content: content.into(),
            calls: Vec::new(),
            answers: None,
            name: None,
            more: Record::new(),
            reasoned: false,
        }
    }

    /// What it says, with its role.
    pub fn value(&self) -> Value {
        let mut record = self.said();
        record.set("role", self.role.as_str());
        record.into()
    }

    /// What it says, without its role: the output of a model call.
    pub fn said(&self) -> Record {
        // Beside calls, providers and their servers say nothing as null or as an empty text.
        let says_nothing = !self.calls.is_empty() && self.content.as_text() == Some("");
        let content = if says_nothing { Value::Null } else { self.content.clone() };
        let mut record = self.more.clone().with("content", content);
        if !self.calls.is_empty() {
            let call = |call: &Call| {
                Record::new().with("name", call.name.as_str()).with("arguments", call.arguments.clone()).into()
            };
            record.set("tool_calls", self.calls.iter().map(call).collect::<Vec<Value>>());
        }
        if let Some(name) = &self.name {
            record.set("name", name.as_str());
        }
        record
    }
}

/// The messages that a value holds: a list of them, one, or an object with `messages`. None
/// where it holds something else.
pub fn messages(value: &Value) -> Option<Vec<Message>> {
    match value {
        Value::List(items) => match &items[..] {
            [] => None,
            // LangChain hands over a list of conversations, mostly of one.
            [inner @ Value::List(_)] => messages(inner),
            items => Some(items.iter().map(message).collect::<Option<Vec<_>>>()?.concat()),
        },
        Value::Record(record) => match record.get("messages") {
            Some(inner) => messages(inner),
            None => message(value),
        },
        _ => None,
    }
}

/// The messages that one item is: a provider may put several results into one.
pub fn message(value: &Value) -> Option<Vec<Message>> {
    let record = value.as_record()?;
    if let Some(kwargs) = record.get("kwargs").filter(|_| record.get("lc").is_some()) {
        let class = record.get("id")?.as_list()?.last()?.as_text()?;
        return Some(vec![langchain(kwargs.as_record()?, class.trim_end_matches("Chunk"))]);
    }
    if let Some(parts) = record.get("parts").and_then(Value::as_list) {
        return of_parts(record, parts);
    }
    match (record.get("role").and_then(Value::as_text), record.get("type").and_then(Value::as_text)) {
        (Some(role), _) if has_blocks(record) => anthropic(role, record.get("content")?),
        (Some(role), _) => Some(vec![openai(role, record)]),
        (None, Some(class)) if record.get("content").is_some() => Some(vec![langchain(record, class)]),
        _ => None,
    }
}

/// Whether the content has blocks that only Anthropic's messages have.
fn has_blocks(record: &Record) -> bool {
    let blocks = ["tool_use", "tool_result", "thinking", "redacted_thinking"];
    let of = |part: &Value| part.get("type").and_then(Value::as_text).is_some_and(|own| blocks.contains(&own));
    record.get("content").and_then(Value::as_list).is_some_and(|parts| parts.iter().any(of))
}

/// A message in OpenAI's form.
pub fn openai(role: &str, record: &Record) -> Message {
    let mut message = Message::new(role, record.get("content").map_or(Value::Null, content));
    for (key, value) in record.iter().filter(|(_, value)| **value != Value::Null) {
        match key {
            "role" | "content" => {}
            // These say again what LangChain keeps under `additional_kwargs`, which was read before.
            "tool_calls" if !is_empty(value) => {
                message.calls = value.as_list().into_iter().flatten().filter_map(call).collect();
            }
            "function_call" => message.calls.extend(call(value)),
            "additional_kwargs" => additional(&mut message, value),
            "tool_call_id" => message.answers = value.as_text().map(str::to_owned),
            "name" if matches!(role, "tool" | "function") => message.name = value.as_text().map(str::to_owned),
            _ if REASONING.contains(&key) => message.reasoned = true,
            _ if VOLATILE.contains(&key) || is_empty(value) => {}
            _ => message.more.set(key, value.clone()),
        }
    }
    message
}

/// What LangChain keeps of a provider's message.
fn additional(message: &mut Message, value: &Value) {
    if let (true, Some(calls)) = (message.calls.is_empty(), value.get("tool_calls").and_then(Value::as_list)) {
        message.calls.extend(calls.iter().filter_map(call));
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::List(items) => items.is_empty(),
        Value::Record(record) => record.is_empty(),
        other => *other == Value::Null,
    }
}

/// A call as OpenAI (`function`), LangChain (`args`) and Anthropic (`input`) write it.
pub fn call(value: &Value) -> Option<Call> {
    let function = value.get("function").unwrap_or(value);
    let written = ["arguments", "args", "input"].iter().find_map(|key| function.get(key));
    Some(Call {
        id: ["id", "call_id"].iter().find_map(|key| value.get(key)).map(id_text),
        name: function.get("name")?.as_text()?.to_owned(),
        arguments: arguments(written.cloned().unwrap_or(Value::Null)),
    })
}

/// Ids are text; some recorders write a list of them.
fn id_text(value: &Value) -> String {
    value.as_text().map_or_else(|| value.to_string(), str::to_owned)
}

/// Arguments as they are meant. Models do write arguments that are no JSON; then the text is
/// what was called with.
pub fn arguments(written: Value) -> Value {
    written.as_text().and_then(|text| Value::parse(text).ok()).unwrap_or(written)
}

/// Content without what is random in it; a single part of text is that text.
pub fn content(value: &Value) -> Value {
    let Some(parts) = value.as_list() else { return value.clone() };
    let parts: Vec<Value> = parts.iter().map(part).collect();
    match &parts[..] {
        [Value::Record(only)] if only.len() == 2 && only.get("type").and_then(Value::as_text) == Some("text") => {
            only.get("text").cloned().unwrap_or(Value::Null)
        }
        _ => parts.into(),
    }
}

fn part(value: &Value) -> Value {
    let Some(record) = value.as_record() else { return value.clone() };
    let keep = |(key, value): &(&str, &Value)| !VOLATILE.contains(key) && !is_empty(value);
    let mut kept: Record = record.iter().filter(keep).map(|(key, value)| (key.to_owned(), value.clone())).collect();
    if let Some("input_text" | "output_text") = kept.get("type").and_then(Value::as_text) {
        kept.set("type", "text");
    }
    kept.into()
}

/// A message in Anthropic's form: results of tools first, each a message of its own.
pub fn anthropic(role: &str, blocks: &Value) -> Option<Vec<Message>> {
    let Some(blocks) = blocks.as_list() else { return Some(vec![Message::new(role, blocks.clone())]) };
    let (mut results, mut own, mut parts) = (Vec::new(), Message::new(role, Value::Null), Vec::new());
    for block in blocks {
        match block.get("type").and_then(Value::as_text)? {
            "tool_use" => own.calls.push(call(block)?),
            "tool_result" => {
                let mut result = Message::new("tool", block.get("content").map_or(Value::Null, content));
                result.answers = block.get("tool_use_id").map(id_text);
                if block.get("is_error").and_then(Value::as_bool) == Some(true) {
                    result.more.set("is_error", true);
                }
                results.push(result);
            }
            "thinking" | "redacted_thinking" => own.reasoned = true,
            _ => parts.push(block.clone()),
        }
    }
    if !parts.is_empty() {
        own.content = content(&parts.into());
    }
    if own.content != Value::Null || !own.calls.is_empty() || results.is_empty() {
        results.push(own);
    }
    Some(results)
}

/// A message of parts: OpenTelemetry's (`type`) or Google's (one member a part).
fn of_parts(record: &Record, parts: &[Value]) -> Option<Vec<Message>> {
    let role = match record.get("role").and_then(Value::as_text).unwrap_or("user") {
        "model" => "assistant",
        role => role,
    };
    let (mut results, mut own, mut rest) = (Vec::new(), Message::new(role, Value::Null), Vec::new());
    for part in parts {
        let kind = part.get("type").and_then(Value::as_text);
        let google = |key: &str| part.get(key).or_else(|| part.get(&camel(key)));
        match kind {
            Some("text") => rest.push(text_part(part.get("content").or_else(|| part.get("text"))?)),
            Some("tool_call") => own.calls.push(call(part)?),
            Some("tool_call_response") => {
                let said = ["response", "result", "content"].iter().find_map(|key| part.get(key));
                results.push(result(said, part.get("id"), part.get("name")));
            }
            Some("reasoning" | "thinking") => own.reasoned = true,
            Some(_) => rest.push(self::part(part)),
            None if google("function_call").is_some() => own.calls.extend(google("function_call").and_then(call)),
            None if google("function_response").is_some() => {
                let response = google("function_response")?;
                results.push(result(response.get("response"), response.get("id"), response.get("name")));
            }
            None if part.get("thought").and_then(Value::as_bool) == Some(true) => own.reasoned = true,
            None if part.get("text").is_some() => rest.push(text_part(part.get("text")?)),
            None => rest.push(self::part(part)),
        }
    }
    if !rest.is_empty() {
        own.content = content(&rest.into());
    }
    if own.content != Value::Null || !own.calls.is_empty() || results.is_empty() {
        results.push(own);
    }
    Some(results)
}

fn camel(key: &str) -> String {
    let mut parts = key.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + &part[..1].to_uppercase() + &part[1..])
}

fn text_part(text: &Value) -> Value {
    Record::new().with("type", "text").with("text", text.clone()).into()
}

fn result(said: Option<&Value>, id: Option<&Value>, name: Option<&Value>) -> Message {
    let mut message = Message::new("tool", said.map_or(Value::Null, content));
    message.answers = id.map(id_text);
    message.name = name.and_then(Value::as_text).map(str::to_owned);
    message
}

/// A message as LangChain writes it, by its class or type.
fn langchain(record: &Record, class: &str) -> Message {
    let role = match class {
        "human" | "HumanMessage" => "user",
        "ai" | "AIMessage" => "assistant",
        "system" | "SystemMessage" => "system",
        "tool" | "ToolMessage" => "tool",
        "function" | "FunctionMessage" => "function",
        other => other,
    };
    let mut kept = record.clone();
    for key in ["type", "example", "invalid_tool_calls", "tool_call_chunks", "status", "artifact"] {
        kept.remove(key);
    }
    openai(role, &kept)
}

/// Pairs results with calls by their ids: names the tools, and puts the results that stand
/// together into the order of their calls.
pub fn pair(messages: &mut [Message]) {
    let mut calls: HashMap<String, (usize, String)> = HashMap::new();
    for message in messages.iter() {
        for call in &message.calls {
            if let Some(id) = &call.id {
                let order = calls.len();
                calls.entry(id.clone()).or_insert_with(|| (order, call.name.clone()));
            }
        }
    }
    for message in messages.iter_mut() {
        if let Some((_, name)) = message.answers.as_ref().and_then(|id| calls.get(id)) {
            message.name.get_or_insert_with(|| name.clone());
        }
    }
    let order = |message: &Message| {
        message.answers.as_ref().and_then(|id| calls.get(id)).map_or(usize::MAX, |(order, _)| *order)
    };
    for run in messages.chunk_by_mut(|a, b| a.role == "tool" && b.role == "tool") {
        run.sort_by_key(order);
    }
}

/// The results of tools that came in after the model last spoke, each with its call. A request
/// repeats the whole history; only these are new in it.
pub fn fresh<'m>(messages: &'m [Message], notes: &mut Notes, place: &str) -> Vec<(&'m Call, &'m Message)> {
    let after = messages.iter().rposition(|message| message.role == "assistant").map_or(0, |last| last + 1);
    messages[after..].iter().filter_map(|message| Some((asked(messages, message, notes, place)?, message))).collect()
}

/// The call that a message is the result of. A result without one is noted: what it was called
/// with is not known.
pub fn asked<'m>(history: &'m [Message], result: &Message, notes: &mut Notes, place: &str) -> Option<&'m Call> {
    if !matches!(result.role.as_str(), "tool" | "function") {
        return None;
    }
    let calls = || history.iter().flat_map(|message| &message.calls);
    let found = result.answers.as_ref().and_then(|id| calls().find(|call| call.id.as_ref() == Some(id)));
    if found.is_none() {
        notes.unusable("unpaired-result", "results of tools whose call is not in the history", place);
    }
    found
}

/// What a model was asked, of a value that holds it in whatever shape: messages, alone or with
/// parameters; a request to Google; something else, which stays as it is.
pub fn asked_of(value: &Value) -> Value {
    let (mut history, more) = match value.as_record() {
        Some(record) if record.get("contents").is_some() => match google(record) {
            Some(read) => read,
            None => return value.clone(),
        },
        Some(record) if record.get("messages").is_none() => match message(value) {
            Some(one) => (one, Record::new()),
            None => return value.clone(),
        },
        record => {
            let Some(history) = messages(value) else { return value.clone() };
            let members = record.into_iter().flat_map(Record::iter);
            let kept =
                members.filter(|(key, value)| !["messages", "model", "stream"].contains(key) && !is_empty(value));
            (history, kept.map(|(key, value)| (key.to_owned(), value.clone())).collect())
        }
    };
    pair(&mut history);
    more.with("messages", list(&history)).into()
}

/// Google's request: `contents`, and under `config` the instruction and the parameters.
fn google(record: &Record) -> Option<(Vec<Message>, Record)> {
    let config = record.get("config").and_then(Value::as_record).cloned().unwrap_or_default();
    let mut history = Vec::new();
    let mut more = Record::new();
    for (key, value) in config {
        match key.as_str() {
            "system_instruction" | "systemInstruction" => history.push(Message::new("system", value)),
            "http_options" | "httpOptions" | "labels" => {}
            _ if is_empty(&value) => {}
            _ => more.set(key, value),
        }
    }
    history.extend(messages(record.get("contents")?)?);
    Some((history, more))
}

/// What a model answered, of a value that holds it in whatever shape: a message, several, a
/// provider's whole answer; something else stays as it is.
pub fn answer_of(value: &Value) -> Value {
    let shapes = ["/choices/0/message", "/generations/0/0/message", "/generations/0/0/text", "/candidates/0/content"];
    let said = |value: &Value| match &messages(value)?[..] {
        [] => None,
        [one] => Some(Value::from(one.said())),
        several => Some(Record::new().with("messages", list(several)).into()),
    };
    for inner in shapes.iter().filter_map(|shape| at(value, shape)) {
        match inner {
            Value::Text(text) => return Record::new().with("content", text.as_str()).into(),
            inner => {
                if let Some(said) = said(inner) {
                    return said;
                }
            }
        }
    }
    // Google's answer has its message under `content`.
    let content = value.get("content").filter(|content| content.get("parts").is_some());
    content.or(Some(value)).and_then(said).unwrap_or_else(|| value.clone())
}

/// The messages as a list.
pub fn list(messages: &[Message]) -> Value {
    messages.iter().map(Message::value).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let mut messages = messages(&Value::parse(text).unwrap()).unwrap();
        pair(&mut messages);
        list(&messages).to_string()
    }

    #[test]
    fn nothing_beside_calls_is_null_and_an_empty_answer_stays_one() {
        let call = r#""tool_calls":[{"id":"c","function":{"name":"look","arguments":"{}"}}]"#;
        let said = |content: &str| read(&format!(r#"[{{"role":"assistant",{content}{call}}}]"#));
        assert_eq!(said(r#""content":"","#), said(r#""content":null,"#));
        assert_eq!(said(r#""content":"","#), said(""));
        assert_ne!(said(r#""content":" ","#), said(""));
        assert_eq!(read(r#"[{"role":"assistant","content":""}]"#), r#"[{"content":"","role":"assistant"}]"#);
    }

    /// One exchange in the words of each provider.
    #[test]
    fn every_provider_says_the_same() {
        let expected = concat!(
            r#"[{"content":"Be kind.","role":"system"},{"content":"Hello","role":"user"},"#,
            r#"{"content":null,"role":"assistant","tool_calls":[{"arguments":{"a":2},"name":"look"}]},"#,
            r#"{"content":"nothing","name":"look","role":"tool"}]"#
        );
        let openai = r#"[{"role":"system","content":"Be kind."},{"role":"user","content":[{"type":"text","text":"Hello"}]},
            {"role":"assistant","content":null,"refusal":null,"annotations":[],"tool_calls":[
              {"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"a\": 2}"}}]},
            {"role":"tool","tool_call_id":"call_1","content":"nothing"}]"#;
        let anthropic = r#"[{"role":"system","content":"Be kind."},{"role":"user","content":"Hello"},
            {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},
              {"type":"tool_use","id":"toolu_1","name":"look","input":{"a":2}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"nothing"}]}]}]"#;
        let otel = r#"[{"role":"system","parts":[{"type":"text","content":"Be kind."}]},
            {"role":"user","parts":[{"type":"text","content":"Hello"}]},
            {"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"look","arguments":{"a":2}}],"finish_reason":"tool_call"},
            {"role":"tool","parts":[{"type":"tool_call_response","id":"c","response":"nothing"}]}]"#;
        let google = r#"[{"role":"system","parts":[{"text":"Be kind."}]},{"role":"user","parts":[{"text":"Hello"}]},
            {"role":"model","parts":[{"functionCall":{"id":"c","name":"look","args":{"a":2}}}]},
            {"role":"user","parts":[{"functionResponse":{"id":"c","name":"look","response":"nothing"}}]}]"#;
        let langchain = r#"{"messages":[[
            {"lc":1,"type":"constructor","id":["langchain","schema","messages","SystemMessage"],"kwargs":{"content":"Be kind."}},
            {"type":"human","content":"Hello","additional_kwargs":{},"response_metadata":{},"example":false,"id":"x"},
            {"lc":1,"type":"constructor","id":["l","AIMessageChunk"],"kwargs":{"content":null,"usage_metadata":{"input_tokens":3},
              "tool_calls":[{"name":"look","args":{"a":2},"id":"c","type":"tool_call"}]}},
            {"type":"tool","content":"nothing","tool_call_id":"c","status":"success"}]]}"#;
        for (name, text) in
            [("openai", openai), ("anthropic", anthropic), ("otel", otel), ("google", google), ("langchain", langchain)]
        {
            assert_eq!(read(text), expected, "{name}");
        }
    }

    #[test]
    fn results_are_paired_by_id_in_whatever_order_they_came() {
        let history = |results: &str| {
            format!(
                r#"[{{"role":"assistant","tool_calls":[
                    {{"id":"x","function":{{"name":"f","arguments":"{{}}"}}}},{{"id":"y","function":{{"name":"g","arguments":"no JSON"}}}}]}},{results}]"#
            )
        };
        let x = r#"{"role":"tool","tool_call_id":"x","content":"1"}"#;
        let y = r#"{"role":"tool","tool_call_id":"y","content":"2"}"#;
        let either = [history(&format!("{x},{y}")), history(&format!("{y},{x}"))].map(|text| read(&text));
        assert_eq!(either[0], either[1]);
        assert!(either[0].contains(r#""arguments":"no JSON","name":"g""#), "{}", either[0]);
        let mut swapped = messages(&Value::parse(history(&format!("{y},{x}"))).unwrap()).unwrap();
        pair(&mut swapped);
        let mut notes = Notes::default();
        let fresh: Vec<_> = fresh(&swapped, &mut notes, "")
            .into_iter()
            .map(|(call, said)| (call.name.as_str(), said.content.to_string()))
            .collect();
        assert_eq!(fresh, [("f", "\"1\"".to_owned()), ("g", "\"2\"".to_owned())]);
        assert!(notes.finish().is_empty());
    }

    #[test]
    fn a_result_that_nobody_asked_for_is_noted_and_not_used() {
        let text = r#"[{"role":"assistant","content":"a"},{"role":"tool","tool_call_id":"z","content":"1"}]"#;
        let messages = messages(&Value::parse(text).unwrap()).unwrap();
        let mut notes = Notes::default();
        assert!(fresh(&messages, &mut notes, "line 4").is_empty());
        let note = notes.finish().remove(0);
        assert_eq!((note.code.as_str(), note.usable, note.at.as_deref()), ("unpaired-result", false, Some("line 4")));
    }

    #[test]
    fn what_is_no_chat_is_none() {
        for text in ["\"hello\"", "[]", "[1]", "{\"a\":1}", "[{\"role\":\"user\",\"content\":\"x\"},2]", "null"] {
            assert_eq!(messages(&Value::parse(text).unwrap()), None, "{text}");
        }
    }

    #[test]
    fn unknown_members_stay_and_random_ones_go() {
        let text = r#"{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"image_url","image_url":{"url":"u"},"id":"i"}],"mood":"calm","id":"m"}"#;
        assert_eq!(
            read(text),
            r#"[{"content":[{"text":"a","type":"text"},{"image_url":{"url":"u"},"type":"image_url"}],"mood":"calm","role":"user"}]"#
        );
    }
}
