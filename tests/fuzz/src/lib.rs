//! What is fuzzed: a function for each reader of bytes that come from outside. Each feeds
//! the reader with whatever it is given, and checks what holds of what was accepted.
//!
//! The programs that libFuzzer drives are in `fuzz_targets`, one for each name of
//! [`TARGETS`]; `seeds` has a few small inputs for each. `tests/tests/readers.rs` gives every
//! target its seeds, and damaged ones, without a fuzzer.

use auto_importer::{Importer, Source, Trace};
use auto_json::{Canonical, Value};
use auto_registry::{
    Envelope, KeyRing, Papers, Part, Policy, Relation, Report, SignedManifest, Statement, TagLog, read_bundle,
    write_bundle,
};
use auto_schema::cbin::{self, Cbin, DIGEST_SECTION};
use auto_schema::contract::Contract;
use auto_schema::digest::Hasher;
use auto_schema::ir::{Graph, parse_path};
use auto_schema::manifest::Manifest;
use auto_schema::types::Type;

/// A target: its name, and what it does with some bytes.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("anthropic", anthropic),
    ("auto_jsonl", auto_jsonl),
    ("auto_toml", auto_toml),
    ("cbin", cbin),
    #[cfg(feature = "engine")]
    ("component", component),
    ("contract", contract),
    ("envelope", envelope),
    ("graph", graph),
    #[cfg(feature = "engine")]
    ("journal", journal),
    ("json", json),
    ("key_statement", key_statement),
    ("langfuse", langfuse),
    ("claude_code", claude_code),
    ("langsmith", langsmith),
    ("manifest", manifest),
    ("oci_manifest", oci_manifest),
    ("openai", openai),
    ("otlp", otlp),
    ("papers", papers),
    ("registry_index", registry_index),
    ("statement", statement),
    ("tag_log", tag_log),
    #[cfg(feature = "engine")]
    ("values", values),
    ("program", program),
    #[cfg(feature = "engine")]
    ("returned", returned),
    ("tau_bench", tau_bench),
    ("types", types),
];

/// A JSON text: what is read is written in one form only, and that form reads back.
pub fn json(bytes: &[u8]) {
    let Ok(value) = Value::parse(bytes) else { return };
    let text = value.canonical();
    assert_eq!(Value::parse(text.as_str()).as_ref(), Ok(&value));
    assert_eq!(Canonical::of(text.as_str()), Ok(text));
}

/// The text of a type, and a path into a value.
pub fn types(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = parse_path(text);
    let Ok(ty) = text.parse::<Type>() else { return };
    let written = ty.to_string();
    assert_eq!(written.parse::<Type>().map(|ty| ty.to_string()), Ok(written));
}

/// An IR graph: only the bytes that the writer makes are read.
pub fn graph(bytes: &[u8]) {
    if let Ok(graph) = Graph::from_bytes(bytes) {
        assert_eq!(graph.to_bytes().as_deref(), Ok(bytes));
    }
}

/// A manifest: only the bytes that the writer makes are read.
pub fn manifest(bytes: &[u8]) {
    if let Ok(manifest) = Manifest::from_bytes(bytes) {
        assert_eq!(manifest.to_bytes().as_deref(), Ok(bytes));
        let _ = manifest.to_value().canonical();
    }
}

/// An artifact, as it is, and with the digest that it should have: a fuzzer does not find
/// SHA-256s by itself.
pub fn cbin(bytes: &[u8]) {
    let _ = cbin::import_names(bytes);
    if let Ok(artifact) = Cbin::read(bytes) {
        assert_eq!(artifact.parts.last().map(|part| part.range.end), Some(bytes.len()));
    }
    let Ok(sections) = cbin::sections(bytes) else { return };
    let Some((digest, rest)) = sections.split_last().filter(|(last, _)| last.payload.len() == 32) else { return };
    if digest.name != Some(DIGEST_SECTION) {
        return;
    }
    let mut hasher = Hasher::new();
    hasher.update(&bytes[..8]);
    for section in rest.iter().filter(|section| section.name != Some(cbin::COMPONENT_TYPE_SECTION)) {
        hasher.update(&bytes[section.range.clone()]);
    }
    let mut resealed = bytes.to_vec();
    resealed.truncate(bytes.len() - 32);
    resealed.extend_from_slice(hasher.finish().as_bytes());
    let _ = Cbin::read(&resealed);
}

/// A contract file, whose eval sets are the file itself; and the canonical form.
pub fn contract(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let file = Contract::from_toml(text, "c.toml", |_| Ok(text.as_bytes().to_vec())).ok();
    let value = Value::parse(text).ok().and_then(|value| Contract::from_value(&value).ok());
    for contract in [file, value].into_iter().flatten() {
        let again = Contract::from_value(&contract.to_value());
        assert_eq!(again.map(|again| again.id()), Ok(contract.id()));
    }
}

/// Signed statements, one a line, beside an artifact that they may be about.
pub fn envelope(bytes: &[u8]) {
    let Ok(envelopes) = read_bundle(bytes) else { return };
    assert_eq!(read_bundle(&write_bundle(&envelopes)).as_ref(), Ok(&envelopes));
    judge(&envelopes);
}

/// A statement, and the same as if it were all that is said of an artifact.
pub fn statement(bytes: &[u8]) {
    if let Ok(statement) = Statement::parse(bytes) {
        assert_eq!(Statement::parse(&statement.to_payload()), Ok(statement));
    }
    judge(&[Envelope::unsigned(bytes.to_vec())]);
}

/// Holds what is said of an artifact to every kind of policy.
fn judge(envelopes: &[Envelope]) {
    const SMALL: &[u8] = include_bytes!("../seeds/cbin/small");
    let asking = Policy { predicates: vec![Part::Contract, Part::Other("urn:x".to_owned())], ..Policy::unsigned() };
    for policy in [Policy::default(), asking] {
        if let Ok(report) = Report::of(SMALL, envelopes, &KeyRing::default(), &policy) {
            assert!(report.signers.is_empty() && (policy.signatures == 0 || report.accept().is_err()));
        }
    }
}

/// The log of a tag.
pub fn tag_log(bytes: &[u8]) {
    let Ok(tag) = "t".parse() else { return };
    if let Ok(log) = TagLog::parse(&tag, bytes) {
        let again = TagLog::parse(&tag, &log.to_bytes());
        assert_eq!(again.as_ref().map(|again| again.relation(&log)), Ok(Relation::Same));
        assert!(log.accept(&KeyRing::default(), &Policy::default()).is_err());
        let _ = log.before();
    }
}

/// What a server of ours sends with an artifact.
pub fn papers(bytes: &[u8]) {
    if let Ok(papers) = Papers::parse(bytes) {
        tag_log(&papers.log.unwrap_or_default());
        envelope(&papers.keys);
        envelope(&papers.statements);
    }
}

/// The manifest with our papers in an OCI registry.
pub fn oci_manifest(bytes: &[u8]) {
    let _ = SignedManifest::parse(bytes);
}

/// The index of a registry in a folder.
pub fn registry_index(bytes: &[u8]) {
    auto_registry::fuzzing::index(bytes);
}

/// What a trusted key says of another.
pub fn key_statement(bytes: &[u8]) {
    auto_registry::fuzzing::key_statement(bytes);
}

/// `auto.toml`, with the policy in it.
pub fn auto_toml(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = auto_config::Config::parse(text, std::path::Path::new("auto.toml"));
}

/// The text of a program.
pub fn program(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Ok(program) = auto_lang::parse(text) {
        let _ = auto_lang::cost(&program);
        assert_eq!(auto_lang::parse(&program.to_string()).as_ref(), Ok(&program));
    }
}

/// A trace file of the format `auto-jsonl`, cut anywhere.
pub fn auto_jsonl(bytes: &[u8]) {
    let (text, undecodable) = decoded(bytes);
    let _ = auto_import_auto::detect(text);
    for recover_partial in [false, true] {
        let source = Source { undecodable, recover_partial, ..Source::of("f", text) };
        let exported = auto_import_auto::exported::parse(&source, 0).map(|batch| batch.traces).unwrap_or_default();
        for trace in auto_import_auto::parse(&source).into_iter().chain(exported) {
            for span in trace.spans {
                assert!(Canonical::of(&span.input).is_ok_and(|text| text.as_str() == span.input));
                assert!(Canonical::of(&span.output).is_ok_and(|text| text.as_str() == span.output));
            }
        }
    }
}

/// A file of tau-bench runs.
pub fn tau_bench(bytes: &[u8]) {
    importer::<auto_import_tau_bench::Component>(bytes);
}

/// Spans as OpenTelemetry exports them, JSON or protobuf.
pub fn otlp(bytes: &[u8]) {
    importer::<auto_import_otlp::Component>(bytes);
}

/// Requests to OpenAI's interfaces and their answers.
pub fn openai(bytes: &[u8]) {
    importer::<auto_import_openai::Component>(bytes);
}

/// Requests to Anthropic's interface and their answers.
pub fn anthropic(bytes: &[u8]) {
    importer::<auto_import_anthropic::Component>(bytes);
}

/// A file that Langfuse exported.
pub fn langfuse(bytes: &[u8]) {
    importer::<auto_import_langfuse::Component>(bytes);
}

/// A session of Claude Code.
pub fn claude_code(bytes: &[u8]) {
    importer::<auto_import_claude_code::Component>(bytes);
}

/// A file that LangSmith exported.
pub fn langsmith(bytes: &[u8]) {
    importer::<auto_import_langsmith::Component>(bytes);
}

/// What holds of every importer: it comes to an end, its texts are canonical, and the order of
/// its spans is that of their opening.
fn importer<T: Importer>(bytes: &[u8]) {
    let (text, undecodable) = decoded(bytes);
    let _ = T::detect(text);
    let binary = (undecodable > 0).then(|| auto_kit::text(bytes));
    for (binary, piece) in [(None, false), (None, true), (binary, false)] {
        let source = Source { undecodable, binary, piece, ..Source::of("f", text) };
        let mut from = Some(0);
        while let Some(start) = from {
            let Ok(batch) = T::parse(&source, start) else { break };
            batch.traces.iter().for_each(|trace| check(trace, piece));
            from = batch.next;
            assert!(from.is_none_or(|next| next > start));
        }
    }
}

fn check(trace: &Trace, piece: bool) {
    let mut opened = std::collections::HashSet::new();
    for (number, span) in (1..).zip(&trace.spans) {
        assert!(Canonical::of(&span.input).is_ok_and(|text| text.as_str() == span.input));
        assert!(Canonical::of(&span.output).is_ok_and(|text| text.as_str() == span.output));
        assert_eq!(span.sequence, number);
        assert!(piece || span.parent.is_none_or(|parent| opened.contains(&parent)));
        assert!(opened.insert(span.id));
    }
}

/// The text that a file's bytes begin with, and how many bytes follow it.
fn decoded(bytes: &[u8]) -> (&str, u32) {
    let valid = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    (str::from_utf8(&bytes[..valid]).unwrap_or_default(), (bytes.len() - valid) as u32)
}

/// A component, judged from its bytes as before anything is compiled.
#[cfg(feature = "engine")]
pub fn component(bytes: &[u8]) {
    auto_engine::fuzzing::component(bytes);
}

/// The records of a journal.
#[cfg(feature = "engine")]
pub fn journal(bytes: &[u8]) {
    auto_engine::fuzzing::journal(bytes);
}

/// Values as the memo and the journal keep them.
#[cfg(feature = "engine")]
pub fn values(bytes: &[u8]) {
    auto_engine::fuzzing::values(bytes);
}

/// The memory of an artifact after a call: four bytes say where the result lies.
#[cfg(feature = "engine")]
pub fn returned(bytes: &[u8]) {
    auto_runtime::fuzzing::returned(bytes);
}
