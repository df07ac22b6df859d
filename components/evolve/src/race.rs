//! A/B tests: candidates are settings of a policy, and an experiment of the user's returns counts. One
//! after the other is held against what counts by a test that may be looked at after every batch; the
//! errors of all of them together stay below one bound.

use std::collections::BTreeSet;

use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use auto_search::amount::decimal;
use auto_search::{Fields, Random, Refusal};

use crate::ab::{Counts, Ruling, Test, shown};
use crate::commit::Commit;
use crate::genome::Genome;
use crate::lent::{Fault, File, Job, Lent};
use crate::measure::Bad;
use crate::settings::{Ab, Settings, Subject};
use crate::space::Space;

/// Batches that confirm begin here: no candidate is ever tried in them.
const CONFIRM: u64 = 1_000_000;
/// The most trials of a batch.
const MOST: u64 = 1 << 32;

/// A candidate, and what became of it.
struct Arm {
    number: usize,
    parent: usize,
    genome: Genome,
    test: Test,
    batches: u32,
    status: &'static str,
    reason: String,
    runs: Vec<Value>,
}

struct Race<'r, L: Lent> {
    lent: &'r mut L,
    settings: &'r Settings,
    ab: &'r Ab,
    space: &'r Space,
    files: &'r [File],
    jobs: u64,
    isolation: BTreeSet<String>,
}

/// How a test ended.
enum End {
    Ruled(Ruling),
    Bad(Bad),
    /// No batch may be started any more.
    Jobs,
}

/// Runs all tests and reports.
pub fn race(
    lent: &mut impl Lent,
    settings: &Settings,
    ab: &Ab,
    files: &[File],
    run: &str,
    cancel: bool,
) -> Result<Value, Fault> {
    let Subject::Files { space, .. } = &settings.subject else {
        return Err(Fault::new("bad-settings", "an A/B test is of parameters"));
    };
    let base = Genome { params: space.default(), ..Genome::default() };
    let first = Commit::first(lent, &base, None)?;
    let mut race = Race { lent, settings, ab, space, files, jobs: 0, isolation: BTreeSet::new() };
    let mut arms = Vec::new();
    let mut incumbent: usize = 0;
    let mut stop = ("candidates", "every candidate that it may have was tried");
    for number in 1..=ab.candidates {
        let (parent, against) = match arms.get(incumbent.wrapping_sub(1)) {
            Some(Arm { genome, number, .. }) => (*number, genome.clone()),
            None => (0, base.clone()),
        };
        let Some(genome) = race.propose(number, &against, &base, &arms) else {
            stop = ("stagnation", "nothing new was found to be tried");
            break;
        };
        race.lent.progress("candidate", number as u64, Some(ab.candidates as u64));
        let mut arm = Arm {
            number,
            parent,
            genome,
            test: Test::default(),
            batches: 0,
            status: "valid",
            reason: String::new(),
            runs: Vec::new(),
        };
        let end = match race.test(&mut arm, &against, number as u64 * 10_000, ab.alpha_each()) {
            Err(fault) if fault.code == "experiment-budget" => End::Jobs,
            end => end?,
        };
        let out = matches!(end, End::Jobs);
        if matches!(end, End::Ruled(Ruling::Better)) {
            incumbent = number;
        }
        arm.told(end);
        arms.push(arm);
        if out {
            stop = match cancel {
                true => ("cancelled", "it was ended before its end; nothing was confirmed"),
                false => ("jobs", "no batch is left beside those that the end needs"),
            };
            break;
        }
    }
    let found = arms.get(incumbent.wrapping_sub(1)).map(|arm| arm.genome.clone());
    let confirm = match &found {
        Some(genome) if stop.0 != "cancelled" => {
            let mut arm = Arm {
                number: incumbent,
                parent: 0,
                genome: genome.clone(),
                test: Test::default(),
                batches: 0,
                status: "valid",
                reason: String::new(),
                runs: Vec::new(),
            };
            let end = race.test(&mut arm, &base, CONFIRM, ab.alpha)?;
            let holds = matches!(end, End::Ruled(Ruling::Better));
            arm.told(end);
            Some((arm, holds))
        }
        _ => None,
    };
    let head = match (&found, &confirm) {
        (Some(genome), Some((_, true))) => {
            let state =
                Commit::of(race.lent, Some(first.clone()), genome, None, &format!("i{incumbent:04}, confirmed"))?;
            state.make_head(race.lent)?
        }
        _ => first.clone(),
    };
    Ok(report(&race, run, stop, &base, &arms, incumbent, confirm.as_ref(), (&first, &head)))
}

impl<L: Lent> Race<'_, L> {
    /// What is tried next: something near what counts, now and then something else.
    fn propose(&self, number: usize, against: &Genome, base: &Genome, arms: &[Arm]) -> Option<Genome> {
        let mut random = Random::of(self.settings.control.seed, &format!("candidate {number}"));
        let known = |genome: &Genome| genome == base || arms.iter().any(|arm| arm.genome == *genome);
        (0..40).find_map(|_| {
            let params = match random.chance(self.settings.control.random_share) {
                true => self.space.draw(&mut random),
                false => self.space.change(&against.params, number.is_multiple_of(2), &mut random),
            };
            Some(Genome { params, ..Genome::default() }).filter(|genome| !known(genome))
        })
    }

    /// Batches until something is known or there are no more.
    fn test(&mut self, arm: &mut Arm, against: &Genome, from: u64, alpha: i64) -> Result<End, Fault> {
        let reserve = if from >= CONFIRM { 0 } else { u64::from(self.ab.batches) };
        for batch in 0..u64::from(self.ab.batches) {
            if self.jobs + reserve >= self.settings.control.max_jobs {
                return Ok(End::Jobs);
            }
            let seed = self.settings.control.seed.wrapping_add(from + batch);
            let request = Record::new()
                .with("batch", from + batch)
                .with("seed", seed)
                .with("baseline", against.params.clone())
                .with("candidate", arm.genome.params.clone());
            let digest = Digest::of(Value::from(request.clone()).canonical().as_str().as_bytes()).to_string();
            let id = format!("r-{}", &digest[..16]);
            let request = Value::from(request.with("run", id.as_str())).canonical().into_string();
            let mut files = self.files.to_vec();
            let digest = self.lent.put(request.as_bytes())?;
            files.push(File { path: "request.json".to_owned(), digest, executable: false });
            let job = Job {
                command: self.ab.command.clone(),
                seed,
                files,
                collect: vec!["counts.json".to_owned()],
                again: 0,
            };
            self.jobs += 1;
            let ran = self.lent.run(&[job])?.into_iter().next();
            let ran = ran.unwrap_or_else(|| Err(Fault::new("bad-output", "the host returned nothing for a job")))?;
            self.isolation.extend(ran.isolation.iter().cloned());
            let text = match ran.file("counts.json").filter(|_| ran.well()) {
                Some(file) => self.lent.get(&file.digest)?,
                None => {
                    return Ok(End::Bad(Bad::new(
                        "nothing-left",
                        format!("a batch ended with {} and left no counts.json", ran.ending),
                    )));
                }
            };
            let (baseline, candidate, tracker) = match counts(&text, &id) {
                Ok(counts) => counts,
                Err(bad) => return Ok(End::Bad(bad)),
            };
            arm.test.batch(baseline, candidate);
            arm.batches += 1;
            arm.runs.push(Record::new().with("purpose", "batch").with("run", id).with("tracker", tracker).into());
            let ruling = arm.test.ruling(alpha);
            if ruling != Ruling::Open {
                return Ok(End::Ruled(ruling));
            }
        }
        Ok(End::Ruled(Ruling::Open))
    }
}

/// Reads `counts.json`: `{"run", "baseline": {"successes", "trials"}, "candidate": {…}, "tracker"?}`.
fn counts(text: &[u8], run: &str) -> Result<(Counts, Counts, Option<String>), Bad> {
    let bad = |refusal: Refusal| Bad::new("bad-counts", format!("{}: {}", refusal.at, refusal.message));
    let value = Value::parse(text).map_err(|error| Bad::new("not-json", format!("counts.json is no JSON: {error}")))?;
    let table = Fields::of(&value, "", "bad-counts").map_err(bad)?;
    table.only(&["run", "baseline", "candidate", "tracker"]).map_err(bad)?;
    let own = table.text("run").map_err(bad)?.unwrap_or_default();
    if own != run {
        return Err(Bad::cheat("other-run", format!("counts.json is of the run {own:?}, and this is {run:?}")));
    }
    let side = |key: &str| -> Result<Counts, Refusal> {
        let own = table.need_fields(key)?;
        own.only(&["successes", "trials"])?;
        let number = |key: &str| -> Result<u64, Refusal> {
            own.need(key)?;
            Ok(own.whole(key, 0..=MOST)?.unwrap_or(0))
        };
        let counts = Counts { successes: number("successes")?, trials: number("trials")? };
        match counts.successes <= counts.trials {
            true => Ok(counts),
            false => Err(own.refuse("successes", "there are more successes than trials")),
        }
    };
    let tracker = table.text("tracker").map_err(bad)?.map(|text| text.chars().take(200).collect());
    Ok((side("baseline").map_err(bad)?, side("candidate").map_err(bad)?, tracker))
}

impl Arm {
    fn told(&mut self, end: End) {
        let bets = format!("for it {}, against it {}", shown(self.test.better), shown(self.test.worse));
        let (status, reason) = match end {
            End::Ruled(Ruling::Better) => ("valid", format!("better after {} batches; bets: {bets}", self.batches)),
            End::Ruled(Ruling::Worse) => ("dropped", format!("worse after {} batches; bets: {bets}", self.batches)),
            End::Ruled(Ruling::Open) => {
                ("dropped", format!("nothing is known after {} batches; bets: {bets}", self.batches))
            }
            End::Jobs => ("dropped", format!("no batch is left after {}; bets: {bets}", self.batches)),
            End::Bad(bad) => (if bad.cheat { "quarantined" } else { "invalid" }, format!("{} [{}]", bad.why, bad.code)),
        };
        (self.status, self.reason) = (status, reason);
    }

    fn to_value(&self, against: &Genome) -> Value {
        let mut record = Record::new()
            .with("id", format!("i{:04}", self.number))
            .with("digest", self.genome.digest())
            .with("parents", vec![Value::from(format!("i{:04}", self.parent))])
            .with("generation", self.number)
            .with("island", 0_u32)
            .with("operator", "mutation")
            .with("idea", "setting")
            .with("by", crate::propose::BUILT_IN)
            .with("params", self.genome.params.clone())
            .with("patch", self.genome.patch_of(against))
            .with("status", self.status)
            .with("reason", self.reason.as_str())
            .with("baseline", counted(self.test.baseline))
            .with("candidate", counted(self.test.candidate))
            .with("batches", self.batches)
            .with("runs", self.runs.clone());
        if let Some(share) = share(self.test.candidate) {
            record.set("score_micros", share);
        }
        record.into()
    }
}

fn share(counts: Counts) -> Option<i64> {
    let share = (u128::from(counts.successes) * 1_000_000).checked_div(u128::from(counts.trials))?;
    i64::try_from(share).ok()
}

fn counted(counts: Counts) -> Value {
    Record::new().with("successes", counts.successes).with("trials", counts.trials).into()
}

fn side(counts: Counts) -> Value {
    share(counts).map_or(Value::Null, |mean| Record::new().with("mean", mean).with("n", counts.trials).into())
}

#[allow(clippy::too_many_arguments, reason = "all of it is told")]
fn report<L: Lent>(
    race: &Race<'_, L>,
    run: &str,
    (stop, words): (&str, &str),
    base: &Genome,
    arms: &[Arm],
    incumbent: usize,
    confirm: Option<&(Arm, bool)>,
    (first, head): (&str, &str),
) -> Value {
    let holds = confirm.is_some_and(|(_, holds)| *holds);
    let (status, found) = match (stop, incumbent, holds) {
        ("cancelled", ..) => ("cancelled", "the baseline counts".to_owned()),
        (_, 0, _) => ("no_improvement", "no candidate was found to be better than the baseline".to_owned()),
        (_, _, true) => {
            ("complete", format!("i{incumbent:04} is better than the baseline, and batches of its own confirm it"))
        }
        (_, _, false) => {
            ("unconfirmed", format!("i{incumbent:04} was found to be better, and batches of its own do not confirm it"))
        }
    };
    let genome = |number: usize| arms.get(number.wrapping_sub(1)).map_or(base, |arm| &arm.genome);
    let state = |number: usize, commit: &str| {
        Record::new()
            .with("id", genome(number).digest())
            .with("individual", format!("i{number:04}"))
            .with("bytes", genome(number).bytes())
            .with("commit", commit)
    };
    let first_one = Record::new()
        .with("id", "i0000")
        .with("digest", base.digest())
        .with("parents", Vec::<Value>::new())
        .with("generation", 0_u32)
        .with("island", 0_u32)
        .with("operator", "baseline")
        .with("status", "valid")
        .with("params", base.params.clone())
        .with("runs", Vec::<Value>::new());
    let all = arms.iter().map(|arm| arm.to_value(genome(arm.parent)));
    let entry = |arm: &Arm| {
        let better = arm.status == "valid";
        Value::from(
            Record::new()
                .with("kind", "edit")
                .with("id", format!("i{:04}", arm.number))
                .with("target", "policy")
                .with("status", if better { "applied" } else { arm.status })
                .with("reason", arm.reason.as_str())
                .with("diff", arm.genome.patch_of(genome(arm.parent))),
        )
    };
    let scores: Vec<Value> = confirm
        .map(|(arm, _)| {
            let score = Record::new().with("metric", "success").with("stratum", "confirm");
            score.with("before", side(arm.test.baseline)).with("after", side(arm.test.candidate)).into()
        })
        .into_iter()
        .collect();
    let errors = format!(
        "a candidate that is no better than what it is held against is taken for better with a probability of at most {} for all \
         {} candidates together ({} each), and confirmed with one of at most {}, however often the counts are looked at",
        decimal(race.ab.alpha).text(),
        race.ab.candidates,
        decimal(race.ab.alpha_each()).text(),
        decimal(race.ab.alpha).text()
    );
    let spent = race.settings.control.job_cost.saturating_mul(race.jobs);
    let budget = Record::new()
        .with("max_jobs", race.settings.control.max_jobs)
        .with("jobs", race.jobs)
        .with("max_spend_micro_usd", race.settings.control.max_spend)
        .with("spent_micro_usd", spent);
    let mut report = Record::new()
        .with("kind", "evolve")
        .with("form", "ab")
        .with("run", run)
        .with("status", status)
        .with("stop", stop)
        .with("why", format!("{words}; {found}"))
        .with("before", state(0, first))
        .with("after", state(if holds { incumbent } else { 0 }, head))
        .with("best", format!("i{incumbent:04}"))
        .with("spent_micro_usd", spent)
        .with("calls", 0_u32)
        .with("experiments", race.jobs)
        .with("budget", budget)
        .with("scores", scores)
        .with("timeline", arms.iter().map(entry).collect::<Vec<_>>())
        .with("individuals", [Value::from(first_one)].into_iter().chain(all).collect::<Vec<_>>())
        .with("error_rates", errors.as_str())
        .with("notes", vec![Value::from(errors)])
        .with("backend", "process")
        .with("isolation", race.isolation.iter().map(|one| one.as_str().into()).collect::<Vec<Value>>())
        .with("seed", race.settings.control.seed);
    if let Some((arm, holds)) = confirm {
        let check =
            Record::new().with("name", "always-valid-test").with("ok", *holds).with("detail", arm.reason.as_str());
        report.set("confirm", vec![Value::from(check)]);
    }
    if let Some(tracker) = &race.settings.tracker {
        report.set("tracker", tracker.as_str());
    }
    report.into()
}
