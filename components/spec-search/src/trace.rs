//! Recorded runs, and which of them a teacher may be shown: fail closed, with a reason and a
//! count for each that is left out. The host takes secrets out of every byte that leaves; what is
//! decided here is whether a run may leave at all.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::{Record, Value};

use crate::Fields;
use crate::Refusal;
use crate::amount::ONE;
use crate::held_out::HeldOut;

const CODE: &str = "bad-trace";

/// The source that runs of a search are recorded under, so that none learns from itself.
pub const SEARCH: &str = "auto-search";

/// Agent of traces from a corpus of somebody's.
pub const EXTERNAL: &str = "external";

/// Feedback up to this is a failure, in millionths.
pub const FAILED_FEEDBACK: i64 = 300_000;

/// What is known of one recorded run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Unique.
    pub id: String,
    /// The task of the benchmark it is a run of, where it is one.
    pub task: String,
    /// Who ran.
    pub agent: String,
    /// Where it was recorded.
    pub source: String,
    /// What was asked.
    pub query: String,
    /// What was answered.
    pub result: String,
    /// Whether it went well, where somebody said so.
    pub success: Option<bool>,
    /// 0 to 1 in millionths.
    pub feedback: Option<i64>,
    /// Seconds since 1970.
    pub started_at: Option<u64>,
    /// Tools that were called.
    pub tools: BTreeSet<String>,
    /// Whether whoever it is about agreed that it is used.
    pub consent: Option<bool>,
    /// The record, as it came.
    pub record: Record,
}

/// Which traces may leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eligible {
    /// Agents whose runs may; every one where there is no list.
    pub agents: Option<BTreeSet<String>>,
    /// Sources, likewise.
    pub sources: Option<BTreeSet<String>>,
    /// Whether only runs may that somebody agreed to.
    pub consent: bool,
    /// Tools that no run may have called.
    pub denied_tools: BTreeSet<String>,
    /// Texts that stand in no run, such as folders.
    pub denied_paths: BTreeSet<String>,
    /// Days since it began; one without a time is too old.
    pub max_age_days: Option<u64>,
    /// Bytes of its canonical record.
    pub max_bytes: usize,
}

impl Trace {
    /// Reads a record of the host: `id`, `task`, `agent`, `source`, `input`, `output`, `error`,
    /// `outcome`, `feedback`, `started_at`, `metadata`, `spans`. What else it has is kept and not
    /// read.
    pub fn read(value: &Value, place: String) -> Result<Trace, Refusal> {
        let fields = Fields::of(value, place, CODE)?;
        let text = |key| Ok(shown(fields.get(key)));
        let success = match (fields.text("outcome")?, fields.get("error")) {
            (_, Some(_)) | (Some("failure"), _) => Some(false),
            (Some("success"), None) => Some(true),
            (None, None) => None,
            (Some(other), None) => {
                return Err(fields.refuse("outcome", format!("{other:?} is neither `success` nor `failure`")));
            }
        };
        let metadata = fields.fields("metadata")?;
        Ok(Trace {
            id: fields.need_text("id")?.to_owned(),
            task: fields.text("task")?.unwrap_or_default().to_owned(),
            agent: fields.text("agent")?.unwrap_or_default().to_owned(),
            source: fields.text("source")?.unwrap_or_default().to_owned(),
            query: text("input")?,
            result: text("output")?,
            success,
            feedback: fields.micros("feedback", 0..=ONE)?,
            started_at: fields.whole("started_at", 0..=u64::MAX)?,
            tools: tools(fields.list("spans")?.unwrap_or_default()),
            consent: agreed(fields.get("consent").into_iter().chain(metadata.and_then(|own| own.get("consent")))),
            record: fields.record().clone(),
        })
    }

    /// Whether the run went wrong: it says so, or whoever saw it did.
    pub fn failed(&self) -> bool {
        self.success == Some(false) || self.feedback.is_some_and(|feedback| feedback <= FAILED_FEEDBACK)
    }

    /// Whether it is from a corpus and not from an agent of ours.
    pub fn is_external(&self) -> bool {
        self.agent == EXTERNAL
    }
}

/// Reads a list of traces; an id that is there twice is refused.
pub fn read_all(value: &Value) -> Result<Vec<Trace>, Refusal> {
    let list = value.as_list().ok_or_else(|| Refusal::new(CODE, "the traces are no list"))?;
    let mut seen = BTreeSet::new();
    let mut traces = Vec::with_capacity(list.len());
    for (at, value) in list.iter().enumerate() {
        let trace = Trace::read(value, format!("/{at}"))?;
        if !seen.insert(trace.id.clone()) {
            let message = format!("a second trace has the id {:?}", trace.id);
            return Err(Refusal::new("duplicate-trace", message).at(format!("/{at}/id")));
        }
        traces.push(trace);
    }
    Ok(traces)
}

/// A value as a text: a text as it is, anything else as JSON.
pub fn shown(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::Text(text)) => text.clone(),
        Some(other) => other.canonical().into_string(),
    }
}

/// Whether somebody agreed, by all that is said of it: one no is a no, and so is whatever is
/// neither `true` nor its name. None where nothing is said.
pub fn agreed<'v>(said: impl Iterator<Item = &'v Value>) -> Option<bool> {
    let said: Vec<bool> = said
        .filter(|value| **value != Value::Null)
        .map(|value| value.as_bool() == Some(true) || value.as_text() == Some("true"))
        .collect();
    (!said.is_empty()).then(|| said.iter().all(|yes| *yes))
}

/// Whether a text stands in a value: in a text or a name as they are, not as JSON writes them, and
/// in the JSON that a text holds.
fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::Text(own) => own.contains(text) || inside(own).is_some_and(|value| holds(&value, text)),
        Value::List(items) => items.iter().any(|item| holds(item, text)),
        Value::Record(record) => record.iter().any(|(key, value)| key.contains(text) || holds(value, text)),
        _ => false,
    }
}

/// The JSON that a text holds, as arguments of tools are handed on.
fn inside(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['{', '[', '"']).then(|| Value::parse(text).ok()).flatten()
}

fn tools(spans: &[Value]) -> BTreeSet<String> {
    let called = spans.iter().filter(|span| span.get("kind").and_then(Value::as_text) == Some("tool_call"));
    called.filter_map(|span| span.get("name").and_then(Value::as_text)).map(str::to_owned).collect()
}

impl Eligible {
    /// Why a trace may not leave; none where it may. `held_out` are the tasks that no teacher sees,
    /// `now` is in seconds since 1970.
    pub fn why_not(&self, trace: &Trace, held_out: &HeldOut, now: u64) -> Option<&'static str> {
        let listed = |list: &Option<BTreeSet<String>>, name: &str| list.as_ref().is_none_or(|list| list.contains(name));
        let record = Value::from(trace.record.clone());
        let text = record.canonical().into_string();
        let old = |days: u64| match trace.started_at {
            Some(began) => now.saturating_sub(began) > days.saturating_mul(86_400),
            None => true,
        };
        if trace.source == SEARCH {
            Some("from-search")
        } else if held_out.is_one(&trace.task, &trace.query) {
            Some("held-out")
        } else if held_out.is_near(&trace.query) {
            Some("near-held-out")
        } else if self.consent && trace.consent != Some(true) || trace.consent == Some(false) {
            Some("no-consent")
        } else if !listed(&self.agents, &trace.agent) {
            Some("agent")
        } else if !listed(&self.sources, &trace.source) {
            Some("source")
        } else if trace.tools.iter().any(|tool| self.denied_tools.contains(tool)) {
            Some("denied-tool")
        } else if self.max_age_days.is_some_and(old) {
            Some("too-old")
        } else if text.len() > self.max_bytes {
            Some("too-large")
        } else if self.denied_paths.iter().any(|path| text.contains(path.as_str()) || holds(&record, path)) {
            Some("denied-path")
        } else {
            None
        }
    }

    /// Those that may leave, and how many may not for each reason.
    pub fn sift<'t>(
        &self,
        traces: &'t [Trace],
        held_out: &HeldOut,
        now: u64,
    ) -> (Vec<&'t Trace>, BTreeMap<&'static str, usize>) {
        let (mut kept, mut left) = (Vec::new(), BTreeMap::new());
        for trace in traces {
            match self.why_not(trace, held_out, now) {
                None => kept.push(trace),
                Some(reason) => *left.entry(reason).or_insert(0) += 1,
            }
        }
        (kept, left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(change: &str) -> Trace {
        let text = format!(
            r#"{{"id":"t1","task":"k1","agent":"clerk","source":"store","input":"how?","output":"so","started_at":1000000,
            "spans":[{{"kind":"tool_call","name":"lookup","input":"/srv/private/x"}}]{change}}}"#
        );
        Trace::read(&Value::parse(text).expect("JSON"), String::new()).expect("a trace")
    }

    fn eligible() -> Eligible {
        Eligible { max_bytes: 10_000, ..Eligible::default() }
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn every_reason_not_to_leave_is_reached() {
        let none = HeldOut::default();
        let why = |eligible: Eligible, trace: &Trace| eligible.why_not(trace, &none, 1_000_000 + 86_400 * 3);
        let plain = trace("");
        assert_eq!(why(eligible(), &plain), None);
        assert_eq!(why(eligible(), &Trace { source: SEARCH.to_owned(), ..plain.clone() }), Some("from-search"));
        let held = |id: &'static str, input: &str| HeldOut::of([(id, input.to_owned())].into_iter());
        assert_eq!(eligible().why_not(&plain, &held("k1", "why?"), 0), Some("held-out"));
        assert_eq!(eligible().why_not(&plain, &held("k2", "how?"), 0), Some("held-out"), "by what it asks");
        assert_eq!(eligible().why_not(&plain, &held("k2", "How"), 0), Some("near-held-out"));
        assert_eq!(why(Eligible { consent: true, ..eligible() }, &plain), Some("no-consent"));
        let agreed = trace(r#","metadata":{"consent":true}"#);
        assert_eq!(why(Eligible { consent: true, ..eligible() }, &agreed), None);
        let refused = trace(r#","metadata":{"consent":false}"#);
        assert_eq!(why(eligible(), &refused), Some("no-consent"), "who said no is never asked again");
        assert_eq!(why(Eligible { agents: Some(set(&["judge"])), ..eligible() }, &plain), Some("agent"));
        assert_eq!(why(Eligible { sources: Some(set(&[])), ..eligible() }, &plain), Some("source"));
        assert_eq!(why(Eligible { denied_tools: set(&["lookup"]), ..eligible() }, &plain), Some("denied-tool"));
        assert_eq!(why(Eligible { max_age_days: Some(2), ..eligible() }, &plain), Some("too-old"));
        assert_eq!(why(Eligible { max_age_days: Some(3), ..eligible() }, &plain), None);
        let undated = Trace { started_at: None, ..plain.clone() };
        assert_eq!(why(Eligible { max_age_days: Some(3), ..eligible() }, &undated), Some("too-old"));
        assert_eq!(why(Eligible { max_bytes: 20, ..eligible() }, &plain), Some("too-large"));
        assert_eq!(why(Eligible { denied_paths: set(&["/srv/private"]), ..eligible() }, &plain), Some("denied-path"));
    }

    #[test]
    fn who_said_no_is_heard_wherever_it_stands_and_only_true_is_a_yes() {
        for (said, agreed) in [
            (r#","consent":false"#, Some(false)),
            (r#","consent":true"#, Some(true)),
            (r#","consent":"true""#, Some(true)),
            (r#","consent":null"#, None),
            (r#","consent":"False""#, Some(false)),
            (r#","consent":"no""#, Some(false)),
            (r#","consent":0"#, Some(false)),
            (r#","consent":true,"metadata":{"consent":false}"#, Some(false)),
            (r#","consent":false,"metadata":{"consent":true}"#, Some(false)),
            (r#","metadata":{"consent":"true"}"#, Some(true)),
            ("", None),
        ] {
            let trace = trace(said);
            assert_eq!(trace.consent, agreed, "{said}");
            let why = |consent| Eligible { consent, ..eligible() }.why_not(&trace, &HeldOut::default(), 0);
            assert_eq!(why(true), (agreed != Some(true)).then_some("no-consent"), "{said}");
            assert_eq!(why(false), (agreed == Some(false)).then_some("no-consent"), "{said}");
        }
    }

    #[test]
    fn a_denied_text_is_found_as_it_is_read_and_not_as_json_writes_it() {
        let none = HeldOut::default();
        for (more, denied) in [
            (r#","metadata":{"at":"C:\\payroll\\may.csv"}"#, r"C:\payroll"),
            (r#","metadata":{"said":"say \"no\" to it"}"#, r#"say "no""#),
            (r#","metadata":{"a\"b":1}"#, r#"a"b"#),
            (r#","metadata":{"arguments":"{\"path\":\"C:\\\\payroll\\\\may.csv\"}"}"#, r"C:\payroll\may"),
            (r#","metadata":{"lines":"one\ntwo"}"#, "one\ntwo"),
            (r#","metadata":{"n":12345}"#, "12345"),
        ] {
            let trace = trace(more);
            let eligible = Eligible { denied_paths: set(&[denied]), ..eligible() };
            assert_eq!(eligible.why_not(&trace, &none, 0), Some("denied-path"), "{more} {denied}");
        }
    }

    #[test]
    fn what_is_left_out_is_counted_by_its_reason() {
        let traces = [trace(""), Trace { source: SEARCH.to_owned(), ..trace("") }, trace(r#","agent2":1"#)];
        let (kept, left) = eligible().sift(&traces, &HeldOut::default(), 0);
        assert_eq!((kept.len(), left), (2, BTreeMap::from([("from-search", 1)])));
    }

    #[test]
    fn an_error_an_outcome_and_bad_feedback_are_failures() {
        for (change, failed) in [
            ("", false),
            (r#","error":"timeout""#, true),
            (r#","outcome":"failure""#, true),
            (r#","outcome":"success""#, false),
            (r#","feedback":0.3"#, true),
            (r#","feedback":0.300001"#, false),
        ] {
            assert_eq!(trace(change).failed(), failed, "{change}");
        }
    }

    #[test]
    fn a_second_trace_of_an_id_and_odd_values_are_refused() {
        let refused = |text: &str| read_all(&Value::parse(text).expect("JSON")).expect_err("refused");
        assert_eq!(refused(r#"[{"id":"a"},{"id":"a"}]"#).code, "duplicate-trace");
        assert_eq!(refused(r#"[{"id":"a","feedback":1.5}]"#).at, "/0/feedback");
        assert_eq!(refused(r#"[{"id":"a","outcome":"maybe"}]"#).at, "/0/outcome");
        assert_eq!(refused(r#"[{"input":"a"}]"#).at, "/0/id");
        assert_eq!(refused("{}").code, "bad-trace");
    }
}
