//! What there is: models, engines, classes of agents, tools and memories, and the parameters of
//! each with their kinds and ranges. An edit may only name what is here.

use std::collections::BTreeMap;

use auto_json::{Number, Value};

use crate::Fields;
use crate::Refusal;
use crate::edit::Tier;
use crate::spec::{LONGEST_TEXT, Path, Spec, is_model_id, is_name};

const CODE: &str = "bad-settings";

/// What values a parameter takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number in a range.
    Whole(i64, i64),
    /// A number in a range; kept as a decimal.
    Decimal(Number, Number),
    /// True or false.
    Flag,
    /// A text of so many bytes at most.
    Text(usize),
    /// One of these.
    Choice(Vec<String>),
}

/// Parameters by name.
pub type Params = BTreeMap<String, Kind>;

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// Models by id, with what they can be set to.
    pub models: BTreeMap<String, Params>,
    /// Engines by id.
    pub engines: BTreeMap<String, Params>,
    /// Classes of agents.
    pub agent_classes: BTreeMap<String, Params>,
    /// Tools, and whether they change something in the world.
    pub tools: BTreeMap<String, bool>,
    /// Where memory is kept.
    pub memory_backends: BTreeMap<String, Params>,
    /// Who has to agree to an operation, where it is not who the table of operations says.
    pub tiers: BTreeMap<&'static str, Tier>,
}

impl Kind {
    fn read(value: &Value, place: String) -> Result<Kind, Refusal> {
        let fields = Fields::of(value, place, CODE)?;
        fields.only(&["kind", "min", "max", "longest", "choices"])?;
        let number = |key| {
            let value = fields.need(key)?;
            value.as_number().copied().ok_or_else(|| fields.refuse(key, format!("`{key}` is no number")))
        };
        let whole =
            |key| number(key)?.as_i64().ok_or_else(|| fields.refuse(key, format!("`{key}` is no whole number")));
        let kind = match fields.need_text("kind")? {
            "whole" => Kind::Whole(whole("min")?, whole("max")?),
            "decimal" => Kind::Decimal(number("min")?, number("max")?),
            "flag" => Kind::Flag,
            "text" => Kind::Text(fields.whole("longest", 1..=LONGEST_TEXT as u64)?.unwrap_or(1_000) as usize),
            "choice" => Kind::Choice(fields.texts("choices")?.unwrap_or_default()),
            other => {
                let known = "whole, decimal, flag, text, choice";
                return Err(fields.refuse("kind", format!("`{other}` is no kind of parameter; there are: {known}")));
            }
        };
        let empty = match &kind {
            Kind::Whole(least, most) => least > most,
            Kind::Decimal(least, most) => least.compare(most).is_gt(),
            Kind::Choice(choices) => choices.is_empty(),
            Kind::Flag | Kind::Text(_) => false,
        };
        if empty { Err(fields.refuse("kind", "no value is of this kind")) } else { Ok(kind) }
    }

    /// The value as it is kept, where it is of the kind and in the range.
    pub fn take(&self, value: &Value) -> Result<Value, String> {
        let fits = match (self, value) {
            (Kind::Whole(least, most), Value::Number(number)) => {
                number.as_i64().is_some_and(|number| (*least..=*most).contains(&number))
            }
            (Kind::Decimal(least, most), Value::Number(number)) => {
                let inside = number.compare(least).is_ge() && number.compare(most).is_le();
                // One form of each number, so that 1 and 1.0 are the same setting.
                let kept = number.parts().and_then(|(mantissa, scale)| Number::decimal(mantissa, scale));
                match (inside, kept) {
                    (true, Some(kept)) => return Ok(kept.into()),
                    _ => false,
                }
            }
            (Kind::Flag, Value::Bool(_)) => true,
            (Kind::Text(longest), Value::Text(text)) => text.len() <= *longest,
            (Kind::Choice(choices), Value::Text(text)) => choices.contains(text),
            _ => false,
        };
        if fits { Ok(value.clone()) } else { Err(format!("{value} is not {self}")) }
    }
}

impl core::fmt::Display for Kind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Kind::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Kind::Decimal(least, most) => write!(f, "a number from {} to {}", least.text(), most.text()),
            Kind::Flag => f.write_str("true or false"),
            Kind::Text(longest) => write!(f, "a text of at most {longest} bytes"),
            Kind::Choice(choices) => write!(f, "one of {}", choices.join(", ")),
        }
    }
}

impl Catalog {
    /// Reads the table `catalog`.
    pub fn read(fields: &Fields<'_>) -> Result<Catalog, Refusal> {
        fields.only(&auto_schema::spec_search::CATALOG)?;
        let mut catalog = Catalog {
            models: things(fields, "models")?,
            engines: things(fields, "engines")?,
            agent_classes: things(fields, "agent_classes")?,
            tools: BTreeMap::new(),
            memory_backends: things(fields, "memory_backends")?,
            tiers: BTreeMap::new(),
        };
        if let Some(tools) = fields.fields("tools")? {
            for (name, tool) in tools.iter() {
                let tool = Fields::of(tool, tools.place_of(name), CODE)?;
                tool.only(&["side_effects"])?;
                if !is_name(name) {
                    return Err(tools.refuse(name, format!("{name:?} is no name of a tool")));
                }
                // Who does not say is taken to have some.
                catalog.tools.insert(name.to_owned(), tool.flag("side_effects")?.unwrap_or(true));
            }
        }
        Ok(catalog)
    }

    /// Whether all that a spec names is there, and every parameter of its kind.
    pub fn check(&self, spec: &Spec) -> Result<(), Refusal> {
        let text = |keys: &[&str]| {
            let path = Path(keys.iter().map(|&key| key.to_owned()).collect());
            spec.at(&path).and_then(|value| value.as_text().map(str::to_owned)).unwrap_or_default()
        };
        known(&self.models, "model", &text(&["intelligence", "default_model"]), "/intelligence/default_model")?;
        let intelligence = Path::of(["intelligence"]);
        let intelligence = spec.at(&intelligence).unwrap_or(Value::Null);
        for (class, model) in members(intelligence.get("routing")) {
            known(
                &self.models,
                "model",
                model.as_text().unwrap_or_default(),
                &format!("/intelligence/routing/{class}"),
            )?;
        }
        for (model, params) in members(intelligence.get("params")) {
            let at = format!("/intelligence/params/{model}");
            checked(known(&self.models, "model", model, &at)?, Some(params), &at)?;
        }
        for (table, key, there, what) in
            [("engine", "id", &self.engines, "engine"), ("memory", "backend", &self.memory_backends, "memory backend")]
        {
            let known = known(there, what, &text(&[table, key]), &format!("/{table}/{key}"))?;
            checked(known, spec.value().get(table).and_then(|of| of.get("params")), &format!("/{table}/params"))?;
        }
        for (name, agent) in members(spec.value().get("agents")) {
            let class = agent.get("class").and_then(Value::as_text).unwrap_or_default();
            let known = known(&self.agent_classes, "class of agents", class, &format!("/agents/{name}/class"))?;
            checked(known, agent.get("params"), &format!("/agents/{name}/params"))?;
        }
        match spec.names("tools").into_iter().find(|tool| !self.tools.contains_key(*tool)) {
            None => Ok(()),
            Some(tool) => Err(unknown("tool", tool, &format!("/tools/{tool}"), self.tools.keys())),
        }
    }
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
    value.and_then(Value::as_record).into_iter().flat_map(|record| record.iter())
}

fn things(fields: &Fields<'_>, key: &str) -> Result<BTreeMap<String, Params>, Refusal> {
    let Some(table) = fields.fields(key)? else { return Ok(BTreeMap::new()) };
    let mut things = BTreeMap::new();
    for (id, params) in table.iter() {
        if !is_model_id(id) {
            return Err(table.refuse(id, format!("{id:?} is no id")));
        }
        let params = Fields::of(params, table.place_of(id), CODE)?;
        let mut kinds = Params::new();
        for (name, kind) in params.iter() {
            if !is_name(name) {
                return Err(params.refuse(name, format!("{name:?} is no name of a parameter")));
            }
            kinds.insert(name.to_owned(), Kind::read(kind, params.place_of(name))?);
        }
        things.insert(id.to_owned(), kinds);
    }
    Ok(things)
}

/// The parameters of a thing that has to be there.
pub fn known<'t>(there: &'t BTreeMap<String, Params>, what: &str, name: &str, at: &str) -> Result<&'t Params, Refusal> {
    there.get(name).ok_or_else(|| unknown(what, name, at, there.keys()))
}

/// A refusal of a name that is not there.
pub fn unknown<'n>(what: &str, name: &str, at: &str, there: impl Iterator<Item = &'n String>) -> Refusal {
    let there: Vec<&str> = there.map(String::as_str).collect();
    let there = if there.is_empty() { "there are none".to_owned() } else { format!("there are: {}", there.join(", ")) };
    Refusal::new("unknown-name", format!("there is no {what} {name:?}; {there}")).at(at)
}

/// A value as the parameter of that name takes it.
pub fn taken(params: &Params, name: &str, value: &Value, at: &str) -> Result<Value, Refusal> {
    let kind = params.get(name).ok_or_else(|| unknown("parameter", name, at, params.keys()))?;
    kind.take(value).map_err(|why| Refusal::new("bad-value", why).at(at))
}

fn checked(params: &Params, values: Option<&Value>, at: &str) -> Result<(), Refusal> {
    members(values).try_for_each(|(name, value)| taken(params, name, value, &format!("{at}/{name}")).map(drop))
}
