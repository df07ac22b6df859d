//! A pass written with a language runtime gets a whole WASI that grants nothing: nothing of
//! the machine is seen or touched, nothing waits, every call is the same. The probe is a real
//! component, built with Rust's `std` from `tests/passes/wasi`; what `std` never does is
//! tried by components in text form.

mod support;

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use auto_engine::{Engine, Error, Fault, FaultClass, Limits, Options};
use auto_json::Value;
use support::{component, engine, stack};
use wasmtime::component::Val;

const PROBE: &str = "test:probe/probe@1.0.0";

/// The probe's bytes, built once.
fn probe() -> Vec<u8> {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    let build = || {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--profile", "component", "-p", "auto-wasi-probe"]);
        cargo.args(["--target", "wasm32-wasip2", "--target-dir", "target/wasm"]).current_dir(&root);
        assert!(cargo.status().unwrap().success(), "the probe is not built; `cargo xtask setup` gets what it needs");
        std::fs::read(root.join("target/wasm/wasm32-wasip2/component/auto_wasi_probe.wasm")).unwrap()
    };
    BYTES.get_or_init(build).clone()
}

/// An engine without a memo that compiles the probe once for all tests.
fn shared() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| engine(Limits::default()))
}

fn attempt(what: &str) -> Result<String, Fault> {
    static PROVIDERS: OnceLock<auto_engine::Providers> = OnceLock::new();
    let providers = PROVIDERS.get_or_init(|| stack(shared(), &[("probe", probe())]));
    let answer = shared().call_json(providers, PROBE, "attempt", &vec![Value::from(what)].into())?;
    Ok(answer.as_text().unwrap().to_owned())
}

/// The error that the attempt met inside the component.
fn denied(what: &str) -> String {
    match attempt(what) {
        Err(Fault { class: FaultClass::Refused(code), message, .. }) if code == "refused" => message,
        other => panic!("{what}: {other:?}"),
    }
}

fn broken(what: &str) -> Fault {
    let fault = attempt(what).expect_err(what);
    assert_eq!((fault.class.code(), fault.class.is_breakage()), ("trap", true), "{fault}");
    fault
}

#[test]
fn there_are_no_files() {
    for what in ["read a file", "write a file", "list a folder"] {
        assert!(denied(what).contains("No such file or directory"), "{what}: {}", denied(what));
    }
    assert_eq!(attempt("current folder").unwrap(), "/");
}

#[test]
fn there_is_no_network() {
    for what in ["connect", "listen", "send a datagram", "look up a name"] {
        assert!(denied(what).contains("Permission denied"), "{what}: {}", denied(what));
    }
}

#[test]
fn there_is_no_environment_and_there_are_no_arguments_and_no_input() {
    assert!(std::env::vars().count() > 0 && std::env::args().count() > 0, "this process has both");
    assert_eq!(attempt("environment").unwrap(), "[]");
    assert_eq!(attempt("arguments").unwrap(), "[]");
    assert_eq!(attempt("standard input").unwrap(), "");
}

#[test]
fn there_are_no_processes_and_no_threads() {
    assert!(denied("run a program").contains("not supported"));
    assert!(denied("start a thread").contains("Not supported"));
}

#[test]
fn the_clock_stands_still_and_a_sleep_takes_no_time() {
    assert_eq!(attempt("time").unwrap(), "1735689600");
    // An hour of sleep under a deadline of a minute.
    assert_eq!(attempt("sleep").unwrap(), "0ns");
}

#[test]
fn what_is_random_is_the_same_in_every_call() {
    let order = attempt("random order").unwrap();
    assert_eq!(order, attempt("random order").unwrap());
    assert_ne!(order, format!("{:?}", (0..100).collect::<Vec<_>>()));
}

#[test]
fn the_memo_and_the_audit_agree_with_a_call_that_was_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let order = |audit| {
        let options = Options { cache: Some(folder.path().join("cache")), audit, ..Options::default() };
        let engine = Engine::new(options).unwrap();
        let providers = stack(&engine, &[("probe", probe())]);
        let args = [Val::String("random order".to_owned())];
        engine.call(&providers, PROBE, "attempt", &args).unwrap()
    };
    assert_eq!(order(false), order(true));
}

#[test]
fn an_exit_is_a_fault_that_says_so() {
    let fault = broken("exit");
    assert!(fault.message.contains("exited with status 1") && fault.message.contains("wasi:cli/exit"), "{fault}");
    assert!(!broken("abort").message.is_empty());
    assert_eq!(attempt("environment").unwrap(), "[]", "the next call is not concerned");
}

#[test]
fn a_panic_reaches_the_fault_with_its_text_and_the_log() {
    let fault = broken("print and panic");
    assert!(fault.message.contains("panicked at"), "{fault}");
    assert!(fault.message.contains("the sky fell"), "{fault}");
    assert!(fault.log.contains(&"stdout: before".to_owned()), "{:?}", fault.log);
    assert!(fault.log.contains(&"stderr: on line two".to_owned()), "{:?}", fault.log);
    assert!(fault.log.contains(&"stdout: without an end".to_owned()), "{:?}", fault.log);
}

#[test]
fn what_a_call_that_succeeds_prints_is_in_its_trace() {
    let engine = engine(Limits::default());
    let providers = stack(&engine, &[("probe", probe())]);
    engine.call_json_anew(&providers, PROBE, "attempt", &vec![Value::from("print")].into()).unwrap();
    let trace = engine.take_trace().pop().unwrap();
    let expected =
        ["stdout: to stdout", "stdout: ", "stdout: after an empty line", "stderr: to stderr", "stdout: without an end"];
    assert_eq!(trace.log, expected);
    assert_eq!((trace.memo_hit, trace.fault), (false, None));
    assert!(trace.fuel > 1000 && trace.memory.unwrap() >= 1 << 20, "{} {:?}", trace.fuel, trace.memory);

    let spent = engine.call_json_anew(&providers, PROBE, "attempt", &vec![Value::from("exit")].into());
    let trace = engine.take_trace().pop().unwrap();
    assert!(spent.is_err() && trace.fault.as_deref() == Some("trap") && trace.fuel > 0);
}

#[test]
fn a_flood_of_output_ends_at_the_limit_of_the_log() {
    let fault = attempt("flood").unwrap_err();
    assert_eq!(fault.class, FaultClass::LogTooLarge, "{fault}");
    assert!(fault.message.contains("--max-log"), "{fault}");
    assert!(fault.log.len() < 1000 && fault.log[0].starts_with("stdout: water"), "{:?}", fault.log[0]);
}

/// None of the threads that `wasmtime-wasi` starts where it has to wait.
#[test]
fn no_thread_is_started_for_it() {
    attempt("sleep").unwrap();
    attempt("print").unwrap();
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names: Vec<String> = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok()).collect();
    assert!(names.iter().any(|name| name.starts_with("auto-ticker")), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("tokio")), "{names:?}");
}

/// A part of WASI as it is published, in one version.
fn wasi(version: &str) -> String {
    format!(
        "package wasi:io@{version} {{
           interface poll {{
             resource pollable {{ ready: func() -> bool; block: func(); }}
             poll: func(in: list<borrow<pollable>>) -> list<u32>;
           }}
           interface error {{ resource error {{ to-debug-string: func() -> string; }} }}
           interface streams {{
             use error.{{error}};
             variant stream-error {{ last-operation-failed(error), closed }}
             resource output-stream {{
               write: func(contents: list<u8>) -> result<_, stream-error>;
               write-zeroes: func(len: u64) -> result<_, stream-error>;
             }}
           }}
         }}
         package wasi:clocks@{version} {{
           interface monotonic-clock {{
             use wasi:io/poll@{version}.{{pollable}};
             subscribe-duration: func(when: u64) -> pollable;
           }}
         }}
         package wasi:random@{version} {{
           interface random {{ get-random-bytes: func(len: u64) -> list<u8>; get-random-u64: func() -> u64; }}
         }}
         package wasi:cli@{version} {{
           interface stdout {{ use wasi:io/streams@{version}.{{output-stream}}; get-stdout: func() -> output-stream; }}
           interface environment {{ format-disk: func(); }}
         }}
         package wasi:http@{version} {{ interface outgoing-handler {{ handle: func(); }} }}"
    )
}

/// `test:wasi/run@1.0.0`, with `run: func() -> u64`, which is `body` and leaves an i64.
/// The imports are those of WASI in that version, the functions of `core` first.
fn wasi_component(version: &str, imports: &[&str], core: &str, body: &str) -> Vec<u8> {
    let imports: String = imports.iter().map(|name| format!("import wasi:{name}@{version};")).collect();
    let wit = format!(
        "package test:wasi@1.0.0; {} interface run {{ run: func() -> u64; }} world w {{ {imports} export run; }}",
        wasi(version)
    );
    let core = core.replace("VERSION", version);
    let run = format!(
        r#"{core} ;; imports end
        (func (export "test:wasi/run@1.0.0#run") (result i64) {body})"#
    );
    component(&wit, "w", &run)
}

fn run(bytes: Vec<u8>) -> Result<Vec<Val>, Fault> {
    let providers = stack(shared(), &[("raw", bytes)]);
    shared().call(&providers, "test:wasi/run@1.0.0", "run", &[])
}

fn refusal(bytes: Vec<u8>) -> Error {
    shared().load("raw", bytes).expect_err("it is refused")
}

const CLOCK: &[&str] = &["io/poll", "clocks/monotonic-clock"];
const SUBSCRIBE: &str = r#"
    (import "wasi:clocks/monotonic-clock@VERSION" "subscribe-duration" (func $subscribe (param i64) (result i32)))
    (import "wasi:io/poll@VERSION" "[method]pollable.block" (func $block (param i32)))
    (import "wasi:io/poll@VERSION" "[method]pollable.ready" (func $ready (param i32) (result i32)))
    (import "wasi:io/poll@VERSION" "poll" (func $poll (param i32 i32 i32)))"#;

#[test]
fn waiting_for_ever_takes_no_time() {
    let body = "(local $one i32) (local.set $one (call $subscribe (i64.const -1)))
        (call $block (local.get $one))
        (i32.store (i32.const 1024) (local.get $one))
        (call $poll (i32.const 1024) (i32.const 1) (i32.const 2048))
        (i64.extend_i32_u (i32.add (i32.load (i32.const 2052)) (call $ready (local.get $one))))";
    let waited = run(wasi_component("0.2.0", CLOCK, SUBSCRIBE, body)).unwrap();
    assert_eq!(waited, [Val::U64(2)], "one of one is ready, and says so itself");
}

#[test]
fn handles_without_end_meet_a_limit() {
    let body = "(loop $again (drop (call $subscribe (i64.const 1))) (br $again)) unreachable";
    let fault = run(wasi_component("0.2.6", CLOCK, SUBSCRIBE, body)).unwrap_err();
    assert_eq!(fault.class, FaultClass::Trap, "{fault}");
    assert!(fault.message.contains("100000 handles"), "{fault}");
}

#[test]
fn polling_nothing_is_a_fault_and_no_wait() {
    let body = "(call $poll (i32.const 1024) (i32.const 0) (i32.const 2048)) (i64.const 0)";
    let fault = run(wasi_component("0.2.6", CLOCK, SUBSCRIBE, body)).unwrap_err();
    assert_eq!(fault.class, FaultClass::Trap);
    assert!(fault.message.contains("polls an empty list"), "{fault}");
}

#[test]
fn a_claimed_gigabyte_of_zeroes_or_of_random_bytes_is_refused() {
    let imports = ["io/error", "io/streams", "cli/stdout", "random/random"];
    let core = r#"
        (import "wasi:cli/stdout@VERSION" "get-stdout" (func $stdout (result i32)))
        (import "wasi:io/streams@VERSION" "[method]output-stream.write-zeroes" (func $zeroes (param i32 i64 i32)))
        (import "wasi:random/random@VERSION" "get-random-bytes" (func $random (param i64 i32)))"#;
    let attempts = [
        ("(call $zeroes (call $stdout) (i64.const 0x4000000000000000) (i32.const 1024)) (i64.const 0)", "check-write"),
        ("(call $random (i64.const 0x40000000) (i32.const 1024)) (i64.const 0)", "1073741824 random bytes"),
    ];
    for (body, expected) in attempts {
        let fault = run(wasi_component("0.2.6", &imports, core, body)).unwrap_err();
        assert_eq!(fault.class, FaultClass::Trap, "{fault}");
        assert!(fault.message.contains(expected), "{fault}");
    }
}

#[test]
fn what_is_not_lent_is_refused_by_its_name() {
    let core = r#"(import "wasi:http/outgoing-handler@VERSION" "handle" (func))"#;
    let error = refusal(wasi_component("0.2.6", &["http/outgoing-handler"], core, "(i64.const 0)"));
    assert_eq!((error.code, error.at.as_deref()), ("unknown-import", Some("wasi:http/outgoing-handler@0.2.6")));
    assert!(
        error.message.contains("wasi:http/outgoing-handler@0.2.6") && error.message.contains("wasi:cli"),
        "{error}"
    );
}

#[test]
fn a_function_that_wasi_does_not_have_is_named_before_anything_runs() {
    let core = r#"(import "wasi:cli/environment@VERSION" "format-disk" (func))"#;
    let fault = run(wasi_component("0.2.6", &["cli/environment"], core, "(i64.const 0)")).unwrap_err();
    assert!(fault.message.contains("wasi:cli/environment@0.2.6") && fault.message.contains("format-disk"), "{fault}");
}

#[test]
fn versions_up_to_the_one_that_is_served_are_served() {
    let core = r#"(import "wasi:random/random@VERSION" "get-random-u64" (func $random (result i64)))"#;
    let random = |version: &str| wasi_component(version, &["random/random"], core, "(call $random)");
    let first = run(random("0.2.0")).unwrap();
    assert_eq!(first, run(random("0.2.12")).unwrap());
    for newer in ["0.2.13", "0.3.0", "0.2.0-rc-2023-11-10", "1.0.0"] {
        let error = refusal(random(newer));
        assert_eq!(error.code, "version", "{error}");
        let (asked, served) = (format!("wasi:random/random@{newer}"), "wasi:random/random@0.2.12");
        assert!(error.message.contains(&asked) && error.message.contains(served), "{error}");
    }
}
