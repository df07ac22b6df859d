//! An importer written with this crate alone, for a format of somebody's own: a log of
//! questions with tab-separated columns. docs/writing-a-pass.md shows it, shortened.

use auto_importer::{
    Batch, Fault, Importer, Notes, Source, SpanKind, Trace, Value, bad, batch, check_text, identity, json, span,
    uncaptured,
};

struct QuestionLog;

impl Importer for QuestionLog {
    const FORMAT: &'static str = "question-log";

    fn detect(head: &str) -> bool {
        head.starts_with("session\tmodel\tquestion\tanswer\n")
    }

    fn parse(source: &Source, from: u32) -> Result<Batch, Fault> {
        check_text(source)?;
        let task = source.task.as_deref().unwrap_or("questions");
        let (mut traces, mut notes) = (Vec::new(), Notes::default());
        for (number, line) in (2..).zip(source.text.lines().skip(1)) {
            let place = format!("line {number}");
            let columns: Vec<&str> = line.split('\t').collect();
            let [session, model, question, answer] = columns[..] else {
                return Err(bad(&place, format!("{} columns; a line has four", columns.len())));
            };
            let mut call = span(SpanKind::ModelCall, model);
            (call.id, call.sequence) = (1, 1);
            call.input = json(&Value::from(question));
            match answer {
                "" => uncaptured(&mut call, &mut notes, &place),
                answer => call.output = json(&Value::from(answer)),
            }
            traces.push(Trace {
                id: identity(&[Self::FORMAT, session, &place]),
                task: task.to_owned(),
                recorder: Self::FORMAT.to_owned(),
                started: 0,
                attributes: vec![("session".into(), session.into())],
                input: None,
                output: None,
                partial: false,
                spans: vec![call],
            });
        }
        Ok(batch(traces, from, notes))
    }
}

auto_importer::component!(QuestionLog);

const LOG: &str = "session\tmodel\tquestion\tanswer\ns1\tm\tis it late?\tno\ns1\tm\twho are you?\t\n";

#[test]
fn lines_become_model_calls_and_an_empty_answer_is_none() {
    assert!(QuestionLog::detect(LOG) && !QuestionLog::detect("{}"));
    let batch = QuestionLog::parse(&Source::of("log.tsv", LOG), 0).unwrap();
    let calls: Vec<_> =
        batch.traces.iter().map(|trace| (&trace.spans[0].kind, trace.spans[0].output.as_str())).collect();
    assert_eq!(calls, [(&SpanKind::ModelCall, "\"no\""), (&SpanKind::Structural, "null")]);
    assert_eq!((batch.notes[0].code.as_str(), batch.notes[0].at.as_deref()), ("uncaptured", Some("line 3")));
}

#[test]
fn a_line_of_other_columns_refuses_the_file_and_says_where() {
    let fault = QuestionLog::parse(&Source::of("log.tsv", format!("{LOG}x\n")), 0).unwrap_err();
    assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("bad-trace", Some("line 4")));
}

#[test]
fn what_fills_a_batch_is_handed_over_in_several() {
    let line = format!("s\tm\t{}\tno\n", "q".repeat(1 << 20));
    let source = Source::of("log.tsv", format!("session\tmodel\tquestion\tanswer\n{}", line.repeat(9)));
    let (mut from, mut found, mut batches) = (Some(0), 0, 0);
    while let Some(start) = from {
        let batch = QuestionLog::parse(&source, start).unwrap();
        (found, batches, from) = (found + batch.traces.len(), batches + 1, batch.next);
    }
    assert_eq!((found, batches), (9, 3));
}
