//! What a pass, a driver, a gate or an importer that lies can and cannot achieve, on real
//! compiles with the liar on top. Each test is a sentence of `docs/security-model.md`.

use std::path::PathBuf;
use std::process::Command;

use auto_json::Value;
use auto_schema::cbin::Cbin;
use auto_schema::digest::Digest;
use auto_schema::manifest::Manifest;
use auto_tests::{root, text};

/// A folder with the store and contract of `tests/cli/fixtures`.
struct Bench(tempfile::TempDir);

/// How a run of the tool ended.
struct Ended {
    exit: i32,
    reply: Value,
}

impl Ended {
    fn text(&self, key: &str) -> &str {
        self.reply.get(key).and_then(Value::as_text).unwrap_or_default()
    }

    /// The last rung and why it refused.
    fn refusal(&self) -> (&str, &str) {
        let rungs = self.reply.get("rungs").and_then(Value::as_list).unwrap_or_default();
        let part = |key: &str| rungs.last().and_then(|rung| rung.get(key)).and_then(Value::as_text);
        (part("rung").unwrap_or_default(), part("why").unwrap_or_default())
    }

    /// Refused by that rung, saying that.
    fn is_refused_by(&self, rung: &str, says: &str) {
        assert_eq!((self.exit, self.refusal().0), (1, rung), "{}", self.reply);
        assert!(self.refusal().1.contains(says), "{says:?} is not in: {}", self.reply);
    }

    /// Ended by a fault of that code, saying that.
    fn is_fault(&self, exit: i32, code: &str, says: &str) {
        assert_eq!((self.exit, self.text("code")), (exit, code), "{}", self.reply);
        assert!(self.text("message").contains(says), "{says:?} is not in: {}", self.reply);
    }
}

impl Bench {
    fn new() -> Bench {
        let bench = Bench(tempfile::tempdir().unwrap());
        for file in ["shout.jsonl", "shout.contract.toml"] {
            std::fs::copy(root().join("tests/cli/fixtures").join(file), bench.path(file)).unwrap();
        }
        assert_eq!(bench.run(&["import", "--store", "shout.db", "shout.jsonl"]).exit, 0);
        bench
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(auto_tests::tool::binary());
        command.args(arguments).current_dir(self.0.path()).env("AUTO_CACHE", self.path("cache"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).arg("--json").output();
        let output = output.expect("auto-host runs; build it with `cargo xtask build`");
        let printed = String::from_utf8_lossy(&output.stdout);
        let reply = Value::parse(printed.trim()).unwrap_or_else(|error| panic!("{error} in {printed}"));
        Ended { exit: output.status.code().unwrap(), reply }
    }

    /// Compiles with these passes on top; a refusal writes nothing.
    fn compile(&self, passes: &[&str], more: &[&str]) -> Ended {
        let mut arguments = vec!["compile", "--contract", "shout.contract.toml", "--store", "shout.db"];
        arguments.extend(["--out", "shout.cbin"]);
        passes.iter().for_each(|pass| arguments.extend(["--pass", pass]));
        arguments.extend(more);
        let ended = self.run(&arguments);
        assert_eq!(ended.exit == 0, self.path("shout.cbin").exists(), "{}", ended.reply);
        ended
    }

    fn sealed(&self, passes: &[&str], more: &[&str]) -> Manifest {
        let ended = self.compile(passes, more);
        assert_eq!(ended.exit, 0, "{}", ended.reply);
        Cbin::read(&std::fs::read(self.path("shout.cbin")).unwrap()).unwrap().manifest
    }

    /// A component of `tests/passes/lies`, put here.
    fn lie(&self, name: &str) -> Digest {
        self.put(&format!("{name}.wasm"), &built(name))
    }

    fn put(&self, file: &str, bytes: &[u8]) -> Digest {
        std::fs::write(self.path(file), bytes).unwrap();
        Digest::of(bytes)
    }

    fn answer(&self, input: &str) -> Ended {
        self.run(&["run", "shout.cbin", "--input", input])
    }
}

fn built(name: &str) -> Vec<u8> {
    let path = root().join("target/test-components").join(name).with_extension("wasm");
    let help = "run: cargo xtask build --test-components";
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; {help}", path.display()))
}

fn named(manifest: &Manifest, digest: Digest) -> bool {
    manifest.passes.iter().any(|pass| pass.digest == digest)
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:02x}")).collect()
}

/// A check that finds every program right.
fn approving_check() -> Vec<u8> {
    text::component(
        "package hostile:lies; world w { export auto:pass/check@0.1.0; }",
        "w",
        r#"(func (export "auto:pass/check@0.1.0#check") (param i32 i32 i32 i32) (result i32)
              (i32.store (i32.const 1028) (local.get 3)) (i32.store (i32.const 1032) (local.get 3)) (i32.const 1024))"#,
    )
    .unwrap()
}

/// A gate that gives everything the same verdict: 0 pass, 1 fail.
fn gate(status: u8) -> Vec<u8> {
    text::component(
        "package hostile:lies; world w { export auto:pass/gate@0.1.0; }",
        "w",
        &format!(
            r#"(data (i32.const 1028) "\{status:02x}")
               (func (export "auto:pass/gate@0.1.0#decide")
                  (param i32) (result i32) (i32.const 1024))"#
        ),
    )
    .unwrap()
}

/// An emit that returns this module whatever the program.
fn emit(module: &[u8]) -> Vec<u8> {
    text::component(
        "package hostile:lies; world w { export auto:pass/emit@0.1.0; }",
        "w",
        &format!(
            r#"(data (i32.const 0x40000) "{escaped}")
               (func (export "auto:pass/emit@0.1.0#emit") (param i32 i32) (result i32)
                  (i32.store (i32.const 1028) (i32.const 0x40000)) (i32.store (i32.const 1032) (i32.const {length}))
                  (i32.store (i32.const 1036) (i32.const 0x40000)) (i32.store (i32.const 1040) (i32.const {length}))
                  (i32.const 1024))"#,
            escaped = escaped(module),
            length = module.len(),
        ),
    )
    .unwrap()
}

/// A behaviour that gives every input the same answer.
fn constant(answer: &str) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(module (memory (export "memory") 1)
             (data (i32.const 1024) "\00\00\00\00\00\00\00\00\00\08\00\00{length}\00\00\00")
             (data (i32.const 2048) "{answer}")
             (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 8192))
             (func (export "auto:cbin/behavior@0.1.0#run") (param i32 i32) (result i32) (i32.const 1024))
             (func (export "auto:cbin/behavior@0.1.0#resume") (param i32 i32 i32 i32 i32) (result i32) unreachable)
             (func (export "auto:cbin/behavior@0.1.0#assess") (param i32 i32) (result i32) unreachable))"#,
        length = escaped(&[answer.len() as u8]),
        answer = escaped(answer.as_bytes()),
    ))
    .unwrap()
}

const FAR: &str = r#"{"text":"№ 77 — ça alors !"}"#;

#[test]
fn a_program_that_does_not_fit_is_refused_by_check() {
    let bench = Bench::new();
    bench.lie("lying-extract");
    bench.compile(&["lying-extract.wasm"], &["--steps", "1000000"]).is_refused_by("check", "wrong on 12 observations");
}

#[test]
fn a_rewrite_that_does_not_fit_is_not_taken() {
    let bench = Bench::new();
    bench.lie("lying-optimize");
    let manifest = bench.sealed(&["lying-optimize.wasm"], &[]);
    assert_eq!(manifest.agreement, Some(1_000_000));
    let remarked = |note: &String| note.starts_with("optimize remark") && note.contains("the program stays as it was");
    assert!(manifest.notes.iter().any(remarked), "{:?}", manifest.notes);
    std::fs::remove_file(bench.path("shout.cbin")).unwrap();
    let without = bench.sealed(&["lying-optimize.wasm"], &["--no-optimize"]);
    assert!(!without.notes.iter().any(|note| note.starts_with("optimize")), "{:?}", without.notes);
}

#[test]
fn a_check_that_approves_everything_does_not_get_past_the_gate() {
    let bench = Bench::new();
    bench.lie("lying-extract");
    bench.put("approves.wasm", &approving_check());
    let ended = bench.compile(&["lying-extract.wasm", "approves.wasm"], &["--steps", "1000000"]);
    ended.is_refused_by("gate", "replay/agreement fail: 0 of 12 equal");
}

#[test]
fn a_program_that_knows_the_recordings_by_heart_says_so_in_its_out_of_fold_figure() {
    let bench = Bench::new();
    let liar = bench.lie("lying-extract");
    let manifest = bench.sealed(&["lying-extract.wasm"], &["--steps", "2000000"]);
    assert_eq!((manifest.agreement, manifest.out_of_fold), (Some(1_000_000), Some(0)));
    assert!(named(&manifest, liar));
    let contract = std::fs::read_to_string(bench.path("shout.contract.toml")).unwrap();
    std::fs::remove_file(bench.path("shout.cbin")).unwrap();
    let floor = format!("{contract}\n[acceptance]\nout_of_fold_min_ppm = 500000\n");
    std::fs::write(bench.path("shout.contract.toml"), floor).unwrap();
    bench
        .compile(&["lying-extract.wasm"], &["--steps", "2000000"])
        .is_refused_by("gate", "out-of-fold fail: 0 of 12 right");
}

#[test]
fn middleware_that_changes_the_recordings_does_not_change_what_the_gate_replays() {
    let bench = Bench::new();
    bench.lie("lying-extract");
    bench.put("approves.wasm", &approving_check());
    let ended = bench.compile(&["lying-extract.wasm", "approves.wasm"], &["--steps", "3000000"]);
    ended.is_refused_by("gate", "replay/agreement fail: 0 of 12 equal");
}

#[test]
fn the_text_of_a_program_is_the_extract_s_word_and_explain_reads_the_program() {
    let bench = Bench::new();
    bench.lie("lying-extract");
    let ended = bench.compile(&["lying-extract.wasm"], &["--steps", "2000000"]);
    assert_eq!(ended.text("program"), "upper($.text)");
    let explained = bench.run(&["explain", "shout.cbin"]);
    assert!(explained.reply.to_string().contains("LIE"), "{}", explained.reply);
}

#[test]
fn a_guard_that_never_trips_is_not_sealed() {
    let bench = Bench::new();
    bench.lie("open-guard");
    bench.compile(&["open-guard.wasm"], &[]).is_fault(1, "guard-open", "abstains on nothing");
}

#[test]
fn an_emit_that_leaves_the_guard_out_is_not_sealed() {
    let bench = Bench::new();
    bench.lie("unguarded-emit");
    bench.compile(&["unguarded-emit.wasm"], &[]).is_fault(1, "guard-open", "a guard or emit of this job");
}

#[test]
fn the_honest_guard_abstains_on_what_an_open_one_would_answer() {
    let bench = Bench::new();
    assert!(bench.sealed(&[], &[]).guarded);
    assert_eq!(bench.answer(FAR).exit, 3);
}

#[test]
fn an_emit_that_returns_an_import_is_refused() {
    let bench = Bench::new();
    bench.put("emit.wasm", &emit(&wat::parse_str(r#"(module (import "env" "steal" (func)))"#).unwrap()));
    bench.compile(&["emit.wasm"], &[]).is_fault(1, "not-a-behavior", "imports");
}

#[test]
fn an_emit_that_returns_a_component_is_refused() {
    let bench = Bench::new();
    bench.put("emit.wasm", &emit(&wat::parse_str("(component)").unwrap()));
    bench.compile(&["emit.wasm"], &[]).is_fault(1, "not-a-behavior", "component");
}

#[test]
fn an_emit_that_answers_wrongly_is_refused_by_the_gate() {
    let bench = Bench::new();
    bench.put("emit.wasm", &emit(&constant(r#""LIE""#)));
    let contract = std::fs::read_to_string(bench.path("shout.contract.toml")).unwrap();
    let unguarded = contract.replace("contract_version = 0", "contract_version = 0\nguard = \"none\"");
    std::fs::write(bench.path("shout.contract.toml"), unguarded).unwrap();
    bench.compile(&["emit.wasm"], &[]).is_refused_by("gate", "replay/agreement fail: 0 of 12 equal");
    for (answer, why) in [(r#"{"b":1, "a":2}"#, "canonical"), ("no JSON", "JSON")] {
        bench.put("emit.wasm", &emit(&constant(answer)));
        bench.compile(&["emit.wasm"], &[]).is_refused_by("gate", why);
    }
}

#[test]
fn a_metered_twin_can_count_what_it_likes_and_the_manifest_names_its_emit() {
    let bench = Bench::new();
    let honest = bench.sealed(&[], &[]).steps.unwrap();
    let liar = bench.lie("cheap-twin");
    let manifest = bench.sealed(&["cheap-twin.wasm"], &[]);
    assert!(manifest.steps.unwrap().max < honest.max);
    assert!(named(&manifest, liar) && !manifest.reusable);
}

#[test]
fn a_driver_seals_no_answers_that_it_did_not_measure() {
    let bench = Bench::new();
    bench.put("compile", &built("lying-driver"));
    for (seed, says) in [("1", "which no module gave in the sandbox"), ("2", "neither recorded nor promised")] {
        bench.compile(&["compile"], &["--seed", seed]).is_fault(1, "held-out-unmeasured", says);
    }
}

#[test]
fn that_a_row_was_held_out_is_the_driver_s_word_and_the_manifest_names_it() {
    let bench = Bench::new();
    let liar = bench.put("compile", &built("lying-driver"));
    let manifest = bench.sealed(&["compile"], &["--seed", "3"]);
    assert_eq!((manifest.out_of_fold, manifest.out_of_fold_rows), (Some(1_000_000), 12));
    assert_eq!(manifest.notes, ["out-of-fold passed: so I say"]);
    assert!(named(&manifest, liar));
}

#[test]
fn a_gate_on_top_can_only_tighten() {
    let bench = Bench::new();
    bench.put("strict.wasm", &gate(1));
    assert_eq!(bench.compile(&["strict.wasm"], &[]).text("verdict"), "fail");
}

#[test]
fn a_gate_that_passes_everything_has_no_say_unless_it_is_trusted_by_digest() {
    let bench = Bench::new();
    bench.lie("lying-extract");
    bench.put("approves.wasm", &approving_check());
    let lenient = bench.put("lenient.wasm", &gate(0));
    let passes = ["lying-extract.wasm", "approves.wasm", "lenient.wasm"];
    bench.compile(&passes, &["--steps", "1000000"]).is_refused_by("gate", "replay/agreement fail");
    let manifest = bench.sealed(&passes, &["--steps", "1000000", "--trust-gate", &lenient.to_string()]);
    assert_eq!(manifest.trusted_gate, Some(lenient));
    assert_eq!(manifest.agreement, Some(0), "the host measures what the gate did not ask");
}

#[test]
fn a_folder_of_passes_replaces_every_pass_but_the_gate() {
    let bench = Bench::new();
    bench.lie("lying-extract");
    bench.put("approves.wasm", &approving_check());
    let lenient = gate(0);
    let folder = bench.path("passes");
    std::fs::create_dir(&folder).unwrap();
    for entry in std::fs::read_dir(root().join("target/components")).unwrap().flatten() {
        std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    std::fs::write(folder.join("gate.wasm"), &lenient).unwrap();
    let passes = ["lying-extract.wasm", "approves.wasm"];
    let options = ["--passes", "passes", "--steps", "1000000"];
    bench.compile(&passes, &options).is_refused_by("gate", "replay/agreement fail");
    let trusted = Digest::of(&lenient);
    let manifest = bench.sealed(&passes, &[&options[..], &["--trust-gate", &trusted.to_string()]].concat());
    assert_eq!(manifest.trusted_gate, Some(trusted));
}

#[test]
fn an_importer_can_invent_recordings_and_nothing_tells_them_from_others() {
    let bench = Bench::new();
    let folder = bench.path("passes");
    std::fs::create_dir(&folder).unwrap();
    for entry in std::fs::read_dir(root().join("target/components")).unwrap().flatten() {
        std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    std::fs::write(folder.join("a-liar.wasm"), built("inventing-importer")).unwrap();
    let ended = bench.run(&["import", "--passes", "passes", "--store", "invented.db", "shout.jsonl"]);
    assert_eq!((ended.exit, ended.reply.get("spans").and_then(Value::as_u64)), (0, Some(3)), "{}", ended.reply);
    std::fs::write(bench.path("endless.jsonl"), "endless").unwrap();
    let endless = bench.run(&["import", "--passes", "passes", "--store", "invented.db", "endless.jsonl"]);
    assert_eq!((endless.exit, endless.text("code")), (5, "output-too-large"), "{}", endless.reply);
    let census = bench.run(&["census", "--task", "shout", "--store", "invented.db"]);
    assert!(census.reply.to_string().contains("shout"), "{}", census.reply);
    // The importers that come with the tool are asked where no folder is given.
    let ended = bench.run(&["import", "--store", "recorded.db", "shout.jsonl"]);
    assert_eq!(ended.reply.get("spans").and_then(Value::as_u64), Some(24), "{}", ended.reply);
}

#[test]
fn a_panic_reaches_the_error_with_its_text_and_place() {
    let bench = Bench::new();
    let digest = bench.lie("panicking-check");
    let ended = bench.compile(&["panicking-check.wasm"], &[]);
    ended.is_fault(5, "trap", "12 observations are too many for me");
    assert!(ended.text("message").contains("panicking-check.rs"), "{}", ended.reply);
    assert!(ended.text("at").contains(&digest.to_string()), "{}", ended.reply);
}

#[test]
fn a_pass_that_breaks_in_a_task_ends_the_job_with_its_text_and_log() {
    let bench = Bench::new();
    let digest = bench.lie("lying-extract");
    let ended = bench.compile(&["lying-extract.wasm"], &["--steps", "4000000"]);
    ended.is_fault(5, "trap", "this is too hard for me");
    assert!(ended.text("at").contains(&digest.to_string()), "{}", ended.reply);
    let log = ended.reply.get("log").and_then(Value::as_list).unwrap_or_default();
    assert!(log.iter().any(|line| line.to_string().contains("about to fall over")), "{}", ended.reply);
}

#[test]
fn what_a_pass_says_cannot_write_to_the_terminal() {
    let bench = Bench::new();
    let message = "\u{1b}[2Jall is well\u{9b}1m";
    let refusing = text::component(
        "package hostile:lies; world w { export auto:pass/check@0.1.0; }",
        "w",
        &format!(
            r#"(data (i32.const 1024) "\01\00\00\00\00\08\00\00{length}\00\00\00\00\08\00\00{length}\00\00\00")
               (data (i32.const 2048) "{text}")
               (func (export "auto:pass/check@0.1.0#check") (param i32 i32 i32 i32) (result i32) (i32.const 1024))"#,
            length = escaped(&[message.len() as u8]),
            text = escaped(message.as_bytes()),
        ),
    );
    bench.put("refusing.wasm", &refusing.unwrap());
    let mut command = bench.command(&["compile", "--contract", "shout.contract.toml", "--store", "shout.db"]);
    let output = command.args(["--out", "shout.cbin", "--pass", "refusing.wasm"]).output().unwrap();
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(printed.contains(r"\u{1b}[2Jall is well\u{9b}1m"), "{printed}");
    assert!(printed.chars().all(|character| character == '\n' || !character.is_control()), "{printed:?}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_same_lie_gives_the_same_bytes_and_a_good_compile_after_it_is_as_before() {
    let bench = Bench::new();
    let compile = |passes: &[&str], more: &[&str]| {
        bench.sealed(passes, more);
        std::fs::read(bench.path("shout.cbin")).unwrap()
    };
    let good = compile(&[], &[]);
    bench.lie("lying-extract");
    let lie = compile(&["lying-extract.wasm"], &["--steps", "2000000"]);
    assert_eq!(compile(&["lying-extract.wasm"], &["--steps", "2000000", "--audit"]), lie);
    assert!(compile(&[], &["--audit"]) == good && good != lie);
}
