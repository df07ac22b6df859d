//! From a parsed value to a contract: one strict check for contract files and for the
//! canonical form alike. Every refusal names the key path it is about.

use core::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use auto_json::{Number, Record, Value};

use super::{
    Acceptance, Budgets, CONTRACT_VERSION, Contract, ContractError, EvalCase, Example, GuardPolicy, Match, Pattern,
    Property, Scope, SpanKind,
};
use crate::types::Type;

type Result<T> = core::result::Result<T, ContractError>;

/// The keys at the top of the canonical form.
pub(super) const CANONICAL: [&str; 10] = [
    "acceptance",
    "budgets",
    "contract_version",
    "eval_cases",
    "example",
    "guard",
    "interface",
    "property",
    "scope",
    "task",
];

/// The keys at the top of a contract file, for messages: `eval_sets` stands for what the
/// canonical form has inlined.
#[cfg(feature = "toml")]
pub(super) const FILE: [&str; 10] = [
    "acceptance",
    "budgets",
    "contract_version",
    "eval_sets",
    "example",
    "guard",
    "interface",
    "property",
    "scope",
    "task",
];

/// Checks the canonical form. `known` are the keys that whoever wrote it may use at the
/// top, for the message about another one.
pub(super) fn contract(value: &Value, known: &[&str]) -> Result<Contract> {
    let root = Table::open(value, String::new())?;
    if root.members.get("eval_sets").is_some() {
        let message = "`eval_sets` names files; they are inlined as `eval_cases` when the contract file is loaded";
        return Err(refuse("bad-value", "eval_sets".to_owned(), message));
    }
    if let Some((key, _)) = root.members.iter().find(|(key, _)| !CANONICAL.contains(key)) {
        return Err(unknown_key(child("", key), key, known));
    }
    version(&root)?;
    let (input, output) = interface(&root)?;
    let contract = Contract {
        task: root.named("task")?,
        scope: scope(&root.required("scope")?.table()?)?,
        guard: guard(&root)?,
        examples: root.items("example")?.map_or(Ok(Vec::new()), |items| items.iter().map(example).collect())?,
        properties: root.items("property")?.map_or(Ok(Vec::new()), |items| items.iter().map(property).collect())?,
        cases: root.items("eval_cases")?.map_or(Ok(Vec::new()), |items| items.iter().map(eval_case).collect())?,
        budgets: root.optional("budgets").map_or(Ok(Budgets::default()), |at| budgets(&at.table()?))?,
        acceptance: root.optional("acceptance").map_or(Ok(Acceptance::default()), |at| acceptance(&at.table()?))?,
        input,
        output,
    };
    conform(&contract)?;
    Ok(contract)
}

fn version(root: &Table) -> Result<()> {
    let place = root.required("contract_version")?;
    let version = place.unsigned()?;
    if version != u64::from(CONTRACT_VERSION) {
        let message = format!("contract_version {version} is not known; this build reads {CONTRACT_VERSION}");
        return Err(refuse("bad-version", place.at, message));
    }
    Ok(())
}

fn interface(root: &Table) -> Result<(Type, Type)> {
    let table = root.required("interface")?.table()?;
    table.only(&["input", "output"])?;
    let read = |key| {
        let place: Place = table.required(key)?;
        place.text()?.parse::<Type>().map_err(|error| refuse("bad-type", place.at, error.to_string()))
    };
    Ok((read("input")?, read("output")?))
}

fn scope(table: &Table) -> Result<Scope> {
    table.only(&["type", "kind", "name", "from", "to"])?;
    let place = table.required("type")?;
    match place.text()? {
        "task" => {
            table.only(&["type"])?;
            Ok(Scope::Task)
        }
        "span" => {
            table.only(&["type", "kind", "name"])?;
            let place = table.required("kind")?;
            let kind = SpanKind::parse(place.text()?)
                .ok_or_else(|| place.unknown("kind of span", &SpanKind::ALL.map(SpanKind::as_str)))?;
            Ok(Scope::Span { kind, name: table.named("name")? })
        }
        "region" => {
            table.only(&["type", "from", "to"])?;
            let (from, to) = (table.named("from")?, table.named("to")?);
            if from == to {
                let message = "`from` and `to` name the same span; for one span use type = \"span\"";
                return Err(refuse("bad-value", child(&table.at, "to"), message));
            }
            Ok(Scope::Region { from, to })
        }
        _ => Err(place.unknown("type of scope", &["task", "span", "region"])),
    }
}

fn guard(root: &Table) -> Result<GuardPolicy> {
    let Some(place) = root.optional("guard") else { return Ok(GuardPolicy::Auto) };
    match place.text()? {
        "auto" => Ok(GuardPolicy::Auto),
        "none" => Ok(GuardPolicy::None),
        _ => Err(place.unknown("guard policy", &["auto", "none"])),
    }
}

fn example(place: &Place) -> Result<Example> {
    let table = place.table()?;
    table.only(&["name", "match", "input", "output"])?;
    Ok(Example {
        name: table.named("name")?,
        compare: matching(&table.required("match")?)?,
        input: table.required("input")?.value.clone(),
        output: table.required("output")?.value.clone(),
    })
}

fn eval_case(place: &Place) -> Result<EvalCase> {
    let table = place.table()?;
    table.only(&["input", "expected"])?;
    Ok(EvalCase {
        input: table.required("input")?.value.clone(),
        expected: table.optional("expected").map(|place| place.value.clone()),
    })
}

fn matching(place: &Place) -> Result<Match> {
    match place.text()? {
        "exact" => Ok(Match::Exact),
        "judged" => Ok(Match::Judged),
        _ => Err(place.unknown("way to match", &["exact", "judged"])),
    }
}

fn property(place: &Place) -> Result<Property> {
    let table = place.table()?;
    table.only(&["kind", "target", "pattern", "min", "max", "keys", "values"])?;
    let kind = table.required("kind")?;
    let (key, more): (&str, &[&str]) = match kind.text()? {
        "len_range" | "num_range" => ("min", &["max"]),
        "regex" => ("pattern", &[]),
        "json_has_keys" => ("keys", &[]),
        "one_of" => ("values", &[]),
        _ => {
            return Err(
                kind.unknown("kind of property", &["len_range", "regex", "num_range", "json_has_keys", "one_of"])
            );
        }
    };
    table.only(&[&["kind", "target", key], more].concat())?;
    let target = table.required("target")?;
    if target.text()? != "output" {
        return Err(target.unknown("target", &["output"]));
    }
    match kind.text()? {
        "len_range" => {
            let (min, max) = range(&table, Place::unsigned, u64::cmp)?;
            Ok(Property::Length { min, max })
        }
        "num_range" => {
            let (min, max) = range(&table, Place::number, Number::compare)?;
            Ok(Property::NumberRange { min, max })
        }
        "regex" => {
            let place = table.required("pattern")?;
            let pattern = Pattern::new(place.text()?);
            pattern
                .map(Property::Regex)
                .map_err(|why| refuse("bad-regex", place.at, format!("the pattern does not compile: {why}")))
        }
        "json_has_keys" => {
            table.required("keys")?;
            let keys = table.items("keys")?.unwrap_or_default();
            keys.iter().map(|key| key.text().map(str::to_owned)).collect::<Result<_>>().map(Property::HasKeys)
        }
        _ => Ok(Property::OneOf(table.filled("values")?.iter().map(|place| place.value.clone()).collect())),
    }
}

/// At least one of `min` and `max`, in order.
fn range<'a, T>(
    table: &Table<'a>,
    read: impl Fn(&Place<'a>) -> Result<T>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<(Option<T>, Option<T>)> {
    let bound = |key| table.optional(key).map(|place| read(&place)).transpose();
    let (min, max) = (bound("min")?, bound("max")?);
    if min.is_none() && max.is_none() {
        return Err(refuse("missing-key", table.at.clone(), "a range needs `min`, `max` or both"));
    }
    if let (Some(min), Some(max)) = (&min, &max)
        && compare(min, max) == Ordering::Greater
    {
        return Err(refuse("bad-value", child(&table.at, "max"), "`max` is less than `min`, so nothing can be right"));
    }
    Ok((min, max))
}

fn budgets(table: &Table) -> Result<Budgets> {
    table.only(&["max_latency_ms_p95", "max_cost_usd_micros", "max_tokens"])?;
    let read = |key| table.optional(key).map(|place| place.unsigned()).transpose();
    Ok(Budgets {
        max_latency_ms_p95: read("max_latency_ms_p95")?,
        max_cost_usd_micros: read("max_cost_usd_micros")?,
        max_tokens: read("max_tokens")?,
    })
}

fn acceptance(table: &Table) -> Result<Acceptance> {
    table.only(&["differential_min_agreement_milli", "differential_match", "out_of_fold_min_ppm"])?;
    let read = |key, least, most| table.optional(key).map(|place| place.within(least, most)).transpose();
    let acceptance = Acceptance {
        differential_min_agreement_milli: read("differential_min_agreement_milli", 1, 1_000)?,
        differential_match: table.optional("differential_match").map_or(Ok(Match::Exact), |at| matching(&at))?,
        out_of_fold_min_ppm: read("out_of_fold_min_ppm", 0, 1_000_000)?,
    };
    if acceptance.differential_match == Match::Judged && acceptance.differential_min_agreement_milli.is_none() {
        let message = "a judged comparison needs `differential_min_agreement_milli` beside it";
        return Err(refuse("missing-key", table.at.clone(), message));
    }
    Ok(acceptance)
}

/// What no single key can show: names are unique, values are of the interface's types,
/// and no input is given two outputs.
fn conform(contract: &Contract) -> Result<()> {
    let mut names = BTreeSet::new();
    // The first exact example of an input.
    let mut exact: BTreeMap<&Value, &Example> = BTreeMap::new();
    for (index, example) in contract.examples.iter().enumerate() {
        let at = item("example", index);
        if !names.insert(&example.name) {
            let message = format!("another example is called `{}`; give each its own name", example.name);
            return Err(refuse("duplicate-name", child(&at, "name"), message));
        }
        accepts(&contract.input, &example.input, child(&at, "input"))?;
        accepts(&contract.output, &example.output, child(&at, "output"))?;
        if example.compare == Match::Exact {
            let first = exact.entry(&example.input).or_insert(example);
            if first.output != example.output {
                let message = format!("example `{}` gives the same input another output; drop one of them", first.name);
                return Err(refuse("contradiction", child(&at, "output"), message));
            }
        }
    }
    for (index, case) in contract.cases.iter().enumerate() {
        let at = item("eval_cases", index);
        accepts(&contract.input, &case.input, child(&at, "input"))?;
        if let Some(expected) = &case.expected {
            accepts(&contract.output, expected, child(&at, "expected"))?;
        }
    }
    Ok(())
}

fn accepts(ty: &Type, value: &Value, at: String) -> Result<()> {
    ty.accepts(value).map_err(|mismatch| {
        let inside = if mismatch.path.is_empty() { String::new() } else { format!(" at {}", mismatch.path) };
        let message =
            format!("not of the interface's type{inside}: expected {}, got {}", mismatch.expected, mismatch.got);
        refuse("type-mismatch", at, message)
    })
}

/// A table and the key path to it.
struct Table<'a> {
    at: String,
    members: &'a Record,
}

/// A value and the key path to it.
struct Place<'a> {
    at: String,
    value: &'a Value,
}

impl<'a> Table<'a> {
    fn open(value: &'a Value, at: String) -> Result<Table<'a>> {
        match value {
            Value::Record(members) => Ok(Table { at, members }),
            other => Err(wrong_type(at, "a table", other)),
        }
    }

    fn only(&self, known: &[&str]) -> Result<()> {
        match self.members.iter().find(|(key, _)| !known.contains(key)) {
            None => Ok(()),
            Some((key, _)) => Err(unknown_key(child(&self.at, key), key, known)),
        }
    }

    fn optional(&self, key: &str) -> Option<Place<'a>> {
        self.members.get(key).map(|value| Place { at: child(&self.at, key), value })
    }

    fn required(&self, key: &str) -> Result<Place<'a>> {
        self.optional(key).ok_or_else(|| refuse("missing-key", self.at.clone(), format!("the key `{key}` is missing")))
    }

    /// A text that is not empty.
    fn named(&self, key: &str) -> Result<String> {
        let place = self.required(key)?;
        match place.text()? {
            "" => Err(refuse("bad-value", place.at, format!("`{key}` is empty"))),
            text => Ok(text.to_owned()),
        }
    }

    fn items(&self, key: &str) -> Result<Option<Vec<Place<'a>>>> {
        let Some(place) = self.optional(key) else { return Ok(None) };
        let items = place.value.as_list().ok_or_else(|| wrong_type(place.at.clone(), "a list", place.value))?;
        let places = items.iter().enumerate().map(|(index, value)| Place { at: item(&place.at, index), value });
        Ok(Some(places.collect()))
    }

    /// A list that must be there and not be empty.
    fn filled(&self, key: &str) -> Result<Vec<Place<'a>>> {
        self.required(key)?;
        let items = self.items(key)?.unwrap_or_default();
        if items.is_empty() {
            return Err(refuse("bad-value", child(&self.at, key), format!("`{key}` is empty")));
        }
        Ok(items)
    }
}

impl<'a> Place<'a> {
    fn table(&self) -> Result<Table<'a>> {
        Table::open(self.value, self.at.clone())
    }

    fn text(&self) -> Result<&'a str> {
        self.value.as_text().ok_or_else(|| wrong_type(self.at.clone(), "text", self.value))
    }

    fn number(&self) -> Result<Number> {
        self.value.as_number().copied().ok_or_else(|| wrong_type(self.at.clone(), "a number", self.value))
    }

    fn unsigned(&self) -> Result<u64> {
        // The store keeps signed 64-bit integers, so no count may be larger.
        let value = self.number()?.as_u64().filter(|value| i64::try_from(*value).is_ok());
        value.ok_or_else(|| {
            refuse("bad-value", self.at.clone(), format!("{} is not a whole number from 0 to 2^63-1", self.value))
        })
    }

    fn within(&self, least: u32, most: u32) -> Result<u32> {
        let value = u32::try_from(self.unsigned()?).ok().filter(|value| (least..=most).contains(value));
        value.ok_or_else(|| {
            refuse("bad-value", self.at.clone(), format!("{} is not from {least} to {most}", self.value))
        })
    }

    fn unknown(&self, what: &str, known: &[&str]) -> ContractError {
        let text = self.value.as_text().unwrap_or_default();
        refuse("bad-value", self.at.clone(), format!("`{text}` is no {what}; {}", suggestion(text, known)))
    }
}

pub(super) fn refuse(code: &'static str, at: String, message: impl Into<String>) -> ContractError {
    ContractError { code, at, message: message.into() }
}

pub(super) fn unknown_key(at: String, key: &str, known: &[&str]) -> ContractError {
    refuse("unknown-key", at, format!("the key `{key}` is not known here; {}", suggestion(key, known)))
}

pub(super) fn wrong_type(at: String, expected: &str, got: &Value) -> ContractError {
    refuse("wrong-type", at, format!("expected {expected}, got {}", got.kind()))
}

/// The key path of a member.
pub(super) fn child(at: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let key = if plain { key.to_owned() } else { Value::from(key).to_string() };
    if at.is_empty() { key } else { format!("{at}.{key}") }
}

/// The key path of an element.
pub(super) fn item(at: &str, index: usize) -> String {
    format!("{at}[{index}]")
}

/// The nearest known word if one is near, else all of them.
fn suggestion(word: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|name| (edits(word, name), name)).min();
    match nearest {
        Some((edits, name)) if edits <= word.chars().count().max(3) / 3 + 1 => format!("did you mean `{name}`?"),
        _ => format!("known are {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    }
}

/// Edit distance (Levenshtein 1966) by rows. A key longer than any of ours is far from all.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let cost = (diagonal + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = core::mem::replace(&mut row[j + 1], cost);
        }
    }
    row[b.len()]
}
