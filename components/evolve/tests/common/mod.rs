//! A host in memory: blobs and a head, the real gate, the real code generator, programs that are
//! evaluated by the language itself, and commands that are functions of what they find.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;

use auto_evolve::lent::{Ask, Axis, Decision, Fault, File, Job, Lent, Ran, Snapshot, Told};
use auto_evolve::run::run;
use auto_gate::admit_types as wit;
use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use auto_schema::ir::{Body, Graph};

pub fn json(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What a command finds and leaves.
pub struct Desk<'d> {
    pub files: &'d BTreeMap<String, String>,
    pub seed: u64,
    pub left: BTreeMap<String, String>,
    pub ending: String,
}

impl Desk<'_> {
    pub fn request(&self) -> Value {
        json(&self.files["request.json"])
    }

    pub fn param(&self, name: &str) -> i64 {
        self.request().get("params").and_then(|params| params.get(name)?.as_i64()).unwrap_or_default()
    }

    pub fn rows(&self, name: &str) -> Vec<Value> {
        self.files[name].lines().map(json).collect()
    }

    pub fn leave(&mut self, name: &str, text: impl Into<String>) {
        self.left.insert(name.to_owned(), text.into());
    }

    /// What an honest run leaves: these labels.
    pub fn predict(&mut self, label: impl Fn(&Value) -> String) {
        let request = self.request();
        let line = |row: &Value| {
            let record = Record::new().with("id", row.get("id").unwrap().clone()).with("label", label(row));
            format!("{}\n", Value::from(record))
        };
        let text: String = self.rows("test.jsonl").iter().map(line).collect();
        self.leave("predictions.jsonl", text);
        self.leave("config.json", request.get("params").unwrap().to_string());
        self.leave("metrics.json", Record::new().with("run", request.get("run").unwrap().clone()).into_text());
    }
}

trait IntoText {
    fn into_text(self) -> String;
}

impl IntoText for Record {
    fn into_text(self) -> String {
        Value::from(self).to_string()
    }
}

type Command = Box<dyn FnMut(&mut Desk<'_>)>;

pub struct House {
    pub blobs: BTreeMap<String, Vec<u8>>,
    pub head: Option<String>,
    /// What is run.
    pub command: Command,
    pub settings: String,
    pub rows: String,
    pub inputs: Vec<(&'static str, String)>,
    /// Jobs that were run, equal ones once.
    pub ran: BTreeMap<String, Ran>,
    /// The most jobs that the host starts.
    pub budget: usize,
    pub teacher: Box<dyn FnMut(&Ask) -> Told>,
    pub asked: Vec<Ask>,
}

impl House {
    pub fn new(settings: &str, rows: &str, command: impl FnMut(&mut Desk<'_>) + 'static) -> House {
        House {
            blobs: BTreeMap::new(),
            head: None,
            command: Box::new(command),
            settings: settings.to_owned(),
            rows: rows.to_owned(),
            inputs: Vec::new(),
            ran: BTreeMap::new(),
            budget: usize::MAX,
            teacher: Box::new(|ask| panic!("asked {ask:?}")),
            asked: Vec::new(),
        }
    }

    pub fn run(&mut self) -> Result<Value, Fault> {
        self.act(r#""action":"run""#)
    }

    pub fn act(&mut self, action: &str) -> Result<Value, Fault> {
        let mut inputs = vec![format!(r#""rows":"{}""#, self.keep(&self.rows.clone()))];
        for (name, text) in self.inputs.clone() {
            inputs.push(format!(r#""{name}":"{}""#, self.keep(&text)));
        }
        let inputs = inputs.join(",");
        let config = format!(r#"{{"run":"r",{action},"settings":{},"inputs":{{{inputs}}}}}"#, self.settings);
        run(self, &config)
    }

    pub fn keep(&mut self, text: &str) -> String {
        self.put(text.as_bytes()).unwrap()
    }

    /// The files of the state that counts.
    pub fn made(&self) -> BTreeMap<String, String> {
        let commit = json(std::str::from_utf8(&self.blobs[self.head.as_ref().unwrap()]).unwrap());
        let file = |file: &Value| {
            let text = |key: &str| file.get(key).and_then(Value::as_text).unwrap().to_owned();
            (text("path"), String::from_utf8_lossy(&self.blobs[&text("digest")]).into_owned())
        };
        commit.get("files").and_then(Value::as_list).unwrap().iter().map(file).collect()
    }

    fn one(&mut self, job: &Job) -> Result<Ran, Fault> {
        let key = format!("{job:?}");
        if let Some(ran) = self.ran.get(&key) {
            return Ok(ran.clone());
        }
        if self.ran.len() >= self.budget {
            return Err(Fault::new("experiment-budget", "no more"));
        }
        let text = |file: &File| String::from_utf8(self.blobs[&file.digest].clone()).unwrap();
        let files: BTreeMap<String, String> = job.files.iter().map(|file| (file.path.clone(), text(file))).collect();
        let mut desk = Desk { files: &files, seed: job.seed, left: BTreeMap::new(), ending: "exited 0".to_owned() };
        (self.command)(&mut desk);
        let (left, ending) = (desk.left, desk.ending);
        let mut brought = Vec::new();
        for (path, text) in left.into_iter().filter(|(path, _)| job.collect.contains(path)) {
            brought.push(File { path, digest: self.keep(&text), executable: false });
        }
        let (stdout, stderr) = (self.keep(""), self.keep("what it said"));
        let ran = Ran { ending, stdout, stderr, files: brought, isolation: vec!["memory".to_owned()] };
        self.ran.insert(key, ran.clone());
        Ok(ran)
    }
}

impl Lent for House {
    fn ask(&mut self, ask: &Ask) -> Told {
        self.asked.push(ask.clone());
        (self.teacher)(ask)
    }

    fn admit(&mut self, before: &Snapshot, after: &Snapshot, axes: &[Axis], least: u32) -> Decision {
        let policy = wit::Policy {
            axes: axes.iter().map(axis).collect(),
            rest: None,
            min_n: least,
            must_pass: after.checks.iter().map(|(name, _)| name.clone()).collect(),
            drift: None,
        };
        let words = |why: Vec<wit::Reason>| why.into_iter().map(|one| format!("{} {}", one.axis, one.code)).collect();
        match auto_gate::admits(&snapshot(before), &snapshot(after), &policy) {
            wit::Decision::Accept => Decision::Accept,
            wit::Decision::Reject(why) => Decision::Reject(words(why)),
            wit::Decision::Unmeasurable(why) => Decision::Unmeasurable(words(why)),
            wit::Decision::Other(other) => panic!("{other}"),
        }
    }

    fn run(&mut self, jobs: &[Job]) -> Result<Vec<Result<Ran, Fault>>, Fault> {
        Ok(jobs.iter().map(|job| self.one(job)).collect())
    }

    fn emit(&mut self, graph: &[u8]) -> Result<Vec<u8>, Fault> {
        auto_emit::emit(graph).map_err(|fault| Fault::new(&fault.code, fault.message))?;
        // What the sandbox below understands.
        Ok(graph.to_vec())
    }

    fn sandbox(&mut self, module: &[u8], inputs: &[String]) -> Result<Vec<Option<String>>, Fault> {
        let graph = Graph::from_bytes(module).map_err(|error| Fault::new("not-a-behavior", format!("{error:?}")))?;
        let rule = graph.nodes.iter().find_map(|node| match &node.body {
            Body::Expression { source } => auto_lang::parse(source).ok(),
            _ => None,
        });
        let rule = rule.unwrap();
        Ok(inputs.iter().map(|input| auto_lang::eval(&rule, &json(input)).map(|value| value.to_string())).collect())
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
        if self.head.as_deref() != since && self.head.as_deref() != Some(to) {
            return Err(Fault::new("head-moved", "somebody else was here"));
        }
        self.head = Some(to.to_owned());
        Ok(())
    }

    fn progress(&mut self, _: &str, _: u64, _: Option<u64>) {}
}

fn snapshot(of: &Snapshot) -> wit::Snapshot {
    let measure = |one: &auto_evolve::lent::Measure| wit::Measure {
        metric: one.metric.clone(),
        stratum: "all".to_owned(),
        mean: one.mean,
        n: one.n,
    };
    let check = |(name, ok): &(String, bool)| wit::Check { name: name.clone(), ok: *ok, detail: String::new() };
    wit::Snapshot {
        subject: of.subject.clone(),
        evaluator: of.evaluator.clone(),
        sample: of.sample.clone(),
        measures: of.measures.iter().map(measure).collect(),
        checks: of.checks.iter().map(check).collect(),
    }
}

fn axis(of: &Axis) -> wit::Axis {
    wit::Axis {
        metric: of.metric.clone(),
        stratum: "all".to_owned(),
        sense: wit::Sense::Higher,
        comparison: if of.strict { wit::Comparison::Gt } else { wit::Comparison::Ge },
        bound: of.bound,
    }
}

pub fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_text).unwrap_or_else(|| panic!("no {key}: {value}"))
}

pub fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_list).unwrap_or_else(|| panic!("no {key}"))
}

pub fn number(value: &Value, key: &str) -> i64 {
    value.get(key).and_then(Value::as_i64).unwrap_or_else(|| panic!("no {key}: {value}"))
}

/// The individuals of a status.
pub fn of_status<'v>(report: &'v Value, status: &str) -> Vec<&'v Value> {
    list(report, "individuals").iter().filter(|own| text(own, "status") == status).collect()
}
