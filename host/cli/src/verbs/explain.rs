//! `explain`: an artifact's program in words, and the path an input takes through it.

use std::path::PathBuf;

use auto_json::{Canonical, Record, Value};
use auto_schema::cbin::Cbin;
use auto_schema::shown_path;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;

use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::{Exit, Reply};

/// Show an artifact's program in readable form
///
/// With an input: the path it takes, what the guard measures, and the answer.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host explain triage.cbin --input '{\"subject\":\"Refund\"}'")]
pub struct Opts {
    /// The artifact
    file: PathBuf,
    /// An input to follow, as JSON
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let place = shown_path(&self.file);
        let artifact = Cbin::read(&files::read(&self.file)?).map_err(|damage| Failure::from(damage).at(&place))?;
        let Some(graph) = artifact.graph else {
            return Err(Failure::new(
                Exit::Refused,
                "no-program",
                "the artifact was made from a module, not from a program",
            )
            .at(place));
        };
        let input = match &self.input {
            Some(text) => Value::from(Canonical::of(text).map_err(bad_input)?.as_str()),
            None => Value::Null,
        };
        let graph =
            graph.to_bytes().map_err(|_| Failure::new(Exit::Integrity, "graph", "the program is damaged").at(place))?;
        let toolbox = Toolbox::open(global, &[])?;
        let arguments = Value::List(vec![STANDARD.encode(graph).into(), input]);
        let text = toolbox.engine.call_json(&toolbox.providers, "auto:pass/explain@0.1.0", "explain", &arguments)?;
        let text = text.as_text().unwrap_or_default();
        Ok(Reply::done("explained", text.trim_end(), Record::new().with("text", text)))
    }
}

fn bad_input(error: auto_json::Error) -> Failure {
    Failure::new(Exit::Usage, "bad-json", format!("the input is not JSON: {error}"))
}
