//! `pass`: the components the compiler is made of.

mod check;
mod list;
mod new;
mod pin;
mod run;
mod sign;
mod template;
mod test;
mod wrap;

use std::path::PathBuf;

use auto_engine::{Engine, Options};
use auto_files::regular;
use auto_json::Record;
use auto_schema::shown_path;
use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::registries::SignOption;
use crate::reply::{Exit, Reply};

/// Show and check the components the compiler is made of
#[derive(Args)]
pub struct Opts {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the components: what they are, what a small call of each costs, and who serves what
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
    /// Try a component on what its interfaces ask of every pass: calls whose results are known
    ///
    /// Ends with 1 where something else comes of one, 5 where the component broke a limit, and 4
    /// where nothing is known of what it has to do.
    #[command(
        after_help = "Example:\n  auto-host pass test mine.wasm\n  auto-host pass test mine.wasm --pass beneath.wasm --json"
    )]
    Test {
        /// The component
        #[arg(value_name = "P.wasm")]
        file: PathBuf,
        /// A component that serves its imports, over the built-in ones
        #[arg(long = "pass", value_name = "Q.wasm")]
        beneath: Vec<PathBuf>,
    },
    /// Make a project for a pass of one's own: a guard over the guard beneath it
    ///
    /// It has the interfaces as this host publishes them, a test, and a README with the commands
    /// that build and try it. Nothing is fetched.
    #[command(after_help = "Example:\n  auto-host pass new --lang rust my-guard")]
    New {
        /// What it is written in
        #[arg(long, value_enum)]
        lang: new::Language,
        /// Its name, and that of the folder to make: small letters, digits and `-`
        name: String,
    },
    /// Write a component's digest into auto.toml, so that no other passes are used than those
    ///
    /// Where auto.toml pins any, what is given with --pass or lies in the folder of --passes has to
    /// be pinned. The built-in ones always are.
    #[command(after_help = "Example:\n  auto-host pass pin my-guard.wasm")]
    Pin {
        /// The component
        #[arg(value_name = "P.wasm")]
        file: PathBuf,
    },
    /// Sign a component: what is said of it is written beside its file, as FILE.intoto.jsonl
    ///
    /// Where auto.toml names keys under `signers` of [passes], what is given with --pass or lies in the
    /// folder of --passes has to be signed by one of them. The built-in ones need no signature.
    #[command(after_help = "Example:\n  auto-host pass sign my-guard.wasm --key ours.pem")]
    Sign {
        /// The component
        #[arg(value_name = "P.wasm")]
        file: PathBuf,
        #[command(flatten)]
        key: SignOption,
    },
    /// Make a component of the core module that a compiler wrote
    ///
    /// The module has to know its world, which the bindings of wit-bindgen put into it.
    #[command(
        after_help = "Example:\n  auto-host pass wrap target/wasm32-unknown-unknown/release/mine.wasm --out mine.wasm"
    )]
    Wrap {
        /// The core module
        #[arg(value_name = "CORE.wasm")]
        file: PathBuf,
        /// The component to write
        #[arg(long, value_name = "P.wasm")]
        out: PathBuf,
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
    /// Whether stdout is for the component.
    pub fn owns_stdout(&self) -> bool {
        matches!(&self.action, Action::Wrap { out, .. } if files::is_stdout(out))
    }

    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        match self.action {
            Action::List { extra } => list::list(global, &extra),
            Action::Check { file } => check::check(&file),
            Action::Run { file, function, arguments, beneath } => {
                run::run(global, &file, &function, &arguments, &beneath)
            }
            Action::Test { file, beneath } => test::test(global, &file, &beneath),
            Action::New { lang, name } => new::new(&name, lang),
            Action::Pin { file } => pin::pin(global, &file),
            Action::Sign { file, key } => sign::sign(global, &file, &key),
            Action::Wrap { file, out } => wrap::wrap(&file, &out),
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
