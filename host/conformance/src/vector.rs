//! Vectors as they stand in their files, read strictly.

use std::fmt;

use auto_json::Value;

use crate::short;

/// The vectors of one interface.
#[derive(Clone, Debug)]
pub struct Suite {
    /// With its version.
    pub interface: String,
    /// In the order of the file.
    pub vectors: Vec<Vector>,
}

/// A call and what is to come of it.
#[derive(Clone, Debug)]
pub struct Vector {
    /// What it shows, in a clause.
    pub name: String,
    /// The function.
    pub function: String,
    /// The arguments as they are written, with short forms.
    pub written: Value,
    /// The arguments as they are handed over.
    pub arguments: Value,
    /// What is to come of it.
    pub expected: Expected,
}

/// What is to come of a call.
#[derive(Clone, Debug)]
pub enum Expected {
    /// A fault of one of these codes; of any where none is named.
    Fault(Vec<String>),
    /// A result that is like this, and what holds of the programs and modules in it.
    Result { like: Value, programs: Vec<Program>, modules: Vec<Module> },
}

/// A program in a result.
#[derive(Clone, Debug)]
pub struct Program {
    /// Where it is: a JSON pointer, in which `*` is every item. The empty one is all of it.
    pub at: String,
    /// Observations that it reproduces.
    pub right_on: Option<Value>,
    /// Inputs that it leaves unanswered.
    pub silent_on: Vec<Value>,
}

/// A module of the world `auto:cbin/cbin` in a result.
#[derive(Clone, Debug)]
pub struct Module {
    /// Where it is.
    pub at: String,
    /// Inputs and the answers to them.
    pub answers: Vec<(String, Value)>,
    /// Inputs that it abstains on.
    pub silent_on: Vec<String>,
}

/// A file that is no list of vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadVector {
    /// Which one.
    pub at: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for BadVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

impl std::error::Error for BadVector {}

impl Suite {
    /// Reads a file; `name` is for messages.
    pub fn parse(name: &str, text: &str) -> Result<Suite, BadVector> {
        let bad = |at: &str, message: String| BadVector { at: format!("{name}.json, {at}"), message };
        let file = Value::parse(text).map_err(|error| bad("the file", error.to_string()))?;
        let whole = Members { value: &file };
        let interface = whole.text("interface").map_err(|why| bad("interface", why))?;
        let rows = whole.list("vectors").map_err(|why| bad("vectors", why))?;
        let read = |(number, row): (usize, &Value)| {
            let at = row.get("name").and_then(Value::as_text).map_or(number.to_string(), str::to_owned);
            vector(row).map_err(|why| bad(&at, why))
        };
        Ok(Suite { interface, vectors: rows.iter().enumerate().map(read).collect::<Result<_, _>>()? })
    }
}

fn vector(row: &Value) -> Result<Vector, String> {
    let members = Members { value: row };
    members.only(&["name", "call", "with", "fault", "gives", "programs", "modules"])?;
    let written = row.get("with").cloned().ok_or("it has no `with`")?;
    let expected = match (row.get("fault"), row.get("gives")) {
        (Some(_), None) => Expected::Fault(members.texts("fault")?),
        (None, Some(like)) => Expected::Result {
            like: short::expanded(like)?,
            programs: members.all("programs", program)?,
            modules: members.all("modules", module)?,
        },
        _ => return Err("it needs `fault` or `gives`, not both".to_owned()),
    };
    Ok(Vector {
        name: members.text("name")?,
        function: members.text("call")?,
        arguments: short::expanded(&written)?,
        written,
        expected,
    })
}

fn program(row: &Value) -> Result<Program, String> {
    let members = Members { value: row };
    members.only(&["at", "right-on", "silent-on"])?;
    let right_on = row.get("right-on").map(short::observations).transpose()?;
    let silent_on = members.optional_list("silent-on")?.iter().map(short::expanded).collect::<Result<_, _>>()?;
    Ok(Program { at: members.text("at")?, right_on, silent_on })
}

fn module(row: &Value) -> Result<Module, String> {
    let members = Members { value: row };
    members.only(&["at", "answers", "silent-on"])?;
    let answer = |pair: &Value| match pair.as_list() {
        Some([input, answer]) => Ok((input.to_string(), answer.clone())),
        _ => Err("an answer is a pair of an input and an output".to_owned()),
    };
    let answers = members.list("answers")?.iter().map(answer).collect::<Result<_, String>>()?;
    let silent_on = members.optional_list("silent-on")?.iter().map(ToString::to_string).collect();
    Ok(Module { at: members.text("at")?, answers, silent_on })
}

/// The members of an object, each of the kind that is asked for.
struct Members<'v> {
    value: &'v Value,
}

impl Members<'_> {
    fn only(&self, known: &[&str]) -> Result<(), String> {
        let record = self.value.as_record().ok_or("it is no object")?;
        match record.iter().find(|(key, _)| !known.contains(key)) {
            Some((key, _)) => Err(format!("`{key}` is not known here")),
            None => Ok(()),
        }
    }

    fn text(&self, key: &str) -> Result<String, String> {
        let text = self.value.get(key).and_then(Value::as_text);
        text.map(str::to_owned).ok_or_else(|| format!("`{key}` is no text"))
    }

    fn list(&self, key: &str) -> Result<&[Value], String> {
        self.value.get(key).and_then(Value::as_list).ok_or_else(|| format!("`{key}` is no list"))
    }

    fn optional_list(&self, key: &str) -> Result<&[Value], String> {
        if self.value.get(key).is_none() { Ok(&[]) } else { self.list(key) }
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        let texts = self.list(key)?.iter().map(|text| text.as_text().map(str::to_owned));
        texts.collect::<Option<_>>().ok_or_else(|| format!("`{key}` is no list of texts"))
    }

    fn all<T>(&self, key: &str, read: impl Fn(&Value) -> Result<T, String>) -> Result<Vec<T>, String> {
        self.optional_list(key)?.iter().map(read).collect()
    }
}
