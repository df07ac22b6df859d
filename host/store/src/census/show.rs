//! A census as text for people and as JSON for programs.

use std::fmt::{self, Display};

use auto_json::{Record, Value};
use auto_schema::shown;

use super::{Census, Divergent, Row, Runs, Seen, Share, Tally};

/// How many characters of an input are shown at each of its ends.
const SHOWN: usize = 44;

impl Display for Share {
    /// Percent, rounded to one decimal; but only all of it is 100.0%.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = match self.0 {
            None => return f.write_str("no data"),
            Some(ppm) if ppm < 1_000_000 => ((ppm + 500) / 1_000).min(999),
            Some(ppm) => ppm / 1_000,
        };
        write!(f, "{}.{}%", tenths / 10, tenths % 10)
    }
}

impl Row {
    /// Witnessed spans of all spans.
    pub fn coverage(&self) -> Share {
        Share::of(self.witnessed.spans, self.all.spans)
    }

    /// Deterministic spans of the witnessed ones.
    pub fn deterministic_by_spans(&self) -> Share {
        Share::of(self.deterministic.spans, self.witnessed.spans)
    }

    /// Deterministic inputs of the witnessed ones.
    pub fn deterministic_by_inputs(&self) -> Share {
        Share::of(self.deterministic.inputs, self.witnessed.inputs)
    }

    /// Time in deterministic spans, of the time in witnessed ones.
    pub fn deterministic_by_time(&self) -> Share {
        Share::of(self.deterministic.micros, self.witnessed.micros)
    }

    fn to_value(&self) -> Value {
        let tally = |tally: &Tally| tally.to_record();
        let shares = Record::new()
            .with("witnessed_spans_ppm", self.coverage().0)
            .with("deterministic_spans_ppm", self.deterministic_by_spans().0)
            .with("deterministic_inputs_ppm", self.deterministic_by_inputs().0)
            .with("deterministic_time_ppm", self.deterministic_by_time().0);
        let mut record = Record::new()
            .with("all", tally(&self.all))
            .with("witnessed", tally(&self.witnessed))
            .with("deterministic", tally(&self.deterministic))
            .with("errors", self.errors)
            .with("shares", shares);
        if !self.kind.is_empty() {
            record.set("kind", self.kind.as_str());
        }
        if let Some(name) = &self.name {
            record.set("name", name.as_str());
        }
        record.into()
    }

    /// The cells of a line of the table.
    fn cells(&self) -> [String; 9] {
        let label = match (&self.name, self.kind.as_str()) {
            (Some(name), _) => format!("  {}", shown(name)),
            (None, "") => "all operations".to_owned(),
            (None, kind) => shown(kind),
        };
        [
            label,
            thousands(self.all.spans),
            thousands(self.all.inputs),
            thousands(self.witnessed.inputs),
            thousands(self.witnessed.spans),
            thousands(self.deterministic.inputs),
            thousands(self.deterministic.spans),
            self.deterministic_by_spans().to_string(),
            self.deterministic_by_time().to_string(),
        ]
    }
}

impl Tally {
    fn to_record(self) -> Record {
        Record::new()
            .with("inputs", self.inputs)
            .with("spans", self.spans)
            .with("duration_us", self.micros)
            .with("priced_spans", self.priced)
            .with("cost_micro_usd", self.cost)
            .with("tokens", self.tokens)
    }
}

impl Census {
    /// The census as JSON; shares in parts per million, `null` for no data.
    pub fn to_value(&self) -> Value {
        let rows = |rows: &[Row]| rows.iter().map(Row::to_value).collect::<Vec<_>>();
        let divergent = |one: &Divergent| {
            Value::Record(
                Record::new()
                    .with("kind", one.kind.as_str())
                    .with("name", one.name.as_str())
                    .with("input", one.input.value())
                    .with("spans", one.spans)
                    .with("outputs", one.outputs)
                    .with("errors", one.errors),
            )
        };
        let seen =
            |seen: &Seen| Value::Record(seen.tally.to_record().with("least", seen.least).with("most", seen.most));
        let runs = self.runs.as_ref().map(|runs| {
            let Value::Record(row) = runs.row.to_value() else { return Value::Null };
            row.with("one_sided", runs.one_sided).into()
        });
        Record::new()
            .with("task", self.task.as_str())
            .with("traces", self.traces)
            .with("partial_traces", self.partial)
            .with("structural_spans", self.structural)
            .with("uncaptured_spans", self.uncaptured)
            .with("unkeyed_spans", self.unkeyed)
            .with("total", self.total.to_value())
            .with("kinds", rows(&self.kinds))
            .with("operations", rows(&self.operations))
            .with("seen", self.seen.iter().map(seen).collect::<Vec<_>>())
            .with("divergent", self.divergent.iter().map(divergent).collect::<Vec<_>>())
            .with("runs", runs)
            .into()
    }

    fn table(&self) -> Vec<[String; 9]> {
        let mut lines = vec![
            ["", "", "", "witnessed", "", "deterministic", "", "of witnessed", ""].map(str::to_owned),
            ["", "spans", "inputs", "inputs", "spans", "inputs", "spans", "by spans", "by time"].map(str::to_owned),
        ];
        for kind in &self.kinds {
            lines.push(kind.cells());
            let named = self.operations.iter().filter(|row| row.kind == kind.kind);
            lines.extend(named.map(Row::cells));
        }
        lines.push(self.total.cells());
        lines
    }
}

impl Display for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "census of task {:?}: {}", self.task, counted(self.traces, "whole trace"))?;
        if self.partial > 0 {
            writeln!(f, "left out, because they witness nothing: {}", counted(self.partial, "torn trace"))?;
        }
        if self.structural > 0 {
            writeln!(f, "not operations: {}", counted(self.structural, "structural span"))?;
        }
        if self.uncaptured > 0 {
            writeln!(f, "of these without captured content: {}", counted(self.uncaptured, "operation"))?;
        }
        if self.unkeyed > 0 {
            writeln!(f, "left out, because the key policy does not fit them: {}", counted(self.unkeyed, "span"))?;
        }
        writeln!(f, "witnessed: seen at least twice. deterministic: that, never failed, one output.\n")?;
        write_table(f, &self.table())?;
        writeln!(f, "\nwitnessed share of all spans: {}", self.total.coverage())?;
        if let Some(runs) = &self.runs {
            write_runs(f, runs)?;
        }
        write_divergent(f, self)
    }
}

fn write_table(f: &mut fmt::Formatter<'_>, lines: &[[String; 9]]) -> fmt::Result {
    let mut widths = [0; 9];
    for line in &lines[1.min(lines.len())..] {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    // The first line's cells are headings over pairs of columns.
    for pair in [3, 5, 7] {
        let heading = lines.first().map_or(0, |line| line[pair].chars().count());
        widths[pair + 1] = widths[pair + 1].max(heading.saturating_sub(widths[pair] + 2));
    }
    for (number, line) in lines.iter().enumerate() {
        let mut text = format!("{:<width$}", line[0], width = widths[0]);
        if number == 0 {
            let lead: usize = widths[1..3].iter().map(|width| width + 2).sum();
            text.extend(std::iter::repeat_n(' ', lead));
            for pair in [3, 5, 7] {
                let width = widths[pair] + 2 + widths[pair + 1];
                text.push_str(&format!("  {:>width$}", line[pair]));
            }
        } else {
            for (cell, width) in line.iter().zip(widths).skip(1) {
                text.push_str(&format!("  {cell:>width$}"));
            }
        }
        writeln!(f, "{}", text.trim_end())?;
    }
    Ok(())
}

fn write_runs(f: &mut fmt::Formatter<'_>, runs: &Runs) -> fmt::Result {
    let row = &runs.row;
    writeln!(
        f,
        "\nwhole runs, task input to task output: {} of {}; witnessed {} of {}; deterministic {} of {} ({} of witnessed)",
        counted(row.all.spans, "run"),
        counted(row.all.inputs, "input"),
        counted(row.witnessed.spans, "run"),
        counted(row.witnessed.inputs, "input"),
        counted(row.deterministic.spans, "run"),
        counted(row.deterministic.inputs, "input"),
        row.deterministic_by_spans(),
    )?;
    if runs.one_sided > 0 {
        writeln!(
            f,
            "left out, because they declared only an input or only an output: {}",
            counted(runs.one_sided, "run")
        )?;
    }
    Ok(())
}

fn write_divergent(f: &mut fmt::Formatter<'_>, census: &Census) -> fmt::Result {
    let found = census.total.witnessed.inputs - census.total.deterministic.inputs;
    if found == 0 {
        return Ok(());
    }
    writeln!(f, "\ndivergent inputs: {}, those with the most spans first", thousands(found))?;
    for one in &census.divergent {
        let errors = if one.errors > 0 { format!(", {}", counted(one.errors, "error")) } else { String::new() };
        let (kind, name) = (shown(&one.kind), shown(&one.name));
        writeln!(f, "  {kind} {name}: {}, {}{errors}", counted(one.spans, "span"), counted(one.outputs, "output"))?;
        writeln!(f, "    {}", clipped(one.input.as_str()))?;
    }
    Ok(())
}

/// The start and the end of a long text: what sets chat histories apart is at the end.
fn clipped(text: &str) -> String {
    let text = shown(text);
    let start = text.char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| at);
    let end = text.char_indices().nth_back(SHOWN - 1).map_or(0, |(at, _)| at);
    if start < end { format!("{} … {}", &text[..start], &text[end..]) } else { text }
}

fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
