//! An experiment and what came of it, as data: the same whatever runs it.

use std::path::{Component, Path};

use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::fault::Fault;

/// A file by its place and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Relative, with `/`, without `..`.
    pub path: String,
    /// A blob.
    pub digest: Digest,
    /// Whether it may be run.
    pub executable: bool,
}

/// What an experiment may take; see `auto:host/experiments.limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the fields of that record")]
pub struct Limits {
    pub seconds: u32,
    pub cpu_seconds: u32,
    pub memory_mib: u32,
    pub output_bytes: u64,
    pub files: u32,
}

/// A command in a clean folder; see `auto:host/experiments.experiment`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the fields of that record")]
pub struct Experiment {
    pub command: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub input: String,
    pub files: Vec<File>,
    pub collect: Vec<String>,
    pub limits: Limits,
    pub costs: bool,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself.
    Exited(i32),
    /// By a signal that it was not sent for a limit.
    Signalled(i32),
    /// Killed, with everything that it had started.
    TimedOut,
    /// `cpu`, `memory`, `output`, `files`, `fuel`.
    OverLimit(String),
}

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// A blob.
    pub stdout: Digest,
    /// A blob.
    pub stderr: Digest,
    /// What was brought back, sorted by path.
    pub files: Vec<File>,
    /// By the clock.
    pub milliseconds: u64,
    /// How it was kept apart.
    pub isolation: Vec<String>,
    /// How often it was tried.
    pub attempts: u32,
}

/// A variable that the host itself sets.
const RESERVED: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

impl Experiment {
    /// Whether it makes sense. Code: `bad-experiment`.
    pub fn check(&self) -> Result<(), Fault> {
        let bad = |why: String| Err(Fault::new("bad-experiment", why));
        let texts = self.command.iter().chain(self.environment.iter().flat_map(|(name, value)| [name, value]));
        if texts.chain(&self.collect).any(|text| text.contains('\0')) {
            return bad("a command, variable or path holds a zero byte".to_owned());
        }
        if self.command.first().is_none_or(String::is_empty) {
            return bad("there is no command".to_owned());
        }
        for (name, _) in &self.environment {
            if name.is_empty() || name.contains('=') || RESERVED.contains(&name.as_str()) {
                return bad(format!("{name:?} cannot be set; the host sets PATH, HOME and TMPDIR"));
            }
        }
        for path in self.files.iter().map(|file| &file.path).chain(&self.collect) {
            if !is_inside(path) {
                return bad(format!("{path:?} is no path inside the folder of the experiment"));
            }
        }
        let mut paths: Vec<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        paths.sort_unstable();
        if let Some(pair) = paths.windows(2).find(|pair| Path::new(pair[1]).starts_with(pair[0])) {
            return bad(format!("{:?} and {:?} cannot both be files", pair[0], pair[1]));
        }
        let Limits { seconds, cpu_seconds, memory_mib, output_bytes, .. } = self.limits;
        if [u64::from(seconds), u64::from(cpu_seconds), u64::from(memory_mib), output_bytes].contains(&0) {
            return bad("a limit is 0, with which nothing can be run".to_owned());
        }
        if output_bytes > crate::MOST_BYTES as u64 {
            return bad(format!("output_bytes is {output_bytes}; a blob has at most {}", crate::MOST_BYTES));
        }
        Ok(())
    }

    /// What it is known by, wherever it is run: the digest of its files (what is measured, what
    /// measures, what it is measured on), its command, its limits and its environment, which holds the
    /// seed. Equal ones are run once in a run.
    pub fn key(&self) -> Digest {
        Digest::of(Value::from(self.to_record()).canonical().as_str().as_bytes())
    }

    fn to_record(&self) -> Record {
        let texts = |list: &[String]| list.iter().map(|text| text.as_str().into()).collect::<Vec<Value>>();
        let pair = |(name, value): &(String, String)| Value::from(vec![name.as_str().into(), value.as_str().into()]);
        let Limits { seconds, cpu_seconds, memory_mib, output_bytes, files } = self.limits;
        let limits = Record::new()
            .with("seconds", seconds)
            .with("cpu_seconds", cpu_seconds)
            .with("memory_mib", memory_mib)
            .with("output_bytes", output_bytes)
            .with("files", files);
        Record::new()
            .with("command", texts(&self.command))
            .with("environment", self.environment.iter().map(pair).collect::<Vec<_>>())
            .with("input", self.input.as_str())
            .with("files", self.files.iter().map(File::to_value).collect::<Vec<_>>())
            .with("collect", texts(&self.collect))
            .with("limits", limits)
    }
}

/// Whether a path leads to something below where it starts.
pub(crate) fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

impl File {
    fn to_value(&self) -> Value {
        Record::new()
            .with("path", self.path.as_str())
            .with("digest", self.digest.to_string())
            .with("executable", self.executable)
            .into()
    }

    fn from_value(value: &Value) -> Option<File> {
        Some(File {
            path: value.get("path")?.as_text()?.to_owned(),
            digest: Digest::parse(value.get("digest")?.as_text()?)?,
            executable: value.get("executable")?.as_bool()?,
        })
    }
}

impl Outcome {
    pub(crate) fn to_value(&self) -> Value {
        let (ending, with) = match &self.ending {
            Ending::Exited(code) => ("exited", Value::integer((*code).into())),
            Ending::Signalled(signal) => ("signalled", Value::integer((*signal).into())),
            Ending::TimedOut => ("timed-out", Value::Null),
            Ending::OverLimit(which) => ("over-limit", which.as_str().into()),
        };
        Record::new()
            .with("ending", ending)
            .with("with", with)
            .with("stdout", self.stdout.to_string())
            .with("stderr", self.stderr.to_string())
            .with("files", self.files.iter().map(File::to_value).collect::<Vec<_>>())
            .with("milliseconds", self.milliseconds)
            .with("isolation", self.isolation.iter().map(|text| text.as_str().into()).collect::<Vec<Value>>())
            .with("attempts", self.attempts)
            .into()
    }

    pub(crate) fn from_value(value: &Value) -> Option<Outcome> {
        let digest = |name: &str| Digest::parse(value.get(name)?.as_text()?);
        let with = value.get("with")?;
        let number = || with.as_i64().and_then(|number| i32::try_from(number).ok());
        let ending = match value.get("ending")?.as_text()? {
            "exited" => Ending::Exited(number()?),
            "signalled" => Ending::Signalled(number()?),
            "timed-out" => Ending::TimedOut,
            "over-limit" => Ending::OverLimit(with.as_text()?.to_owned()),
            _ => return None,
        };
        let isolation = value.get("isolation")?.as_list()?.iter();
        Some(Outcome {
            ending,
            stdout: digest("stdout")?,
            stderr: digest("stderr")?,
            files: value.get("files")?.as_list()?.iter().map(File::from_value).collect::<Option<_>>()?,
            milliseconds: value.get("milliseconds")?.as_u64()?,
            isolation: isolation.map(|text| text.as_text().map(str::to_owned)).collect::<Option<_>>()?,
            attempts: u32::try_from(value.get("attempts")?.as_u64()?).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment() -> Experiment {
        Experiment {
            command: vec!["sh".into()],
            environment: vec![("SEED".into(), "1".into())],
            input: String::new(),
            files: vec![File { path: "a/b".into(), digest: Digest::of(b""), executable: false }],
            collect: vec!["out".into()],
            limits: Limits { seconds: 1, cpu_seconds: 1, memory_mib: 64, output_bytes: 1 << 10, files: 1 },
            costs: false,
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_before_anything_runs() {
        assert_eq!(experiment().check(), Ok(()));
        let file = |path: &str| File { path: path.into(), digest: Digest::of(b""), executable: false };
        type Change<'c> = &'c dyn Fn(&mut Experiment);
        let broken: [(&str, Change<'_>); 12] = [
            ("no command", &|one| one.command.clear()),
            ("no program", &|one| one.command = vec![String::new()]),
            ("a zero byte", &|one| one.command.push("a\0b".into())),
            ("outside", &|one| one.files.push(file("../x"))),
            ("absolute", &|one| one.collect.push("/etc/passwd".into())),
            ("the folder itself", &|one| one.collect.push(".".into())),
            ("nothing", &|one| one.collect.push(String::new())),
            ("a file below a file", &|one| one.files.push(file("a/b/c"))),
            ("a file twice", &|one| one.files.push(file("a/b"))),
            ("the path", &|one| one.environment.push(("PATH".into(), "/x".into()))),
            ("a name with =", &|one| one.environment.push(("A=B".into(), "/x".into()))),
            ("no time", &|one| one.limits.seconds = 0),
        ];
        for (what, change) in broken {
            let mut one = experiment();
            change(&mut one);
            assert_eq!(one.check().map_err(|fault| fault.code), Err("bad-experiment"), "{what}");
        }
    }

    #[test]
    fn everything_that_may_change_what_comes_of_it_is_in_its_key() {
        let key = experiment().key();
        let changes: [&dyn Fn(&mut Experiment); 7] = [
            &|one| one.command.push("x".into()),
            &|one| one.environment[0].1 = "2".into(),
            &|one| one.input = "x".into(),
            &|one| one.files[0].executable = true,
            &|one| one.files[0].digest = Digest::of(b"x"),
            &|one| one.collect.clear(),
            &|one| one.limits.memory_mib = 65,
        ];
        for change in changes {
            let mut one = experiment();
            change(&mut one);
            assert_ne!(one.key(), key);
        }
        assert_eq!(Experiment { costs: true, ..experiment() }.key(), key);
    }
}
