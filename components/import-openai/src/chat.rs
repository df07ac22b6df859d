//! Chat completions, and the completions before them.

use auto_importer::exchange::{Exchange, cut_off, tokens};
use auto_importer::{Record, Value, chat, pairs, set};

/// An exchange of the chat completions interface.
pub fn exchange(request: &Record, response: Option<&Value>) -> Exchange {
    let history = request.get("messages").and_then(chat::messages).unwrap_or_default();
    let mut exchange = asked(request, history, &["model", "messages"]);
    answered(&mut exchange, response, |choice| {
        let message = choice.get("message")?;
        let role = message.get("role").and_then(Value::as_text).unwrap_or("assistant");
        Some(chat::openai(role, message.as_record()?).said().into())
    });
    exchange
}

/// An exchange of the older completions interface: the prompt is the input.
pub fn completion(request: &Record, response: Option<&Value>) -> Exchange {
    let mut exchange = asked(request, Vec::new(), &["model"]);
    answered(&mut exchange, response, |choice| Some(Record::new().with("content", choice.get("text")?.clone()).into()));
    exchange
}

/// The exchange as far as the request says it.
pub fn asked(request: &Record, history: Vec<chat::Message>, taken: &[&str]) -> Exchange {
    let mut exchange = Exchange {
        model: request.get("model").and_then(Value::as_text).unwrap_or("unknown").to_owned(),
        history,
        more: Record::new(),
        answer: None,
        error: None,
        attributes: Vec::new(),
        started: 0,
        duration: None,
    };
    exchange.rest(request, taken);
    exchange
}

fn answered(exchange: &mut Exchange, response: Option<&Value>, say: impl Fn(&Value) -> Option<Value>) {
    let Some(response) = response else { return };
    about(exchange, response, &["choices"]);
    let choices = response.get("choices").and_then(Value::as_list).unwrap_or_default();
    let said: Option<Vec<Value>> = choices.iter().map(say).collect();
    exchange.answer = match said {
        Some(said) if said.len() == 1 => said.into_iter().next(),
        Some(said) if !said.is_empty() => Some(Record::new().with("choices", said).into()),
        _ => None,
    };
    let reasons = choices.iter().map(|choice| choice.get("finish_reason").and_then(Value::as_text));
    for reason in reasons {
        exchange.error = exchange.error.take().or_else(|| cut_off(reason));
        match reason {
            Some(reason) => set(&mut exchange.attributes, "finish_reason", reason),
            None if exchange.error.is_none() => exchange.error = Some("the answer does not say that it ended".into()),
            None => {}
        }
    }
    if exchange.answer.is_none() && exchange.error.is_none() {
        exchange.error = Some("the answer holds no choice".into());
    }
}

/// What an answer says beside what was said: ids, tokens, the provider's notes; and an error.
pub fn about(exchange: &mut Exchange, response: &Value, taken: &[&str]) {
    let Some(record) = response.as_record() else {
        exchange.error = Some("the answer is no object".into());
        return;
    };
    if let Some(error) = record.get("error").filter(|error| **error != Value::Null) {
        let said = error.get("message").unwrap_or(error);
        let said = said.as_text().map_or_else(|| said.to_string(), str::to_owned);
        exchange.error = Some(said);
    }
    if let Some(tokens) = record.get("usage").and_then(tokens) {
        set(&mut exchange.attributes, "tokens", tokens.to_string());
    }
    for (key, value) in pairs(record).into_iter().filter(|(key, _)| !taken.contains(&key.as_str())) {
        // The model's own name is dated; the request's is what one asks for.
        let key = match key.as_str() {
            "object" | "error" | "created" | "created_at" => continue,
            "id" => "response_id",
            "model" => "response_model",
            other => other,
        };
        set(&mut exchange.attributes, key, value);
    }
}
