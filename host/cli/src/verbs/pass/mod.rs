//! `pass`: the components the compiler is made of.

mod check;
mod run;

use std::path::PathBuf;

use auto_engine::{Engine, Options};
use auto_files::regular;
use auto_json::{Record, Value};
use auto_schema::{shown, shown_path};
use clap::{Args, Subcommand};

use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::{Exit, Reply};

/// Show and check the components the compiler is made of
#[derive(Args)]
pub struct Opts {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the components, the topmost provider of each interface last
    #[command(after_help = "Example:\n  auto-host pass list\n  auto-host pass list --pass mine.wasm --json")]
    List {
        /// A component to put on top
        #[arg(long = "pass", value_name = "P.wasm")]
        extra: Vec<PathBuf>,
    },
    /// Say what a component is and whether it would be let in, without running it
    #[command(after_help = "Example:\n  auto-host pass check mine.wasm\n  auto-host pass check mine.wasm --json")]
    Check {
        /// The component
        #[arg(value_name = "P.wasm")]
        file: PathBuf,
    },
    /// Call one function of a component; show its result, what it took, and its log
    ///
    /// The call is made even where its result is remembered.
    #[command(after_help = "Example:\n  auto-host pass run mine.wasm add '[1, 2]'\n  \
                            auto-host pass run mine.wasm third:party/sums#add @arguments.json --pass beneath.wasm")]
    Run {
        /// The component
        #[arg(value_name = "P.wasm")]
        file: PathBuf,
        /// The function's name, or interface#function where several have it
        function: String,
        /// JSON: a list with an item for each parameter; @FILE, or - for stdin
        #[arg(value_name = "ARGS", default_value = "[]", allow_hyphen_values = true)]
        arguments: String,
        /// A component that serves its imports, over the built-in ones
        #[arg(long = "pass", value_name = "Q.wasm")]
        beneath: Vec<PathBuf>,
    },
    /// Compile components for this machine; the build of auto-host embeds the result
    #[command(hide = true)]
    Precompile {
        /// The components; the code goes beside each, as NAME.code
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        match self.action {
            Action::List { extra } => list(&Toolbox::open(global, &extra)?),
            Action::Check { file } => check::check(&file),
            Action::Run { file, function, arguments, beneath } => {
                run::run(global, &file, &function, &arguments, &beneath)
            }
            Action::Precompile { files } => precompile(&files),
        }
    }
}

/// Compiles each file whose code is not there or no longer holds. Code that still holds
/// is not touched, so that a build that embeds it is not repeated.
fn precompile(files: &[PathBuf]) -> Result<Reply, Failure> {
    let engine = Engine::new(Options::default())?;
    for file in files {
        let pass = engine.load(&shown_path(file), files::read(file)?)?;
        let target = file.with_extension("code");
        let known = regular::read(&target, files::LARGEST).ok();
        let code = engine
            .precompile(&pass, known.clone())
            .map_err(|why| Failure::new(Exit::Refused, "no-code", why).at(shown_path(file)))?;
        if known.as_ref() != Some(&code) {
            files::write(&target, &code)?;
        }
    }
    Ok(Reply::done("precompiled", "", Record::new()))
}

fn list(toolbox: &Toolbox) -> Result<Reply, Failure> {
    let mut text = String::new();
    let mut rows = Vec::new();
    for pass in &toolbox.all {
        let origin = if toolbox.builtin.contains(&pass.digest) { "built in" } else { "given" };
        let label = shown(&pass.label);
        text.push_str(&format!("{label} ({origin}, {} bytes)\n  sha-256 {}\n", pass.size, pass.digest));
        pass.exports.iter().for_each(|name| text.push_str(&format!("  exports {}\n", shown(name))));
        pass.imports.iter().for_each(|name| text.push_str(&format!("  imports {}\n", shown(name))));
        let names = |names: &[String]| names.iter().map(|name| name.as_str().into()).collect::<Vec<Value>>();
        let row = Record::new()
            .with("name", pass.label.as_str())
            .with("digest", pass.digest.to_string())
            .with("bytes", pass.size)
            .with("builtin", toolbox.builtin.contains(&pass.digest))
            .with("exports", names(&pass.exports))
            .with("imports", names(&pass.imports));
        rows.push(row.into());
    }
    if rows.is_empty() {
        text.push_str("no components: build with `cargo xtask build`, or name a folder with --passes DIR");
    }
    Ok(Reply::done("passes", text.trim_end(), Record::new().with("passes", rows)))
}
