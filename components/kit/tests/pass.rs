//! A pass written with the kit alone: a checker whose program is no graph of ours but the
//! text `upper`. It shows what an author writes, and that the types are shared.

use auto_kit::testing::observations;
use auto_kit::types::Observation;
use auto_kit::{Fault, Value, rows};

#[allow(missing_docs, unused_qualifications)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/pass",
        world: "auto:pass/checking",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
    });
}

use bindings::exports::auto::pass::check::{Counterexample, Finding, Guest};

struct Upper;

impl Guest for Upper {
    fn check(program: Vec<u8>, on: Vec<Observation>) -> Result<Finding, Fault> {
        if program != b"upper" {
            return Err(Fault::new("bad-graph", "the program is not `upper`").at("0"));
        }
        let mut finding = Finding { checked: 0, agreeing: 0, counterexamples: Vec::new() };
        for row in rows(on) {
            let row = row?;
            let Some(expected) = row.settled() else { continue };
            let got = row.input.as_text().map(|text| Value::from(text.to_uppercase()));
            finding.checked += 1;
            if got.as_ref() == Some(expected) {
                finding.agreeing += 1;
            } else {
                finding.counterexamples.push(Counterexample {
                    input: row.input.to_string(),
                    expected: expected.to_string(),
                    got: got.map(|got| got.to_string()),
                    at: "upper".to_owned(),
                });
            }
        }
        Ok(finding)
    }
}

#[test]
fn counts_what_agrees_and_shows_what_does_not() {
    let on = observations([("\"a\"", "\"A\""), ("\"b\"", "\"b\""), ("\"a\"", "\"A\""), ("3", "\"3\"")]);
    assert_eq!(on.len(), 3);
    assert_eq!(on[0].outputs.len(), 1);
    assert_eq!(on[0].outputs[0].count, 2);
    let finding = Upper::check(b"upper".to_vec(), on).unwrap();
    assert_eq!((finding.checked, finding.agreeing), (3, 1));
    assert_eq!(finding.counterexamples[0].got.as_deref(), Some("\"B\""));
    assert_eq!(finding.counterexamples[1].got, None);
}

#[test]
fn several_outputs_settle_nothing() {
    let on = observations([("\"a\"", "\"A\""), ("\"a\"", "\"B\"")]);
    assert_eq!(Upper::check(b"upper".to_vec(), on).unwrap().checked, 0);
}

#[test]
fn faults_say_where() {
    let mut on = observations([("1", "2"), ("3", "4")]);
    on[1].outputs[0].output = "{".to_owned();
    let fault = Upper::check(b"upper".to_vec(), on).unwrap_err();
    assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("bad-json", Some("/on/1/outputs/0/output")));
    let fault = Upper::check(b"lower".to_vec(), Vec::new()).unwrap_err();
    assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("bad-graph", Some("0")));
}

#[test]
fn bytes_cross_jobs_as_base64() {
    assert_eq!(auto_kit::text(b"\0asm"), "AGFzbQ==");
    assert_eq!(auto_kit::bytes("AGFzbQ==", "/module").unwrap(), b"\0asm");
    assert_eq!(auto_kit::bytes("AGFzbQ", "/module").unwrap_err().at.as_deref(), Some("/module"));
}

#[test]
fn types_and_graphs_are_read_or_refused() {
    assert_eq!(auto_kit::type_text("list<text>", "/output").unwrap().to_string(), "list<text>");
    assert_eq!(auto_kit::type_text("list<", "/output").unwrap_err().code, "bad-type");
    assert_eq!(auto_kit::graph(b"no graph").unwrap_err().code, "bad-graph");
}
