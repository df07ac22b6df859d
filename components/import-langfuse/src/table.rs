//! Tables as Langfuse exports them as CSV: a head with the names of the columns, a row for each
//! observation, or for each trace. A cell is a text; what stands for JSON or for a number in it is
//! read as such where the column says so.

use auto_importer::{Fault, Record, Value, as_json, bad, csv};

/// Columns of numbers.
const NUMBERS: [&str; 9] = [
    "totalCost",
    "inputCost",
    "outputCost",
    "calculatedTotalCost",
    "calculatedInputCost",
    "calculatedOutputCost",
    "totalUsage",
    "inputUsage",
    "outputUsage",
];

/// Columns of JSON; input, output and metadata are read as JSON where they are used.
const JSON: [&str; 4] = ["usageDetails", "costDetails", "usage", "tags"];

/// Whether a text that starts so is a table of observations or of traces.
pub fn is_table(head: &str) -> bool {
    let Some(columns) = csv::head(head) else { return false };
    let has = |column: &str| columns.iter().any(|own| own == column);
    has("id")
        && ((has("traceId") && has("startTime")) || (has("timestamp") && has("input") && has("output") && has("name")))
}

/// A row as the object that the same export as JSON holds, and where it is.
pub fn read(text: &str) -> Result<Vec<(String, Record)>, Fault> {
    let mut rows = csv::rows(text)?.into_iter();
    let Some(head) = rows.next() else { return Ok(Vec::new()) };
    let record = |row: csv::Row| {
        let place = format!("line {}", row.line);
        if row.cells.len() != head.cells.len() {
            let why = format!("a row of {} cells under a head of {}", row.cells.len(), head.cells.len());
            return Err(bad(&place, why));
        }
        // An empty cell is nothing.
        let cells = head.cells.iter().zip(row.cells).filter(|(_, cell)| !cell.is_empty());
        let mut record: Record = cells.map(|(column, cell)| (column.clone(), value(column, cell))).collect();
        if record.get("usageDetails").is_none()
            && let Some(total) = record.get("totalUsage").cloned()
        {
            record.set("usageDetails", Record::new().with("total", total));
        }
        Ok((place, record))
    };
    rows.map(record).collect()
}

fn value(column: &str, cell: String) -> Value {
    if NUMBERS.contains(&column) {
        return Value::parse(&cell).ok().filter(|value| value.as_number().is_some()).unwrap_or_else(|| cell.into());
    }
    if JSON.contains(&column) { as_json(cell.into()) } else { cell.into() }
}
