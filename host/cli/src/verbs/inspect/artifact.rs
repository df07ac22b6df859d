//! Artifacts: manifest, sections, sizes.

use auto_json::{Record, Value};
use auto_schema::cbin::{self, Cbin, Damage};
use auto_schema::digest::Digest;
use auto_schema::shown;

use super::File;
use crate::reply::Reply;

/// Shows an artifact. It is checked first: its digest, its manifest, that it imports nothing.
pub fn describe(file: &File<'_>) -> Result<Reply, Damage> {
    let File { place, bytes, .. } = file;
    let artifact = Cbin::read(bytes)?;
    let sections = cbin::sections(bytes)?;
    let rows: Vec<(String, usize)> = sections.iter().map(|section| (title(section), section.payload.len())).collect();
    let manifest = artifact.manifest.to_value();

    let mut text = format!("{place}: artifact {}, {} bytes\n", artifact.id, bytes.len());
    if let Some(judged) = &artifact.manifest.judged {
        text.push_str(&format!("  JUDGED by {}: {} opinions\n", judged.model, judged.opinions));
    }
    lines(&mut text, &manifest, 1);
    text.push_str("  sections:\n");
    rows.iter().for_each(|(name, size)| text.push_str(&format!("    {size:>8}  {}\n", shown(name))));
    let sections =
        rows.iter().map(|(name, size)| Record::new().with("name", name.as_str()).with("bytes", *size).into());
    let fields = Record::new()
        .with("kind", "artifact")
        .with("id", artifact.id.to_string())
        .with("bytes", bytes.len())
        .with("sha256", Digest::of(bytes).to_string())
        .with("manifest", manifest)
        .with("sections", sections.collect::<Vec<Value>>());
    Ok(Reply::done("artifact", text.trim_end(), fields))
}

fn title(section: &cbin::Section<'_>) -> String {
    let standard = ["custom", "types", "imports", "functions", "tables", "memories", "globals", "exports", "start"];
    let rest = ["elements", "code", "data", "data count", "tags"];
    match section.name {
        Some(name) => format!("custom {name}"),
        None => standard.iter().chain(&rest).nth(usize::from(section.id)).map_or("unknown", |name| name).to_owned(),
    }
}

/// Writes a value as indented `key: value` lines.
fn lines(text: &mut String, value: &Value, depth: usize) {
    let Some(record) = value.as_record() else { return };
    for (key, value) in record.iter() {
        let indent = "  ".repeat(depth);
        match value {
            Value::Record(_) => {
                text.push_str(&format!("{indent}{key}:\n"));
                lines(text, value, depth + 1);
            }
            Value::List(items) => {
                text.push_str(&format!("{indent}{key}:\n"));
                items.iter().for_each(|item| text.push_str(&format!("{indent}  - {}\n", plain(item))));
            }
            other => text.push_str(&format!("{indent}{key}: {}\n", plain(other))),
        }
    }
}

fn plain(value: &Value) -> String {
    shown(&value.as_text().map_or_else(|| value.to_string(), str::to_owned))
}
