//! Reading traces back, checked: a text that does not match its digest is damage.

use std::collections::HashMap;

use auto_json::{Canonical, Value};
use rusqlite::{OptionalExtension, Row};

use crate::{Digest, Span, SpanKind, Store, StoreError, Trace};

/// How much is recorded of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSummary {
    /// The task's name.
    pub task: String,
    /// Whole traces.
    pub traces: u64,
    /// Traces that were cut off.
    pub partial: u64,
    /// Spans of the whole traces.
    pub spans: u64,
}

/// Values that were read, by their row.
pub(crate) type Texts = HashMap<i64, Canonical>;

impl Store {
    /// The tasks with anything recorded, by name.
    pub fn tasks(&self) -> Result<Vec<TaskSummary>, StoreError> {
        let query = "SELECT task, sum(NOT partial), sum(partial),
                            sum((SELECT count(*) FROM span WHERE span.trace = trace.id) * NOT partial)
                     FROM trace GROUP BY task ORDER BY task";
        let summary = |row: &Row<'_>| {
            Ok(TaskSummary { task: row.get(0)?, traces: row.get(1)?, partial: row.get(2)?, spans: row.get(3)? })
        };
        self.all(query, [], summary)
    }

    /// The trace of that id, if there is one.
    pub fn trace(&self, id: &str) -> Result<Option<Trace>, StoreError> {
        let query = "SELECT id, task, recorder, started, attributes, input, output, partial FROM trace WHERE name = ?1";
        type Head = (i64, String, String, i64, i64, Option<i64>, Option<i64>, bool);
        let head: Option<Head> = self
            .connection
            .query_row(query, [id], |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get(4)?,
                    row.get(5)?,
                    row.get(6)?,
                    row.get(7)?,
                ))
            })
            .optional()
            .map_err(|error| self.error(error))?;
        let Some((row, task, recorder, started, attributes, input, output, partial)) = head else { return Ok(None) };
        let optional = |id: Option<i64>| id.map(|id| self.text(id)).transpose();
        Ok(Some(Trace {
            id: id.to_owned(),
            task,
            recorder,
            started: started.cast_unsigned(),
            attributes: self.pairs(attributes)?,
            input: optional(input)?,
            output: optional(output)?,
            partial,
            spans: self.spans(row)?,
        }))
    }

    fn spans(&self, trace: i64) -> Result<Vec<Span>, StoreError> {
        let query = "SELECT span, parent, sequence, kind, name, error, started, duration, input, output, attributes
                     FROM span WHERE trace = ?1 ORDER BY place";
        let rows = self.all(query, [trace], |row| {
            let kind: String = row.get(3)?;
            let span = Span {
                id: row.get::<_, i64>(0)?.cast_unsigned(),
                parent: row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned),
                sequence: row.get::<_, i64>(2)?.cast_unsigned(),
                kind: SpanKind::from_name(&kind),
                name: row.get(4)?,
                input: Value::Null.canonical(),
                output: Value::Null.canonical(),
                error: row.get(5)?,
                started: row.get::<_, i64>(6)?.cast_unsigned(),
                duration: row.get::<_, Option<i64>>(7)?.map(i64::cast_unsigned),
                attributes: Vec::new(),
            };
            Ok((span, row.get(8)?, row.get(9)?, row.get(10)?))
        })?;
        let fill = |(mut span, input, output, attributes): (Span, i64, i64, i64)| {
            span.input = self.text(input)?;
            span.output = self.text(output)?;
            span.attributes = self.pairs(attributes)?;
            Ok(span)
        };
        rows.into_iter().map(fill).collect()
    }

    /// Every row of a query.
    pub(crate) fn all<T>(
        &self,
        query: &str,
        parameters: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let collect = || {
            let mut statement = self.connection.prepare_cached(query)?;
            statement.query_map(parameters, read)?.collect::<rusqlite::Result<Vec<T>>>()
        };
        collect().map_err(|error| self.error(error))
    }

    /// The value in that row, if it is what its digest says.
    pub(crate) fn text(&self, id: i64) -> Result<Canonical, StoreError> {
        let read = |row: &Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?));
        let (digest, text) = self
            .connection
            .prepare_cached("SELECT digest, text FROM value WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([id], read))
            .map_err(|error| self.error(error))?;
        let damaged = || StoreError::damaged(format!("value {id} is not what its digest says"));
        if digest != Digest::of(text.as_bytes()).as_bytes() {
            return Err(damaged());
        }
        let canonical = Canonical::of(&text).map_err(|_| damaged())?;
        if canonical.as_str() == text { Ok(canonical) } else { Err(damaged()) }
    }

    /// [`Store::text`], each row read once.
    pub(crate) fn text_once<'a>(&self, id: i64, texts: &'a mut Texts) -> Result<&'a Canonical, StoreError> {
        use std::collections::hash_map::Entry;
        match texts.entry(id) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => Ok(entry.insert(self.text(id)?)),
        }
    }

    /// Attributes as they were given, in key order.
    pub(crate) fn pairs(&self, id: i64) -> Result<Vec<(String, String)>, StoreError> {
        let Value::Record(record) = self.text(id)?.value() else {
            return Err(StoreError::damaged(format!("value {id} is not a set of attributes")));
        };
        let pair = |(key, value): (String, Value)| match value {
            Value::Text(text) => Ok((key, text)),
            _ => Err(StoreError::damaged(format!("attribute {key:?} in value {id} is not text"))),
        };
        record.into_iter().map(pair).collect()
    }
}
