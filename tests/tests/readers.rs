//! Everything that reads bytes from outside, given its seeds, damaged seeds, and the seeds of
//! the others: what `cargo xtask fuzz` does for longer, with the same functions.

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use auto_importer::Importer as _;
use auto_json::Value;
use auto_schema::cbin;
use auto_schema::contract::Contract;
use auto_schema::digest::Digest;
use auto_schema::ir::{Body, Bounds, Check, Edge, Effects, End, Graph, Guard, Node, Port, Region, Uncertainty};
use auto_schema::manifest::{FORMAT, Manifest, PassRef, Steps};
use auto_schema::types::Type;
use targets::TARGETS;

fn folder(target: &str) -> PathBuf {
    auto_tests::root().join("tests/fuzz/seeds").join(target)
}

/// The seeds of a target, by name.
fn seeds(target: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder(target)).unwrap();
    let seed = |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    entries.map(|entry| seed(entry.unwrap())).collect()
}

/// The seeds that are bytes of ours, as they are written today: target, name, bytes.
fn written() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let module = wat::parse_str(
        r#"(module (memory (export "memory") 1) (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 0))"#,
    )
    .unwrap();
    let graph = graph();
    let manifest = manifest(&module, &graph);
    let graph = graph.to_bytes().unwrap();
    let component = wat::parse_str(
        r#"(component
            (import "auto:host/log@0.1.0" (instance (export "write" (func (param "text" string)))))
            (core module $m
                (func (export "f") (param i32) (result i32) local.get 0))
            (core instance $i (instantiate $m))
            (type $r (record (field "a" u32)))
            (type $s (func (param "a" u32) (result u32)))
            (func $f (type $s) (canon lift (core func $i "f")))
            (instance $e (export "f" (func $f)))
            (export "test:a/b@0.1.0" (instance $e)))"#,
    )
    .unwrap();
    let mut seeds = vec![
        ("cbin", "small", cbin::seal(&module, Some(&graph), &manifest).unwrap()),
        ("component", "small", component),
        ("graph", "small", graph),
        ("manifest", "small", manifest.to_bytes().unwrap()),
        ("returned", "answer", returned(&[0, 0, 40, 5], b"[1.5]")),
        ("returned", "abstention", returned(&[0, 1, 40, 5, 7, 5], b"shape")),
        ("returned", "request", returned(&[0, 2, 40, 3, 40, 4, 40, 4], b"null")),
        ("returned", "failure", returned(&[1, 0, 40, 4], b"null")),
    ];
    seeds.extend(auto_registry::fuzzing::samples());
    seeds.extend(auto_engine::fuzzing::samples().map(|(target, bytes)| (target, "small", bytes)));
    seeds
}

/// A guest's memory with a block of words at 4, and a text behind it at 40.
fn returned(words: &[u32], text: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 4 + 40];
    bytes[0] = 4;
    for (index, word) in words.iter().enumerate() {
        bytes[8 + 4 * index..12 + 4 * index].copy_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(text);
    bytes
}

fn graph() -> Graph {
    let ty: Type = "record{doc: text, n?: number, tags?: list<text>}".parse().unwrap();
    let checks = vec![
        Check::Shape { ty: ty.clone() },
        Check::Length { path: "/doc".to_owned(), min: 1, max: 80 },
        Check::Characters { path: "/tags/*".to_owned(), classes: 0b101 },
        Check::Range { path: "/n".to_owned(), min: "-1.5".to_owned(), max: "3".to_owned() },
        Check::Sketch { path: "/doc".to_owned(), bits: 4, table: vec![0x0F, 0x80] },
    ];
    let port = |ty: &Type| vec![Port::new("value", ty.clone())];
    let node = |id, body, inputs, outputs| Node {
        id,
        name: format!("n{id}"),
        inputs,
        outputs,
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body,
    };
    let edge = |from, to| Edge { from: End { node: from, port: 0 }, to: End { node: to, port: 0 } };
    let expression = |source: &str| Body::Expression { source: source.to_owned() };
    let texts = Type::list(Type::Text);
    let inside = Graph {
        name: "inside".to_owned(),
        nodes: vec![
            node(0, Body::Input, vec![], port(&Type::Text)),
            node(1, expression("trim($)"), port(&Type::Text), port(&Type::Text)),
            node(2, Body::Output, port(&Type::Text), vec![]),
        ],
        edges: vec![edge(0, 1), edge(1, 2)],
        regions: vec![],
    };
    let graph = Graph {
        name: "small".to_owned(),
        nodes: vec![
            node(0, Body::Input, vec![], port(&ty)),
            node(1, Body::Guard(Guard { limit: 50_000, checks }), port(&ty), port(&ty)),
            node(2, expression("[$.doc]"), port(&ty), port(&texts)),
            node(3, Body::Each { graph: Box::new(inside), most: 9 }, port(&texts), port(&texts)),
            node(4, Body::Output, port(&texts), vec![]),
        ],
        edges: vec![edge(0, 1), edge(1, 2), edge(2, 3), edge(3, 4)],
        regions: vec![Region { name: "all".to_owned(), nodes: vec![0, 1, 2, 3, 4] }],
    };
    graph.canonical()
}

fn manifest(module: &[u8], graph: &Graph) -> Manifest {
    Manifest {
        format: FORMAT,
        task: "t".to_owned(),
        scope: "span model_call m".to_owned(),
        input: Type::Json,
        output: Type::Text,
        capabilities: vec![],
        guarded: graph.is_guarded(),
        contract: Digest([1; 32]),
        evidence: Digest([2; 32]),
        eval_run: Digest([3; 32]),
        code: Digest::of(module),
        observations: 4,
        agreement: Some(1_000_000),
        coverage: None,
        out_of_fold: Some(7),
        out_of_fold_rows: 1,
        steps: Some(Steps { p50: 1, p95: 2, max: 3 }),
        module_bytes: module.len() as u32,
        passes: vec![PassRef { interface: "auto:pass/check@0.1.0".to_owned(), digest: Digest([4; 32]) }],
        trusted_gate: Some(Digest([5; 32])),
        reusable: true,
        notes: vec!["a note".to_owned()],
        judged: None,
    }
    .canonical()
}

#[test]
fn the_seeds_are_what_is_written_today() {
    let mut size = 0;
    for (target, name, bytes) in written() {
        let path = folder(target).join(name);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &bytes).unwrap();
        }
        let differs = "differs from what is written now; BLESS=1 cargo test --release -p auto-tests --test readers";
        assert!(fs::read(&path).unwrap_or_default() == bytes, "{} {differs}", path.display());
    }
    for (target, _) in TARGETS {
        let seeds = seeds(target);
        assert!(!seeds.is_empty(), "{target} has no seeds");
        size += seeds.values().map(Vec::len).sum::<usize>();
    }
    assert!(size < 100 << 10, "the seeds take {size} bytes");
}

#[test]
fn the_seeds_are_good_ones() {
    let text = |target: &str, name: &str| String::from_utf8(seeds(target).remove(name).unwrap()).unwrap();
    for name in ["all", "token"] {
        assert_eq!(auto_lang::parse(&text("program", name)).err(), None, "{name}");
    }
    for name in ["full", "shout"] {
        assert_eq!(Contract::from_toml(&text("contract", name), name, |_| Ok(Vec::new())).err(), None);
    }
    let canonical = Value::parse(text("contract", "canonical")).unwrap();
    assert_eq!(Contract::from_value(&canonical).err(), None);
    assert_eq!(text("types", "all").parse::<Type>().err(), None);
    assert!(Value::parse(text("json", "all")).is_ok());
    for name in ["policy", "tables"] {
        let read = auto_config::Config::parse(&text("auto_toml", name), std::path::Path::new(name));
        assert_eq!(read.err(), None, "{name}");
    }
    let log = auto_registry::TagLog::parse(&"t".parse().unwrap(), text("tag_log", "two").as_bytes());
    assert_eq!(log.map(|log| log.head().number), Ok(2));
    assert!(auto_registry::SignedManifest::parse(text("oci_manifest", "signed").as_bytes()).is_ok());
    assert!(auto_registry::Papers::parse(text("papers", "all").as_bytes()).is_ok());
    assert!(auto_registry::Statement::parse(text("statement", "small").as_bytes()).is_ok());
    assert_eq!(auto_registry::read_bundle(text("envelope", "signed").as_bytes()).map(|all| all.len()), Ok(1));
    let source = |text: String| auto_importer::Source::of("f", text);
    assert_eq!(
        auto_import_auto::parse(&source(text("auto_jsonl", "run"))).map(|trace| trace.spans.len()).ok(),
        Some(2)
    );
    assert_eq!(auto_import_auto::parse(&source(text("auto_jsonl", "torn"))).unwrap_err().code, "torn-trace");
    let read = [
        auto_import_anthropic::Component::parse(&source(text("anthropic", "exchange")), 0),
        auto_import_langfuse::Component::parse(&source(text("langfuse", "export")), 0),
        auto_import_langsmith::Component::parse(&source(text("langsmith", "runs")), 0),
        auto_import_langfuse::Component::parse(&source(text("langfuse", "table")), 0),
        auto_import_claude_code::Component::parse(&source(text("claude_code", "session")), 0),
        auto_import_auto::Component::parse(&source(text("auto_jsonl", "exported")), 0),
        auto_import_openai::Component::parse(&source(text("openai", "exchanges")), 0),
        auto_import_otlp::Component::parse(&source(text("otlp", "spans")), 0),
    ];
    let spans = read.map(|batch| batch.unwrap().traces.iter().map(|trace| trace.spans.len()).sum::<usize>());
    assert_eq!(spans, [2, 2, 2, 1, 6, 2, 3, 2]);
}

#[test]
fn every_target_is_a_program_too() {
    let manifest = fs::read_to_string(auto_tests::root().join("tests/fuzz/Cargo.toml")).unwrap();
    for (target, _) in TARGETS {
        assert!(manifest.contains(&format!("name = \"{target}\"\npath = \"fuzz_targets/{target}.rs\"")), "{target}");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
}

#[test]
fn no_reader_panics_on_seeds_of_any_kind_or_on_damaged_ones() {
    let all: Vec<Vec<u8>> = TARGETS.iter().flat_map(|(name, _)| seeds(name).into_values()).collect();
    for (name, target) in TARGETS {
        all.iter().for_each(|seed| target(seed));
        for seed in seeds(name).into_values() {
            for length in 0..seed.len() {
                target(&seed[..length]);
            }
            let mut random = Random(1);
            for _ in 0..2_000 {
                target(&damaged(&seed, &mut random));
            }
        }
    }
}

/// A generator of numbers that are the same every time (xorshift; Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// A seed with a few bits flipped, bytes overwritten, and parts cut out or doubled.
fn damaged(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(5) {
            0 | 1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            2 if at < bytes.len() => bytes[at] = [0, 0x7F, 0x80, 0xFF][random.below(4)],
            3 => drop(bytes.drain(at..end)),
            _ => {
                let part = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
        }
    }
    bytes
}
