//! Only the host seals: `auto:host/artifact`. A module that a driver hands over is run on
//! everything that was witnessed or promised, the pinned gate decides on what it did, and
//! only then does it get a manifest and a digest.
//!
//! Little that the driver claims is believed. A guard has to be seen at work; a held-out
//! answer has to be one that the sandbox gave in this job, for an input and an output that
//! were recorded. That the program which gave it had not been shown the input is the driver's
//! word, and so are the notes and the metered twin's steps; its digest is in the manifest.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use auto_json::{Canonical, Record, Value};
use auto_schema::cbin;
use auto_schema::contract::Contract;
use auto_schema::digest::Digest;
use auto_schema::evidence::{Observation, Reference, Runs, chain_evidence_id, evidence_id};
use auto_schema::ir::Graph;
use auto_schema::manifest::{FORMAT, Manifest, PassRef, Steps};
use wasmtime::component::Val;

use crate::engine::Inner;
use crate::exchange::Exchanges;
use crate::fault::{Fault, FaultClass};
use crate::journal::Durability;
use crate::judge::Opinions;
use crate::name::InterfaceName;
use crate::pass::Pass;
use crate::predicate::Predicates;
use crate::providers::{Provider, Providers};
use crate::sandbox::{NotABehavior, Ran};
use crate::strangers::strangers;
use crate::twin;
use crate::verdict::Verdict;
use crate::wire::{self, Outcome, Replay};

/// The interface that decides.
const GATE: &str = "auto:pass/gate@0.1.0";
const MILLION: u128 = 1_000_000;

/// Characters of an input that go into a message.
const SHOWN: usize = 160;

/// What the host judges by, and on.
pub(crate) struct Court {
    pub(crate) contract: Contract,
    pub(crate) observations: Vec<Observation>,
    pub(crate) evidence: Digest,
    /// The pinned gate, then those that may only tighten.
    pub(crate) gates: Vec<Provider>,
    /// The pinned gate, where it is not the built-in one.
    pub(crate) trusted_gate: Option<Digest>,
    /// The components that decide properties of the contract.
    pub(crate) predicates: Predicates,
    /// The runs of a task or region.
    pub(crate) runs: Runs,
    /// What answers requests in replays.
    pub(crate) exchanges: Exchanges,
}

/// What took part in a job so far.
#[derive(Default)]
pub(crate) struct Provenance {
    /// Interfaces and the components that served them, outermost first.
    pub(crate) passes: Vec<PassRef>,
    /// Modules that a built-in emit made in this job.
    pub(crate) emitted: BTreeSet<Digest>,
    /// Inputs and answers of the sandbox in this job.
    measured: BTreeSet<(String, String)>,
}

impl Provenance {
    /// Takes note of what `auto:host/sandbox#run` gave.
    pub(crate) fn measured(&mut self, results: &[Val]) {
        let [Val::Result(Ok(Some(replays)))] = results else { return };
        let replays = wire::as_list(replays).unwrap_or_default().iter().filter_map(Replay::from_val);
        self.measured.extend(replays.filter_map(|replay| match replay.outcome {
            Outcome::Answer(answer) => Some((replay.input, answer)),
            _ => None,
        }));
    }
}

/// What a driver wants sealed, read from its `draft`.
pub(crate) struct Draft {
    module: Vec<u8>,
    metered: Option<Vec<u8>>,
    graph: Option<Vec<u8>>,
    held_out: Val,
    notes: Vec<String>,
}

/// What came of it.
pub(crate) struct Sealed {
    pub(crate) verdict: Verdict,
    pub(crate) eval_run: Value,
    pub(crate) artifact: Option<Vec<u8>>,
    pub(crate) durability: Durability,
}

/// Why there is not even a verdict: the code and message of a fault record, or a gate
/// that failed.
pub(crate) enum SealError {
    Refused(&'static str, String),
    Gate(Fault),
}

impl From<Fault> for SealError {
    fn from(fault: Fault) -> SealError {
        SealError::Gate(fault)
    }
}

impl From<NotABehavior> for SealError {
    fn from(NotABehavior { code, why }: NotABehavior) -> SealError {
        SealError::Refused(code, why)
    }
}

impl Draft {
    /// Reads `auto:host/artifact.draft`; `None` for a value of another type.
    pub(crate) fn from_val(value: &Val) -> Option<Draft> {
        let optional = |name: &str| match wire::as_option(wire::field(value, name)?)? {
            Some(bytes) => Some(Some(wire::as_bytes(bytes)?)),
            None => Some(None),
        };
        Some(Draft {
            module: wire::as_bytes(wire::field(value, "module")?)?,
            metered: optional("metered")?,
            graph: optional("graph")?,
            held_out: wire::field(value, "held-out")?.clone(),
            notes: wire::as_texts(wire::field(value, "notes")?)?,
        })
    }
}

impl Sealed {
    /// `auto:host/artifact.sealed`.
    pub(crate) fn to_val(&self) -> Val {
        let size = self.artifact.as_ref().map_or(0, |artifact| u32::try_from(artifact.len()).unwrap_or(u32::MAX));
        let id = self.artifact.as_ref().map(|artifact| wire::text(Digest::of(artifact).to_string()));
        wire::record([
            ("verdict", self.verdict.to_val()),
            ("eval-run", wire::text(id_of(&self.eval_run).to_string())),
            ("id", wire::option(id)),
            ("size", Val::U32(size)),
        ])
    }
}

fn id_of(record: &Value) -> Digest {
    Digest::of(record.canonical().as_str().as_bytes())
}

impl Court {
    /// `auto:host/artifact#seal`.
    pub(crate) fn seal(
        &self,
        engine: &Arc<Inner>,
        draft: &Draft,
        provenance: &Provenance,
        opinions: &Opinions,
    ) -> Result<Sealed, SealError> {
        check_module(&draft.module)?;
        let graph = draft.graph.as_deref().map(|bytes| self.graph(bytes)).transpose()?;
        self.check_held_out(&draft.held_out, &provenance.measured)?;
        let Replays { replays, asked, steps, durability } = self.replay(engine, draft)?;
        if graph.as_ref().is_some_and(Graph::is_guarded) {
            self.see_guard(engine, &draft.module)?;
        }
        let facts =
            Facts { draft, graph: graph.as_ref(), code: Digest::of(&draft.module), replays: &replays, asked, steps };
        let latency = self.latency(engine, &draft.module)?;
        let rulings = self.predicates.rule(engine, &self.contract, &answers(&replays))?;
        let verdict = self.decide(engine, wire::case("artifact", facts.candidate(latency)), rulings, opinions)?;
        let subject = Record::new().with("artifact", Record::new().with("code", facts.code.to_string()));
        let eval_run = self.eval_run(subject, &verdict, opinions);
        let artifact = match verdict.status.as_str() {
            "pass" => {
                let manifest = self.manifest(&facts, id_of(&eval_run), provenance, opinions);
                let sealed = cbin::seal(&draft.module, draft.graph.as_deref(), &manifest);
                Some(sealed.map_err(|damage| SealError::Refused(damage.code, damage.to_string()))?)
            }
            _ => None,
        };
        Ok(Sealed { verdict, eval_run, artifact, durability })
    }

    /// Judges recordings of the reference rather than an artifact.
    pub(crate) fn judge(
        &self,
        engine: &Arc<Inner>,
        reference: &Reference,
        opinions: &Opinions,
    ) -> Result<(Verdict, Value), Fault> {
        let seen = self.observations.iter();
        let recorded: Vec<(&str, &str)> = seen
            .flat_map(|seen| seen.outputs.iter().map(|(output, _)| (seen.input.as_str(), output.as_str())))
            .collect();
        let rulings = self.predicates.rule(engine, &self.contract, &recorded)?;
        let subject = wire::case("recordings", wire::reference(reference));
        let verdict = self.decide(engine, subject, rulings, opinions)?;
        let subject = Record::new().with("recordings", reference.durations.len());
        let eval_run = self.eval_run(subject, &verdict, opinions);
        Ok((verdict, eval_run))
    }

    /// Judges an artifact that is there already, by what it does now: steps are not counted
    /// in a sealed file.
    pub(crate) fn judge_artifact(
        &self,
        engine: &Arc<Inner>,
        file: &[u8],
        replayed: &Replayed,
        opinions: &Opinions,
    ) -> Result<(Verdict, Value), SealError> {
        let artifact = cbin::Cbin::read(file).map_err(|damage| SealError::Refused(damage.code, damage.to_string()))?;
        let rulings = self.predicates.rule(engine, &self.contract, &answers(&replayed.replays))?;
        let manifest = &artifact.manifest;
        let candidate = wire::record([
            ("code-id", wire::text(manifest.code.to_string())),
            ("size", Val::U32(manifest.module_bytes)),
            ("capabilities", Val::List(manifest.capabilities.iter().map(wire::text).collect())),
            ("guarded", Val::Bool(manifest.guarded)),
            ("learned", Val::Bool(artifact.graph.as_ref().is_some_and(Graph::is_learned))),
            ("metered", Val::Bool(replayed.metered)),
            ("latency-us-p95", wire::option(self.latency(engine, file)?.map(Val::U64))),
            ("replays", Val::List(replayed.replays.iter().map(Replay::to_val).collect())),
            ("held-out", Val::List(Vec::new())),
        ]);
        let verdict = self.decide(engine, wire::case("artifact", candidate), rulings, opinions)?;
        let subject = Record::new().with("artifact", Record::new().with("id", artifact.id.to_string()));
        let eval_run = self.eval_run(subject, &verdict, opinions);
        Ok((verdict, eval_run))
    }

    /// Runs a sealed file on all that was witnessed or promised. Steps are not counted in a
    /// sealed file: where the contract has a budget of them, its program's twin counts.
    pub(crate) fn replay_file(
        &self,
        engine: &Arc<Inner>,
        emits: &Providers,
        file: &[u8],
    ) -> Result<Replayed, SealError> {
        let inputs = self.inputs();
        let mut replays = engine.replay(file, &inputs, &self.exchanges)?.replays;
        let budgets = &self.contract.budgets.artifact;
        let wanted = budgets.max_steps.is_some() || budgets.max_steps_p95.is_some();
        let twin = if wanted { twin::of(engine, emits, file)? } else { None };
        if let Some(twin) = &twin {
            let counted = engine.replay(twin, &inputs, &self.exchanges)?.replays;
            for (replay, counted) in replays.iter_mut().zip(counted) {
                replay.steps = counted.steps;
            }
        }
        Ok(Replayed { replays, metered: twin.is_some() })
    }

    /// The program must be sound and speak of the contract's types.
    fn graph(&self, bytes: &[u8]) -> Result<Graph, SealError> {
        let refuse = |why: String| SealError::Refused("graph-mismatch", why);
        let graph = Graph::from_bytes(bytes).map_err(|wrong| {
            let all = wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            refuse(format!("the program is not sound: {all}"))
        })?;
        let input = graph.input().and_then(|node| node.outputs.first()).map(|port| &port.ty);
        let output = graph.output().and_then(|node| node.inputs.first()).map(|port| &port.ty);
        for (what, has, wanted) in [("input", input, &self.contract.input), ("output", output, &self.contract.output)] {
            if let Some(has) = has.filter(|has| *has != wanted) {
                return Err(refuse(format!("the program's {what} is {has}, the contract's {wanted}")));
            }
        }
        Ok(graph)
    }

    /// Every held-out row is of the evidence, and its answer one that the sandbox gave.
    fn check_held_out(&self, held_out: &Val, measured: &BTreeSet<(String, String)>) -> Result<(), SealError> {
        let refuse = |input: &str, why: &str| {
            let why = format!("the held-out row for {input} {why}; what was not measured is not sealed");
            Err(SealError::Refused("held-out-unmeasured", why))
        };
        let known = self.known();
        let mut seen = BTreeSet::new();
        for row in wire::as_list(held_out).unwrap_or_default() {
            let text = |name: &str| wire::field(row, name).and_then(wire::as_text).unwrap_or_default();
            let (input, expected) = (text("input"), text("expected"));
            if !known.contains(&(input.into(), expected.into())) {
                return refuse(input, "expects what was neither recorded nor promised");
            }
            if !seen.insert(input) {
                return refuse(input, "is there twice");
            }
            if let Some(Outcome::Answer(answer)) = wire::field(row, "outcome").and_then(Outcome::from_val)
                && !measured.contains(&(input.to_owned(), answer.clone()))
            {
                return refuse(input, &format!("has the answer {answer}, which no module gave in the sandbox"));
            }
        }
        Ok(())
    }

    /// Inputs with an output that was recorded or that an example promises.
    fn known(&self) -> BTreeSet<(Cow<'_, str>, Cow<'_, str>)> {
        let recorded = self.observations.iter().flat_map(|seen| {
            let input = seen.input.as_str();
            seen.outputs.iter().map(move |(output, _)| (Cow::from(input), Cow::from(output.as_str())))
        });
        let text = |value: &Value| Cow::from(value.canonical().into_string());
        let examples = self.contract.examples.iter();
        recorded.chain(examples.map(|example| (text(&example.input), text(&example.output)))).collect()
    }

    /// A program that says that it has a guard abstains on something that is unlike all that
    /// was recorded, rather than answer it.
    fn see_guard(&self, engine: &Inner, module: &[u8]) -> Result<(), SealError> {
        let strangers: Vec<String> = strangers(&self.observations, &self.contract.input).into_iter().collect();
        let replays = engine.replay(module, &strangers, &Exchanges::default())?.replays;
        let abstains = replays.iter().any(|replay| matches!(replay.outcome, Outcome::Abstain { .. }));
        let answered =
            replays.iter().find(|replay| matches!(replay.outcome, Outcome::Answer(_) | Outcome::Request { .. }));
        let Some(answered) = answered.filter(|_| !abstains) else { return Ok(()) };
        let shown: String = answered.input.chars().take(SHOWN).collect();
        let why = format!(
            "the program says that it has a guard, and the module abstains on nothing that is unlike the recordings, such as {shown}…; a guard or emit of this job does not do what it says"
        );
        Err(SealError::Refused("guard-open", why))
    }

    /// Runs the module, and its metered twin, on all that was witnessed or promised.
    fn replay(&self, engine: &Inner, draft: &Draft) -> Result<Replays, SealError> {
        let inputs = self.inputs();
        let ran = engine.replay(&draft.module, &inputs, &self.exchanges)?;
        let Ran { replays, asked, memo_hit } = ran;
        let Some(metered) = &draft.metered else {
            return Ok(Replays { replays, asked, steps: None, durability: durability(memo_hit) });
        };
        let twin = engine.replay(metered, &inputs, &self.exchanges)?;
        let mut pairs = replays.iter().zip(&twin.replays);
        if let Some((own, other)) = pairs.find(|(own, other)| own.outcome != other.outcome) {
            let why = format!(
                "the module and its metered twin part on {}: {:?} and {:?}",
                own.input, own.outcome, other.outcome
            );
            return Err(SealError::Refused("metered-mismatch", why));
        }
        let steps = percentiles(twin.replays.iter().map(|replay| replay.steps).collect());
        let replays = replays.into_iter().zip(&twin.replays).map(|(own, twin)| Replay { steps: twin.steps, ..own });
        Ok(Replays { replays: replays.collect(), asked, steps, durability: durability(memo_hit && twin.memo_hit) })
    }

    /// The inputs of observations, examples and eval cases, each once, sorted.
    fn inputs(&self) -> Vec<String> {
        let witnessed = self.observations.iter().map(|observation| observation.input.as_str().to_owned());
        let examples = self.contract.examples.iter().map(|example| &example.input);
        let cases = self.contract.cases.iter().map(|case| &case.input);
        let promised = examples.chain(cases).map(|input| input.canonical().into_string());
        witnessed.chain(promised).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Microseconds of an answer, all calls together, 95th percentile, where the contract sets
    /// such a budget.
    fn latency(&self, engine: &Inner, module: &[u8]) -> Result<Option<u64>, SealError> {
        match self.contract.budgets.artifact.max_latency_us_p95 {
            None => Ok(None),
            Some(_) => Ok(engine.latency_us_p95(module, &self.inputs(), &self.exchanges)?),
        }
    }

    /// Asks every gate; the worst verdict counts.
    fn decide(&self, engine: &Arc<Inner>, subject: Val, rulings: Val, opinions: &Opinions) -> Result<Verdict, Fault> {
        let evidence = wire::record([
            ("observations", wire::observations(&self.observations)),
            ("subject", subject),
            ("rulings", rulings),
            ("opinions", opinions.to_val()),
        ]);
        let contract = wire::text(self.contract.to_value().canonical().into_string());
        let args = [contract, evidence];
        let mut verdicts = self.gates.iter().map(|gate| ask(engine, gate, &args));
        let mut verdict = verdicts.next().unwrap_or_else(|| Err(no_gate()))?;
        for (other, gate) in verdicts.zip(self.gates.iter().skip(1)) {
            verdict.tighten(other?, gate.pass.digest);
        }
        Ok(verdict)
    }

    /// What was judged by what with which result: no times, so the same judgement has the
    /// same id.
    fn eval_run(&self, subject: Record, verdict: &Verdict, opinions: &Opinions) -> Value {
        let gates = self.gates.iter().map(|gate| Value::from(gate.pass.digest.to_string())).collect::<Vec<_>>();
        let verdict = verdict.to_record();
        let record = Record::new()
            .with("format", 1u32)
            .with("task", self.contract.task.as_str())
            .with("scope", self.contract.scope.to_string())
            .with("contract", self.contract.id().to_string())
            .with("evidence", self.evidence.to_string())
            .with("gates", gates)
            .with("subject", subject)
            .with("status", verdict.get("status").cloned().unwrap_or(Value::Null))
            .with("findings", verdict.get("findings").cloned().unwrap_or(Value::Null));
        match opinions.to_record() {
            Some(judged) => record.with("judged", judged).into(),
            None => record.into(),
        }
    }

    fn manifest(&self, facts: &Facts<'_>, eval_run: Digest, provenance: &Provenance, opinions: &Opinions) -> Manifest {
        let (out_of_fold, rows) = facts.out_of_fold();
        let answered = facts.replays.iter().filter(|replay| matches!(replay.outcome, Outcome::Answer(_))).count();
        Manifest {
            format: FORMAT,
            task: self.contract.task.clone(),
            scope: self.contract.scope.to_string(),
            input: self.contract.input.clone(),
            output: self.contract.output.clone(),
            capabilities: facts.capabilities(),
            guarded: facts.guarded(),
            contract: self.contract.id(),
            evidence: self.evidence,
            eval_run,
            code: facts.code,
            observations: count(self.observations.len()),
            agreement: self.agreement(facts.replays),
            coverage: share(answered, facts.replays.len()),
            out_of_fold,
            out_of_fold_rows: rows,
            steps: facts.steps,
            module_bytes: count(facts.draft.module.len()),
            passes: provenance.passes.iter().cloned().chain(self.gate_refs()).chain(self.predicates.refs()).collect(),
            trusted_gate: self.trusted_gate,
            reusable: provenance.emitted.contains(&facts.code),
            notes: facts.draft.notes.clone(),
            judged: opinions.judged(),
        }
    }

    fn gate_refs(&self) -> impl Iterator<Item = PassRef> {
        self.gates.iter().map(|gate| PassRef { interface: gate.interface.to_string(), digest: gate.pass.digest })
    }

    /// Of the recorded inputs that were answered, how many as they were most often.
    fn agreement(&self, replays: &[Replay]) -> Option<u32> {
        let recorded: BTreeMap<&str, &str> = self
            .observations
            .iter()
            .filter_map(|observation| Some((observation.input.as_str(), majority(observation)?)))
            .collect();
        let answered =
            replays.iter().filter_map(|replay| match (&replay.outcome, recorded.get(replay.input.as_str())) {
                (Outcome::Answer(answer), Some(expected)) => Some(answer == expected),
                _ => None,
            });
        let answered: Vec<bool> = answered.collect();
        share(answered.iter().filter(|right| **right).count(), answered.len())
    }
}

/// What a module turned out to be.
struct Facts<'a> {
    draft: &'a Draft,
    graph: Option<&'a Graph>,
    code: Digest,
    replays: &'a [Replay],
    asked: BTreeSet<String>,
    steps: Option<Steps>,
}

/// What a sealed file did.
pub(crate) struct Replayed {
    replays: Vec<Replay>,
    /// Whether steps were counted.
    metered: bool,
}

impl Replayed {
    /// The answers that are JSON, with their inputs.
    pub(crate) fn answers(&self) -> Vec<(Canonical, Canonical)> {
        let read = |(input, output): (&str, &str)| Some((Canonical::of(input).ok()?, Canonical::of(output).ok()?));
        answers(&self.replays).into_iter().filter_map(read).collect()
    }
}

/// What the replays came to.
struct Replays {
    replays: Vec<Replay>,
    /// The capabilities that were asked for.
    asked: BTreeSet<String>,
    steps: Option<Steps>,
    durability: Durability,
}

impl Facts<'_> {
    /// `auto:pass/gate.candidate`.
    fn candidate(&self, latency_us_p95: Option<u64>) -> Val {
        wire::record([
            ("code-id", wire::text(self.code.to_string())),
            ("size", Val::U32(count(self.draft.module.len()))),
            ("capabilities", Val::List(self.capabilities().into_iter().map(wire::text).collect())),
            ("guarded", Val::Bool(self.guarded())),
            ("learned", Val::Bool(self.graph.is_some_and(Graph::is_learned))),
            ("metered", Val::Bool(self.draft.metered.is_some())),
            ("latency-us-p95", wire::option(latency_us_p95.map(Val::U64))),
            ("replays", Val::List(self.replays.iter().map(Replay::to_val).collect())),
            ("held-out", self.draft.held_out.clone()),
        ])
    }

    /// A module of somebody's own may have a guard inside; nobody can tell.
    fn guarded(&self) -> bool {
        self.graph.is_some_and(Graph::is_guarded)
    }

    /// What the program may ask for, or what a module without one was seen to ask for.
    fn capabilities(&self) -> Vec<String> {
        let names: BTreeSet<String> = match self.graph {
            Some(graph) => graph.capabilities().iter().map(ToString::to_string).collect(),
            None => self.asked.clone(),
        };
        names.into_iter().collect()
    }

    /// The share of right answers among the held-out inputs that were answered, and how
    /// many were held out.
    fn out_of_fold(&self) -> (Option<u32>, u32) {
        let rows = wire::as_list(&self.draft.held_out).unwrap_or_default();
        let answers: Vec<bool> = rows
            .iter()
            .filter_map(|row| {
                let expected = wire::field(row, "expected").and_then(wire::as_text)?;
                match wire::field(row, "outcome").and_then(Outcome::from_val)? {
                    Outcome::Answer(answer) => Some(answer == expected),
                    _ => None,
                }
            })
            .collect();
        (share(answers.iter().filter(|right| **right).count(), answers.len()), count(rows.len()))
    }
}

/// The answers among replays, with their inputs.
fn answers(replays: &[Replay]) -> Vec<(&str, &str)> {
    let answered = replays.iter().filter_map(|replay| match &replay.outcome {
        Outcome::Answer(answer) => Some((replay.input.as_str(), answer.as_str())),
        _ => None,
    });
    answered.collect()
}

fn ask(engine: &Arc<Inner>, gate: &Provider, args: &[Val]) -> Result<Verdict, Fault> {
    let results = engine.call(gate, "decide", args)?;
    let call = engine.prepare(gate, "decide")?;
    match results.first() {
        Some(Val::Result(Ok(Some(verdict)))) => Verdict::from_val(verdict)
            .ok_or_else(|| call.fault(FaultClass::BadOutput, "what it returned is no verdict")),
        Some(Val::Result(Err(refusal))) => Err(crate::dispatch::refused(&call, refusal.as_deref(), None)),
        _ => Err(call.fault(FaultClass::BadOutput, "it returned no verdict")),
    }
}

fn no_gate() -> Fault {
    Fault {
        pass: "host".to_owned(),
        digest: None,
        function: format!("{GATE}#decide"),
        class: FaultClass::MissingImport,
        message: "there is no gate, so nothing can be judged; add a component that exports it".to_owned(),
        at: Some(GATE.to_owned()),
        log: Vec::new(),
        callers: Vec::new(),
    }
}

/// The pinned gate, then every other gate on the stack; what the pinned one was put in
/// place of (`without`) is left out.
pub(crate) fn gates(
    pinned: &Arc<Pass>,
    providers: &Providers,
    without: &BTreeSet<Digest>,
) -> Result<Vec<Provider>, Fault> {
    let Some(wanted) = InterfaceName::parse(GATE) else { return Err(no_gate()) };
    let mut alone = Providers::new();
    alone.push(pinned.clone());
    let mut gates = vec![alone.provider(&wanted).ok_or_else(no_gate)?];
    let others =
        providers.all(&wanted).filter(|gate| gate.pass.digest != pinned.digest && !without.contains(&gate.pass.digest));
    gates.extend(others);
    Ok(gates)
}

/// What no sandbox needs to see to say no.
fn check_module(module: &[u8]) -> Result<(), SealError> {
    let imports =
        cbin::import_names(module).map_err(|damage| SealError::Refused("not-a-behavior", damage.to_string()))?;
    if imports.is_empty() {
        return Ok(());
    }
    let why = format!("the module imports {}; an artifact imports nothing", imports.join(", "));
    Err(SealError::Refused("not-a-behavior", why))
}

/// The output seen most often; of several, the first as text.
fn majority(observation: &Observation) -> Option<&str> {
    let best = observation.outputs.iter().max_by(|(a, a_count), (b, b_count)| a_count.cmp(b_count).then(b.cmp(a)));
    best.map(|(output, _)| output.as_str())
}

/// Nearest rank (the smallest value that at least p percent do not exceed).
fn percentiles(mut steps: Vec<u64>) -> Option<Steps> {
    steps.sort_unstable();
    let rank = |percent: usize| steps.get((steps.len() * percent).div_ceil(100).saturating_sub(1)).copied();
    Some(Steps { p50: rank(50)?, p95: rank(95)?, max: *steps.last()? })
}

/// Parts per million, rounded down; `None` of nothing.
fn share(part: usize, whole: usize) -> Option<u32> {
    let ppm = (part as u128 * MILLION).checked_div(whole as u128)?;
    u32::try_from(ppm).ok()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn durability(memo_hit: bool) -> Durability {
    if memo_hit { Durability::Cached } else { Durability::Made }
}

/// Binds what is judged together; observations are put in order.
pub(crate) fn court(
    contract: Contract,
    mut observations: Vec<Observation>,
    gates: Vec<Provider>,
    trusted_gate: Option<Digest>,
    predicates: Predicates,
) -> Court {
    observations.sort_by(|a, b| a.input.cmp(&b.input));
    observations.iter_mut().for_each(|observation| observation.outputs.sort());
    let evidence = evidence_id(&observations);
    let (runs, exchanges) = (Runs::default(), Exchanges::default());
    Court { contract, observations, evidence, gates, trusted_gate, predicates, runs, exchanges }
}

impl Court {
    /// What was recorded inside the scope answers requests, and is part of the evidence.
    pub(crate) fn with_runs(mut self, mut runs: Runs) -> Court {
        runs.runs.sort();
        runs.runs.dedup();
        self.evidence = chain_evidence_id(&self.observations, &runs.runs);
        self.exchanges = Exchanges::of(&runs.runs, self.contract.version > 0);
        self.runs = runs;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        assert_eq!(percentiles(Vec::new()), None);
        assert_eq!(percentiles(vec![7]), Some(Steps { p50: 7, p95: 7, max: 7 }));
        assert_eq!(percentiles((1..=100).rev().collect()), Some(Steps { p50: 50, p95: 95, max: 100 }));
        assert_eq!(percentiles(vec![1, 2, 3]), Some(Steps { p50: 2, p95: 3, max: 3 }));
    }

    #[test]
    fn shares_round_down() {
        assert_eq!(share(1, 3), Some(333_333));
        assert_eq!(share(3, 3), Some(1_000_000));
        assert_eq!(share(0, 0), None);
    }
}
