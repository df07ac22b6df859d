//! Recorded bytes through the importer of their format into traces.
//!
//! Files, recorded exchanges and received spans go the same way: untrusted bytes are parsed by
//! a component in the sandbox, and what comes back is checked against the interface. Which
//! formats there are is up to the components; this crate knows the interface alone.

mod batch;

use std::collections::BTreeMap;
use std::sync::Arc;

use auto_engine::{Engine, Fault, Pass, Providers};
use auto_json::{Record, Value};
use auto_store::Trace;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The interface of importers.
pub const IMPORTER: &str = "auto:pass/importer@0.1.0";

/// How much of a file an importer sees to recognise it.
const HEAD: usize = 64 * 1024;

/// What a file may become: so many bytes of traces, and so many times its own size (a
/// transcript is told again in each of its model calls). A call counts for some, so that
/// calls that give nothing come to an end too.
const FREE: usize = 64 << 20;
const TIMES: usize = 256;
const CALL: usize = 64 << 10;

/// The importers there are, each the only provider of a stack of its own.
#[derive(Clone)]
pub struct Importers {
    engine: Engine,
    all: Vec<(Arc<Pass>, Providers)>,
}

/// How to read some bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The format; detected when none.
    pub format: Option<&'a str>,
    /// The task for formats that name none.
    pub task: Option<&'a str>,
    /// Whether a torn last line may be dropped.
    pub recover_partial: bool,
    /// Whether more spans of the same traces are still to come.
    pub piece: bool,
    /// Whether nothing of the bytes may be remembered: recorded traffic is not for a cache.
    pub forget: bool,
}

/// What a file holds.
#[derive(Debug)]
pub struct Imported {
    /// Its format.
    pub format: String,
    /// The traces in it.
    pub traces: Vec<Trace>,
    /// What else its importer says of it.
    pub notes: Vec<Note>,
}

/// What an importer says of a file beside its traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Stable, kebab-case.
    pub code: String,
    /// What, why, and what to do; said of `count`.
    pub message: String,
    /// Whether it was of use all the same.
    pub usable: bool,
    /// How many.
    pub count: u64,
    /// Where the first one is.
    pub at: Option<String>,
}

/// Why bytes were not read.
#[derive(Debug)]
pub enum Refusal {
    /// The importer refused them, or broke.
    Fault(Box<Fault>),
    /// They are not UTF-8, from that line on.
    NotUtf8 {
        /// The name of the file.
        name: String,
        /// The line.
        line: usize,
    },
    /// No importer knows them, or has that name.
    UnknownFormat {
        /// What is wrong.
        message: String,
        /// The formats there are.
        known: Vec<String>,
    },
    /// What the importer gave is not of its interface.
    BadBatch {
        /// The importer.
        label: String,
    },
    /// The importer gives more than its input can hold.
    Endless {
        /// The importer.
        label: String,
        /// The most it may give, in bytes.
        most: usize,
    },
}

impl Refusal {
    /// A stable word for it.
    pub fn code(&self) -> &str {
        match self {
            Refusal::Fault(fault) => fault.class.code(),
            Refusal::NotUtf8 { .. } => "not-utf8",
            Refusal::UnknownFormat { .. } => "unknown-format",
            Refusal::BadBatch { .. } => "bad-output",
            Refusal::Endless { .. } => "output-too-large",
        }
    }

    /// What, and why.
    pub fn message(&self) -> String {
        match self {
            Refusal::Fault(fault) => fault.message.clone(),
            Refusal::NotUtf8 { name, .. } => format!("{name} is not UTF-8"),
            Refusal::UnknownFormat { message, .. } => message.clone(),
            Refusal::BadBatch { label } => {
                format!("the importer {label} returned traces that are not of its interface")
            }
            Refusal::Endless { most, .. } => {
                format!("the importer made more than {most} bytes of traces of this file, and is not at its end")
            }
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Fault(Box::new(fault))
    }
}

impl Importers {
    /// These importers, asked in this order.
    pub fn new(engine: Engine, all: Vec<(Arc<Pass>, Providers)>) -> Importers {
        Importers { engine, all }
    }

    /// What is in some bytes.
    pub fn read(&self, wanted: &Wanted<'_>, name: &str, bytes: &[u8]) -> Result<Imported, Refusal> {
        let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        let (text, rest) = bytes.split_at(valid);
        let broken = || {
            let line = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
            Refusal::NotUtf8 { name: name.to_owned(), line }
        };
        // Only the last line can be cut off in a character; anything else is no text.
        let binary = rest.contains(&b'\n');
        if binary && wanted.format.is_none() {
            return Err(broken());
        }
        let text = if binary { "".into() } else { String::from_utf8_lossy(text) };
        let source = Record::new()
            .with("name", name)
            .with("text", &*text)
            .with("undecodable", if binary { 0 } else { rest.len() })
            .with("binary", (wanted.format.is_some() && !rest.is_empty()).then(|| STANDARD.encode(bytes)))
            .with("recover_partial", wanted.recover_partial)
            .with("piece", wanted.piece)
            .with("task", wanted.task);
        let read = self.traces(wanted, name, &text, source, bytes.len());
        read.map_err(|refusal| if binary && refusal.code() == "bad-trace" { broken() } else { refusal })
    }

    /// What is in bytes of a binary format, which `wanted` must name.
    pub fn read_binary(&self, wanted: &Wanted<'_>, name: &str, bytes: &[u8]) -> Result<Imported, Refusal> {
        let source = Record::new()
            .with("name", name)
            .with("text", "")
            .with("undecodable", 0_u32)
            .with("binary", STANDARD.encode(bytes))
            .with("recover_partial", wanted.recover_partial)
            .with("piece", wanted.piece)
            .with("task", wanted.task);
        self.traces(wanted, name, "", source, bytes.len())
    }

    fn traces(
        &self,
        wanted: &Wanted<'_>,
        name: &str,
        text: &str,
        source: Record,
        size: usize,
    ) -> Result<Imported, Refusal> {
        let (format, importer, providers) = self.importer(wanted, text, name)?;
        let (mut traces, mut notes) = (Vec::new(), Vec::new());
        let mut from = Some(0);
        // An importer of somebody's could go on for ever.
        let most = FREE + TIMES * size;
        let mut taken = 0;
        while let Some(start) = from {
            let arguments = Value::List(vec![source.clone().into(), Value::integer(start)]);
            let batch = self.call(wanted, &providers, "parse", &arguments)?;
            let batch = batch::read(&batch).ok_or_else(|| Refusal::BadBatch { label: importer.label.clone() })?;
            taken += CALL + CALL * batch.notes.len() + batch.traces.iter().map(batch::weight).sum::<usize>();
            traces.extend(batch.traces);
            notes.extend(batch.notes);
            if taken > most {
                return Err(Refusal::Endless { label: importer.label.clone(), most });
            }
            from = batch.next.filter(|&next| next > start);
        }
        Ok(Imported { format, traces, notes })
    }

    fn importer(&self, wanted: &Wanted<'_>, text: &str, name: &str) -> Result<(String, Arc<Pass>, Providers), Refusal> {
        let mut end = text.len().min(HEAD);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let head = Value::List(vec![text[..end].into()]);
        let mut formats = Vec::new();
        for (pass, providers) in &self.all {
            let format = self.engine.call_json(providers, IMPORTER, "format", &Value::List(Vec::new()))?;
            let format = format.as_text().unwrap_or_default().to_owned();
            let chosen = match wanted.format {
                Some(name) => name == format,
                None => self.call(wanted, providers, "detect", &head)?.as_bool() == Some(true),
            };
            if chosen {
                return Ok((format, pass.clone(), providers.clone()));
            }
            formats.push(format);
        }
        let message = match wanted.format {
            Some(wanted) => format!("there is no importer for the format {wanted:?}"),
            None => format!("{name} is of no known trace format"),
        };
        Err(Refusal::UnknownFormat { message, known: formats })
    }

    fn call(
        &self,
        wanted: &Wanted<'_>,
        providers: &Providers,
        function: &str,
        arguments: &Value,
    ) -> Result<Value, Refusal> {
        if !wanted.forget {
            return Ok(self.engine.call_json(providers, IMPORTER, function, arguments)?);
        }
        let answer = self.engine.call_json_anew(providers, IMPORTER, function, arguments);
        // What calls came to is for who asks; a recorder runs for months.
        self.engine.take_trace();
        Ok(answer?)
    }
}

impl Imported {
    /// How many spans there are of each kind.
    pub fn kinds(&self) -> BTreeMap<&str, usize> {
        let mut kinds = BTreeMap::new();
        let spans = self.traces.iter().flat_map(|trace| &trace.spans);
        spans.for_each(|span| *kinds.entry(span.kind.name()).or_default() += 1);
        kinds
    }
}
