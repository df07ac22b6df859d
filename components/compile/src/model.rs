//! Where no rule explains the outputs: a trained model, its doubts calibrated on what was held
//! out of it, and what the result says of inputs that neither it nor its limits had seen.

use auto_json::Value;
use auto_schema::contract::{Contract, GuardPolicy};

use crate::bindings::auto::host::artifact::Draft;
use crate::bindings::auto::host::jobs::{self, Backend, Task};
use crate::bindings::auto::host::{progress, sandbox};
use crate::bindings::auto::pass::distill::{Options, Trained};
use crate::bindings::auto::pass::emit::emit;
use crate::bindings::auto::pass::guard::{self, calibrate};
use crate::bindings::auto::pass::risk::{self, Controlled, control};
use crate::bindings::auto::pass::types::{Fault, Observation, Outcome, Scored};
use crate::config::Config;
use crate::mixed::{self, Rule};
use crate::report::{self, Report};
use crate::{FEW, classes, draft, fault, folds, margin, unbroken, usual, wire};

const TRAIN: &str = "auto:pass/distill@0.1.0#train";

/// The most bytes of weights; 150 classes fit in with 4,096 buckets. An artifact has them twice: in
/// its data, and in the graph that it carries.
const MAX_BYTES: u32 = 320_000;

/// Unless the contract says otherwise, so many of a million answers may be wrong.
const SILENT_ERROR: u32 = 10_000;

/// All of it, in parts per million.
const WHOLE: u32 = 1_000_000;

/// A program with a model in it, and what was held out of it.
pub struct Made {
    /// With limits for its doubts and a guard, unless the contract wants none.
    pub program: Vec<u8>,
    /// What the whole of it says of inputs that it was made without.
    pub held_out: Vec<Scored>,
    folds: usize,
}

impl Made {
    /// Says what was held out, and code of the program.
    pub fn drafted(self, report: &mut Report) -> Result<Draft, Fault> {
        report.held_out(&self.held_out, self.folds);
        if let Some(classes) = classes::told(&self.held_out) {
            report.remark("classes", classes);
        }
        draft::drafted(self.program, self.held_out, report)
    }
}

/// A draft with a model in it, where there is no rule; none where nothing can be trained.
pub fn compiled(
    config: &Config,
    contract: &Contract,
    known: &[Observation],
    why_no_rule: &str,
    report: &mut Report,
) -> Result<Option<Draft>, Fault> {
    let mut own = Report::default();
    let made = made(config, contract, known, &mut own)?;
    match made {
        Some(_) => report.remark("extract", why_no_rule),
        None => report.refused("extract", why_no_rule),
    }
    report.append(own);
    made.map(|made| made.drafted(report)).transpose()
}

/// A program with a model in it; none where a rung refused.
pub fn made(
    config: &Config,
    contract: &Contract,
    known: &[Observation],
    report: &mut Report,
) -> Result<Option<Made>, Fault> {
    let inputs: Vec<&str> = known.iter().map(|one| one.input.as_str()).collect();
    let count = if known.len() < FEW { known.len() } else { config.folds };
    let folds = folds::folds(&inputs, count, config.seed);
    let rules = mixed::rules(config, contract, known, report)?;
    let mut models = trained(config, contract, known, &folds, &rules)?.into_iter();
    let whole = models.next().unwrap_or_else(|| Err(fault("bad-output", "jobs returned fewer results than tasks")));
    let whole = match unbroken(whole)? {
        Ok(whole) => whole,
        Err(fault) => {
            report.refused("distill", fault.message);
            return Ok(None);
        }
    };
    report.passed("distill", whole.text.clone());
    whole.notes.iter().for_each(|note| report.remark("distill", note));
    let models = models.map(|model| Ok(unbroken(model)?.ok())).collect::<Result<Vec<Option<Trained>>, Fault>>()?;
    let scored = scored(known, &folds, &models)?;
    if contract.guard != GuardPolicy::Auto {
        draft::unguarded(report);
        return Ok(Some(Made { program: whole.program, held_out: scored, folds: folds.len() }));
    }
    if scored.is_empty() {
        report
            .refused("risk", "nothing could be held out, so nothing says when the model is right; record more inputs");
        return Ok(None);
    }
    let policy = risk::Policy {
        quantile: config.quantile,
        silent_error: contract.acceptance.max_silent_error_ppm.unwrap_or(SILENT_ERROR),
        confidence: contract.acceptance.silent_error_confidence(),
    };
    let careful = Careful { policy, margin: margin::chosen(&scored) };
    let (program, controlled) = careful.program(&whole.program, known, &scored)?;
    promise(&controlled, &policy, report);
    let held_out = careful.held_out(known, &folds, &models, &scored)?;
    Ok(Some(Made { program, held_out, folds: folds.len() }))
}

/// Trains on everything, then once without each fold, on all cores; in that order.
fn trained(
    config: &Config,
    contract: &Contract,
    known: &[Observation],
    folds: &[Vec<usize>],
    rules: &[Rule],
) -> Result<Vec<Result<Trained, Fault>>, Fault> {
    let options = |fold: Option<&Vec<usize>>| Options {
        input_type: contract.input.to_string(),
        output_type: contract.output.to_string(),
        seed: config.seed,
        steps: config.steps,
        max_bytes: MAX_BYTES,
        // Without a rule of its own a fold's model learns the field, and is judged by that.
        given: mixed::given(rules, fold).unwrap_or_default(),
    };
    let task = |rows: Vec<&Observation>, fold: Option<&Vec<usize>>| Task {
        target: TRAIN.into(),
        arguments: wire::training(&rows, &options(fold)),
    };
    let mut tasks = vec![task(known.iter().collect(), None)];
    for fold in folds {
        let rows = known.iter().enumerate().filter(|(row, _)| fold.binary_search(row).is_err());
        tasks.push(task(rows.map(|(_, one)| one).collect(), Some(fold)));
    }
    progress::report("distill", 0, Some(tasks.len() as u64));
    let results = jobs::run(&Backend::Wasm, &tasks)?;
    progress::report("distill", tasks.len() as u64, Some(tasks.len() as u64));
    Ok(results.into_iter().map(|result| result.and_then(|text| wire::trained(&text))).collect())
}

/// What each fold's model answers to its inputs, and what it makes of its answers.
fn scored(known: &[Observation], folds: &[Vec<usize>], models: &[Option<Trained>]) -> Result<Vec<Scored>, Fault> {
    let mut scored = Vec::new();
    for (number, (fold, model)) in (0..).zip(folds.iter().zip(models)) {
        progress::report("fold", u64::from(number), Some(folds.len() as u64));
        let inputs: Vec<String> = fold.iter().map(|&row| known[row].input.clone()).collect();
        let outcomes: Vec<Outcome> = match model {
            Some(model) => {
                let module = emit(&model.scoring)?.module;
                sandbox::run(&module, &inputs)?.into_iter().map(|replay| replay.outcome).collect()
            }
            None => inputs.iter().map(|_| Outcome::Abstain(report::no_program())).collect(),
        };
        for ((&row, input), outcome) in fold.iter().zip(inputs).zip(outcomes) {
            let (outcome, scores) = opened(outcome);
            scored.push(Scored { fold: number, input, expected: usual(&known[row]).to_owned(), outcome, scores });
        }
    }
    Ok(scored)
}

/// An answer of a scoring program, taken apart.
fn opened(outcome: Outcome) -> (Outcome, Vec<u32>) {
    let Outcome::Answer(answer) = outcome else { return (outcome, Vec::new()) };
    let said = Value::parse(&answer).ok().and_then(|said| {
        let score = |name| said.get(name).and_then(Value::as_u64).and_then(|score| u32::try_from(score).ok());
        Some((said.get("value")?.canonical().into_string(), vec![score("doubt")?, score("unsure")?]))
    });
    match said {
        Some((value, scores)) => (Outcome::Answer(value), scores),
        None => (Outcome::Failed(format!("{answer} is not what a scoring program answers")), Vec::new()),
    }
}

/// How limits are set.
struct Careful {
    policy: risk::Policy,
    /// What is given up where too few are held out to promise anything.
    margin: u32,
}

impl Careful {
    /// The program with limits for its doubts and a guard before it.
    fn program(
        &self,
        program: &[u8],
        known: &[Observation],
        scored: &[Scored],
    ) -> Result<(Vec<u8>, Controlled), Fault> {
        let mut controlled = control(program, scored, self.policy)?;
        if !controlled.promised {
            controlled = control(program, &margin::kept(scored, self.margin), self.policy)?;
        }
        // What is new is for the model to doubt, which keeps the quantile: a second one for the
        // sketches would give up as much again. They keep out what is newer than anything held out.
        let policy = guard::Policy { quantile: WHOLE };
        let program = calibrate(known, &controlled.program, scored, policy)?;
        Ok((program, controlled))
    }

    /// What the whole of model, limits and guard says of each fold, made without it.
    fn held_out(
        &self,
        known: &[Observation],
        folds: &[Vec<usize>],
        models: &[Option<Trained>],
        scored: &[Scored],
    ) -> Result<Vec<Scored>, Fault> {
        let mut held_out = Vec::new();
        for (number, (fold, model)) in (0u32..).zip(folds.iter().zip(models)) {
            progress::report("held out", u64::from(number), Some(folds.len() as u64));
            let (own, others): (Vec<Scored>, Vec<Scored>) = scored.iter().cloned().partition(|row| row.fold == number);
            let Some(model) = model else {
                held_out.extend(own);
                continue;
            };
            let outside = known.iter().enumerate().filter(|(row, _)| fold.binary_search(row).is_err());
            let outside: Vec<Observation> = outside.map(|(_, one)| one.clone()).collect();
            let (program, _) = self.program(&model.program, &outside, &others)?;
            let inputs: Vec<String> = own.iter().map(|row| row.input.clone()).collect();
            let replays = sandbox::run(&emit(&program)?.module, &inputs)?;
            held_out
                .extend(own.into_iter().zip(replays).map(|(row, replay)| Scored { outcome: replay.outcome, ..row }));
        }
        Ok(held_out)
    }
}

/// Says what the limits promise.
fn promise(controlled: &Controlled, policy: &risk::Policy, report: &mut Report) {
    let percent = |ppm: u32| format!("{}.{:02}%", ppm / 10_000, ppm / 100 % 100);
    let counts = format!(
        "{} of {} held-out inputs are answered, {} wrongly",
        controlled.answered, controlled.rows, controlled.wrong
    );
    if policy.confidence == 0 {
        return report.remark("risk", format!("{counts}; the contract takes the count for enough"));
    }
    let sure = percent(policy.confidence);
    if controlled.promised {
        let why = format!(
            "{counts}: at most {} of answers are wrong, with {sure} confidence, for inputs that come as these came",
            percent(policy.silent_error)
        );
        return report.passed("risk", why);
    }
    let why = format!(
        "{counts}; too few to promise {}: with {sure} confidence at most {} of answers are wrong, for inputs that come as these came",
        percent(policy.silent_error),
        percent(controlled.at_most)
    );
    report.remark("risk", why);
}
