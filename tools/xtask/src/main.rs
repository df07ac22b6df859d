//! The developer's door: sets up, builds, generates, checks and demonstrates.
//!
//! One file a verb. What the product does belongs in `host/` and `components/`; this crate
//! only calls compilers, the test runner and the built binaries.

mod checks;
mod codegen;
mod components;
mod demo;
mod frozen;
mod fuzz;
mod setup;
mod wheel;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};
use workspace::Workspace;

const USAGE: &str = "\
cargo xtask VERB

  setup                     the wasm target and tools; installs, or names the command that does
  build [--components-only] the components into target/components, then the binaries that embed them
        --test-components   the components of the tests alone, into target/test-components
  demo [--no-build]         the main job on the shipped example, from recording to a running .cbin
  test [--all]              builds, then runs every test; with --all those too that fetch or take minutes
  ci                        what .ci/run calls: formatting, lints, generated code, WIT, fuzzing, tests
  fuzz [--seconds N] [TARGET]
                            every fuzz target or one: a fixed number of inputs, or N seconds each
  wheel                     the Python package over the runtime, into target/wheel
  codegen [--check]         generated Rust and component types under schema/src/generated
  frozen [--freeze]         the live WIT against wit/frozen; --freeze copies it there for a release
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if words.iter().any(|word| matches!(*word, "help" | "--help" | "-h")) {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(words: &[&str]) -> Result<()> {
    let workspace = Workspace::find()?;
    match words {
        ["setup"] => setup::run_verb(&workspace),
        ["build"] => components::build_all(&workspace),
        ["build", "--components-only"] => components::build(&workspace).map(drop),
        ["build", "--test-components"] => components::build_tests(&workspace),
        ["demo"] => {
            demo::build(&workspace)?;
            demo::run(&workspace)
        }
        ["demo", "--no-build"] => demo::run(&workspace),
        ["test"] => checks::test(&workspace),
        ["test", "--all"] => checks::test_all(&workspace),
        ["ci"] => checks::ci(&workspace),
        ["wheel"] => wheel::run_verb(&workspace),
        ["fuzz", rest @ ..] => fuzz::run_verb(&workspace, fuzz::options(rest)?),
        ["codegen"] => codegen::run_verb(&workspace, codegen::Mode::Write),
        ["codegen", "--check"] => codegen::run_verb(&workspace, codegen::Mode::Check),
        ["frozen"] => frozen::check(&workspace),
        ["frozen", "--freeze"] => frozen::freeze(&workspace),
        [] => bail!("no verb given\n\n{USAGE}"),
        other => bail!("`{}` is not a verb with these arguments\n\n{USAGE}", other.join(" ")),
    }
}
