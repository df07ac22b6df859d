//! A command of the user's, as the tables of the searches have it.

use auto_json::{Record, Value};

use crate::{Fields, Refusal};

/// A command and what it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its environment.
    pub environment: Vec<(String, String)>,
    /// By the clock.
    pub seconds: u32,
    /// Of processor time.
    pub cpu_seconds: u32,
    /// Of address space.
    pub memory_mib: u32,
    /// Of what it writes.
    pub output_bytes: u64,
    /// Whether it may spend money.
    pub costs: bool,
}

impl Command {
    /// Reads one from its table, in which `more` keys are known beside its own.
    pub fn read(table: &Fields<'_>, more: &[&str]) -> Result<Command, Refusal> {
        table.only(&[auto_schema::spec_search::COMMAND.as_slice(), more].concat())?;
        table.need("command")?;
        let command = table.texts("command")?.unwrap_or_default();
        if command.first().is_none_or(String::is_empty) {
            return Err(table.refuse("command", "the command is empty"));
        }
        let mut environment = Vec::new();
        if let Some(own) = table.fields("environment")? {
            for (name, _) in own.iter() {
                environment.push((name.to_owned(), own.need_text(name)?.to_owned()));
            }
        }
        let seconds = table.whole("seconds", 1..=86_400)?.unwrap_or(60);
        Ok(Command {
            command,
            environment,
            seconds: seconds as u32,
            cpu_seconds: table.whole("cpu_seconds", 1..=86_400)?.unwrap_or(seconds) as u32,
            memory_mib: table.whole("memory_mib", 16..=1 << 20)?.unwrap_or(2_048) as u32,
            output_bytes: table.whole("output_bytes", 1..=1 << 26)?.unwrap_or(1 << 20),
            costs: table.flag("costs")?.unwrap_or(false),
        })
    }

    /// As it enters a digest.
    pub fn to_value(&self) -> Value {
        let texts = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<Value>>();
        let own: Record = self.environment.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
        Record::new()
            .with("command", texts(&self.command))
            .with("environment", own)
            .with("seconds", self.seconds)
            .with("cpu_seconds", self.cpu_seconds)
            .with("memory_mib", self.memory_mib)
            .with("output_bytes", self.output_bytes)
            .into()
    }
}
