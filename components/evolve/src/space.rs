//! Parameters: what each may be, and how one is drawn, changed, mixed and made simple. A *functional*
//! change is of a value; a *structural* one is of which parts there are and in which order.

use std::collections::BTreeMap;

use auto_json::{Record, Value};
use auto_search::{Fields, Random, Refusal, amount};

/// What a parameter may be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the keys of the table")]
pub enum Kind {
    /// A whole number of a range.
    Whole { least: i64, most: i64, default: i64 },
    /// A decimal number of a range, in millionths.
    Decimal { least: i64, most: i64, default: i64 },
    /// True or false.
    Flag { default: bool },
    /// One of some texts.
    Choice { choices: Vec<String>, default: String },
    /// Some of some texts, in their order.
    Subset { choices: Vec<String>, default: Vec<String>, least: usize },
    /// Steps in a row, each with parameters of its own.
    Pipeline { steps: BTreeMap<String, Space>, default: Vec<Value>, most: usize },
}

/// The parameters there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space(pub BTreeMap<String, Kind>);

const CODE: &str = "bad-settings";
/// The least share of its range that a number is moved by.
const NUDGE: i64 = 10;

impl Space {
    /// Reads a table of kinds.
    pub fn read(table: &Fields<'_>) -> Result<Space, Refusal> {
        Space::nested(table, 0)
    }

    fn nested(table: &Fields<'_>, depth: usize) -> Result<Space, Refusal> {
        let one = |(name, value): (&str, &Value)| {
            let own = Fields::of(value, table.place_of(name), CODE)?;
            Ok((name.to_owned(), Kind::read(&own, depth)?))
        };
        table.iter().map(one).collect::<Result<_, Refusal>>().map(Space)
    }

    /// Every parameter at its default.
    pub fn default(&self) -> Record {
        self.0.iter().map(|(name, kind)| (name.clone(), kind.default())).collect()
    }

    /// Whether these are parameters of this space, all of them and no others.
    pub fn check(&self, params: &Record) -> Result<(), String> {
        if let Some((name, _)) = params.iter().find(|(name, _)| !self.0.contains_key(*name)) {
            return Err(format!("there is no parameter {name}"));
        }
        self.0.iter().try_for_each(|(name, kind)| match params.get(name) {
            None => Err(format!("the parameter {name} is missing")),
            Some(value) => kind.check(value).map_err(|why| format!("the parameter {name} {why}")),
        })
    }

    /// All drawn anew.
    pub fn draw(&self, random: &mut Random) -> Record {
        self.0.iter().map(|(name, kind)| (name.clone(), kind.draw(random))).collect()
    }

    /// One or two changed; structural changes are of subsets and pipelines, where there are such.
    pub fn change(&self, params: &Record, structural: bool, random: &mut Random) -> Record {
        let mut changed = params.clone();
        let able: Vec<&String> =
            self.0.iter().filter(|(_, kind)| !structural || kind.has_structure()).map(|(name, _)| name).collect();
        let able = if able.is_empty() { self.0.keys().collect() } else { able };
        for _ in 0..1 + random.below(2) {
            let Some(name) = random.pick(&able).copied() else { break };
            if let (Some(kind), Some(value)) = (self.0.get(name), changed.get(name).cloned()) {
                changed.set(name.as_str(), kind.change(&value, structural, random));
            }
        }
        changed
    }

    /// Each from one of two; of two pipelines the front of one and the back of the other.
    pub fn mix(&self, one: &Record, other: &Record, random: &mut Random) -> Record {
        let of = |name: &String, kind: &Kind, random: &mut Random| {
            let (a, b) = (one.get(name).cloned(), other.get(name).cloned());
            let (a, b) = (a.unwrap_or_else(|| kind.default()), b.unwrap_or_else(|| kind.default()));
            kind.mix(a, b, random)
        };
        self.0.iter().map(|(name, kind)| (name.clone(), of(name, kind, random))).collect()
    }

    /// One nearer to its default, or shorter.
    pub fn simplify(&self, params: &Record, random: &mut Random) -> Record {
        let mut simpler = params.clone();
        let able: Vec<(&String, Value)> = self
            .0
            .iter()
            .filter_map(|(name, kind)| {
                let value = params.get(name)?;
                let simple = kind.simplify(value, &mut random.clone())?;
                (simple != *value).then_some((name, simple))
            })
            .collect();
        if let Some((name, value)) = random.pick(&able) {
            simpler.set(name.as_str(), value.clone());
        }
        simpler
    }
}

impl Kind {
    fn read(table: &Fields<'_>, depth: usize) -> Result<Kind, Refusal> {
        let whole = |key: &str| -> Result<i64, Refusal> {
            let number = table.need(key)?.as_number().and_then(|number| number.as_i64());
            number.ok_or_else(|| table.refuse(key, format!("`{key}` is no whole number")))
        };
        let micros = |key: &str| -> Result<i64, Refusal> {
            let number = table.need(key)?.as_number().and_then(amount::exact);
            number.ok_or_else(|| table.refuse(key, format!("`{key}` is no number of at most six places")))
        };
        let texts = |key: &str| table.texts(key).map(Option::unwrap_or_default);
        let kind = match table.need_text("kind")? {
            "whole" => {
                table.only(&["kind", "min", "max", "default"])?;
                Kind::Whole { least: whole("min")?, most: whole("max")?, default: whole("default")? }
            }
            "decimal" => {
                table.only(&["kind", "min", "max", "default"])?;
                Kind::Decimal { least: micros("min")?, most: micros("max")?, default: micros("default")? }
            }
            "flag" => {
                table.only(&["kind", "default"])?;
                Kind::Flag { default: table.flag("default")?.unwrap_or(false) }
            }
            "choice" => {
                table.only(&["kind", "choices", "default"])?;
                Kind::Choice { choices: texts("choices")?, default: table.need_text("default")?.to_owned() }
            }
            "subset" => {
                table.only(&["kind", "choices", "default", "least"])?;
                let least = table.whole("least", 0..=1_000)?.unwrap_or(0) as usize;
                Kind::Subset { choices: texts("choices")?, default: texts("default")?, least }
            }
            "pipeline" if depth == 0 => {
                table.only(&["kind", "steps", "default", "most"])?;
                let steps = table.need_fields("steps")?;
                let one = |(name, value): (&str, &Value)| {
                    Ok((name.to_owned(), Space::nested(&Fields::of(value, steps.place_of(name), CODE)?, 1)?))
                };
                Kind::Pipeline {
                    steps: steps.iter().map(one).collect::<Result<_, Refusal>>()?,
                    default: table.list("default")?.unwrap_or_default().to_vec(),
                    most: table.whole("most", 1..=64)?.unwrap_or(6) as usize,
                }
            }
            other => return Err(table.refuse("kind", format!("there is no kind {other:?} here"))),
        };
        kind.check(&kind.default()).map_err(|why| table.refuse("default", format!("the default {why}")))?;
        Ok(kind)
    }

    fn has_structure(&self) -> bool {
        matches!(self, Kind::Subset { .. } | Kind::Pipeline { .. })
    }

    fn default(&self) -> Value {
        match self {
            Kind::Whole { default, .. } => Value::integer(*default),
            Kind::Decimal { default, .. } => Value::Number(amount::decimal(*default)),
            Kind::Flag { default } => Value::Bool(*default),
            Kind::Choice { default, .. } => default.as_str().into(),
            Kind::Subset { default, .. } => texts(default),
            Kind::Pipeline { default, .. } => Value::List(default.clone()),
        }
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        let within = |number: Option<i64>, least: &i64, most: &i64| match number {
            Some(number) if (*least..=*most).contains(&number) => Ok(()),
            Some(_) => Err(format!("is {value}, which is out of its range")),
            None => Err(format!("is {value}, which is no such number")),
        };
        match self {
            Kind::Whole { least, most, .. } => within(value.as_i64(), least, most),
            Kind::Decimal { least, most, .. } => within(value.as_number().and_then(amount::exact), least, most),
            Kind::Flag { .. } => value.as_bool().map(drop).ok_or_else(|| "is neither true nor false".to_owned()),
            Kind::Choice { choices, .. } => {
                let known = value.as_text().is_some_and(|text| choices.iter().any(|choice| choice == text));
                known.then_some(()).ok_or_else(|| format!("is {value}, which is none of its choices"))
            }
            Kind::Subset { choices, least, .. } => {
                let list = value.as_list().ok_or("is no list")?;
                let place = |one: &Value| choices.iter().position(|choice| Some(choice.as_str()) == one.as_text());
                let places: Option<Vec<usize>> = list.iter().map(place).collect();
                let sorted = places.is_some_and(|places| places.is_sorted_by(|a, b| a < b));
                let enough = list.len() >= *least;
                (sorted && enough).then_some(()).ok_or_else(|| format!("is {value}, which is no such subset"))
            }
            Kind::Pipeline { steps, most, .. } => {
                let list = value.as_list().ok_or("is no list")?;
                if list.len() > *most {
                    return Err(format!("has {} steps, and at most {most} are allowed", list.len()));
                }
                list.iter().try_for_each(|step| check_step(steps, step))
            }
        }
    }

    fn draw(&self, random: &mut Random) -> Value {
        match self {
            Kind::Whole { least, most, .. } => Value::integer(random.between(*least, *most)),
            Kind::Decimal { least, most, .. } => Value::Number(amount::decimal(rounded(*least, *most, random))),
            Kind::Flag { .. } => Value::Bool(random.chance(500_000)),
            Kind::Choice { choices, default } => {
                random.pick(choices).map_or_else(|| default.as_str().into(), |choice| choice.as_str().into())
            }
            Kind::Subset { choices, least, default } => {
                let some: Vec<String> = choices.iter().filter(|_| random.chance(500_000)).cloned().collect();
                if some.len() >= *least { texts(&some) } else { texts(default) }
            }
            Kind::Pipeline { steps, most, .. } => {
                let length = 1 + random.below(*most);
                Value::List((0..length).filter_map(|_| draw_step(steps, random)).collect())
            }
        }
    }

    fn change(&self, value: &Value, structural: bool, random: &mut Random) -> Value {
        match self {
            Kind::Whole { least, most, .. } => {
                Value::integer(moved(value.as_i64().unwrap_or(*least), *least, *most, 1, random))
            }
            Kind::Decimal { least, most, .. } => {
                let now = value.as_number().and_then(amount::exact).unwrap_or(*least);
                let unit = unit_of(*least, *most);
                Value::Number(amount::decimal(moved(now, *least, *most, unit, random)))
            }
            Kind::Flag { .. } => Value::Bool(!value.as_bool().unwrap_or(false)),
            Kind::Choice { choices, .. } => {
                let others: Vec<&String> =
                    choices.iter().filter(|choice| Some(choice.as_str()) != value.as_text()).collect();
                random.pick(&others).map_or_else(|| value.clone(), |choice| choice.as_str().into())
            }
            Kind::Subset { choices, least, .. } => {
                let Some(flipped) = random.pick(choices) else { return value.clone() };
                let has = |text: &String| value.as_list().is_some_and(|list| list.contains(&text.as_str().into()));
                let some: Vec<String> = choices.iter().filter(|one| has(one) != (*one == flipped)).cloned().collect();
                if some.len() >= *least { texts(&some) } else { value.clone() }
            }
            Kind::Pipeline { steps, most, .. } => {
                let list = value.as_list().unwrap_or_default().to_vec();
                Value::List(change_steps(steps, list, *most, structural, random))
            }
        }
    }

    fn mix(&self, one: Value, other: Value, random: &mut Random) -> Value {
        let (Kind::Pipeline { most, .. }, Some(a), Some(b)) = (self, one.as_list(), other.as_list()) else {
            return if random.chance(500_000) { one } else { other };
        };
        let mut mixed = a[..random.below(a.len() + 1)].to_vec();
        mixed.extend_from_slice(&b[random.below(b.len() + 1)..]);
        mixed.truncate(*most);
        Value::List(mixed)
    }

    fn simplify(&self, value: &Value, random: &mut Random) -> Option<Value> {
        match (self, value) {
            (Kind::Pipeline { .. }, Value::List(list)) if !list.is_empty() => {
                let mut shorter = list.clone();
                shorter.remove(random.below(list.len()));
                Some(Value::List(shorter))
            }
            (Kind::Pipeline { .. }, _) => None,
            _ => Some(self.default()),
        }
    }
}

fn texts(list: &[String]) -> Value {
    Value::List(list.iter().map(|text| text.as_str().into()).collect())
}

/// A thousandth of the range, as a power of ten: finer than that nothing is drawn.
fn unit_of(least: i64, most: i64) -> i64 {
    let mut unit = 1;
    while unit * 10_000 <= most.saturating_sub(least) {
        unit *= 10;
    }
    unit
}

fn rounded(least: i64, most: i64, random: &mut Random) -> i64 {
    let unit = unit_of(least, most);
    (random.between(least, most) / unit * unit).clamp(least, most)
}

/// A number near another one, or anywhere.
fn moved(now: i64, least: i64, most: i64, unit: i64, random: &mut Random) -> i64 {
    let width = (most.saturating_sub(least) / NUDGE).max(unit);
    let next = match random.below(5) {
        0 => rounded(least, most, random),
        1 => now.saturating_add(unit),
        2 => now.saturating_sub(unit),
        3 => now.saturating_add(random.between(-width, width) / unit * unit),
        _ if random.chance(500_000) => now.saturating_mul(2),
        _ => now / 2,
    };
    next.clamp(least, most)
}

fn check_step(steps: &BTreeMap<String, Space>, step: &Value) -> Result<(), String> {
    let record = step.as_record().ok_or("has a step that is no object")?;
    let name = record.get("step").and_then(Value::as_text).ok_or("has a step without a name")?;
    let space = steps.get(name).ok_or_else(|| format!("has a step {name}, and there is none"))?;
    let mut own = record.clone();
    own.remove("step");
    space.check(&own).map_err(|why| format!("has a step {name} in which {why}"))
}

fn draw_step(steps: &BTreeMap<String, Space>, random: &mut Random) -> Option<Value> {
    let names: Vec<&String> = steps.keys().collect();
    let name = *random.pick(&names)?;
    Some(steps.get(name)?.draw(random).with("step", name.as_str()).into())
}

fn change_steps(
    steps: &BTreeMap<String, Space>,
    mut list: Vec<Value>,
    most: usize,
    structural: bool,
    random: &mut Random,
) -> Vec<Value> {
    if !structural && !list.is_empty() {
        let at = random.below(list.len());
        let mut own = list[at].as_record().cloned().unwrap_or_default();
        let name = own.remove("step").and_then(|name| name.as_text().map(str::to_owned)).unwrap_or_default();
        if let Some(space) = steps.get(&name).filter(|space| !space.0.is_empty()) {
            list[at] = space.change(&own, false, random).with("step", name).into();
            return list;
        }
    }
    let drawn = draw_step(steps, random);
    let at = random.below(list.len() + 1);
    match (random.below(4), drawn) {
        (0, _) if list.len() > 1 => {
            list.remove(at % list.len());
        }
        (1, _) if list.len() > 1 => {
            let (a, b) = (at % list.len(), (at + 1) % list.len());
            list.swap(a, b);
        }
        (2, Some(step)) if !list.is_empty() => {
            let place = at % list.len();
            list[place] = step;
        }
        (_, Some(step)) if list.len() < most => list.insert(at, step),
        (_, Some(step)) if !list.is_empty() => {
            let place = at % list.len();
            list[place] = step;
        }
        _ => {}
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"{"n":{"kind":"whole","min":1,"max":9,"default":3},
        "d":{"kind":"decimal","min":-0.5,"max":2,"default":1},"f":{"kind":"flag"},
        "c":{"kind":"choice","choices":["a","b"],"default":"a"},
        "s":{"kind":"subset","choices":["x","y","z"],"default":["x"],"least":1},
        "p":{"kind":"pipeline","most":3,"default":[{"step":"lower"}],
             "steps":{"lower":{},"grams":{"n":{"kind":"whole","min":1,"max":5,"default":2}}}}}"#;

    fn space() -> Space {
        let value = Value::parse(TABLE).unwrap();
        Space::read(&Fields::of(&value, "/space", "bad-settings").unwrap()).unwrap()
    }

    #[test]
    fn whatever_is_drawn_changed_mixed_or_made_simple_is_of_the_space() {
        let space = space();
        let mut random = Random::of(1, "space");
        let mut now = space.default();
        for round in 0..3_000 {
            let drawn = space.draw(&mut random);
            space.check(&drawn).unwrap();
            let before = now.clone();
            now = match round % 5 {
                0 => space.mix(&now, &drawn, &mut random),
                1 => space.simplify(&now, &mut random),
                _ => space.change(&now, round % 2 == 0, &mut random),
            };
            space.check(&now).unwrap_or_else(|why| panic!("{why}: {before:?} {now:?}"));
        }
    }

    #[test]
    fn simplifying_ends_at_the_defaults() {
        let space = space();
        let mut random = Random::of(2, "space");
        let mut now = space.draw(&mut random);
        (0..60).for_each(|_| now = space.simplify(&now, &mut random));
        assert_eq!(now, space.default().with("p", Vec::<Value>::new()));
    }

    #[test]
    fn what_is_not_of_the_space_is_told() {
        let space = space();
        let with = |key: &str, text: &str| space.check(&space.default().with(key, Value::parse(text).unwrap()));
        for (key, text) in [
            ("n", "0"),
            ("n", "1.5"),
            ("d", "2.5"),
            ("d", "0.0000001"),
            ("f", "1"),
            ("c", "\"d\""),
            ("s", "[]"),
            ("s", "[\"y\",\"x\"]"),
            ("p", "[{\"step\":\"upper\"}]"),
            ("p", "[{\"step\":\"grams\"}]"),
            ("p", "[{\"step\":\"grams\",\"n\":9}]"),
            ("q", "1"),
        ] {
            assert!(with(key, text).is_err(), "{key} {text}");
        }
        let read = |text: &str| {
            let value = Value::parse(text).unwrap();
            Space::read(&Fields::of(&value, "/space", "bad-settings").unwrap()).unwrap_err().at
        };
        assert_eq!(read(r#"{"n":{"kind":"whole","min":1,"max":2,"default":3}}"#), "/space/n/default");
        assert_eq!(read(r#"{"n":{"kind":"wide"}}"#), "/space/n/kind");
        assert_eq!(read(r#"{"n":{"kind":"flag","min":1}}"#), "/space/n/min");
    }
}
