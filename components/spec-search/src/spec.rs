//! The spec: one canonical document that says all of what an agent is. Its id is the digest of its
//! bytes; files are only a rendering. What edits change are its four primitives: intelligence,
//! engine, agents, tools and memory.

use core::fmt;

use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::Fields;
use crate::Refusal;

/// The version of the document.
pub const SCHEMA: &str = "auto.spec/1";

const CODE: &str = "bad-spec";

/// The longest name.
const LONGEST_NAME: usize = 128;

/// The longest prompt, in bytes.
pub const LONGEST_TEXT: usize = 256 * 1024;

/// Where something stands in a spec: keys from the root. The element of a set (a tool of an agent)
/// is a key, too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<String>);

impl Path {
    /// From keys.
    pub fn of<const N: usize>(keys: [&str; N]) -> Path {
        Path(keys.into_iter().map(str::to_owned).collect())
    }

    /// Reads a JSON pointer.
    pub fn parse(pointer: &str) -> Option<Path> {
        let keys = pointer.strip_prefix('/')?.split('/');
        Some(Path(keys.map(|key| key.replace("~1", "/").replace("~0", "~")).collect()))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|key| write!(f, "/{}", key.replace('~', "~0").replace('/', "~1")))
    }
}

/// A spec that was read and found well formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec(Value);

impl Spec {
    /// Reads a document. Every key has to be known, every name to be one, every tool that an agent
    /// has to be there.
    pub fn read(value: &Value) -> Result<Spec, Refusal> {
        let spec = Spec(normal(value.clone()));
        check(&spec.0)?;
        Ok(spec)
    }

    /// Reads a text.
    pub fn parse(text: &str) -> Result<Spec, Refusal> {
        let value = Value::parse(text).map_err(|error| Refusal::new(CODE, format!("it is no JSON: {error}")))?;
        Spec::read(&value)
    }

    /// The document.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// The canonical text.
    pub fn text(&self) -> String {
        self.0.canonical().into_string()
    }

    /// The digest of the canonical text.
    pub fn id(&self) -> Digest {
        Digest::of(self.text().as_bytes())
    }

    /// What stands there; `true` for an element that a set has.
    pub fn at(&self, path: &Path) -> Option<Value> {
        get(&self.0, &path.0)
    }

    /// The spec with another value there, or with none.
    pub fn with(&self, path: &Path, value: Option<Value>) -> Result<Spec, Refusal> {
        let changed = put(&self.0, &path.0, value)
            .ok_or_else(|| Refusal::new("no-such-place", "nothing can stand there").at(path.to_string()))?;
        Spec::read(&changed)
    }

    /// Names of a table at the top: agents, tools.
    pub fn names(&self, table: &str) -> Vec<&str> {
        self.0
            .get(table)
            .and_then(Value::as_record)
            .map(|record| record.iter().map(|(name, _)| name).collect())
            .unwrap_or_default()
    }
}

/// Letters, digits, `_` and `-`, so that no name is a path.
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= LONGEST_NAME
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// An id of a model or engine: a name, or several with `.`, `:`, `/` or `@` between them.
pub fn is_model_id(text: &str) -> bool {
    text.len() <= LONGEST_NAME && text.split(['.', ':', '/', '@']).all(is_name)
}

/// Parameters of models that have none are left out, tools of agents sorted: equal specs are equal
/// bytes.
fn normal(mut value: Value) -> Value {
    let Value::Record(root) = &mut value else { return value };
    if let Some(Value::Record(mut intelligence)) = root.get("intelligence").cloned() {
        if let Some(Value::Record(params)) = intelligence.get("params") {
            let kept = params.iter().filter(|(_, of)| of.as_record().is_none_or(|of| !of.is_empty()));
            let kept: Record = kept.map(|(model, of)| (model.to_owned(), of.clone())).collect();
            intelligence.set("params", kept);
        }
        root.set("intelligence", intelligence);
    }
    if let Some(Value::Record(agents)) = root.get("agents").cloned() {
        let sorted = agents.iter().map(|(name, agent)| {
            let mut agent = agent.clone();
            let tools = agent.get("tools").and_then(Value::as_list).map(<[Value]>::to_vec);
            if let (Value::Record(record), Some(mut tools)) = (&mut agent, tools) {
                tools.sort();
                record.set("tools", tools);
            }
            (name.to_owned(), agent)
        });
        root.set("agents", sorted.collect::<Record>());
    }
    value
}

fn check(value: &Value) -> Result<(), Refusal> {
    let root = Fields::of(value, "", CODE)?;
    root.only(&["schema", "intelligence", "engine", "agents", "tools", "memory"])?;
    if root.need_text("schema")? != SCHEMA {
        return Err(root.refuse("schema", format!("the schema has to be `{SCHEMA}`")));
    }
    intelligence(&root.need_fields("intelligence")?)?;
    let engine = root.need_fields("engine")?;
    engine.only(&["id", "params"])?;
    model_id(&engine, "id")?;
    params(&engine.need_fields("params")?)?;
    let tools = root.need_fields("tools")?;
    for (name, tool) in tools.iter() {
        named(&tools, name)?;
        let tool = Fields::of(tool, tools.place_of(name), CODE)?;
        tool.only(&["description"])?;
        short(&tool, "description")?;
    }
    let agents = root.need_fields("agents")?;
    for (name, agent) in agents.iter() {
        named(&agents, name)?;
        self::agent(&Fields::of(agent, agents.place_of(name), CODE)?, &tools)?;
    }
    let memory = root.need_fields("memory")?;
    memory.only(&["backend", "params"])?;
    model_id(&memory, "backend")?;
    params(&memory.need_fields("params")?)
}

fn intelligence(table: &Fields<'_>) -> Result<(), Refusal> {
    table.only(&["default_model", "routing", "params"])?;
    model_id(table, "default_model")?;
    let routing = table.need_fields("routing")?;
    for (class, _) in routing.iter() {
        named(&routing, class)?;
        model_id(&routing, class)?;
    }
    let models = table.need_fields("params")?;
    for (model, of) in models.iter() {
        if !is_model_id(model) {
            return Err(models.refuse(model, format!("`{model}` is no id of a model")));
        }
        params(&Fields::of(of, models.place_of(model), CODE)?)?;
    }
    Ok(())
}

fn agent(agent: &Fields<'_>, tools: &Fields<'_>) -> Result<(), Refusal> {
    agent.only(&["class", "params", "tools", "prompt", "exemplars"])?;
    model_id(agent, "class")?;
    params(&agent.need_fields("params")?)?;
    short(agent, "prompt")?;
    agent.need("tools")?;
    let own = agent.texts("tools")?.unwrap_or_default();
    for (at, tool) in own.iter().enumerate() {
        if tools.get(tool).is_none() {
            return Err(agent.refuse("tools", format!("the tool `{tool}` is not among the tools of the spec")));
        }
        if at > 0 && own[at - 1] == *tool {
            return Err(agent.refuse("tools", format!("the tool `{tool}` is there twice")));
        }
    }
    agent.need("exemplars")?;
    for exemplar in agent.list("exemplars")?.unwrap_or_default() {
        let exemplar = Fields::of(exemplar, agent.place_of("exemplars"), CODE)?;
        exemplar.only(&["input", "output"])?;
        short(&exemplar, "input")?;
        short(&exemplar, "output")?;
    }
    Ok(())
}

/// Values of parameters are scalars.
fn params(table: &Fields<'_>) -> Result<(), Refusal> {
    for (key, value) in table.iter() {
        named(table, key)?;
        if matches!(value, Value::Null | Value::List(_) | Value::Record(_)) {
            return Err(
                table.refuse(key, format!("the parameter `{key}` is {}, and has to be one value", value.kind()))
            );
        }
    }
    Ok(())
}

fn named(table: &Fields<'_>, name: &str) -> Result<(), Refusal> {
    if is_name(name) {
        return Ok(());
    }
    Err(table.refuse(name, format!("{name:?} is no name: letters, digits, _ and -, {LONGEST_NAME} at most")))
}

fn model_id(table: &Fields<'_>, key: &str) -> Result<(), Refusal> {
    let id = table.need_text(key)?;
    if is_model_id(id) { Ok(()) } else { Err(table.refuse(key, format!("{id:?} is no id"))) }
}

fn short(table: &Fields<'_>, key: &str) -> Result<(), Refusal> {
    let text = table.need_text(key)?;
    if text.len() <= LONGEST_TEXT {
        return Ok(());
    }
    Err(table.refuse(key, format!("`{key}` has {} bytes, and may have {LONGEST_TEXT}", text.len())))
}

fn get(value: &Value, path: &[String]) -> Option<Value> {
    let [key, rest @ ..] = path else { return Some(value.clone()) };
    match value {
        Value::Record(record) => get(record.get(key)?, rest),
        Value::List(items) if rest.is_empty() => {
            items.iter().any(|item| item.as_text() == Some(key)).then_some(Value::Bool(true))
        }
        _ => None,
    }
}

/// Sets or takes out; missing tables on the way are made. None where no table can be.
fn put(value: &Value, path: &[String], new: Option<Value>) -> Option<Value> {
    let [key, rest @ ..] = path else { return new };
    match value {
        Value::Record(record) => {
            let mut record = record.clone();
            if rest.is_empty() {
                match new {
                    Some(new) => record.set(key.as_str(), new),
                    None => drop(record.remove(key)),
                }
            } else {
                let empty = Value::Record(Record::new());
                let below = put(record.get(key).unwrap_or(&empty), rest, new)?;
                record.set(key.as_str(), below);
            }
            Some(record.into())
        }
        Value::List(items) if rest.is_empty() => {
            let mut items: Vec<Value> = items.iter().filter(|item| item.as_text() != Some(key)).cloned().collect();
            if new.is_some() {
                items.push(Value::Text(key.clone()));
            }
            Some(items.into())
        }
        _ => None,
    }
}
