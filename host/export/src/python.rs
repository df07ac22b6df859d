//! Types of JSON values in Python: a `TypedDict` for each record, in the form that takes any key.

use std::fmt::Write as _;

use auto_schema::types::Type;

use crate::quoted;

/// Definitions of `Input` and `Output`, and of the records in them before those.
pub fn definitions(input: &Type, output: &Type) -> String {
    let mut definitions = String::new();
    for (name, ty, whose) in [("Input", input, "input"), ("Output", output, "output")] {
        let text = expression(ty, name, &mut definitions);
        // A record has taken the name already.
        if text != name {
            let _ = writeln!(definitions, "{name} = {text}");
        }
        let _ = writeln!(definitions, "\"\"\"The {whose} type of the contract.\"\"\"");
    }
    definitions
}

/// The type as an expression; records in it are defined under `name` and their place.
fn expression(ty: &Type, name: &str, definitions: &mut String) -> String {
    match ty {
        Type::Unit => "None".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Int => "int".to_owned(),
        Type::Number => "float".to_owned(),
        Type::Text | Type::Bytes => "str".to_owned(),
        Type::Json => "Any".to_owned(),
        Type::List(item) => format!("list[{}]", expression(item, &format!("{name}Item"), definitions)),
        Type::Optional(inner) => format!("Union[{}, None]", expression(inner, &format!("{name}Value"), definitions)),
        Type::Map(item) => format!("dict[str, {}]", expression(item, &format!("{name}Value"), definitions)),
        Type::Enum(labels) => {
            format!("Literal[{}]", labels.iter().map(|label| quoted(label)).collect::<Vec<_>>().join(", "))
        }
        Type::Record(fields) => {
            let mut lines = String::new();
            for (at, field) in fields.iter().enumerate() {
                let inner = expression(&field.ty, &format!("{name}{}", at + 1), definitions);
                let inner = if field.optional { format!("NotRequired[{inner}]") } else { inner };
                let _ = writeln!(lines, "    {}: {inner},", quoted(&field.name));
            }
            let _ = writeln!(definitions, "{name} = TypedDict(\"{name}\", {{\n{lines}}})");
            name.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_defined_before_they_are_used() {
        let text = definitions(
            &r#"record{a: int, "b c"?: list<record{d: text}>}"#.parse().unwrap(),
            &r#"optional<enum{"x", "y"}>"#.parse().unwrap(),
        );
        assert_eq!(
            text,
            "Input2Item = TypedDict(\"Input2Item\", {\n    \"d\": str,\n})\n\
             Input = TypedDict(\"Input\", {\n    \"a\": int,\n    \"b c\": NotRequired[list[Input2Item]],\n})\n\
             \"\"\"The input type of the contract.\"\"\"\n\
             Output = Union[Literal[\"x\", \"y\"], None]\n\"\"\"The output type of the contract.\"\"\"\n"
        );
    }
}
