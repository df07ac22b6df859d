//! The responses interface: items in, items out, and answers that go on from earlier ones.

use std::collections::HashMap;

use auto_importer::chat::{self, Message};
use auto_importer::exchange::{Exchange, Joined, cut_off};
use auto_importer::{Record, Value, at};

/// How long a chain of responses may be; ids in a circle would be endless.
const LONGEST: usize = 10_000;

/// The exchanges of a file by the id of their answers: a request may go on from an earlier one.
pub struct Chain<'j>(HashMap<&'j str, &'j Joined>);

impl<'j> Chain<'j> {
    /// The chain of these exchanges.
    pub fn of(joined: &'j [Joined]) -> Chain<'j> {
        let of = |one: &'j Joined| {
            one.request.get("input")?;
            Some((one.response.as_ref()?.get("id")?.as_text()?, one))
        };
        Chain(joined.iter().filter_map(of).collect())
    }

    /// What was said before a request that goes on from that answer; none where it is not in
    /// the file.
    fn before(&self, id: &str) -> Option<Vec<Message>> {
        let (mut links, mut next) = (Vec::new(), Some(id.to_owned()));
        while let Some(id) = next {
            let one: &'j Joined = self.0.get(id.as_str()).filter(|_| links.len() < LONGEST)?;
            links.push(one);
            next = one.request.get("previous_response_id").and_then(Value::as_text).map(str::to_owned);
        }
        let both =
            |one: &'j Joined| [one.request.get("input"), one.response.as_ref().and_then(|said| said.get("output"))];
        let items = links.into_iter().rev().flat_map(both).flatten();
        items.map(messages).collect::<Option<Vec<_>>>().map(|all| merged(all.concat()))
    }
}

/// An exchange of the responses interface.
pub fn exchange(request: &Record, response: Option<&Value>, chain: &Chain<'_>) -> Exchange {
    let own = request.get("input").and_then(messages);
    let before = match request.get("previous_response_id").and_then(Value::as_text) {
        Some(id) => chain.before(id),
        None if request.get("conversation").is_some_and(|id| *id != Value::Null) => None,
        None => Some(Vec::new()),
    };
    let instructions = request.get("instructions").filter(|said| **said != Value::Null);
    let mut history: Vec<Message> = instructions.map(|said| Message::new("system", said.clone())).into_iter().collect();
    let known = own.is_some() && before.is_some();
    history.extend(merged([before.unwrap_or_default(), own.unwrap_or_default()].concat()));
    let mut exchange = Exchange::asked(request, history, &["model", "input", "instructions"]);
    let Some(response) = response else { return exchange };
    exchange.about(response, &ECHOED);
    // Where a part of the history is elsewhere, what was asked is not known.
    if known {
        exchange.answer = response.get("output").and_then(messages).and_then(|said| answer(merged(said)));
    }
    let reason = at(response, "/incomplete_details/reason").and_then(Value::as_text);
    let status = response.get("status").and_then(Value::as_text);
    if exchange.error.is_none() {
        exchange.error = cut_off(reason).or_else(|| match status {
            None | Some("completed") => None,
            Some(other) => Some(format!("the answer is {other}")),
        });
    }
    exchange
}

/// What an answer repeats of its request, or says again.
const ECHOED: [&str; 26] = [
    "output",
    "output_text",
    "status",
    "incomplete_details",
    "instructions",
    "tools",
    "tool_choice",
    "temperature",
    "top_p",
    "top_logprobs",
    "text",
    "reasoning",
    "truncation",
    "parallel_tool_calls",
    "max_output_tokens",
    "max_tool_calls",
    "previous_response_id",
    "metadata",
    "store",
    "user",
    "background",
    "prompt",
    "prompt_cache_key",
    "safety_identifier",
    "frequency_penalty",
    "presence_penalty",
];

fn answer(said: Vec<Message>) -> Option<Value> {
    match &said[..] {
        [] => None,
        [one] => Some(one.said().into()),
        several => Some(Record::new().with("messages", chat::list(several)).into()),
    }
}

/// The messages that items are. None where one only refers to what is kept elsewhere.
fn messages(value: &Value) -> Option<Vec<Message>> {
    match value {
        Value::Text(text) => Some(vec![Message::new("user", text.as_str())]),
        Value::List(items) => items.iter().map(item).collect::<Option<Vec<_>>>().map(|all| all.concat()),
        _ => None,
    }
}

fn item(value: &Value) -> Option<Vec<Message>> {
    let record = value.as_record()?;
    let kind = record.get("type").and_then(Value::as_text);
    Some(match kind {
        Some("function_call" | "custom_tool_call") => {
            let mut message = Message::new("assistant", Value::Null);
            message.calls.extend(call(value));
            vec![message]
        }
        Some("function_call_output" | "custom_tool_call_output") => {
            let mut message = Message::new("tool", record.get("output").map_or(Value::Null, chat::content));
            message.answers = record.get("call_id").and_then(Value::as_text).map(str::to_owned);
            vec![message]
        }
        Some("reasoning") => {
            let mut message = Message::new("assistant", Value::Null);
            message.reasoned = true;
            vec![message]
        }
        Some("item_reference") => return None,
        None | Some("message") => {
            let mut kept = record.clone();
            ["type", "status", "phase"].iter().for_each(|key| drop(kept.remove(key)));
            vec![chat::openai(record.get("role")?.as_text()?, &kept)]
        }
        // A tool of the provider's own: what it did is part of the answer.
        Some(_) => {
            let kept: Record = record
                .clone()
                .into_iter()
                .filter(|(key, value)| !["id", "status"].contains(&key.as_str()) && *value != Value::Null)
                .collect();
            let mut message = Message::new("assistant", Value::Null);
            message.more.set("items", Value::List(vec![kept.into()]));
            vec![message]
        }
    })
}

/// The id that pairs is `call_id`; `id` is the item's.
fn call(value: &Value) -> Option<chat::Call> {
    let mut kept = value.as_record()?.clone();
    kept.remove("id");
    chat::call(&kept.into())
}

/// Puts what the assistant said in several items in a row into one message, as the chat
/// interface has it.
fn merged(messages: Vec<Message>) -> Vec<Message> {
    let mut all: Vec<Message> = Vec::new();
    for message in messages {
        match all.last_mut() {
            Some(last) if last.role == "assistant" && message.role == "assistant" && joins(last, &message) => {
                last.calls.extend(message.calls);
                last.reasoned |= message.reasoned;
                if last.content == Value::Null {
                    last.content = message.content;
                }
                for (key, value) in message.more {
                    let items = [last.more.get(&key).cloned(), Some(value)];
                    let items: Vec<Value> = items
                        .into_iter()
                        .flatten()
                        .flat_map(|one| one.as_list().map_or(vec![one.clone()], <[_]>::to_vec))
                        .collect();
                    last.more.set(key, items);
                }
            }
            _ => all.push(message),
        }
    }
    // Reasoning alone is nothing that was said.
    all.retain(|message| {
        let silent = message.content == Value::Null && message.calls.is_empty() && message.more.is_empty();
        !(silent && message.reasoned)
    });
    all
}

fn joins(last: &Message, next: &Message) -> bool {
    last.content == Value::Null || next.content == Value::Null
}
