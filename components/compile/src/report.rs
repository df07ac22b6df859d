//! What the driver says at the end: each rung in order with what became of it.

use auto_json::{Record, Value};

use crate::bindings::auto::host::artifact::Sealed;
use crate::bindings::auto::pass::check::Counterexample;
use crate::bindings::auto::pass::extract::{Candidate, Search};
use crate::bindings::auto::pass::gate::{Finding, Status};
use crate::bindings::auto::pass::types::{Novelty, Observation, Outcome, Scored};
use crate::trust::Tally;

/// The most observations that are named one by one.
const MOST_NAMED: usize = 100;

/// The report, as it grows.
#[derive(Default)]
pub struct Report {
    rungs: Vec<(&'static str, &'static str, String)>,
    stages: Vec<Value>,
    details: Record,
    sealed: bool,
}

impl Report {
    /// A rung that let the job through.
    pub fn passed(&mut self, rung: &'static str, why: impl Into<String>) {
        self.rungs.push((rung, "passed", why.into()));
    }

    /// Something worth knowing that decides nothing.
    pub fn remark(&mut self, rung: &'static str, why: impl Into<String>) {
        self.rungs.push((rung, "remark", why.into()));
    }

    /// A rung that ended the job.
    pub fn refused(&mut self, rung: &'static str, why: impl Into<String>) {
        self.rungs.push((rung, "refused", why.into()));
    }

    /// What another way came to, after what was said so far.
    pub fn append(&mut self, other: Report) {
        self.rungs.extend(other.rungs);
    }

    /// The rungs of a way that was not taken: nothing of it ended the job.
    pub fn append_untaken(&mut self, other: Report) {
        self.rungs.extend(other.rungs.into_iter().map(|(rung, _, why)| (rung, "remark", why)));
    }

    /// What became of an operation of a chain.
    pub fn stage(&mut self, stage: &str, status: &'static str, what: &str) {
        self.rungs.push(("stage", status, format!("{stage}: {what}")));
        self.stages.push(Record::new().with("stage", stage).with("status", status).with("what", what).into());
        self.details.set("stages", self.stages.clone());
    }

    /// The program that extraction found, and what is to know about it.
    pub fn program(&mut self, best: &Candidate, search: &Search) {
        self.passed("extract", format!("found a program of cost {} in {} steps", best.cost, search.steps));
        self.details.set("program", best.text.as_str());
        self.details.set("extract_steps", search.steps);
        search.notes.iter().for_each(|note| self.remark("extract", note));
        if let Some(question) = &search.question {
            let asked = Record::new()
                .with("input", question.input.as_str())
                .with("first", question.first.as_str())
                .with("other", question.other.as_str());
            self.details.set("question", asked);
        }
    }

    /// What was found without some inputs is wrong on too many of them.
    pub fn doubted(&mut self, held_out: &[Scored]) {
        self.mistrusted("the rule may fit by chance", held_out);
    }

    /// What was found without some inputs is wrong on more of them than may be, if only by chance.
    pub fn uncertain(&mut self, held_out: &[Scored]) {
        self.mistrusted("the rule is uncertain", held_out);
    }

    fn mistrusted(&mut self, what: &str, held_out: &[Scored]) {
        let tally = Tally::of(held_out);
        let wrong = held_out.iter().filter_map(|row| match &row.outcome {
            Outcome::Answer(answer) if *answer != row.expected => Some((row, answer.as_str())),
            _ => None,
        });
        let example = wrong.min_by_key(|(row, _)| (row.input.len(), row.input.as_str()));
        let example = example.map_or_else(String::new, |(row, answer)| {
            format!("; for {} a rule found without it gives {answer}, recorded was {}", row.input, row.expected)
        });
        let why = format!(
            "{what}: {} of {} inputs are answered wrongly by rules found without them{example}; \
             record more inputs like it",
            tally.wrong, tally.rows
        );
        self.remark("trust", why);
    }

    /// The rule is kept to the inputs that are known and to the branches that held.
    pub fn narrowed(&mut self, (held, branches): (u32, u32), tally: Tally) {
        let Tally { right, wrong, rows } = tally;
        let through = match held {
            0 => "nothing else".to_owned(),
            held => format!("through {held} of its {branches} branches what was not recorded"),
        };
        let why = format!(
            "the rule answers what was recorded and {through}: of {rows} held-out inputs {right} rightly, {wrong} wrongly"
        );
        self.passed("narrow", why);
        let figures = Record::new()
            .with("branches", branches)
            .with("held", held)
            .with("rows", rows)
            .with("right", right)
            .with("wrong", wrong);
        self.details.set("narrowed", figures);
    }

    /// The rule is kept to the inputs that are known and to what others give too.
    pub fn agreed(&mut self, others: usize, tally: Tally) {
        let Tally { right, wrong, rows } = tally;
        let why = format!(
            "the rule answers what was recorded, and anything else where {others} programs found without a part of it \
             give the same: of {rows} held-out inputs {right} rightly, {wrong} wrongly"
        );
        self.passed("narrow", why);
        let figures =
            Record::new().with("agreeing", others).with("rows", rows).with("right", right).with("wrong", wrong);
        self.details.set("narrowed", figures);
    }

    /// A model is taken in place of the rule: what was said of the rule is not of the artifact.
    pub fn left_for_a_model(&mut self) {
        let rule = self.details.remove("program");
        if let Some(rule) = rule {
            self.details.set("rule", rule);
        }
    }

    /// The observations that the program gets wrong, which are as few as may be.
    pub fn missed(&mut self, counterexamples: &[Counterexample], missed: &[Observation]) {
        let shown = |one: &Counterexample| {
            let got = one.got.as_deref().unwrap_or("nothing");
            format!("for {} it gives {got}, recorded was {}, at {}", one.input, one.expected, one.at)
        };
        let some: Vec<String> = counterexamples.iter().map(shown).collect();
        let why =
            format!("{} observations are taken for wrong, as the contract allows: {}", missed.len(), some.join("; "));
        self.remark("check", why);
        let inputs: Vec<Value> = missed.iter().take(MOST_NAMED).map(|one| one.input.as_str().into()).collect();
        self.details.set("taken_for_wrong", inputs);
    }

    /// The program that a teacher proposed.
    pub fn proposed(&mut self, text: &str, why: String) {
        self.passed("propose", why);
        self.details.set("program", text);
    }

    /// The program was rewritten, and fits as many observations as before.
    pub fn optimized(&mut self, checked: u32, text: Option<&str>) {
        self.passed("optimize", format!("rewritten, and checked again on {checked} observations"));
        if let Some(text) = text {
            self.details.set("program", text);
        }
    }

    /// Extraction proposed something that check does not confirm.
    pub fn contradicted(&mut self, wrong: u32, first: &Counterexample) {
        let got = first.got.as_deref().unwrap_or("nothing");
        let why = format!(
            "the program of extract is wrong on {wrong} observations; for {} it gives {got}, recorded was {}, at {}",
            first.input, first.expected, first.at
        );
        self.refused("check", why);
    }

    /// What the programs found without each fold said about it.
    pub fn held_out(&mut self, scored: &[Scored], folds: usize) {
        if scored.is_empty() {
            self.remark("out-of-fold", "not measured: there are not two groups of inputs to hold out in turn");
            return;
        }
        let count = |wanted: fn(&Scored) -> bool| scored.iter().filter(|one| wanted(one)).count();
        let right = count(|one| matches!(&one.outcome, Outcome::Answer(answer) if *answer == one.expected));
        let abstained = count(|one| matches!(one.outcome, Outcome::Abstain(_)));
        let wrong = scored.len() - right - abstained;
        self.passed(
            "out-of-fold",
            format!("{right} right, {wrong} wrong, {abstained} undefined of {} in {folds} folds", scored.len()),
        );
        let figures = Record::new()
            .with("rows", scored.len())
            .with("folds", folds)
            .with("right", right)
            .with("wrong", wrong)
            .with("undefined", abstained);
        self.details.set("out_of_fold", figures);
    }

    /// What the host's seal came to.
    pub fn sealed(&mut self, sealed: Sealed) {
        let broken: Vec<String> =
            sealed.verdict.findings.iter().filter(|finding| finding.status != Status::Pass).map(sentence).collect();
        match &sealed.id {
            Some(id) => {
                self.passed("gate", format!("{} claims hold", sealed.verdict.findings.len()));
                self.details.set("artifact", Record::new().with("id", id.as_str()).with("bytes", sealed.size));
                self.sealed = true;
            }
            None => self.refused("gate", broken.join("; ")),
        }
        self.details.set("eval_run", sealed.eval_run);
        self.details.set("verdict", status(&sealed.verdict.status));
        self.details.set("findings", sealed.verdict.findings.iter().map(finding).collect::<Vec<_>>());
    }

    /// The rungs so far, a sentence each, for the manifest.
    pub fn notes(&self) -> Vec<String> {
        self.rungs.iter().map(|(rung, status, why)| format!("{rung} {status}: {why}")).collect()
    }

    /// The report as JSON.
    pub fn text(mut self) -> String {
        let rungs = self.rungs.iter().map(|(rung, status, why)| {
            Record::new().with("rung", *rung).with("status", *status).with("why", why.as_str()).into()
        });
        self.details.set("rungs", rungs.collect::<Vec<Value>>());
        self.details.set("status", if self.sealed { "sealed" } else { "refused" });
        Value::from(self.details).canonical().into_string()
    }
}

/// The outcome of a held-out input for which no program was found.
pub fn no_program() -> Novelty {
    Novelty { reason: "no-program".into(), score: 1_000_000, limit: 0 }
}

fn status(status: &Status) -> &str {
    match status {
        Status::Pass => "pass",
        Status::Fail => "fail",
        Status::Inconclusive => "inconclusive",
        Status::Other(other) => other,
    }
}

fn sentence(finding: &Finding) -> String {
    let example = finding.counterexample.as_deref().map(|input| format!(", for example {input}")).unwrap_or_default();
    format!("{} {}: {}{example}", finding.id, status(&finding.status), finding.detail)
}

fn finding(finding: &Finding) -> Value {
    Record::new()
        .with("id", finding.id.as_str())
        .with("status", status(&finding.status))
        .with("claim", finding.claim.as_str())
        .with("detail", finding.detail.as_str())
        .with("counterexample", finding.counterexample.clone())
        .into()
}
