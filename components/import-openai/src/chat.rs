//! Chat completions, and the completions before them.

use auto_importer::exchange::{Exchange, cut_off};
use auto_importer::{Record, Value, chat, set};

/// An exchange of the chat completions interface.
pub fn exchange(request: &Record, response: Option<&Value>) -> Exchange {
    let history = request.get("messages").and_then(chat::messages).unwrap_or_default();
    let mut exchange = Exchange::asked(request, history, &["model", "messages"]);
    answered(&mut exchange, response, |choice| {
        let message = choice.get("message")?;
        let role = message.get("role").and_then(Value::as_text).unwrap_or("assistant");
        Some(chat::openai(role, message.as_record()?).said().into())
    });
    exchange
}

/// An exchange of the older completions interface: the prompt is the input.
pub fn completion(request: &Record, response: Option<&Value>) -> Exchange {
    let mut exchange = Exchange::asked(request, Vec::new(), &["model"]);
    answered(&mut exchange, response, |choice| Some(Record::new().with("content", choice.get("text")?.clone()).into()));
    exchange
}

fn answered(exchange: &mut Exchange, response: Option<&Value>, say: impl Fn(&Value) -> Option<Value>) {
    let Some(response) = response else { return };
    exchange.about(response, &["choices"]);
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
