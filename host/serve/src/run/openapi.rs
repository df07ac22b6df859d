//! The service described for machines: OpenAPI 3.1, with each artifact's types as JSON Schema.

use auto_json::{Record, Value};
use auto_schema::types::Type;

use super::catalog::Artifact;

/// The document. `tokens`: whether a token is needed.
pub fn document<'a>(artifacts: impl Iterator<Item = &'a Artifact>, tokens: bool) -> Value {
    let mut paths = Record::new();
    for artifact in artifacts {
        paths.set(format!("/run/{}", artifact.name), path(artifact));
    }
    for (route, what) in [
        ("/health", "Whether the process serves at all"),
        ("/ready", "Whether it can do its work"),
        ("/artifacts", "What can be asked"),
        ("/metrics", "Counters for Prometheus"),
        ("/state", "What the page shows"),
    ] {
        let responses = Record::new().with("200", Record::new().with("description", what));
        let get = Record::new().with("summary", what).with("responses", responses);
        paths.set(route, Record::new().with("get", get));
    }
    let mut components = Record::new().with("schemas", Record::new().with("Problem", problem()));
    let mut document = Record::new()
        .with("openapi", "3.1.0")
        .with("info", Record::new().with("title", "auto-host serve").with("version", env!("CARGO_PKG_VERSION")))
        .with("paths", paths);
    if tokens {
        let bearer = Record::new().with("type", "http").with("scheme", "bearer");
        components.set("securitySchemes", Record::new().with("token", bearer));
        document.set("security", vec![Record::new().with("token", Vec::<Value>::new()).into()] as Vec<Value>);
    }
    document.with("components", components).into()
}

fn path(artifact: &Artifact) -> Value {
    let manifest = artifact.program.manifest();
    let content = |kind: &str, schema: Value| Record::new().with(kind, Record::new().with("schema", schema));
    let answered = Record::new().with("type", "object").with("required", texts(&["artifact", "output", "tier"])).with(
        "properties",
        Record::new()
            .with("artifact", Record::new().with("const", artifact.id.as_str()))
            .with("output", schema(&manifest.output))
            .with("tier", Record::new().with("enum", vec![Value::from(0u32), Value::from(1u32)])),
    );
    let mut responses = Record::new().with(
        "200",
        Record::new().with("description", "The answer").with("content", content("application/json", answered.into())),
    );
    for (status, what) in [
        ("400", "The input is not of the artifact's type (`bad-input`)"),
        ("409", "The artifact abstains, and nobody stands in for it (`abstained`)"),
        ("413", "The input is too large"),
        ("500", "The artifact broke a limit or trapped"),
        ("503", "Too much waits; come again after `Retry-After`"),
    ] {
        let problem = Record::new().with("$ref", "#/components/schemas/Problem");
        let content = content("application/json", problem.into());
        responses.set(status, Record::new().with("description", what).with("content", content));
    }
    let lines = Record::new().with("type", "string").with("description", "One input a line");
    let bodies = content("application/json", schema(&manifest.input))
        .with("application/x-ndjson", Record::new().with("schema", lines));
    let body = Record::new().with("required", true).with("content", bodies);
    let post = Record::new()
        .with("summary", format!("{}: {}", manifest.task, manifest.scope))
        .with("requestBody", body)
        .with("responses", responses);
    Record::new().with("post", post).into()
}

fn problem() -> Value {
    let text = || Record::new().with("type", "string");
    let properties = Record::new().with("code", text()).with("message", text()).with("help", text());
    Record::new()
        .with("type", "object")
        .with("required", texts(&["code", "message"]))
        .with("properties", properties)
        .into()
}

fn texts(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| Value::from(*text)).collect()
}

/// A type as JSON Schema.
pub fn schema(ty: &Type) -> Value {
    let of = |name: &str| Record::new().with("type", name);
    match ty {
        Type::Unit => of("null"),
        Type::Bool => of("boolean"),
        Type::Int => of("integer"),
        Type::Number => of("number"),
        Type::Text | Type::Bytes => of("string"),
        Type::Json => Record::new(),
        Type::List(item) => of("array").with("items", schema(item)),
        Type::Optional(item) => Record::new().with("anyOf", vec![of("null").into(), schema(item)]),
        Type::Map(value) => of("object").with("additionalProperties", schema(value)),
        Type::Enum(labels) => {
            Record::new().with("enum", labels.iter().map(|label| label.as_str().into()).collect::<Vec<Value>>())
        }
        Type::Record(fields) => {
            let mut properties = Record::new();
            fields.iter().for_each(|field| properties.set(field.name.as_str(), schema(&field.ty)));
            let required = fields.iter().filter(|field| !field.optional);
            of("object")
                .with("properties", properties)
                .with("required", required.map(|field| field.name.as_str().into()).collect::<Vec<Value>>())
                .with("additionalProperties", false)
        }
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_schema() {
        let of = |text: &str| schema(&text.parse().unwrap()).canonical().into_string();
        assert_eq!(of("list<int>"), r#"{"items":{"type":"integer"},"type":"array"}"#);
        assert_eq!(
            of("record{a: text, b?: bool}"),
            r#"{"additionalProperties":false,"properties":{"a":{"type":"string"},"b":{"type":"boolean"}},"required":["a"],"type":"object"}"#
        );
        assert_eq!(of("json"), "{}");
    }
}
