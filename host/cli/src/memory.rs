//! The agent's memory as a file: what `--memory-file` grants.
//!
//! A JSON object of keys and values. It is read and written under a lock for every operation,
//! so that several runs may share one, and replaced as a whole, so that none sees half of it.

use std::io::ErrorKind;
use std::path::PathBuf;

use auto_files::{Lock, regular};
use auto_json::{Record, Value};
use auto_runtime::EffectError;

use crate::failure::Failure;
use crate::reply::Exit;
use crate::tools::failed;

/// The most bytes of a memory: more is no memory but a database, which a tool can be.
const MOST_BYTES: usize = 64 << 20;

/// What can be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// `{"key"}` gives the value, or null.
    Read,
    /// `{"key", "value"}` sets it; gives null.
    Write,
    /// `{"key", "value"}` puts it at the end of the list there; gives null.
    Append,
}

/// What a capability does with the memory.
pub fn effect(capability: &str) -> Option<Does> {
    match capability {
        "memory:read" => Some(Does::Read),
        "memory:write" => Some(Does::Write),
        "memory:append" => Some(Does::Append),
        _ => None,
    }
}

/// A memory.
pub struct Memory {
    file: PathBuf,
}

impl Memory {
    /// The memory in a file, which need not be there. Errors: `bad-memory`.
    pub fn of(file: PathBuf) -> Result<Memory, Failure> {
        let memory = Memory { file };
        match memory.load() {
            Ok(_) => Ok(memory),
            Err(error) => Err(Failure::new(Exit::Refused, "bad-memory", error.message)
                .help("give a file with a JSON object, or one that is not there yet")),
        }
    }

    /// Carries out an operation. Errors: `err` for an input of another form, `memory-failed`.
    pub fn carry_out(&self, does: Does, input: &str) -> Result<String, EffectError> {
        let (key, value) = read_input(does, input)?;
        let _owned = self.lock()?;
        let mut memory = self.load()?;
        match (does, value) {
            (Does::Write, Some(value)) => memory.set(key, value),
            (Does::Append, Some(value)) => {
                let mut items = match memory.get(&key) {
                    None => Vec::new(),
                    Some(Value::List(items)) => items.clone(),
                    Some(_) => return Err(failed("err", format!("{key:?} is no list, to which could be appended"))),
                };
                items.push(value);
                memory.set(key, items);
            }
            _ => return Ok(memory.get(&key).cloned().unwrap_or(Value::Null).to_string()),
        }
        let text = Value::from(memory).canonical().into_string() + "\n";
        if text.len() > MOST_BYTES {
            return Err(broken(format!("it would have {} bytes; {MOST_BYTES} are allowed", text.len())));
        }
        auto_files::replace(&self.file, text.as_bytes()).map_err(|error| broken(error.to_string()))?;
        Ok("null".to_owned())
    }

    fn lock(&self) -> Result<Lock, EffectError> {
        let mut path = self.file.clone().into_os_string();
        path.push(".lock");
        Lock::take(&PathBuf::from(path), |_| ()).map_err(|error| broken(format!("it cannot be locked: {error}")))
    }

    fn load(&self) -> Result<Record, EffectError> {
        let named = |why: &dyn std::fmt::Display| broken(format!("{}: {why}", self.file.display()));
        let bytes = match regular::read(&self.file, MOST_BYTES as u64) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Record::new()),
            Err(error) => return Err(named(&error)),
        };
        match Value::parse(&bytes) {
            Ok(Value::Record(record)) => Ok(record),
            Ok(_) => Err(named(&"it is no JSON object")),
            Err(error) => Err(named(&error)),
        }
    }
}

fn broken(why: String) -> EffectError {
    failed("memory-failed", why)
}

/// The key, and the value where there is to be one.
fn read_input(does: Does, input: &str) -> Result<(String, Option<Value>), EffectError> {
    let form = if does == Does::Read { r#"{"key"}"# } else { r#"{"key", "value"}"# };
    let bad = || failed("err", format!("memory is asked with {form}, the key a text; not with {input}"));
    let Ok(Value::Record(fields)) = Value::parse(input) else { return Err(bad()) };
    let key = fields.get("key").and_then(Value::as_text).ok_or_else(bad)?;
    match (does, fields.get("value"), fields.len()) {
        (Does::Read, None, 1) => Ok((key.to_owned(), None)),
        (Does::Write | Does::Append, Some(value), 2) => Ok((key.to_owned(), Some(value.clone()))),
        _ => Err(bad()),
    }
}
