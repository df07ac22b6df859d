//! `export`: an artifact as a package for another engine.

use std::path::{Path, PathBuf};

use auto_export::{Name, NotLifted, Package, Target, Vector, default_name};
use auto_json::{Record, Value};
use auto_runtime::{Limits, Outcome, Program, Sandbox, Session};
use auto_schema::cbin::Cbin;
use auto_schema::shown_path;
use auto_schema::types::Type;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::components::artifact_cache;
use crate::failure::Failure;
use crate::files;
use crate::lines::{Line, Lines};
use crate::options::Global;
use crate::reply::{Exit, Reply};

/// Package an artifact for another engine
///
/// Makes a folder with the artifact, glue with the types of its contract, and a test: what the
/// artifact gives here for some inputs, which the engine there has to give too. Without --inputs
/// those are a few that its input type allows, and a few that nothing does.
#[derive(Args)]
#[command(
    after_help = "Example:\n  auto-host export triage.cbin --target node --out triage-node --inputs inputs.jsonl"
)]
pub struct Opts {
    /// The artifact
    file: PathBuf,
    /// Where it is to run
    #[arg(long, value_parser = PossibleValuesParser::new(Target::ALL.map(|(name, _)| name)))]
    target: String,
    /// The folder to make; one that is there must be empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// What the package is called; out of the task's name where nothing is given
    #[arg(long)]
    name: Option<Name>,
    /// A file with one JSON input a line, for the test
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,
}

/// The most inputs of a test.
const MOST_INPUTS: usize = 10_000;

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        files::refuse_full(&self.out)?;
        let place = shown_path(&self.file);
        let bytes = files::read(&self.file)?;
        let artifact = Cbin::read(&bytes).map_err(|damage| Failure::from(damage).at(&place))?;
        let sandbox = Sandbox::with_cache(Limits::default(), artifact_cache(global)?)?;
        let program = Program::load(&sandbox, &bytes).map_err(|error| Failure::from(error).at(&place))?;
        let mut inputs = self.inputs.as_deref().map_or(Ok(Vec::new()), |file| read(file, sandbox.limits().input))?;
        inputs.extend(samples(&artifact.manifest.input));
        let mut session = program.session().checked(true);
        let vectors: Vec<Vector> =
            inputs.into_iter().map(|input| tried(&mut session, input)).collect::<Result<_, _>>()?;

        let name = self.name.unwrap_or_else(|| default_name(&artifact.manifest.task));
        let package = Package { artifact: &artifact, file: &bytes, name, vectors: &vectors };
        let target = Target::ALL.into_iter().find(|(name, _)| *name == self.target).map_or(Target::Node, |(_, is)| is);
        let files = package.files(target).map_err(|NotLifted(why)| {
            Failure::new(Exit::Refused, "not-lifted", format!("the artifact is no component of its world: {why}"))
                .at(&place)
        })?;
        files::write_folder(&self.out, &files)?;
        let size: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
        let out = shown_path(&self.out);
        let text = format!("wrote {out}: {} files, {size} bytes; {} inputs in its test", files.len(), vectors.len());
        let places: Vec<Value> = files.iter().map(|(place, _)| Value::from(place.as_str())).collect();
        let fields = Record::new()
            .with("out", out.as_str())
            .with("target", self.target.as_str())
            .with("name", package.name.to_string())
            .with("artifact", artifact.id.to_string())
            .with("files", Value::List(places))
            .with("bytes", size)
            .with("inputs", vectors.len());
        Ok(Reply::done("exported", text, fields))
    }
}

/// The inputs of a file.
fn read(file: &Path, most: usize) -> Result<Vec<String>, Failure> {
    let mut lines = Lines::new(files::reader(file)?, most);
    let mut inputs = Vec::new();
    while let Some((number, line)) = lines.next().map_err(|error| files::unreadable(file, &error))? {
        let refused = |code: &str, message: String| {
            Err(Failure::new(Exit::Usage, code, message).at(format!("{}:{number}", shown_path(file))))
        };
        if inputs.len() == MOST_INPUTS {
            return refused("too-many", format!("there are more than {MOST_INPUTS} inputs"));
        }
        match line {
            Line::TooLong(most) => return refused("input-too-large", format!("the input has more than {most} bytes")),
            Line::Whole(line) => match str::from_utf8(line) {
                Ok(text) => inputs.push(text.to_owned()),
                Err(error) => return refused("bad-json", format!("the input is not UTF-8: {error}")),
            },
        }
    }
    Ok(inputs)
}

/// A few inputs that the type allows, and a few that no artifact takes.
fn samples(ty: &Type) -> Vec<String> {
    let mut texts: Vec<String> = [0, 1].iter().map(|&size| sample(ty, size).to_string()).collect();
    texts.extend(["null", "{}", "[1.50]", r#""\u00e9 \ud83d\ude00""#, "", "{", "nul"].map(str::to_owned));
    texts.dedup();
    texts
}

/// A value of the type: the least one, or one with something in it.
fn sample(ty: &Type, size: usize) -> Value {
    let some = size > 0;
    match ty {
        Type::Unit => Value::Null,
        Type::Bool => Value::Bool(some),
        Type::Int | Type::Number => Value::integer(if some { 42 } else { 0 }),
        Type::Text | Type::Bytes => Value::from(if some { "Grüße: 7 parcels" } else { "" }),
        Type::Json if some => Record::new().with("a", "b").into(),
        Type::Json => Value::Null,
        Type::List(item) => Value::List((0..size).map(|_| sample(item, size)).collect()),
        Type::Optional(inner) if some => sample(inner, size),
        Type::Optional(_) => Value::Null,
        Type::Map(item) => (0..size).fold(Record::new(), |map, _| map.with("key", sample(item, size))).into(),
        Type::Enum(labels) => labels.get(size).or(labels.first()).map_or(Value::Null, |label| label.as_str().into()),
        Type::Record(fields) => fields
            .iter()
            .filter(|field| some || !field.optional)
            .fold(Record::new(), |record, field| record.with(field.name.as_str(), sample(&field.ty, size)))
            .into(),
    }
}

/// What an input comes to here. What breaks a limit or traps here is no test of another engine.
fn tried(session: &mut Session, input: String) -> Result<Vector, Failure> {
    let came = match session.run(&input) {
        Ok(Outcome::Answer(text)) => ("answer", Value::from(text)),
        Ok(Outcome::Abstain { reason, score, limit }) => {
            ("abstain", Record::new().with("reason", reason).with("score", score).with("limit", limit).into())
        }
        Ok(Outcome::Request { capability, input, state }) => {
            let state = STANDARD.encode(state);
            ("request", Record::new().with("capability", capability).with("input", input).with("state", state).into())
        }
        Err(error) if matches!(error.code(), "bad-input" | "unsupported") => ("error", Value::from(error.code())),
        Err(error) => return Err(Failure::from(error)),
    };
    Ok(Vector { input, came })
}
