//! The vectors that every pass is held to: our own keep them all, and passes that lie or fall over
//! are told which one they break, with what was expected and what they gave.

use auto_json::Value;
use auto_tests::tool::{Tool, at, printed};
use auto_tests::{built, root, text};

/// Interfaces of our own for which there can be no vectors: a proposer answers only within a job,
/// with a teacher, and a driver runs one.
const UNKNOWN: [&str; 2] = ["auto:pass/propose@0.1.0", "auto:driver/job@0.1.0"];

/// The vectors of a reply, with the interface of each.
fn vectors(reply: &Value) -> Vec<(String, Value)> {
    let interfaces = at(reply, &["interfaces"]).as_list().unwrap_or_default();
    let of = |interface: &Value| {
        let name = at(interface, &["interface"]).as_text().unwrap_or_default().to_owned();
        let rows = at(interface, &["vectors"]).as_list().unwrap_or_default().to_vec();
        rows.into_iter().map(move |row| (name.clone(), row))
    };
    interfaces.iter().flat_map(of).collect()
}

#[test]
fn our_own_passes_keep_every_vector() {
    let (tool, mut tried) = (Tool::new(), 0);
    for component in built().unwrap() {
        let name = component.made_from.folder.file_name().unwrap().to_string_lossy().into_owned();
        let file = root().join("target/components").join(&name).with_extension("wasm");
        let (exit, reply) = tool.json(&["pass", "test", file.to_str().unwrap()]);
        let untested = at(&reply, &["untested"]).as_list().unwrap();
        let known = |interface: &Value| UNKNOWN.iter().any(|known| interface.as_text() == Some(known));
        assert!(untested.iter().all(known), "there are no vectors for {untested:?} of {name}");
        let vectors = vectors(&reply);
        let end = if vectors.is_empty() { (Some(4), "no-vectors") } else { (Some(0), "conforms") };
        assert_eq!((exit, at(&reply, &["code"]).as_text().unwrap()), end, "{name}: {reply}");
        for (interface, vector) in vectors {
            let fuel = at(&vector, &["fuel"]).as_u64();
            assert!(fuel.is_some_and(|fuel| fuel > 0), "{interface}: {vector}");
            tried += 1;
        }
    }
    assert!(tried > 80, "only {tried} vectors were tried");
}

fn liar(name: &str) -> String {
    let file = root().join("target/test-components").join(name).with_extension("wasm");
    assert!(file.exists(), "{} is not there; run: cargo xtask build --test-components", file.display());
    file.display().to_string()
}

/// The broken vectors of a reply.
fn broken(reply: &Value) -> Vec<Value> {
    let broken = vectors(reply).into_iter().map(|(_, row)| row);
    broken.filter(|row| at(row, &["holds"]) == &Value::Bool(false)).collect()
}

#[test]
fn a_pass_that_lies_is_told_which_vector_it_breaks() {
    let tool = Tool::new();
    for (name, exit, vector, got) in [
        ("open-guard", 1, "one far from all of them is not", "the answer"),
        ("lying-optimize", 1, "what can be said shorter gives the same", "LIE"),
        ("lying-extract", 1, "every program that is found is right", "LIE"),
        ("panicking-check", 5, "reproduces every observation agrees", "a fault of code trap"),
        ("unguarded-emit", 1, "what the guard does not let through", "Answer(\"11\")"),
        ("cheap-twin", 1, "what the guard does not let through", "Answer(\"11\")"),
        ("inventing-importer", 1, "a file of no format is refused", "invented"),
    ] {
        let file = liar(name);
        let (code, reply) = tool.json(&["pass", "test", &file]);
        assert_eq!((code, at(&reply, &["code"])), (Some(exit), &Value::from("does-not-conform")), "{name}: {reply}");
        let broken = broken(&reply);
        let text = |row: &Value, key: &str| at(row, &[key]).as_text().unwrap_or_default().to_owned();
        let meant = broken.iter().find(|row| text(row, "name").contains(vector));
        let meant = meant.unwrap_or_else(|| panic!("{name} keeps {vector:?}: {broken:?}"));
        assert!(text(meant, "got").contains(got), "{name}: {meant}");
        assert!(!text(meant, "expected").is_empty() && !text(meant, "input").is_empty(), "{name}: {meant}");
        let said = printed(&tool.run(&["pass", "test", &file]));
        assert!(said.contains("BROKEN") && said.contains("expected: ") && said.contains("got:      "), "{said}");
    }
}

#[test]
fn a_panic_s_text_is_shown_with_the_vector() {
    let (_, reply) = Tool::new().json(&["pass", "test", &liar("panicking-check")]);
    let log = broken(&reply).iter().map(|row| at(row, &["log"]).to_string()).collect::<String>();
    assert!(log.contains("observations are too many for me"), "{reply}");
}

#[test]
fn what_nothing_is_known_of_is_no_pass() {
    let tool = Tool::new();
    let sums = text::component(
        "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; } world w { export sums; }",
        "w",
        r#"(func (export "third:party/sums@1.0.0#add") (param i32 i32) (result i32) (local.get 0))"#,
    );
    std::fs::write(tool.path("sums.wasm"), sums.unwrap()).unwrap();
    let (code, reply) = tool.json(&["pass", "test", "sums.wasm"]);
    assert_eq!((code, at(&reply, &["code"])), (Some(4), &Value::from("no-vectors")));
    assert_eq!(at(&reply, &["untested"]).to_string(), r#"["third:party/sums@1.0.0"]"#);
}

#[test]
fn files_that_are_no_components_are_refused() {
    let tool = Tool::new();
    std::fs::write(tool.path("words.wasm"), "words").unwrap();
    for (arguments, exit, code) in
        [(["pass", "test", "words.wasm"], 1, "not-wasm"), (["pass", "test", "absent.wasm"], 2, "unreadable")]
    {
        let (ended, reply) = tool.json(&arguments);
        assert_eq!((ended, at(&reply, &["code"])), (Some(exit), &Value::from(code)), "{reply}");
    }
}

/// What rustc leaves of a pass becomes the component that `cargo xtask build` makes of it.
#[test]
fn wrapping_a_core_module_makes_the_component() {
    let tool = Tool::new();
    let core = root().join("target/wasm/wasm32-unknown-unknown/component/auto_optimize.wasm");
    let arguments = ["pass", "wrap", core.to_str().unwrap(), "--out", "optimize.wasm"];
    let (code, reply) = tool.json(&arguments);
    assert_eq!((code, at(&reply, &["code"])), (Some(0), &Value::from("wrapped")), "{reply}");
    let built = std::fs::read(root().join("target/components/optimize.wasm")).unwrap();
    assert!(std::fs::read(tool.path("optimize.wasm")).unwrap() == built, "the bytes differ");

    std::fs::write(tool.path("plain.wasm"), wat::parse_str("(module (func (export \"f\")))").unwrap()).unwrap();
    std::fs::write(tool.path("words.wasm"), "words").unwrap();
    for (file, exit, code) in [
        ("plain.wasm", 1, "no-world"),
        ("optimize.wasm", 1, "component"),
        ("words.wasm", 1, "not-wasm"),
        ("absent.wasm", 2, "unreadable"),
    ] {
        let (ended, reply) = tool.json(&["pass", "wrap", file, "--out", "never.wasm"]);
        assert_eq!((ended, at(&reply, &["code"])), (Some(exit), &Value::from(code)), "{file}: {reply}");
        assert!(!tool.path("never.wasm").exists());
    }
}
