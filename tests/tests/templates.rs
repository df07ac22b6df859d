//! What `auto-host pass new` makes: complete, refused where it cannot be, and, built by the
//! commands of its own README, the same guard in every language. What fetches or takes minutes is
//! left to `cargo xtask test --all`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use auto_json::Value;
use auto_schema::cbin::Cbin;
use auto_schema::digest::Digest;
use auto_tests::root;
use auto_tests::tool::{Tool, at, binary, printed};

const LANGUAGES: [&str; 4] = ["rust", "js", "python", "c"];

/// Every file under a folder, by its place in it.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => drop(found.insert(path.strip_prefix(folder).unwrap().display().to_string())),
            }
        }
    }
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The commands of a README: what follows `$ ` in it.
fn commands(readme: &str) -> Vec<String> {
    readme.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

#[test]
fn a_project_is_whole_and_bears_its_name() {
    let tool = Tool::new();
    for language in LANGUAGES {
        let name = format!("my-{language}-guard");
        let (code, reply) = tool.json(&["pass", "new", "--lang", language, &name]);
        assert_eq!((code, at(&reply, &["code"])), (Some(0), &Value::from("made")), "{reply}");
        let folder = tool.path(&name);
        let made = files(&folder);
        let told = at(&reply, &["files"]).as_list().unwrap();
        let told: BTreeSet<String> = told.iter().map(|place| place.as_text().unwrap().to_owned()).collect();
        assert_eq!(made, told);
        for place in &made {
            let bytes = std::fs::read(folder.join(place)).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains("{{"), "{language}: {place} has a hole");
        }
        // The interfaces are those of this tree, to the byte.
        for package in ["pass", "host"] {
            for file in files(&root().join("wit").join(package)) {
                let vendored = read(&folder.join(format!("wit/deps/auto-{package}")).join(&file));
                assert_eq!(vendored, read(&root().join("wit").join(package).join(&file)), "{file}");
            }
        }
        let readme = read(&folder.join("README.md"));
        assert!(readme.lines().count() < 45, "{language}: the README is longer than a screen");
        let commands = commands(&readme);
        for wanted in ["auto-host pass check", "auto-host pass test", "auto-host compile"] {
            assert!(commands.iter().any(|command| command.starts_with(wanted)), "{language}: no {wanted}");
        }
        assert!(commands.last().unwrap().ends_with(&format!("--pass {name}.wasm")), "{language}");
    }
}

#[test]
fn bad_names_and_places_that_are_taken_are_refused_and_nothing_is_left() {
    let tool = Tool::new();
    std::fs::write(tool.path("taken"), "a file").unwrap();
    std::fs::create_dir(tool.path("full")).unwrap();
    std::fs::write(tool.path("full/file"), "in it").unwrap();
    std::os::unix::fs::symlink("nowhere", tool.path("link")).unwrap();
    let before = files(tool.folder());
    for (language, name, code) in [
        ("rust", "", "bad-name"),
        ("rust", "Guard", "bad-name"),
        ("rust", "../guard", "bad-name"),
        ("rust", "a/b", "bad-name"),
        ("rust", "a--b", "bad-name"),
        ("rust", "9guard", "bad-name"),
        ("rust", "fn", "bad-name"),
        ("rust", "test", "bad-name"),
        ("python", "grüße", "bad-name"),
        ("js", "taken", "not-empty"),
        ("js", "full", "not-empty"),
        ("js", "link", "not-empty"),
        ("cobol", "guard", "usage"),
    ] {
        let (exit, reply) = tool.json(&["pass", "new", "--lang", language, name]);
        assert_eq!((exit, at(&reply, &["code"])), (Some(2), &Value::from(code)), "{language} {name:?}: {reply}");
    }
    assert_eq!(files(tool.folder()), before);
    assert_eq!(read(&tool.path("taken")), "a file");
}

/// A project in a folder with a store and a contract, so that the last command of its README has
/// something to compile.
struct Project {
    tool: Tool,
    name: String,
}

impl Project {
    fn new(language: &str) -> Project {
        let (tool, name) = (Tool::with_shout(), format!("{language}-guard"));
        assert_eq!(tool.json(&["pass", "new", "--lang", language, &name]).0, Some(0));
        let project = Project { tool, name };
        std::fs::copy(project.tool.path("shout.db"), project.path("auto.db")).unwrap();
        std::fs::copy(project.tool.path("shout.contract.toml"), project.path("C.toml")).unwrap();
        project
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        self.tool.path(&self.name).join(file)
    }

    fn component(&self) -> String {
        format!("{}.wasm", self.name)
    }

    fn shell(&self, line: &str) -> Output {
        let tools = binary().parent().unwrap().display().to_string();
        let path = format!("{tools}:{}", std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.tool.path(&self.name)).env("PATH", path);
        command.env("AUTO_CACHE", self.tool.path("cache")).env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS");
        command.output().expect("sh runs")
    }

    fn json(&self, line: &str) -> (Option<i32>, Value) {
        let output = self.shell(&format!("{line} --json"));
        (output.status.code(), Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{}", printed(&output))))
    }

    /// Runs every command of the README; false where one that fetches could not.
    fn build(&self) -> bool {
        for command in commands(&read(&self.path("README.md"))) {
            let output = self.shell(&command);
            if !output.status.success() && (command.contains("npm install") || command.contains("pip install")) {
                eprintln!("skipped: `{command}` did not succeed: {}", printed(&output));
                return false;
            }
            assert!(output.status.success(), "{command}: {}", printed(&output));
        }
        true
    }

    /// The component does what the template says: enough inputs are compiled as without it, and its
    /// digest is in the manifest; too few are refused, in its words.
    fn has_its_effect(&self) {
        let component = std::fs::read(self.path(&self.component())).unwrap();
        let made = Cbin::read(&std::fs::read(self.path("F.cbin")).unwrap()).unwrap().manifest;
        let digest = Digest::of(&component);
        assert!(made.passes.iter().any(|pass| pass.digest == digest), "{digest} is not among {:?}", made.passes);
        let without = Cbin::read(&std::fs::read(self.tool.path("shout.cbin")).unwrap()).unwrap().manifest;
        assert_eq!(made.code, without.code, "with enough inputs the code is what it was");

        let few = few_inputs(&read(&self.tool.path("shout.jsonl")));
        std::fs::write(self.path("few.jsonl"), few).unwrap();
        assert_eq!(self.json("auto-host import --store few.db few.jsonl").0, Some(0));
        let compile = "auto-host compile --contract C.toml --store few.db --out few.cbin";
        assert_eq!(self.json(compile).0, Some(0), "without the pass so few are compiled");
        std::fs::remove_file(self.path("few.cbin")).unwrap();
        let (exit, reply) = self.json(&format!("{compile} --pass {}", self.component()));
        assert_eq!((exit, at(&reply, &["code"])), (Some(1), &Value::from("too-few-observations")), "{reply}");
        let message = at(&reply, &["message"]).as_text().unwrap();
        assert_eq!(message, "the rule was seen on 4 inputs, and 5 are the least; record more");
        assert!(!self.path("few.cbin").exists());

        // The engine's own suite of misuse: limits hold, and what it is given wrong is told.
        let pass = self.component();
        for (line, exit, code) in [
            (format!("auto-host pass run {pass} calibrate '[[]]'"), 1, "bad-arguments"),
            (
                format!("auto-host pass run {pass} calibrate '[[],\"\",[],{{\"quantile\":1}}]' --fuel 10"),
                5,
                "out-of-fuel",
            ),
            (
                format!("auto-host pass run {pass} calibrate '[[],\"\",[],{{\"quantile\":1}}]' --memory 1"),
                5,
                "out-of-memory",
            ),
        ] {
            let (ended, reply) = self.json(&line);
            assert_eq!((ended, at(&reply, &["code"])), (Some(exit), &Value::from(code)), "{line}: {reply}");
        }
    }
}

/// The recordings of the first four inputs alone.
fn few_inputs(recorded: &str) -> String {
    let mut inputs = BTreeSet::new();
    let keep = |line: &&str| {
        let input = Value::parse(line).unwrap().get("input").map(ToString::to_string);
        input.is_none_or(|input| inputs.contains(&input) || (inputs.len() < 4 && inputs.insert(input)))
    };
    recorded.lines().filter(keep).map(|line| format!("{line}\n")).collect()
}

fn there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: no {program} on this machine");
    }
    found
}

#[test]
fn a_pass_in_c_is_built_and_used() {
    if !there("clang") || !there("wasm-ld") {
        return;
    }
    let project = Project::new("c");
    assert!(project.build());
    project.has_its_effect();
}

#[test]
#[ignore = "slow: cargo xtask test --all"]
fn a_pass_in_rust_is_built_and_used() {
    let project = Project::new("rust");
    assert!(project.build());
    project.has_its_effect();
}

#[test]
#[ignore = "slow, and fetches jco: cargo xtask test --all"]
fn a_pass_in_javascript_is_built_and_used() {
    if !there("node") || !there("npm") {
        return;
    }
    let project = Project::new("js");
    if project.build() {
        project.has_its_effect();
    }
}

#[test]
#[ignore = "slow, and fetches componentize-py: cargo xtask test --all"]
fn a_pass_in_python_is_built_and_used() {
    let project = Project::new("python");
    if project.build() {
        project.has_its_effect();
    }
}

/// Every command of the page on passes does what the page says, with our own guard for one's own.
#[test]
fn the_commands_of_the_page_run() {
    let tool = Tool::with_shout();
    let sums = auto_tests::text::component(
        "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; } world w { export sums; }",
        "w",
        r#"(func (export "third:party/sums@1.0.0#add") (param i32 i32) (result i32)
              (i32.add (local.get 0) (local.get 1)))"#,
    );
    std::fs::write(tool.path("sum.wasm"), sums.unwrap()).unwrap();
    let built = root().join("target");
    for (from, to) in [
        (built.join("components/guard.wasm"), "my-guard.wasm"),
        (built.join("wasm/wasm32-unknown-unknown/component/auto_guard.wasm"), "core.wasm"),
        (tool.path("shout.db"), "demo.db"),
        (tool.path("shout.contract.toml"), "demo.contract.toml"),
    ] {
        std::fs::copy(&from, tool.path(to)).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
    assert_eq!(tool.json(&["registry", "keygen", "--out", "ours.pem", "--no-trust"]).0, Some(0));
    let page = read(&root().join("docs/writing-a-pass.md"));
    let commands: Vec<String> =
        commands(&page).into_iter().filter(|command| command.starts_with("auto-host ")).collect();
    assert!(commands.len() >= 6, "{commands:?}");
    for command in commands {
        let tools = binary().parent().unwrap().display().to_string();
        let path = format!("{tools}:{}", std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).current_dir(tool.folder()).env("PATH", path);
        let output = shell.env("AUTO_CACHE", tool.path("cache")).output().unwrap();
        assert!(output.status.success(), "{command}: {}", printed(&output));
    }
}
