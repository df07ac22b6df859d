//! What a region or task that does not compile is told, word for word: `refusals.out` has it.
//! `BLESS=1 cargo test --release -p auto-tests --test refusals` rewrites the file: read the
//! difference before you keep it.

use std::path::{Path, PathBuf};

use auto_tests::agent::{Step, TASK, Tool, WORDS, record, region};

type Runs = Vec<(String, String, Vec<(&'static str, &'static str, String, String)>)>;

/// What `compile` says of these runs, and how it ends.
fn told(title: &str, contract: &str, runs: Runs) -> String {
    let tool = Tool::new();
    let folder = tool.folder.path();
    let written: Vec<PathBuf> = runs
        .iter()
        .enumerate()
        .map(|(number, (input, output, steps))| {
            let steps: Vec<Step> =
                steps.iter().map(|(kind, name, input, output)| (*kind, *name, &input[..], &output[..])).collect();
            record(folder, number, input, output, &steps)
        })
        .collect();
    tool.prepare(&written, contract);
    let output =
        tool.run(&["compile", "--contract", "c.toml", "--store", "s.db", "--out", "c.cbin", "--steps", "1000000"]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*folder.to_string_lossy(), "DIR");
    let code = output.status.code().unwrap_or(-1);
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    let told: String = told.lines().map(|line| masked(line) + "\n").collect();
    format!("# {title}\n{told}[exit {code}]\n")
}

/// A line without what extract says of its search, which is its own affair.
fn masked(line: &str) -> String {
    let Some((before, search)) = line.split_once("no program") else { return line.to_owned() };
    let after = ["; record the decision", "; as a loop"].iter().find_map(|next| search.find(next));
    format!("{before}[no program]{}", after.map_or("", |at| &search[at..]))
}

fn quoted(word: &str) -> String {
    format!("{word:?}")
}

/// Runs of one input and output each, with the steps that `steps` makes of a number and a word.
fn runs(steps: impl Fn(usize, &str) -> Vec<(&'static str, &'static str, String, String)>) -> Runs {
    WORDS.iter().enumerate().map(|(number, word)| (quoted(word), "1".to_owned(), steps(number, word))).collect()
}

fn call(name: &'static str, input: impl ToString, output: &str) -> (&'static str, &'static str, String, String) {
    ("tool_call", name, input.to_string(), output.to_owned())
}

#[test]
fn what_does_not_compile_is_told_why_word_for_word() {
    let step = |name: &'static str, word: &str| ("model_call", name, quoted(word), quoted(word));
    let ends = runs(|number, word| match number % 4 {
        0 => vec![step("first", word)],
        1 => vec![step("last", word)],
        2 => vec![step("last", word), step("first", word)],
        _ => vec![step("first", word), step("first", word), step("last", word)],
    });
    let between = |kind: &'static str, name: &'static str| {
        runs(move |_, word| vec![step("first", word), (kind, name, "1".to_owned(), "2".to_owned()), step("last", word)])
    };
    let all = [
        told("missing ends, and ends that are there twice", &region("first", "last"), ends),
        told("the environment inside a region", &region("first", "last"), between("env_read", "HOME")),
        told("memory that is none of read, write and append", &region("first", "last"), between("memory_op", "recall")),
        told(
            "sequences that cannot be aligned",
            TASK,
            runs(|number, _| vec![call(if [1, 2, 4, 7].contains(&number) { "left" } else { "right" }, 1, "1")]),
        ),
        told(
            "a loop that nothing bounds",
            TASK,
            runs(|number, _| (0..=number % 4).map(|page| call("page", page, "true")).collect()),
        ),
        told(
            "a loop whose rounds depend on each other",
            TASK,
            runs(|number, _| {
                let round = |page: usize| [call("page", page * 7 + number, "true"), call("keep", page, "true")];
                (0..=number % 4).flat_map(round).collect()
            }),
        ),
        told(
            "a tool that is given what nothing tells",
            TASK,
            runs(|number, _| vec![call("look", (number * 37) % 11, "1")]),
        ),
        told(
            "more operations than are looked at",
            TASK,
            runs(|_, _| (0..65).map(|at| call("tick", at, "1")).collect()),
        ),
    ];
    let told = all.join("\n");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refusals.out");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, &told).unwrap();
    }
    assert_eq!(told, std::fs::read_to_string(&golden).unwrap_or_default(), "see the head of this file");
}
