//! What fuzz targets call, since the readers themselves are nobody else's business. Not part
//! of the interface of this crate.

use wasmtime::component::Val;

use crate::pass::Pass;
use crate::{journal, value};

/// Judges a component from its bytes.
pub fn component(bytes: &[u8]) {
    let _ = Pass::read("fuzzed", bytes.to_vec());
}

/// Reads values as the memo and the journal keep them. One list of values has one encoding.
pub fn values(bytes: &[u8]) {
    if let Some(values) = value::decode(bytes) {
        let mut written = Vec::new();
        value::encode(&values, &mut written);
        assert_eq!(written, bytes);
    }
}

/// Reads the records of a journal.
pub fn journal(bytes: &[u8]) {
    journal::try_reading(bytes);
}

/// What a fuzzer starts from: a target and its bytes.
pub fn samples() -> [(&'static str, Vec<u8>); 2] {
    let text = |text: &str| Val::String(text.to_owned());
    let some = |value| Val::Option(Some(Box::new(value)));
    let scalars = [
        Val::Bool(true),
        Val::S8(-1),
        Val::S16(-2),
        Val::U16(2),
        Val::S32(-3),
        Val::U32(3),
        Val::S64(-4),
        Val::U64(4),
        Val::Float32(1.5),
        Val::Float64(-2.5),
        Val::Char('ä'),
    ];
    let values = [
        Val::Tuple(scalars.to_vec()),
        Val::List(vec![Val::U8(1), Val::U8(2)]),
        Val::Record(vec![("a".to_owned(), some(text("b"))), ("c".to_owned(), Val::Option(None))]),
        Val::Variant("v".to_owned(), Some(Box::new(Val::List(vec![text(""), text("x")])))),
        Val::Enum("e".to_owned()),
        Val::Result(Ok(None)),
        Val::Result(Err(Some(Box::new(Val::Flags(vec!["f".to_owned()]))))),
    ];
    let mut bytes = Vec::new();
    value::encode(&values, &mut bytes);
    [("journal", journal::sample()), ("values", bytes)]
}
