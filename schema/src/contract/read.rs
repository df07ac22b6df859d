//! From a parsed value to a contract: one strict check for contract files and for the
//! canonical form alike. Every refusal names the key path it is about.

use core::cmp::Ordering;

use auto_json::{Number, Value};

use super::conform::conform;
use super::spot::{Result, Spot, Table, child, refuse, unknown_key};
use super::{
    Acceptance, ArtifactBudgets, Budgets, CONTRACT_VERSIONS, Claim, ClassFloor, Condition, Contract, ContractError,
    Divergent, EvalCase, Example, GuardPolicy, Match, Pattern, Place, Property, ReferenceBudgets, Relation, Scope,
    Side, SpanKind,
};
use crate::digest::Digest;
use crate::types::Type;

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
    let version = version(&root)?;
    let (input, output) = interface(&root)?;
    let contract = Contract {
        version,
        task: root.named("task")?,
        scope: scope(&root.required("scope")?.table()?)?,
        guard: guard(&root)?,
        examples: root
            .items("example")?
            .map_or(Ok(Vec::new()), |items| items.iter().map(|at| example(at, version)).collect())?,
        properties: root
            .items("property")?
            .map_or(Ok(Vec::new()), |items| items.iter().map(|at| property(at, version)).collect())?,
        cases: root.items("eval_cases")?.map_or(Ok(Vec::new()), |items| items.iter().map(eval_case).collect())?,
        budgets: root.optional("budgets").map_or(Ok(Budgets::default()), |at| budgets(&at.table()?, version))?,
        acceptance: root
            .optional("acceptance")
            .map_or(Ok(Acceptance::default()), |at| acceptance(&at.table()?, version))?,
        input,
        output,
    };
    conform(&contract)?;
    Ok(contract)
}

fn version(root: &Table) -> Result<u32> {
    let spot = root.required("contract_version")?;
    let version = spot.unsigned()?;
    let known = CONTRACT_VERSIONS.into_iter().find(|known| u64::from(*known) == version);
    known.ok_or_else(|| {
        let message = format!("contract_version {version} is not known; this build reads 0 and 1");
        refuse("bad-version", spot.at, message)
    })
}

fn interface(root: &Table) -> Result<(Type, Type)> {
    let table = root.required("interface")?.table()?;
    table.only(&["input", "output"])?;
    let read = |key| {
        let spot: Spot = table.required(key)?;
        spot.text()?.parse::<Type>().map_err(|error| refuse("bad-type", spot.at, error.to_string()))
    };
    Ok((read("input")?, read("output")?))
}

fn scope(table: &Table) -> Result<Scope> {
    table.only(&["type", "kind", "name", "from", "to"])?;
    let spot = table.required("type")?;
    match spot.text()? {
        "task" => {
            table.only(&["type"])?;
            Ok(Scope::Task)
        }
        "span" => {
            table.only(&["type", "kind", "name"])?;
            let spot = table.required("kind")?;
            let kind = SpanKind::parse(spot.text()?)
                .ok_or_else(|| spot.unknown("kind of span", &SpanKind::ALL.map(SpanKind::as_str)))?;
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
        _ => Err(spot.unknown("type of scope", &["task", "span", "region"])),
    }
}

fn guard(root: &Table) -> Result<GuardPolicy> {
    let Some(spot) = root.optional("guard") else { return Ok(GuardPolicy::Auto) };
    match spot.text()? {
        "auto" => Ok(GuardPolicy::Auto),
        "none" => Ok(GuardPolicy::None),
        _ => Err(spot.unknown("guard policy", &["auto", "none"])),
    }
}

fn example(spot: &Spot, version: u32) -> Result<Example> {
    let table = spot.table()?;
    table.only(&["name", "match", "input", "output", "tolerance"])?;
    Ok(Example {
        name: table.named("name")?,
        compare: matching(&table, "match", version)?.ok_or_else(|| table.missing("match"))?,
        input: table.required("input")?.value.clone(),
        output: table.required("output")?.value.clone(),
    })
}

fn eval_case(spot: &Spot) -> Result<EvalCase> {
    let table = spot.table()?;
    table.only(&["input", "expected"])?;
    Ok(EvalCase {
        input: table.required("input")?.value.clone(),
        expected: table.optional("expected").map(|spot| spot.value.clone()),
    })
}

/// The way to match under `key`, with its tolerance.
fn matching(table: &Table, key: &str, version: u32) -> Result<Option<Match>> {
    let tolerance = table.optional("tolerance");
    let stray = |tolerance: &Option<Spot>| match tolerance {
        Some(spot) => Err(refuse("unknown-key", spot.at.clone(), "`tolerance` goes with an approximate match")),
        None => Ok(()),
    };
    let Some(spot) = table.optional(key) else {
        stray(&tolerance)?;
        return Ok(None);
    };
    let known: &[&str] = if version == 0 { &["exact", "judged"] } else { &["exact", "approximate", "judged"] };
    let compare = match spot.text()? {
        "exact" => Match::Exact,
        "judged" => Match::Judged,
        "approximate" if version > 0 => {
            let spot = tolerance.ok_or_else(|| table.missing("tolerance"))?;
            let number = spot.number()?;
            if Number::integer(0).is_some_and(|zero| number.compare(&zero) == Ordering::Less) {
                return Err(refuse("bad-value", spot.at, "a tolerance is not negative"));
            }
            return Ok(Some(Match::Approximate(number)));
        }
        _ => return Err(spot.unknown("way to match", known)),
    };
    stray(&tolerance)?;
    Ok(Some(compare))
}

/// The kinds of claim of version 0, and those that version 1 adds.
const KINDS: [&str; 14] = [
    "len_range",
    "regex",
    "num_range",
    "json_has_keys",
    "one_of",
    "present",
    "sorted",
    "unique",
    "occurs_in",
    "equals",
    "sum_of",
    "count_of",
    "in_order_of",
    "predicate",
];

/// Every key that some claim has: those of version 0, and those that version 1 adds.
const CLAIM_KEYS: [&str; 8] = ["min", "max", "pattern", "keys", "values", "other", "ignore_case", "sha256"];

fn property(spot: &Spot, version: u32) -> Result<Property> {
    let table = spot.table()?;
    if version == 0 {
        let (place, claim) = claim(&table, &KINDS[..5], &[])?;
        return match place.side {
            Side::Output => Ok(Property::from(claim)),
            Side::Input => Err(table.required("target")?.unknown("target", &["output"])),
        };
    }
    let (place, claim) = claim(&table, &KINDS, &["name", "path", "when"])?;
    Ok(Property {
        name: table.optional("name").map(|_| table.named("name")).transpose()?,
        when: table.optional("when").map(|spot| condition(&spot)).transpose()?,
        place,
        claim,
    })
}

fn condition(spot: &Spot) -> Result<Condition> {
    let (place, claim) = claim(&spot.table()?, &KINDS[..KINDS.len() - 1], &["path"])?;
    Ok(Condition { place, claim })
}

/// The place and the claim of a property or a condition; `more` is what may stand beside.
fn claim(table: &Table, kinds: &[&str], more: &[&str]) -> Result<(Place, Claim)> {
    let known = if more.is_empty() { &CLAIM_KEYS[..5] } else { &CLAIM_KEYS[..] };
    table.only(&[&["kind", "target"], known, more].concat())?;
    let kind = table.required("kind")?;
    let word = kind.text()?;
    let own: &[&str] = match word {
        _ if !kinds.contains(&word) => return Err(kind.unknown("kind of property", kinds)),
        "len_range" | "num_range" => &["min", "max"],
        "regex" => &["pattern"],
        "json_has_keys" => &["keys"],
        "one_of" => &["values"],
        "occurs_in" | "equals" => &["other", "ignore_case"],
        "sum_of" | "count_of" | "in_order_of" => &["other"],
        "predicate" => &["sha256"],
        _ => &[],
    };
    table.only(&[&["kind", "target"], own, more].concat())?;
    let place = place(table, !more.is_empty())?;
    let related = |relation| Ok(Claim::Related(relation, self::place(&table.required("other")?.table()?, true)?));
    let ignore_case = table.optional("ignore_case").map_or(Ok(false), |spot| spot.bool())?;
    let claim = match word {
        "len_range" => {
            let (min, max) = range(table, Spot::unsigned, u64::cmp)?;
            Claim::Length { min, max }
        }
        "num_range" => {
            let (min, max) = range(table, Spot::number, Number::compare)?;
            Claim::NumberRange { min, max }
        }
        "regex" => {
            let spot = table.required("pattern")?;
            let pattern = Pattern::new(spot.text()?);
            Claim::Regex(
                pattern.map_err(|why| refuse("bad-regex", spot.at, format!("the pattern does not compile: {why}")))?,
            )
        }
        "json_has_keys" => {
            table.required("keys")?;
            let keys = table.items("keys")?.unwrap_or_default();
            Claim::HasKeys(keys.iter().map(|key| key.text().map(str::to_owned)).collect::<Result<_>>()?)
        }
        "one_of" => Claim::OneOf(table.filled("values")?.iter().map(|spot| spot.value.clone()).collect()),
        "present" => Claim::Present,
        "sorted" => Claim::Sorted,
        "unique" => Claim::Unique,
        "occurs_in" => related(Relation::OccursIn { ignore_case })?,
        "equals" => related(Relation::Equals { ignore_case })?,
        "sum_of" => related(Relation::SumOf)?,
        "count_of" => related(Relation::CountOf)?,
        "in_order_of" => related(Relation::InOrderOf)?,
        _ => {
            let spot = table.required("sha256")?;
            let digest = Digest::parse(spot.text()?);
            Claim::Predicate(digest.ok_or_else(|| refuse("bad-value", spot.at, "not a SHA-256 in hexadecimal digits"))?)
        }
    };
    Ok((place, claim))
}

/// `target` and, where it may have one, `path`. Version 0 always says the target.
fn place(table: &Table, with_path: bool) -> Result<Place> {
    if with_path && table.members.get("kind").is_none() {
        table.only(&["target", "path"])?;
    }
    let target = match with_path {
        true => table.optional("target"),
        false => Some(table.required("target")?),
    };
    let side = match &target {
        None => Side::Output,
        Some(spot) => match spot.text()? {
            "output" => Side::Output,
            "input" => Side::Input,
            _ => return Err(spot.unknown("target", if with_path { &["input", "output"] } else { &["output"] })),
        },
    };
    match table.optional("path").filter(|_| with_path) {
        None => Ok(Place::whole(side)),
        Some(spot) => Place::new(side, spot.text()?).ok_or_else(|| bad_path(spot)),
    }
}

fn bad_path(spot: Spot) -> ContractError {
    let message = format!("{} is no path; write a JSON pointer such as \"/items/*/price\"", spot.value);
    refuse("bad-path", spot.at, message)
}

/// At least one of `min` and `max`, in order.
fn range<'a, T>(
    table: &Table<'a>,
    read: impl Fn(&Spot<'a>) -> Result<T>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<(Option<T>, Option<T>)> {
    let bound = |key| table.optional(key).map(|spot| read(&spot)).transpose();
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

fn budgets(table: &Table, version: u32) -> Result<Budgets> {
    if version == 0 {
        return Ok(Budgets { reference: reference_budgets(table)?, ..Budgets::default() });
    }
    table.only(&["reference", "artifact"])?;
    Ok(Budgets {
        reference: table.optional("reference").map_or(Ok(Default::default()), |at| reference_budgets(&at.table()?))?,
        artifact: table.optional("artifact").map_or(Ok(Default::default()), |at| artifact_budgets(&at.table()?))?,
    })
}

fn reference_budgets(table: &Table) -> Result<ReferenceBudgets> {
    table.only(&["max_latency_ms_p95", "max_cost_usd_micros", "max_tokens"])?;
    let read = |key| table.optional(key).map(|spot| spot.unsigned()).transpose();
    Ok(ReferenceBudgets {
        max_latency_ms_p95: read("max_latency_ms_p95")?,
        max_cost_usd_micros: read("max_cost_usd_micros")?,
        max_tokens: read("max_tokens")?,
    })
}

fn artifact_budgets(table: &Table) -> Result<ArtifactBudgets> {
    table.only(&["max_steps", "max_steps_p95", "max_bytes", "max_latency_us_p95"])?;
    let read = |key| table.optional(key).map(|spot| spot.unsigned()).transpose();
    Ok(ArtifactBudgets {
        max_steps: read("max_steps")?,
        max_steps_p95: read("max_steps_p95")?,
        max_bytes: read("max_bytes")?,
        max_latency_us_p95: read("max_latency_us_p95")?,
    })
}

fn acceptance(table: &Table, version: u32) -> Result<Acceptance> {
    let read = |key, least, most| table.optional(key).map(|spot| spot.within(least, most)).transpose();
    let out_of_fold_min_ppm = read("out_of_fold_min_ppm", 0, 1_000_000);
    let (acceptance, key) = if version == 0 {
        table.only(&["differential_min_agreement_milli", "differential_match", "out_of_fold_min_ppm"])?;
        let key = "differential_min_agreement_milli";
        let acceptance = Acceptance {
            agreement_min_ppm: read(key, 1, 1_000)?.map(|milli| milli * 1_000),
            compare: matching(table, "differential_match", version)?.unwrap_or_default(),
            out_of_fold_min_ppm: out_of_fold_min_ppm?,
            ..Acceptance::default()
        };
        (acceptance, key)
    } else {
        table.only(&[
            "agreement_min_ppm",
            "match",
            "tolerance",
            "out_of_fold_min_ppm",
            "max_silent_error_ppm",
            "silent_error_confidence_ppm",
            "divergent",
            "classes",
            "memorise",
            "guard_admit_ppm",
            "judge_calls",
        ])?;
        let acceptance = Acceptance {
            agreement_min_ppm: read("agreement_min_ppm", 1, 1_000_000)?,
            compare: matching(table, "match", version)?.unwrap_or_default(),
            out_of_fold_min_ppm: out_of_fold_min_ppm?,
            max_silent_error_ppm: read("max_silent_error_ppm", 0, 1_000_000)?,
            silent_error_confidence_ppm: read("silent_error_confidence_ppm", 0, 999_999)?,
            divergent: table.optional("divergent").map(|spot| divergent(&spot)).transpose()?.unwrap_or_default(),
            classes: table.optional("classes").map(|spot| class_floor(&spot.table()?)).transpose()?,
            memorise: table.optional("memorise").map_or(Ok(false), |spot| spot.bool())?,
            guard_admit_ppm: read("guard_admit_ppm", 0, 1_000_000)?,
            judge_calls: read("judge_calls", 0, u32::MAX)?,
        };
        (acceptance, "agreement_min_ppm")
    };
    if acceptance.compare == Match::Judged && acceptance.agreement_min_ppm.is_none() {
        let message = format!("a judged comparison needs `{key}` beside it");
        return Err(refuse("missing-key", table.at.clone(), message));
    }
    Ok(acceptance)
}

fn divergent(spot: &Spot) -> Result<Divergent> {
    let name = spot.text()?;
    let known = Divergent::NAMES.map(|(name, _)| name);
    let found = Divergent::NAMES.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, choice)| choice).ok_or_else(|| spot.unknown("way to learn from divergent recordings", &known))
}

fn class_floor(table: &Table) -> Result<ClassFloor> {
    table.only(&["path", "min_ppm"])?;
    let spot = table.required("path")?;
    Ok(ClassFloor {
        place: Place::new(Side::Output, spot.text()?).ok_or_else(|| bad_path(spot))?,
        min_ppm: table.required("min_ppm")?.within(1, 1_000_000)?,
    })
}
