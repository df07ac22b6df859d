//! A host in memory: blobs and a head, the real gate, a student whose score is a known function of
//! the spec, and a teacher that is a function of what it is asked.
//!
//! The student does `sums` where the temperature of its model is at most 0.2 and the engine is
//! local, `dates` where it has the tool `look`, and `rivers` where its prompt names them. What an
//! edit does to it can be told by hand.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;

use auto_json::Value;
use auto_schema::digest::Digest;
use auto_spec_search::gate::{Decision, Policy, Snapshot};
use auto_spec_search::lent::{Ask, Fault, Job, Lent, Ran, Told};
use auto_spec_search::run::run;
use auto_spec_search::sample::{Split, split};
use auto_spec_search::spec::{Path, Spec};

use super::{CATALOG, SPEC, json};

pub const CATEGORIES: [&str; 3] = ["sums", "dates", "rivers"];

/// What helps each category.
pub const TEMPERATURE: &str =
    r#"{"op":"set_model_param","payload":{"model":"small","param":"temperature","value":0.1}}"#;
pub const LOOK: &str = r#"{"op":"add_tool_to_agent","payload":{"tool_name":"look"}}"#;
pub const RIVERS: &str = r#"{"op":"replace_system_prompt","payload":{"new_content":"Name the river."}}"#;
/// What helps nothing.
pub const NEUTRAL: &str = r#"{"op":"set_memory_param","payload":{"param":"size","value":3}}"#;

type Teacher = Box<dyn FnMut(&Ask, &str) -> Told>;
type Trouble = Box<dyn FnMut(&Spec, &str) -> Option<Fault>>;

pub struct House {
    pub blobs: BTreeMap<String, Vec<u8>>,
    pub head: Option<String>,
    pub teacher: Teacher,
    /// What was asked.
    pub asked: Vec<Ask>,
    /// Micro-USD.
    pub spent: u64,
    /// How often a student ran.
    pub ran: usize,
    /// What keeps a task from being run with a spec.
    pub trouble: Trouble,
    /// A table of settings, without braces; the student and the catalog are always there.
    pub settings: String,
    /// Answers of the judge and the trainer, where they are commands.
    pub judge: Box<dyn FnMut(&str) -> Ran>,
    pub spec: String,
    pub traces: String,
    /// Whether the host knows what a call may cost, and refuses one that may cost more than it may.
    pub capped: bool,
    /// What came of judges and trainers: the host runs the same once.
    pub kept: BTreeMap<String, Ran>,
}

pub fn reply(text: impl Into<String>, cost: u64) -> Told {
    Told { said: Ok(text.into()), cost }
}

/// A teacher that sees which categories fail, does every task right, and answers a request for a
/// plan with what `plan` says of the text of the request.
pub fn teacher(mut plan: impl FnMut(&str) -> String + 'static) -> Teacher {
    Box::new(move |ask, expected| match ask.purpose {
        "diagnose" => reply(diagnosis(&ask.text), 1_000),
        "task" => reply(expected, 100),
        "plan" => reply(plan(&ask.text), 1_000),
        other => panic!("asked to {other}"),
    })
}

/// A cluster for each category with a task that scored nothing.
pub fn diagnosis(text: &str) -> String {
    let fails = |category: &&str| {
        text.lines().any(|line| line.contains(&format!("(category {category})")) && line.contains("scored 0.0"))
    };
    let cluster = |category: &str| {
        format!(r#"{{"id":"{category}","description":"fails at {category}","category":"{category}"}}"#)
    };
    let clusters: Vec<String> = CATEGORIES.iter().copied().filter(fails).map(cluster).collect();
    format!("It fails [1].\n```json\n[{}]\n```", clusters.join(","))
}

/// Proposals, each `(targets, edits)`.
pub fn plan(proposals: &[(&str, &str)]) -> String {
    let one = |(target, edits): &(&str, &str)| format!(r#"{{"targets":["{target}"],"edits":[{edits}]}}"#);
    format!("```json\n[{}]\n```", proposals.iter().map(one).collect::<Vec<_>>().join(","))
}

/// The first edit that helps a cluster that is told of.
pub fn helpful(text: &str) -> String {
    let clusters = text.split("The clusters:").nth(1).unwrap_or_default();
    let known = [("sums", TEMPERATURE), ("dates", LOOK), ("rivers", RIVERS)];
    let first = known.iter().filter(|(name, _)| clusters.contains(&format!(r#""id":"{name}""#))).take(1);
    plan(&first.copied().collect::<Vec<_>>())
}

pub fn tasks() -> Value {
    let of = |at: usize| {
        let category = CATEGORIES[at % 3];
        format!(
            r#"{{"id":"{category}-{at}","category":"{category}","input":"{category}, number {at}","expected":"right {at}"}}"#
        )
    };
    json(&format!("[{}]", (0..90).map(of).collect::<Vec<_>>().join(",")))
}

/// How many tasks of a split a category has.
pub fn count(category: &str, of: Split) -> usize {
    let own = (0..90).filter(|at| CATEGORIES[at % 3] == category);
    own.filter(|at| split("personal_v1", &format!("{category}-{at}")) == of).count()
}

fn does(spec: &Spec, category: &str) -> bool {
    let at = |pointer: &str| spec.at(&Path::parse(pointer).expect("a pointer"));
    let cool = at("/intelligence/params/small/temperature").and_then(|value| value.as_number().copied());
    let cool = cool.is_some_and(|number| number.compare(json("0.2").as_number().expect("one")).is_le());
    match category {
        "sums" => cool && at("/engine/id") == Some("local".into()),
        "dates" => at("/agents/default/tools/look").is_some(),
        _ => at("/agents/default/prompt")
            .is_some_and(|prompt| prompt.as_text().is_some_and(|text| text.contains("river"))),
    }
}

impl House {
    pub fn new(teacher: Teacher) -> House {
        House {
            blobs: BTreeMap::new(),
            head: None,
            teacher,
            asked: vec![],
            spent: 0,
            ran: 0,
            trouble: Box::new(|_, _| None),
            settings: r#""autonomy_mode":"auto","min_traces":0,"stagnation_k":2"#.to_owned(),
            judge: Box::new(|_| panic!("no judge")),
            spec: SPEC.to_owned(),
            traces: "[]".to_owned(),
            capped: true,
            kept: BTreeMap::new(),
        }
    }

    pub fn with(mut self, settings: &str) -> House {
        self.settings = settings.to_owned();
        self
    }

    /// Runs the driver.
    pub fn run(&mut self) -> Result<Value, Fault> {
        self.act(r#""action":"run""#)
    }

    /// The same for what a person decides.
    pub fn act(&mut self, action: &str) -> Result<Value, Fault> {
        let settings =
            format!(r#"{{"enabled":true,"student":{{"command":["student"]}},"catalog":{CATALOG},{}}}"#, self.settings);
        let inputs = [("spec", self.spec.clone()), ("tasks", tasks().to_string()), ("traces", self.traces.clone())];
        let inputs: Vec<String> = inputs
            .into_iter()
            .map(|(name, text)| format!(r#""{name}":"{}""#, self.put(text.as_bytes()).expect("kept")))
            .collect();
        let config =
            format!(r#"{{"run":"r","now":1000000,{action},"settings":{settings},"inputs":{{{}}}}}"#, inputs.join(","));
        run(self, &config)
    }

    pub fn spec_now(&mut self) -> Spec {
        let head = self.head.clone().expect("a head");
        let commit = json(std::str::from_utf8(&self.blobs[&head]).expect("text"));
        let spec = commit.get("spec").and_then(Value::as_text).expect("a spec").to_owned();
        Spec::parse(std::str::from_utf8(&self.blobs[&spec]).expect("text")).expect("a spec")
    }

    fn text(&self, job: &Job, name: &str) -> String {
        let file = job.files.iter().find(|file| file.path == name).unwrap_or_else(|| panic!("no {name}"));
        String::from_utf8(self.blobs[&file.digest].clone()).expect("text")
    }

    fn student(&mut self, job: &Job) -> Result<Ran, Fault> {
        let spec = Spec::parse(&self.text(job, "spec.json")).expect("a spec");
        let task = json(&self.text(job, "task.json"));
        assert_eq!(task.get("expected"), None, "the student is not told what is right");
        let id = task.get("id").and_then(Value::as_text).expect("an id").to_owned();
        if let Some(fault) = (self.trouble)(&spec, &id) {
            return Err(fault);
        }
        self.ran += 1;
        let (category, number) = id.split_once('-').expect("two parts");
        let answer = if does(&spec, category) { format!("right {number}\n") } else { "wrong".to_owned() };
        Ok(Ran {
            ending: "exited 0".to_owned(),
            stdout: self.put(answer.as_bytes())?,
            files: vec![],
            isolation: vec!["limits".to_owned()],
        })
    }
}

impl Lent for House {
    fn ask(&mut self, ask: &Ask) -> Told {
        self.asked.push(ask.clone());
        let all = tasks();
        let task = all
            .as_list()
            .expect("a list")
            .iter()
            .find(|task| task.get("input").and_then(Value::as_text) == Some(&ask.text));
        let expected = task.and_then(|task| task.get("expected")?.as_text().map(str::to_owned)).unwrap_or_default();
        let mut told = (self.teacher)(ask, &expected);
        if self.capped && told.cost > ask.most {
            told = Told { said: Err(Fault::new("call-cap", "it may cost more")), cost: 0 };
        }
        self.spent += told.cost;
        told
    }

    fn admit(&mut self, before: &Snapshot, after: &Snapshot, policy: &Policy) -> Decision {
        super::gate::decide(before, after, policy)
    }

    fn run(&mut self, jobs: &[Job]) -> Result<Vec<Result<Ran, Fault>>, Fault> {
        let one = |job: &Job| match job.command.command[0].as_str() {
            "student" => self.student(job),
            other => {
                let key = format!("{job:?}");
                if let Some(ran) = self.kept.get(&key) {
                    return Ok(ran.clone());
                }
                let mut ran = (self.judge)(other);
                ran.stdout = self.put(ran.stdout.clone().as_bytes())?;
                for file in &mut ran.files {
                    file.digest = self.put(file.digest.clone().as_bytes())?;
                }
                self.kept.insert(key, ran.clone());
                Ok(ran)
            }
        };
        Ok(jobs.iter().map(one).collect())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<String, Fault> {
        let digest = Digest::of(bytes).to_string();
        self.blobs.insert(digest.clone(), bytes.to_vec());
        Ok(digest)
    }

    fn get(&mut self, digest: &str) -> Result<Vec<u8>, Fault> {
        self.blobs.get(digest).cloned().ok_or_else(|| Fault::new("no-blob", digest))
    }

    fn head(&mut self) -> Result<Option<String>, Fault> {
        Ok(self.head.clone())
    }

    fn move_head(&mut self, since: Option<&str>, to: &str) -> Result<(), Fault> {
        if self.head.as_deref() != since {
            return Err(Fault::new("head-moved", "somebody else was here"));
        }
        self.head = Some(to.to_owned());
        Ok(())
    }

    fn progress(&mut self, _: &str, _: u64, _: Option<u64>) {}
}

/// The statuses of edits in a report, with their reasons.
pub fn edits(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_text).unwrap_or_default().to_owned();
    let timeline = report.get("timeline").or(report.get("entries")).and_then(Value::as_list).expect("a timeline");
    let edits = timeline.iter().filter(|one| text(one, "kind") == "edit");
    edits.map(|one| (text(one, "status"), text(one, "reason"))).collect()
}

pub fn sessions(report: &Value) -> Vec<Value> {
    let timeline = report.get("timeline").and_then(Value::as_list).expect("a timeline");
    let own = timeline.iter().filter(|one| one.get("kind").and_then(Value::as_text) == Some("session"));
    own.map(|one| one.get("detail").cloned().expect("a detail")).collect()
}

pub fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_text).unwrap_or_default()
}
