//! Packages an artifact for other engines: a folder with the file, glue with the types of its
//! contract, what `auto-host` got for some inputs, and a test that holds the engine to it.
//!
//! The glue is plain text in `templates/`, with places such as `@ID@`. Nothing is computed here
//! that the artifact's manifest does not say; the same artifact and vectors give the same files.

mod name;
mod python;
mod typescript;

use std::fmt::Write as _;

use auto_json::{Record, Value};
use auto_schema::cbin::Cbin;

pub use name::{Name, default_name};

/// Where a package runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Node 18 and newer.
    Node,
    /// Every browser with WebAssembly, as an ES module.
    Browser,
    /// Cloudflare Workers and workerd.
    Workers,
    /// Python 3.10 and newer, with the package `wasmtime`.
    Python,
    /// A component of the world `auto:cbin/cbin`.
    Component,
}

impl Target {
    /// All targets, by name.
    pub const ALL: [(&'static str, Target); 5] = [
        ("node", Target::Node),
        ("browser", Target::Browser),
        ("workers", Target::Workers),
        ("python", Target::Python),
        ("component", Target::Component),
    ];
}

/// What an input came to.
pub struct Vector {
    /// The input, a text that may be no JSON.
    pub input: String,
    /// How the call ended: `answer` and a JSON text; `abstain` and `{reason, score, limit}`;
    /// `request` and `{capability, input, state}`, the state in base64; `error` and a code.
    pub came: (&'static str, Value),
}

/// A file of a package: its place in the folder, and its bytes.
pub type File = (String, Vec<u8>);

/// Why there is no package.
#[derive(Debug)]
pub struct NotLifted(pub String);

/// An artifact to package.
pub struct Package<'a> {
    /// The artifact.
    pub artifact: &'a Cbin,
    /// Its bytes.
    pub file: &'a [u8],
    /// What the package is called.
    pub name: Name,
    /// What some inputs came to.
    pub vectors: &'a [Vector],
}

const BEHAVIOR: &str = include_str!("../templates/behavior.mjs");
const BEHAVIOR_TYPES: &str = include_str!("../templates/behavior.d.mts");
const WIT: &str = include_str!("../../../wit/cbin/cbin.wit");

/// The texts of a folder in `templates/`.
macro_rules! templates {
    ($folder:literal, $($file:literal),+) => {
        [$(($file, include_str!(concat!("../templates/", $folder, "/", $file)))),+].as_slice()
    };
}

impl Package<'_> {
    /// The files of the package, sorted by place.
    pub fn files(&self, target: Target) -> Result<Vec<File>, NotLifted> {
        let mut files = match target {
            Target::Node => self.javascript(
                templates!("node", "index.d.mts", "index.mjs", "package.json", "test.mjs"),
                "behavior.cbin",
            ),
            Target::Browser => self.javascript(
                templates!("browser", "index.d.mts", "index.html", "index.mjs", "package.json"),
                "behavior.cbin",
            ),
            Target::Workers => self.javascript(
                templates!("workers", "handler.mjs", "package.json", "test.mjs", "worker.mjs", "wrangler.toml"),
                "behavior.wasm",
            ),
            Target::Python => self.python(),
            Target::Component => self.component()?,
        };
        files.push(("vectors.jsonl".to_owned(), self.vector_lines().into_bytes()));
        files.sort();
        let readme = self.readme(target, &files);
        files.push(("README.md".to_owned(), readme.into_bytes()));
        files.sort();
        Ok(files)
    }

    fn javascript(&self, templates: &[(&str, &str)], module: &str) -> Vec<File> {
        let mut files: Vec<File> =
            templates.iter().map(|(place, text)| ((*place).to_owned(), self.filled(text).into_bytes())).collect();
        files.push((module.to_owned(), self.file.to_vec()));
        files.push(("behavior.mjs".to_owned(), BEHAVIOR.as_bytes().to_vec()));
        files.push(("behavior.d.mts".to_owned(), self.filled(BEHAVIOR_TYPES).into_bytes()));
        files
    }

    fn python(&self) -> Vec<File> {
        let module = self.name.module();
        let inside = |place: &str| format!("{module}/{place}");
        let templates = templates!("python", "__init__.py", "types.py", "test.py", "pyproject.toml");
        let placed = templates.iter().map(|(place, text)| {
            let outside = matches!(*place, "test.py" | "pyproject.toml");
            let place = if outside { (*place).to_owned() } else { inside(place) };
            (place, self.filled(text).into_bytes())
        });
        let mut files: Vec<File> = placed.collect();
        files.push((inside("behavior.cbin"), self.file.to_vec()));
        files.push((inside("py.typed"), Vec::new()));
        files
    }

    fn component(&self) -> Result<Vec<File>, NotLifted> {
        let lifted = wit_component::ComponentEncoder::default()
            .module(self.file)
            .and_then(|encoder| encoder.validate(true).encode())
            .map_err(|error| NotLifted(format!("{error:#}")))?;
        let test = self.filled(include_str!("../templates/component/test.py"));
        Ok(vec![
            ("behavior.component.wasm".to_owned(), lifted),
            ("wit/cbin.wit".to_owned(), WIT.as_bytes().to_vec()),
            ("test.py".to_owned(), test.into_bytes()),
        ])
    }

    /// A template with its places filled.
    fn filled(&self, template: &str) -> String {
        let manifest = &self.artifact.manifest;
        let title = self.title();
        let capabilities = match &manifest.capabilities[..] {
            [] => "never".to_owned(),
            names => names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(" | "),
        };
        let places = [
            ("@TITLE@", title.clone()),
            ("@DESCRIPTION@", quoted(&title)),
            ("@NAME@", self.name.to_string()),
            ("@MODULE@", self.name.module()),
            ("@ID@", self.artifact.id.to_string()),
            ("@REUSABLE@", manifest.reusable.to_string()),
            ("@REUSABLE_PYTHON@", if manifest.reusable { "True" } else { "False" }.to_owned()),
            ("@CAPABILITIES@", capabilities),
            ("@INPUT@", typescript::text(&manifest.input)),
            ("@OUTPUT@", typescript::text(&manifest.output)),
            ("@TYPES@", python::definitions(&manifest.input, &manifest.output)),
        ];
        // One walk over the template: what is filled in is not looked at again.
        let mut filled = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(at) = rest.find('@') {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            match places.iter().find(|(place, _)| rest.starts_with(place)) {
                Some((place, text)) => {
                    filled.push_str(text);
                    rest = &rest[place.len()..];
                }
                None => {
                    filled.push('@');
                    rest = &rest[1..];
                }
            }
        }
        filled + rest
    }

    /// One line, of characters that end no comment and no text.
    fn title(&self) -> String {
        let manifest = &self.artifact.manifest;
        let title = format!("{}: {}", manifest.task, manifest.scope);
        title.chars().map(|c| if c.is_alphanumeric() || " .:_-".contains(c) { c } else { '_' }).collect()
    }

    fn vector_lines(&self) -> String {
        let line = |vector: &Vector| {
            let (kind, value) = &vector.came;
            Value::from(Record::new().with("input", vector.input.as_str()).with(*kind, value.clone())).to_string()
                + "\n"
        };
        self.vectors.iter().map(line).collect()
    }

    fn readme(&self, target: Target, files: &[File]) -> String {
        let manifest = &self.artifact.manifest;
        let mut text = format!("# {}\n\n", self.title());
        let module = self.name.module();
        let usage = match target {
            Target::Node => {
                "```js\nimport { run } from \"./index.mjs\";\n\nconst outcome = run(input);\n```\n\n`npm test` runs the \
                 inputs of `vectors.jsonl` and holds them to what `auto-host` got. No dependencies.\n"
                    .to_owned()
            }
            Target::Browser => {
                "```js\nimport { load } from \"./index.mjs\";\n\nconst behavior = await load();\nconst outcome = \
                 behavior.run(input);\n```\n\nServe the folder and open `index.html`: it runs the inputs of \
                 `vectors.jsonl`, and says whether they come to what `auto-host` got. No dependencies.\n"
                    .to_owned()
            }
            Target::Workers => {
                "`worker.mjs` answers POST requests; `handler.mjs` is the same as a function of a compiled module. \
                 `npm test` runs the inputs of `vectors.jsonl` in Node; `npx wrangler dev` runs the worker. No \
                 dependencies.\n"
                    .to_owned()
            }
            Target::Python => format!(
                "```python\nimport {module}\n\noutcome = {module}.run(value)\n```\n\n`pip install .` brings the one \
                 dependency, `wasmtime`. `python -m unittest test` runs the inputs of `vectors.jsonl` and holds them \
                 to what `auto-host` got.\n"
            ),
            Target::Component => {
                "`behavior.component.wasm` exports `auto:cbin/behavior` (`wit/cbin.wit`) and imports nothing. \
                 `python3 -m unittest test` runs the inputs of `vectors.jsonl` with the package `wasmtime` and holds them to \
                 what `auto-host` got.\n"
                    .to_owned()
            }
        };
        text.push_str(&usage);
        text.push_str(
            "\nA call ends with an answer; or it abstains, which is no error: ask the model or agent that this stands \
             for; or it requests a capability, and goes on with the reply.\n",
        );
        if matches!(target, Target::Node | Target::Browser | Target::Workers) {
            text.push_str(
                "\nNumbers of JavaScript are binary floats: where digits matter, use `runText`, which takes and gives \
                 JSON texts. An engine of JavaScript stops no call that takes long.\n",
            );
        }
        text.push_str("\n| | |\n|---|---|\n");
        let mut row = |what: &str, value: &str| {
            let _ = writeln!(text, "| {what} | {value} |");
        };
        row("artifact", &format!("`{}`", self.artifact.id));
        row("input", &cell(&manifest.input.to_string()));
        row("output", &cell(&manifest.output.to_string()));
        if !manifest.capabilities.is_empty() {
            row("may ask for", &cell(&manifest.capabilities.join(", ")));
        }
        row("abstains on what is unlike its recordings", if manifest.guarded { "yes" } else { "no: it has no guard" });
        row("an input has at most", "1 MiB");
        row("size of the artifact", &format!("{} bytes", self.file.len()));
        let glue: usize = files.iter().filter(|(place, _)| is_glue(place)).map(|(_, bytes)| bytes.len()).sum();
        if glue > 0 {
            row("size of the glue", &format!("{glue} bytes"));
        }
        text
    }
}

/// Whether a file is loaded beside the artifact.
fn is_glue(place: &str) -> bool {
    let test = place.starts_with("test.");
    (place.ends_with(".mjs") || place.ends_with(".py")) && !test
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|").replace('`', "'"))
}

/// A text literal of JavaScript, Python, JSON and TOML alike.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
