//! What a teacher may look at while it diagnoses. Everything only reads, every result has a size,
//! an unknown tool or a bad argument is a result that says so. Tasks that decide are not among
//! what there is.

use auto_json::{Record, Value};

use crate::Fields;
use crate::Refusal;
use crate::bench::Bench;
use crate::sample::Split;
use crate::spec::{Path, Spec};
use crate::trace::Trace;
use crate::words::{cut, shown};

/// Rows of a list where the caller does not say.
const ROWS: u64 = 20;

/// Characters of any result.
const LONGEST: usize = 20_000;

/// Tools that cost something: the driver does them.
pub const RUN_SELF: &str = "run_self_on_task";

const CODE: &str = "bad-arguments";

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name.
    pub tool: String,
    /// Its arguments; an empty object where there are none.
    pub arguments: Value,
}

/// The calls of a reply, where it consists of calls.
pub fn calls(list: &[Value]) -> Option<Vec<Call>> {
    let one = |value: &Value| {
        let arguments = value.get("arguments").cloned().unwrap_or_else(|| Record::new().into());
        Some(Call { tool: value.get("tool")?.as_text()?.to_owned(), arguments })
    };
    if list.is_empty() { None } else { list.iter().map(one).collect() }
}

/// What there is to look at.
pub struct Room<'r> {
    /// The spec as it is.
    pub spec: &'r Spec,
    /// Traces that may leave.
    pub traces: &'r [&'r Trace],
    /// Tasks and what the student scored on them.
    pub bench: &'r Bench<'r>,
    /// What the teacher answered to tasks itself, and what that scored.
    pub own: &'r std::collections::BTreeMap<String, (String, i64)>,
}

impl Room<'_> {
    /// The result of a call, as JSON.
    pub fn call(&self, call: &Call) -> String {
        let result = match self.result(call) {
            Ok(result) => result,
            Err(refusal) => Record::new().with("error", refusal.to_string()).into(),
        };
        shown(&result, LONGEST)
    }

    /// A task for diagnosis.
    pub fn task(&self, call: &Call) -> Result<String, Refusal> {
        let arguments = Fields::of(&call.arguments, "/arguments", CODE)?;
        let id = arguments.need_text("task_id")?;
        match self.bench.tasks.get(id) {
            Some(task) if task.split == Split::Diagnose => Ok(id.to_owned()),
            _ => Err(arguments.refuse("task_id", format!("there is no task {id:?} to look at"))),
        }
    }

    fn result(&self, call: &Call) -> Result<Value, Refusal> {
        let arguments = Fields::of(&call.arguments, "/arguments", CODE)?;
        let text = |value: Option<Value>, what: &str| {
            value.ok_or_else(|| Refusal::new("unknown-name", format!("there is no such {what}")))
        };
        match call.tool.as_str() {
            "list_traces" => self.list(&arguments, |_| true),
            "search_traces" => {
                let query = arguments.need_text("query")?.to_lowercase();
                let hit = |trace: &Trace| {
                    trace.query.to_lowercase().contains(&query) || trace.result.to_lowercase().contains(&query)
                };
                self.list(&arguments, hit)
            }
            "get_trace" => {
                let id = arguments.need_text("trace_id")?;
                let trace = self.traces.iter().find(|trace| trace.id == id);
                text(trace.map(|trace| whole(trace)), "trace")
            }
            "get_current_config" => Ok(self.spec.value().clone()),
            "get_agent_prompt" => {
                let agent = arguments.text("agent")?.unwrap_or("default");
                text(self.spec.at(&Path::of(["agents", agent, "prompt"])), "agent")
            }
            "get_tool_description" => {
                text(self.spec.at(&Path::of(["tools", arguments.need_text("tool_name")?, "description"])), "tool")
            }
            "list_available_tools" => Ok(self.spec.value().get("tools").cloned().unwrap_or(Value::Null)),
            "list_personal_benchmark" => {
                let of = |id: &String| {
                    let task = &self.bench.tasks[id];
                    let record = Record::new().with("task_id", id.as_str()).with("category", task.category.as_deref());
                    Value::from(record.with("query", shown(&task.input, 200)))
                };
                Ok(self.bench.of(Split::Diagnose).iter().map(of).collect::<Vec<Value>>().into())
            }
            "run_student_on_task" => Ok(self.student(&self.task(call)?)),
            RUN_SELF => Ok(self.teacher(&self.task(call)?)),
            "compare_outputs" => {
                let id = self.task(call)?;
                let record = Record::new().with("student", self.student(&id)).with("teacher", self.teacher(&id));
                Ok(record.with("expected", self.bench.tasks[&id].expected.clone()).into())
            }
            other => Err(Refusal::new("unknown-tool", format!("there is no tool {other:?}"))),
        }
    }

    fn list(&self, arguments: &Fields<'_>, hit: impl Fn(&Trace) -> bool) -> Result<Value, Refusal> {
        let rows = arguments.whole("limit", 1..=1_000)?.unwrap_or(ROWS) as usize;
        let source = arguments.text("source")?;
        let own = |trace: &&&Trace| source.is_none_or(|source| trace.source == source) && hit(trace);
        let row = |trace: &&Trace| {
            Value::from(
                Record::new()
                    .with("trace_id", trace.id.as_str())
                    .with("agent", trace.agent.as_str())
                    .with("source", trace.source.as_str())
                    .with("failed", trace.failed())
                    .with("query", cut(&trace.query, 200)),
            )
        };
        Ok(self.traces.iter().filter(own).take(rows).map(row).collect::<Vec<Value>>().into())
    }

    fn student(&self, id: &str) -> Value {
        match self.bench.scored(self.spec, id) {
            Some(Ok(scored)) => answered(&scored.answer, scored.score),
            Some(Err(fault)) => Record::new().with("error", fault.message.as_str()).into(),
            None => Value::Null,
        }
    }

    fn teacher(&self, id: &str) -> Value {
        self.own.get(id).map_or(Value::Null, |(answer, score)| answered(answer, *score))
    }
}

fn answered(answer: &str, score: i64) -> Value {
    Record::new().with("answer", cut(answer, 6_000)).with("score", crate::amount::decimal(score)).into()
}

fn whole(trace: &Trace) -> Value {
    let spans = trace.record.get("spans").and_then(Value::as_list).unwrap_or_default();
    let steps: Vec<Value> = spans.iter().take(20).map(|span| shown(span, 200).into()).collect();
    Record::new()
        .with("trace_id", trace.id.as_str())
        .with("agent", trace.agent.as_str())
        .with("source", trace.source.as_str())
        .with("failed", trace.failed())
        .with("query", cut(&trace.query, 2_000))
        .with("result", cut(&trace.result, 6_000))
        .with("steps", steps)
        .into()
}
