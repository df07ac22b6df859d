//! Places in an input or an output: a side and a path.

use core::fmt;

use auto_json::{Record, Value};

use crate::ir::{Step, parse_path};

/// Which of the two values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The input.
    Input,
    /// The output.
    #[default]
    Output,
}

/// A place in an input or an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// In which of the two.
    pub side: Side,
    /// As written: a JSON pointer in which `*` stands for every item of a list; empty for
    /// the whole.
    path: String,
    steps: Vec<Step>,
}

impl Side {
    /// The name in contracts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Side::Input => "input",
            Side::Output => "output",
        }
    }
}

impl Place {
    /// All of an input or an output.
    pub fn whole(side: Side) -> Place {
        Place { side, ..Place::default() }
    }

    /// A place; `None` where the path is no pointer.
    pub fn new(side: Side, path: &str) -> Option<Place> {
        Some(Place { side, path: path.to_owned(), steps: parse_path(path)? })
    }

    /// The path as written.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path's segments.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether a `*` is in the path, so that any number of values may be there.
    pub fn is_many(&self) -> bool {
        self.steps.contains(&Step::Each)
    }

    /// Every value there, in order; the error says what is missing. An empty list under a
    /// `*` has nothing and misses nothing.
    pub fn values<'v>(&self, input: &'v Value, output: &'v Value) -> Result<Vec<&'v Value>, String> {
        let value = match self.side {
            Side::Input => input,
            Side::Output => output,
        };
        let mut met = Vec::new();
        walk(value, &self.steps, &mut met).map_err(|why| format!("{self}: {why}"))?;
        Ok(met)
    }

    /// `{"target", "path"?}`.
    pub(super) fn to_record(&self) -> Record {
        let record = Record::new().with("target", self.side.as_str());
        if self.path.is_empty() { record } else { record.with("path", self.path.as_str()) }
    }
}

fn walk<'v>(value: &'v Value, steps: &[Step], met: &mut Vec<&'v Value>) -> Result<(), String> {
    match (steps, value) {
        ([], value) => {
            met.push(value);
            Ok(())
        }
        ([Step::Each, rest @ ..], Value::List(items)) => items.iter().try_for_each(|item| walk(item, rest, met)),
        ([Step::Each, ..], other) => Err(format!("there is {}, not a list", other.kind())),
        ([Step::Field(name), rest @ ..], value) => match value.get(name) {
            Some(member) => walk(member, rest, met),
            None => Err(format!("there is no {}", Value::from(name.as_str()))),
        },
    }
}

impl fmt::Display for Place {
    /// `the output`, `the input at /a/*/b`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {}", self.side.as_str())?;
        if self.path.is_empty() { Ok(()) } else { write!(f, " at {}", self.path) }
    }
}
