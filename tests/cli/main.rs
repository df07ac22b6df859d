//! The command line, tested by files: each `*.test` beside this file is a few commands,
//! and the `*.out` beside it is what they print and how they end.
//!
//! ```text
//! # What this protects, in a sentence.
//! SETUP: truncate shout.cbin 900 cut.cbin
//! RUN: inspect cut.cbin
//! ```
//!
//! A test runs in a folder of its own that starts with `shout.jsonl`,
//! `shout.contract.toml`, `shout.db` (the first imported) and `shout.cbin` (compiled from
//! it), two artifacts that ask for tools, two that ask for memory, and `tool.py`, which is any tool. `RUN:` gives the arguments of `auto-host`; `STDIN:` before it gives a line of its
//! input; `SETUP:` prepares a file (see [`setup`]). Digests, sizes in bytes and the
//! folder's own path are masked. `BLESS=1 cargo test --release -p auto-tests --test cli` rewrites the outputs:
//! read the difference before you keep it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use auto_schema::ir::{Body, MemoryEffect};
use auto_tests::tool::binary;
use libtest_mimic::{Arguments, Failed, Trial};

mod asking;

fn main() {
    let arguments = Arguments::from_args();
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("cli");
    let binary = binary();
    let base = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    prepare(&binary, &here, base.path());
    let mut files: Vec<PathBuf> = fs::read_dir(&here).expect("tests/cli").flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "test"));
    files.sort();
    let trials = files.into_iter().map(|file| {
        let (binary, base) = (binary.clone(), base.clone());
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(name, move || run(&binary, base.path(), &file))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

/// What every test starts with.
const FILES: [&str; 13] = [
    "exchanges.jsonl",
    "langfuse.json",
    "chat.jsonl",
    "shout.jsonl",
    "shout.contract.toml",
    "twice.contract.toml",
    "shout.db",
    "shout.cbin",
    "look-up.cbin",
    "poll.cbin",
    "seen.cbin",
    "keep.cbin",
    "tool.py",
];

/// Makes the files every test starts with.
fn prepare(binary: &Path, here: &Path, base: &Path) {
    let fixtures = [
        "shout.jsonl",
        "shout.contract.toml",
        "twice.contract.toml",
        "tool.py",
        "exchanges.jsonl",
        "langfuse.json",
        "chat.jsonl",
    ];
    for file in fixtures {
        fs::copy(here.join("fixtures").join(file), base.join(file)).expect("a fixture");
    }
    let steps = [
        "import --store shout.db shout.jsonl",
        "compile --contract shout.contract.toml --store shout.db --out shout.cbin",
    ];
    for step in steps {
        let (output, code) = call(binary, base, base, &words(step), "");
        assert!(code == Some(0), "auto-host {step} failed ({code:?}); is it built with `cargo xtask build`?\n{output}");
    }
    seal_asking(base);
}

/// Seals an artifact that asks `tool:look-up` about an upper-cased id and answers with the
/// name it is told; one that polls up to three times until something is ready; one that puts its
/// input at the end of what was seen and answers with all of it; and one that hands its input
/// to `memory:write` as it is.
fn seal_asking(base: &Path) {
    let look_up = asking::graph(
        "record{id: text}",
        vec![
            asking::expression(1, r#"{"key": upper($.id)}"#),
            asking::effect(2, "look-up", false),
            asking::expression(3, "$.name"),
        ],
    );
    let poll = Box::new(asking::graph("json", vec![asking::effect(1, "poll", true)]));
    let until = r#"default(eq($.ok, "ready"), false)"#.to_owned();
    let poll = asking::graph("json", vec![asking::node(1, Body::Retry { graph: poll, until, most: 3 })]);
    let seen = asking::graph(
        "json",
        vec![
            asking::expression(1, r#"{"key": "seen", "value": $}"#),
            asking::memory(2, MemoryEffect::Append, false),
            asking::expression(3, r#"{"key": "seen"}"#),
            asking::memory(4, MemoryEffect::Read, false),
        ],
    );
    let keep = asking::graph("json", vec![asking::memory(1, MemoryEffect::Write, true)]);
    let all = [("look-up.cbin", look_up), ("poll.cbin", poll), ("seen.cbin", seen), ("keep.cbin", keep)];
    for (name, graph) in all {
        fs::write(base.join(name), asking::sealed(&graph)).expect("an artifact");
    }
}

/// Runs one test file and compares.
fn run(binary: &Path, base: &Path, file: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for name in FILES {
        fs::copy(base.join(name), folder.path().join(name))?;
    }
    let mut output = String::new();
    let mut stdin = String::new();
    for line in fs::read_to_string(file)?.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(": ") {
            Some(("SETUP", text)) => setup(base, folder.path(), &words(text))?,
            Some(("STDIN", text)) => stdin.push_str(&format!("{text}\n")),
            Some(("RUN", text)) => {
                let (printed, code) = call(binary, base, folder.path(), &words(text), &std::mem::take(&mut stdin));
                let code = code.map_or("a signal".into(), |code| code.to_string());
                output.push_str(&format!("$ auto-host {text}\n{printed}[exit {code}]\n"));
            }
            _ => return Err(format!("not a line of a test: {line}").into()),
        }
    }
    let golden = file.with_extension("out");
    if std::env::var_os("BLESS").is_some() {
        fs::write(golden, output)?;
        return Ok(());
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    if output == expected {
        return Ok(());
    }
    Err(format!("{} differs.\n--- expected\n{expected}--- got\n{output}", golden.display()).into())
}

/// Prepares a file: `truncate FROM BYTES TO`, `flip FROM BYTE BIT TO` (a byte offset, from
/// the end when negative), `write TO TEXT`, `append FROM TEXT TO`, `hex TO DIGITS`,
/// `replace FROM OLD NEW TO` (every occurrence in a text file), `wat TO TEXT` (assembled),
/// `cached TO` (compiled code, as the cache keeps it).
fn setup(base: &Path, folder: &Path, words: &[String]) -> Result<(), Failed> {
    let read = |name: &str| fs::read(folder.join(name));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (to, bytes) = match words[..] {
        ["truncate", from, length, to] => (to, read(from)?[..length.parse::<usize>()?].to_vec()),
        ["flip", from, offset, bit, to] => {
            let mut bytes = read(from)?;
            let offset: i64 = offset.parse()?;
            let at = if offset < 0 { bytes.len() - offset.unsigned_abs() as usize } else { offset as usize };
            bytes[at] ^= 1 << bit.parse::<u8>()?;
            (to, bytes)
        }
        ["write", to, text] => (to, format!("{text}\n").into_bytes()),
        ["append", from, text, to] => (to, [read(from)?.as_slice(), text.as_bytes(), b"\n"].concat()),
        ["replace", from, old, new, to] => (to, String::from_utf8(read(from)?)?.replace(old, new).into_bytes()),
        ["wat", to, text] => (to, wat::parse_str(text)?),
        ["cached", to] => {
            let first =
                |folder: &Path| Ok::<_, Failed>(fs::read_dir(folder)?.next().ok_or("the cache is empty")??.path());
            (to, fs::read(first(&first(&base.join("cache/artifacts"))?)?)?)
        }
        ["hex", to, digits] => {
            let digit = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16);
            (to, (0..digits.len()).step_by(2).map(digit).collect::<Result<_, _>>()?)
        }
        _ => return Err(format!("no such set-up: {words:?}").into()),
    };
    Ok(fs::write(folder.join(to), bytes)?)
}

/// Runs the binary in a folder; what it printed, masked, and its exit code.
fn call(binary: &Path, base: &Path, folder: &Path, arguments: &[String], stdin: &str) -> (String, Option<i32>) {
    let mut child = Command::new(binary)
        .args(arguments)
        .current_dir(folder)
        .env("AUTO_CACHE", base.join("cache"))
        .env("COLUMNS", "100")
        .env_remove("AUTO_STORE")
        .env_remove("AUTO_TRACE_FILE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}; build it with `cargo xtask build`", binary.display()));
    if let Some(mut pipe) = child.stdin.take() {
        // A verb that reads nothing closes the pipe.
        let _ = pipe.write_all(stdin.as_bytes());
    }
    let output = child.wait_with_output().expect("the output of auto-host");
    let mut printed = mask(&String::from_utf8_lossy(&output.stdout), folder);
    for line in mask(&String::from_utf8_lossy(&output.stderr), folder).lines() {
        printed.push_str(&format!("! {line}\n"));
    }
    (printed, output.status.code())
}

/// Replaces what differs from run to run or build to build: the folder, sizes, digests.
fn mask(text: &str, folder: &Path) -> String {
    let text = text.replace(&folder.display().to_string(), "[folder]");
    let text = [" bytes", " are left", " µs"].iter().fold(text, |text, unit| mask_numbers_before(unit, &text));
    let text = mask_micros(&text);
    let mut masked = String::new();
    let mut run = String::new();
    for character in text.chars().chain(['\0']) {
        if character.is_ascii_hexdigit() && !character.is_ascii_uppercase() {
            run.push(character);
            continue;
        }
        masked.push_str(if run.len() == 64 { "[digest]" } else { &run });
        run.clear();
        masked.push(character);
    }
    masked.pop();
    masked
}

/// The field of `--json` that says how long something took.
fn mask_micros(text: &str) -> String {
    let mut parts = text.split("\"micros\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.trim_start_matches(|character: char| character.is_ascii_digit());
        format!("{text}\"micros\":[n]{rest}")
    })
}

fn mask_numbers_before(unit: &str, text: &str) -> String {
    let mut parts = text.split(unit);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = text.trim_end_matches(|character: char| character.is_ascii_digit());
        let number = if rest.len() < text.len() { "[n]" } else { "" };
        format!("{rest}{number}{unit}{part}")
    })
}

/// Splits a line into words; `'…'` keeps spaces.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}
