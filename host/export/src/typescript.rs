//! Types of JSON values in TypeScript.

use auto_schema::types::{Field, Type};

use crate::quoted;

/// The type as an expression.
pub fn text(ty: &Type) -> String {
    match ty {
        Type::Unit => "null".to_owned(),
        Type::Bool => "boolean".to_owned(),
        Type::Int | Type::Number => "number".to_owned(),
        Type::Text | Type::Bytes => "string".to_owned(),
        Type::Json => "unknown".to_owned(),
        Type::List(item) => format!("Array<{}>", text(item)),
        Type::Optional(inner) => format!("{} | null", text(inner)),
        Type::Map(item) => format!("{{ [key: string]: {} }}", text(item)),
        Type::Enum(labels) => labels.iter().map(|label| quoted(label)).collect::<Vec<_>>().join(" | "),
        Type::Record(fields) if fields.is_empty() => "Record<string, never>".to_owned(),
        Type::Record(fields) => format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join("; ")),
    }
}

fn field(field: &Field) -> String {
    format!("{}{}: {}", quoted(&field.name), if field.optional { "?" } else { "" }, text(&field.ty))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_type_has_its_text() {
        let text = |ty: &str| super::text(&ty.parse().unwrap());
        assert_eq!(
            text(r#"record{a: int, "b c"?: list<optional<text>>, d: enum{"x", "y\"z"}}"#),
            r#"{ "a": number; "b c"?: Array<string | null>; "d": "x" | "y\"z" }"#
        );
        assert_eq!(text("map<list<bool>>"), "{ [key: string]: Array<boolean> }");
        assert_eq!(text("record{}"), "Record<string, never>");
        assert_eq!(
            [text("unit"), text("json"), text("bytes"), text("number")],
            ["null", "unknown", "string", "number"]
        );
    }
}
