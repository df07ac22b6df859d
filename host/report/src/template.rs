//! The jobs of a report, and what templates make of each: plain sentences, so that a report needs no
//! model. They are ruled on like anybody's.

use std::cmp::Ordering;

use num_rational::BigRational;

use crate::corpus::{Corpus, RUN};
use crate::evidence::{Category, Evidence};
use crate::exact::Exact;
use crate::expression::{Expression, Operation, Reference};
use crate::sentence::{Draft, Job, Section};

/// The most settings that are told.
const MOST_SETTINGS: usize = 24;
/// The most edits that are told one by one.
const MOST_EDITS: usize = 12;
/// The most digits after the point of a change in percent.
const MOST_PLACES: u32 = 12;

/// The jobs of a run.
pub fn jobs(corpus: &Corpus) -> Vec<Job> {
    let mut jobs = Jobs { corpus, jobs: Vec::new() };
    jobs.summary();
    jobs.introduction();
    jobs.method();
    jobs.experiments();
    jobs.discussion();
    jobs.disclosure();
    jobs.jobs
}

/// A sentence that quotes a given text.
pub fn quotation(evidence: &Evidence) -> Draft {
    let text = format!("{} says: “{}”.", evidence.source, evidence.text);
    Draft { text, cites: vec![evidence.short()], using: Vec::new() }
}

struct Jobs<'c> {
    corpus: &'c Corpus,
    jobs: Vec<Job>,
}

impl<'c> Jobs<'c> {
    fn add(&mut self, section: Section, paragraph: usize, draft: Draft) {
        let intent = draft.text.clone();
        self.jobs.push(Job { section, paragraph, intent, template: Some(draft), disclosure: false });
    }

    /// What an evidence says, as it says it.
    fn say(&mut self, section: Section, paragraph: usize, locator: &str) {
        if let Some(evidence) = self.corpus.at(locator) {
            self.add(section, paragraph, as_it_is(evidence));
        }
    }

    /// The strata that were scored before and after.
    fn strata(&self) -> Vec<(String, &'c Evidence, &'c Evidence)> {
        let all = self.corpus.evidence().iter().filter(|one| one.locator.starts_with("/scores/"));
        let before = all.filter(|one| one.locator.ends_with("/before/mean"));
        before
            .filter_map(|before| {
                let locator = before.locator.replace("/before/", "/after/");
                Some((place(before).to_owned(), before, self.corpus.at(&locator)?))
            })
            .collect()
    }

    fn summary(&mut self) {
        self.say(Section::Abstract, 0, "/kind");
        for (_, before, after) in self.strata() {
            self.beside(Section::Abstract, 0, before, after);
        }
        if let Some((_, before, after)) = self.strata().pop() {
            self.difference(Section::Abstract, 0, before, after);
        }
        self.say(Section::Abstract, 0, "/after");
    }

    /// "The score of A is x, and the score of B is y."
    fn beside(&mut self, section: Section, paragraph: usize, before: &Evidence, after: &Evidence) {
        let (Some(metric), Some(one), Some(two)) = (metric(after), shown(after), shown(before)) else { return };
        let (mine, other) = (self.called(after), self.called(before));
        let on = on(after);
        let text = format!("The {metric} of {mine}{on} is {one}, and the {metric} of {other} is {two}.");
        self.add(section, paragraph, Draft { text, cites: vec![after.short(), before.short()], using: Vec::new() });
    }

    /// "The score of A is d higher than that of B."
    fn difference(&mut self, section: Section, paragraph: usize, before: &Evidence, after: &Evidence) {
        if let Some(draft) = self.compared(before, after, Operation::Difference) {
            self.add(section, paragraph, draft);
        }
    }

    fn compared(&self, before: &Evidence, after: &Evidence, operation: Operation) -> Option<Draft> {
        let (one, two) = (after.values.first()?, before.values.first()?);
        let of = vec![Reference::to(after.id, &one.name), Reference::to(before.id, &two.name)];
        let using = Expression { operation, of };
        let value = using.evaluate(&[after, before]).ok()?;
        let size = one.name == "size";
        let word = match one.number.value.cmp(&two.number.value) {
            Ordering::Greater if size => "larger",
            Ordering::Less if size => "smaller",
            Ordering::Greater => "higher",
            Ordering::Less => "lower",
            Ordering::Equal => return None,
        };
        let (mine, other, on) = (self.called(after), self.called(before), on(after));
        let what = metric(after).unwrap_or_else(|| "size".to_owned());
        let amount = match operation {
            Operation::PercentChange => format!("{}%", percent(&value.number).trim_start_matches('-')),
            _ => value.number.to_string().trim_start_matches('-').to_owned(),
        };
        let unit = if size { " bytes" } else { "" };
        let text = format!("The {what} of {mine}{on} is {amount}{unit} {word} than that of {other}.");
        Some(Draft { text, cites: vec![after.short(), before.short()], using: vec![using] })
    }

    fn called(&self, evidence: &Evidence) -> String {
        let all = evidence.values.iter().flat_map(|value| value.tagged(Category::Who));
        let name = all.last().unwrap_or(RUN);
        match self.corpus.name("before") {
            Some(before) if before == name => "the baseline".to_owned(),
            _ if name == "result" => "the result".to_owned(),
            _ => name.to_owned(),
        }
    }

    fn introduction(&mut self) {
        let first = self.corpus.name("before").unwrap_or_default().to_owned();
        for (_, before, _) in self.strata().into_iter().take(1) {
            self.add(Section::Introduction, 0, as_it_is(before));
        }
        self.of_candidate(Section::Introduction, 0, &first, &["program", "params"]);
        for name in ["program.input", "program.output", "prompt", "name"] {
            self.setting(Section::Introduction, 0, name);
        }
        let remarks = self.corpus.evidence().iter().filter(|one| one.text.starts_with("A remark in "));
        for remark in remarks.take(3) {
            self.add(Section::Introduction, 1, as_it_is(remark));
        }
    }

    fn setting(&mut self, section: Section, paragraph: usize, name: &str) {
        self.say(section, paragraph, &format!("/settings/{}", name.replace('.', "/")));
    }

    fn of_candidate(&mut self, section: Section, paragraph: usize, id: &str, keys: &[&str]) {
        let all = self.corpus.evidence().iter();
        let own: Vec<&Evidence> = all
            .filter(|one| one.locator.starts_with("/individuals/"))
            .filter(|one| one.tags.contains(&(Category::Who, id.to_owned())))
            .collect();
        for key in keys {
            let ending = format!("/{key}");
            if let Some(evidence) = own.iter().find(|one| one.locator.ends_with(&ending)) {
                self.add(section, paragraph, as_it_is(evidence));
            }
        }
    }

    fn method(&mut self) {
        for locator in ["/proposers", "/seed", "/isolation"] {
            self.say(Section::Method, 0, locator);
        }
        let told = ["/settings/program", "/settings/prompt", "/settings/name"];
        let dull = ["/digest", "/executable", "/path"];
        let settings = self.corpus.evidence().iter().filter(|one| one.locator.starts_with("/settings/"));
        let more = settings.filter(|one| {
            let ends = dull.iter().any(|dull| one.locator.ends_with(dull));
            !ends && !told.iter().any(|told| one.locator.starts_with(told))
        });
        for setting in more.take(MOST_SETTINGS).collect::<Vec<_>>() {
            self.add(Section::Method, 1, as_it_is(setting));
        }
        for (_, before, _) in self.strata() {
            self.say(Section::Method, 2, &before.locator.replace("/mean", "/n"));
        }
    }

    fn experiments(&mut self) {
        for locator in ["/individuals", "/generations"] {
            self.say(Section::Experiments, 0, locator);
        }
        for (_, before, after) in self.strata() {
            self.beside(Section::Experiments, 1, before, after);
            for operation in [Operation::Difference, Operation::PercentChange] {
                if let Some(draft) = self.compared(before, after, operation) {
                    self.add(Section::Experiments, 1, draft);
                }
            }
            self.significance(before, after);
        }
        let edits: Vec<String> = self.kept();
        for id in edits.iter().take(MOST_EDITS) {
            self.of_candidate(Section::Experiments, 2, id, &["operator", "program", "params", "score_micros"]);
        }
        let statuses = self.corpus.evidence().iter().filter(|one| one.locator.starts_with("/timeline/"));
        let of_edits = statuses.filter(|one| one.locator.ends_with("/status") || one.locator.ends_with("/reason"));
        for edit in of_edits.take(2 * MOST_EDITS).collect::<Vec<_>>() {
            if edits.is_empty() {
                self.add(Section::Experiments, 2, as_it_is(edit));
            }
        }
        let checks = self.corpus.evidence().iter().filter(|one| one.text.starts_with("The check "));
        let last = self.corpus.name("after").unwrap_or_default();
        let of_last = checks.filter(|one| one.tags.contains(&(Category::Who, last.to_owned())));
        for check in of_last.take(MOST_EDITS).collect::<Vec<_>>() {
            self.add(Section::Experiments, 3, as_it_is(check));
        }
    }

    /// Said only where the intervals do not meet.
    fn significance(&mut self, before: &Evidence, after: &Evidence) {
        let (Some(one), Some(two)) = (after.value("score"), before.value("score")) else { return };
        let (Some((low, high)), Some((other_low, other_high))) = (&one.interval, &two.interval) else { return };
        let word = match () {
            () if low.value > other_high.value => "higher",
            () if other_low.value > high.value => "lower",
            () => return,
        };
        let (Some(metric), mine, other, on) = (metric(after), self.called(after), self.called(before), on(after))
        else {
            return;
        };
        let text = format!("The {metric} of {mine}{on} is significantly {word} than that of {other}.");
        let draft = Draft { text, cites: vec![after.short(), before.short()], using: Vec::new() };
        self.add(Section::Experiments, 1, draft);
    }

    /// The candidates that counted one after the other.
    fn kept(&self) -> Vec<String> {
        let ids = self.corpus.evidence().iter().filter(|one| one.locator.starts_with("/timeline/"));
        let of = ids.filter(|one| one.locator.ends_with("/status"));
        let ids = of.flat_map(|one| one.tags.iter().map(|tag| tag.1.clone()));
        let known = |id: &String| {
            let tag = (Category::Who, id.clone());
            self.corpus.evidence().iter().any(|one| one.locator.starts_with("/individuals/") && one.tags.contains(&tag))
        };
        ids.filter(known).collect()
    }

    fn discussion(&mut self) {
        self.say(Section::Discussion, 0, "/status");
        self.say(Section::Discussion, 0, "/why");
        let size = |locator: &str| self.corpus.at(locator);
        let sizes = size("/before/bytes").zip(size("/after/bytes"));
        if let Some(draft) = sizes.and_then(|(before, after)| self.compared(before, after, Operation::Difference)) {
            self.add(Section::Discussion, 0, draft);
        }
        let notes = self.corpus.evidence().iter().filter(|one| one.locator.starts_with("/notes/"));
        for note in notes.take(5).collect::<Vec<_>>() {
            self.add(Section::Discussion, 0, as_it_is(note));
        }
    }

    /// What it cost and what failed: always told, in the words of the template.
    fn disclosure(&mut self) {
        let from = self.jobs.len();
        let cost = [
            "/budget/jobs",
            "/budget/max_jobs",
            "/budget/max_generations",
            "/experiments",
            "/calls",
            "/spent_micro_usd",
            "/budget/max_spend_micro_usd",
        ];
        for locator in cost {
            self.say(Section::Discussion, 1, locator);
        }
        let failed = self.corpus.evidence().iter();
        let failed = failed.filter(|one| {
            ["/individuals?status=", "/timeline?status=", "experiments?"]
                .iter()
                .any(|start| one.locator.starts_with(start))
        });
        for evidence in failed.collect::<Vec<_>>() {
            self.add(Section::Discussion, 2, as_it_is(evidence));
        }
        self.jobs[from..].iter_mut().for_each(|job| job.disclosure = true);
    }
}

/// A sentence that says what an evidence says.
fn as_it_is(evidence: &Evidence) -> Draft {
    let text = match evidence.text.strip_prefix("the ") {
        Some(rest) => format!("The {rest}"),
        None => evidence.text.clone(),
    };
    Draft { text, cites: vec![evidence.short()], using: Vec::new() }
}

fn place(evidence: &Evidence) -> &str {
    crate::evidence::tagged(&evidence.tags, Category::Where).into_iter().next().unwrap_or_default()
}

fn on(evidence: &Evidence) -> String {
    match place(evidence) {
        "" => String::new(),
        place => format!(" on the {place} rows"),
    }
}

fn metric(evidence: &Evidence) -> Option<String> {
    let value = evidence.values.first()?;
    value.tagged(Category::What).first().map(|metric| metric.replace('_', " "))
}

fn shown(evidence: &Evidence) -> Option<String> {
    evidence.values.first().map(|value| value.number.to_string())
}

/// A change as so many percent, to two places, and where it is small to two digits.
fn percent(change: &Exact) -> String {
    let value = &change.value * BigRational::from_integer(100.into());
    let shown = |places: u32| Exact { value: value.clone(), places: None }.shown(places);
    let digits = |text: &str| text.trim_start_matches(['-', '0', '.']).len();
    (2..MOST_PLACES).map(shown).find(|text| digits(text) > 1).unwrap_or_else(|| shown(MOST_PLACES))
}
