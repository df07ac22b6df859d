//! Hostile and broken components, one a file: each ends in its own clean fault, the next
//! call of a good pass works, and memory, file handles and threads are back where they were.
//!
//! ```text
//! ;; What it does, in a sentence.
//! ;; wit: package hostile:pass; world w { export auto:pass/guard@0.1.0; }
//! ;; flags: --fuel 100000000
//! ;; fails: out-of-fuel
//! ;; says: --fuel
//! (func (export "…") …)
//! ```
//!
//! The text is a component or module if it starts like one, and else the body of a module
//! of the world `w` of `wit` (the default is the one above) beside
//! [`auto_tests::text::PRELUDE`]. `raw:` gives the bytes instead, `cut:` keeps so many of
//! them. `repeat:` is a number and a text that stands for `REPEATED` as often, with its
//! number for `{n}` and the one before for `{before}`.
//!
//! `call:` is the function and its arguments; the default is the guard's. `fails:` is the
//! code of the refusal or fault, `says:` a part of its message; `gives:` is the result
//! instead, twice in a row. What exports a guard is also put on top of a real compile, which
//! has to end with the same code.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use auto_engine::{Engine, Limits, Options, Providers};
use auto_json::Value;
use auto_tests::text;
use libtest_mimic::{Arguments, Failed, Trial};

const WIT: &str = "package hostile:pass; world w { export auto:pass/guard@0.1.0; }";
const CALL: &str = r#"auto:pass/guard@0.1.0#calibrate [[], "", [], {"quantile": 950000}]"#;

/// What a component may leave behind: an allocator keeps some of what it was given, and
/// compiled code stays for as long as the component.
const TOLERATED_KIB: u64 = 48 * 1024;

fn main() {
    let mut arguments = Arguments::from_args();
    // What is left behind can be told only where nothing else runs.
    arguments.test_threads = Some(1);
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("passes");
    let mut files: Vec<PathBuf> =
        fs::read_dir(&here).expect("tests/passes").flatten().map(|file| file.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wat"));
    files.sort();
    let bench = Arc::new(Mutex::new(Bench::new()));
    let mut trials: Vec<Trial> = files
        .iter()
        .map(|file| {
            let (bench, file) = (bench.clone(), file.clone());
            Trial::test(stem(&file), move || Hostile::read(&file)?.judge(&mut lock(&bench)))
        })
        .collect();
    trials.push(Trial::test("there are forty of them or more", move || match files.len() {
        40.. => Ok(()),
        few => Err(format!("only {few}").into()),
    }));
    trials.push(Trial::test("a second round leaves nothing behind", move || lock(&bench).second_round()));
    libtest_mimic::run(&arguments, trials).exit();
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn lock(bench: &Mutex<Bench>) -> std::sync::MutexGuard<'_, Bench> {
    bench.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A component of this folder and what is to become of it.
struct Hostile {
    bytes: Vec<u8>,
    call: String,
    flags: Vec<String>,
    ends: Ends,
    /// It goes on top of a real compile too.
    compiled: bool,
}

enum Ends {
    Fails { code: String, says: Vec<String> },
    Gives(Value),
}

impl Hostile {
    fn read(file: &Path) -> Result<Hostile, Failed> {
        let source = fs::read_to_string(file)?;
        let header = Header::of(&source);
        let ends = match (header.one("fails"), header.one("gives")) {
            (Some(code), None) => Ends::Fails { code, says: header.all("says") },
            (None, Some(json)) => Ends::Gives(Value::parse(&json)?),
            _ => return Err("it needs `fails:` or `gives:`, not both".into()),
        };
        let call = header.one("call").unwrap_or_else(|| CALL.to_owned());
        Ok(Hostile {
            bytes: bytes(&source, &header)?,
            compiled: matches!(ends, Ends::Fails { .. }) && call == CALL,
            call,
            flags: header.all("flags").iter().flat_map(|flags| flags.split_whitespace()).map(str::to_owned).collect(),
            ends,
        })
    }

    fn judge(&self, bench: &mut Bench) -> Result<(), Failed> {
        let before = Left::now()?;
        self.call(bench)?;
        bench.good_call()?;
        if self.compiled {
            self.compile(bench)?;
        }
        before.is_back()?;
        bench.seen.push((self.bytes.clone(), self.call.clone(), self.flags.clone()));
        Ok(())
    }

    fn call(&self, bench: &Bench) -> Result<(), Failed> {
        match &self.ends {
            Ends::Gives(expected) => {
                for _ in 0..2 {
                    let given = bench.call(&self.bytes, &self.call, &self.flags)?;
                    if given.as_ref().ok() != Some(expected) {
                        return Err(format!("it gave {given:?}").into());
                    }
                }
                Ok(())
            }
            Ends::Fails { code, says } => match bench.call(&self.bytes, &self.call, &self.flags)? {
                Ok(value) => Err(format!("it gave {value} and did not fail").into()),
                Err((own, message)) => expect(&own, &message, code, says),
            },
        }
    }

    /// The same on top of a compile of something real.
    fn compile(&self, bench: &Bench) -> Result<(), Failed> {
        let Ends::Fails { code, says } = &self.ends else { return Ok(()) };
        let file = bench.folder.path().join("hostile.wasm");
        fs::write(&file, &self.bytes)?;
        let pass = file.display().to_string();
        let mut arguments = vec!["compile", "--out", "never.cbin", "--json", "--pass", &pass];
        arguments.extend(["--contract", "shout.contract.toml", "--store", "shout.db"]);
        arguments.extend(self.flags.iter().map(String::as_str));
        let (exit, reply) = bench.auto_host(&arguments)?;
        let text = |key: &str| reply.get(key).and_then(Value::as_text).unwrap_or_default().to_owned();
        expect(&text("code"), &text("message"), code, says)?;
        if !matches!(exit, 1 | 5) || bench.folder.path().join("never.cbin").exists() {
            return Err(format!("the compile ended with {exit}").into());
        }
        Ok(())
    }
}

/// The lines at the top that say something about the text.
struct Header(BTreeMap<String, Vec<String>>);

const KEYS: [&str; 9] = ["wit", "call", "flags", "fails", "says", "gives", "raw", "repeat", "cut"];

impl Header {
    fn of(source: &str) -> Header {
        let mut header = Header(BTreeMap::new());
        for line in source.lines().filter_map(|line| line.strip_prefix(";; ")) {
            if let Some((key, value)) = line.split_once(": ").filter(|(key, _)| KEYS.contains(key)) {
                header.0.entry(key.to_owned()).or_default().push(value.to_owned());
            }
        }
        header
    }

    fn all(&self, key: &str) -> Vec<String> {
        self.0.get(key).cloned().unwrap_or_default()
    }

    fn one(&self, key: &str) -> Option<String> {
        self.0.get(key).map(|values| values.join(" "))
    }

    fn number(&self, key: &str) -> Result<Option<usize>, Failed> {
        Ok(self.one(key).map(|number| number.parse()).transpose()?)
    }
}

fn expect(own: &str, message: &str, code: &str, says: &[String]) -> Result<(), Failed> {
    if own != code {
        return Err(format!("it failed with {own}, not {code}: {message}").into());
    }
    match says.iter().find(|part| !message.contains(*part)) {
        Some(part) => Err(format!("{part:?} is not in: {message}").into()),
        None => Ok(()),
    }
}

/// The component that the source and its header describe.
fn bytes(source: &str, header: &Header) -> Result<Vec<u8>, Failed> {
    let is_header = |line: &str| line.starts_with(";; ") && line != ";; imports end";
    let mut body: String = source.lines().filter(|line| !is_header(line)).map(|line| format!("{line}\n")).collect();
    if let Some(repeat) = header.one("repeat") {
        let (times, text) = repeat.split_once(' ').ok_or("repeat: NUMBER TEXT")?;
        let numbered = |n: usize| text.replace("{n}", &n.to_string()).replace("{before}", &(n - 1).to_string());
        body = body.replace("REPEATED", &(1..=times.parse()?).map(numbered).collect::<String>());
    }
    let wit = header.one("wit").unwrap_or_else(|| WIT.to_owned());
    let failed = |error: anyhow::Error| Failed::from(format!("{error:#}"));
    let start = body.trim_start();
    let mut bytes = match header.one("raw") {
        Some(raw) => raw.into_bytes(),
        None if start.starts_with("(component") || start.starts_with("(module $core") => wat::parse_str(&body)?,
        None if start.starts_with("(module") => text::encode(&wit, "w", &body).map_err(failed)?,
        None => text::component(&wit, "w", &body).map_err(failed)?,
    };
    if let Some(cut) = header.number("cut")? {
        bytes.truncate(cut);
    }
    Ok(bytes)
}

/// Where components are tried.
struct Bench {
    engine: Engine,
    /// With the store, the contract and the cache of a real compile.
    folder: tempfile::TempDir,
    good: Vec<u8>,
    /// What was tried.
    seen: Vec<(Vec<u8>, String, Vec<String>)>,
}

/// A result, or the code and message of a refusal or fault.
type Outcome = Result<Value, (String, String)>;

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("cli/fixtures");
        for file in ["shout.jsonl", "shout.contract.toml"] {
            fs::copy(fixtures.join(file), folder.path().join(file)).expect("a fixture");
        }
        let good = text::component(
            "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; } world w { export sums; }",
            "w",
            r#"(func (export "third:party/sums@1.0.0#add") (param i32 i32) (result i32)
                  (i32.add (local.get 0) (local.get 1)))"#,
        );
        let engine = Engine::new(Options::default()).expect("an engine");
        let bench = Bench { engine, folder, good: good.expect("a good pass"), seen: Vec::new() };
        bench.good_call().expect("a good call");
        let import = bench.auto_host(&["import", "--json", "--store", "shout.db", "shout.jsonl"]);
        assert_eq!(import.expect("auto-host runs").0, 0, "the fixture is imported");
        bench
    }

    /// Loads a component and calls it. Limits of the engine's own go with an engine of its own.
    fn call(&self, bytes: &[u8], call: &str, flags: &[String]) -> Result<Outcome, Failed> {
        let engine = match flags {
            [] => self.engine.clone(),
            flags => Engine::new(Options { limits: limits(flags)?, ..Options::default() })?,
        };
        let pass = match engine.load("hostile", bytes.to_vec()) {
            Ok(pass) => pass,
            Err(error) => return Ok(Err((error.code.to_owned(), error.to_string()))),
        };
        let mut providers = Providers::new();
        providers.push(pass);
        let (function, arguments) = call.split_once(' ').ok_or("call: INTERFACE#FUNCTION ARGUMENTS")?;
        let (interface, function) = function.split_once('#').ok_or("call: INTERFACE#FUNCTION ARGUMENTS")?;
        let called = engine.call_json(&providers, interface, function, &Value::parse(arguments)?);
        Ok(called.map_err(|fault| (fault.class.code().to_owned(), fault.to_string())))
    }

    fn good_call(&self) -> Result<(), Failed> {
        let sum = self.call(&self.good, "third:party/sums@1.0.0#add [40, 2]", &[])?;
        if sum == Ok(Value::from(42u32)) { Ok(()) } else { Err(format!("a good call after it gave {sum:?}").into()) }
    }

    /// Every component once more, now that code and pools are warm.
    fn second_round(&self) -> Result<(), Failed> {
        let before = Left::now()?;
        for (bytes, call, flags) in &self.seen {
            let _ = self.call(bytes, call, flags)?;
        }
        self.good_call()?;
        before.is_back()
    }

    /// Runs the tool; its exit code and what it printed.
    fn auto_host(&self, arguments: &[&str]) -> Result<(i32, Value), Failed> {
        let mut command = Command::new(auto_tests::tool::binary());
        command.args(arguments).current_dir(self.folder.path()).env("AUTO_CACHE", self.folder.path().join("cache"));
        let output = command.output()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let reply = Value::parse(printed.trim()).map_err(|error| format!("{error} in {printed}"))?;
        Ok((output.status.code().ok_or("auto-host was killed")?, reply))
    }
}

/// The flags as the tool reads them.
fn limits(flags: &[String]) -> Result<Limits, Failed> {
    let mut limits = Limits::default();
    for pair in flags.chunks(2) {
        let [flag, number] = pair else { return Err("flags come with a number each".into()) };
        let number: u64 = number.parse()?;
        match flag.as_str() {
            "--fuel" => limits.fuel = Some(number),
            "--memory" => limits.memory = Some(number),
            "--deadline" => limits.deadline = Some(Duration::from_secs(number)),
            "--max-output" => limits.output = Some(number),
            "--table-entries" => limits.table_entries = Some(number),
            "--max-log" => limits.log = Some(number),
            _ => return Err(format!("no such flag: {flag}").into()),
        }
    }
    Ok(limits)
}

/// What this process holds.
struct Left {
    resident_kib: u64,
    files: usize,
    threads: u64,
}

impl Left {
    fn now() -> Result<Left, Failed> {
        let status = fs::read_to_string("/proc/self/status")?;
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
            line.split_whitespace().next().and_then(|number| number.parse().ok()).ok_or(format!("no {key}"))
        };
        let files = fs::read_dir("/proc/self/fd")?.count();
        Ok(Left { resident_kib: number("VmRSS:")?, files, threads: number("Threads:")? })
    }

    /// The ticker of an engine that is gone ends with its next tick, so waits for it.
    fn is_back(&self) -> Result<(), Failed> {
        for _ in 0..100 {
            let now = Left::now()?;
            if now.threads <= self.threads && now.files <= self.files {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let now = Left::now()?;
        if now.threads > self.threads || now.files > self.files {
            let (threads, files) = (self.threads, self.files);
            return Err(format!("{} threads of {threads}, {} files of {files} are left", now.threads, now.files).into());
        }
        let grown = now.resident_kib.saturating_sub(self.resident_kib);
        if grown > TOLERATED_KIB { Err(format!("{grown} KiB of memory are left").into()) } else { Ok(()) }
    }
}
