//! A report, sentence by sentence: retrieve, write, rule, write anew at most twice, or leave out.

use crate::corpus::Corpus;
use crate::evidence::Evidence;
use crate::index::Index;
use crate::sentence::{Draft, Job, Section, Sentence, Writer};
use crate::template;
use crate::vectors::Vectors;
use crate::verify::{Reason, Ruling, verify};

/// How many evidences a sentence is written of.
pub const RETRIEVED: usize = 5;
/// And at least, where there are as many.
pub const RETRIEVED_LEAST: usize = 3;
/// How often a refused sentence may be written anew.
pub const REWRITES: usize = 2;
/// How many sentences of each given text are quoted.
const QUOTED: usize = 3;

/// A sentence that was left out.
#[derive(Clone, Debug)]
pub struct Deleted {
    /// Where it would have stood.
    pub section: Section,
    /// What was written last. It does not stand in the report.
    pub draft: Draft,
    /// Why it was left out.
    pub reasons: Vec<Reason>,
}

/// A report.
#[derive(Clone, Debug)]
pub struct Report {
    /// Of which run.
    pub run: String,
    /// What stands in it.
    pub sentences: Vec<Sentence>,
    /// What does not.
    pub deleted: Vec<Deleted>,
    /// How often a sentence was written anew.
    pub rewrites: usize,
}

/// Why no report came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritten {
    /// `index-failed`, `teacher-failed` or `disclosure-unsupported`.
    pub code: &'static str,
    /// What and why.
    pub message: String,
}

/// Writes a report of a run: with templates, or with somebody who writes in their place.
pub fn write(corpus: &Corpus, vectors: Option<Vectors>, writer: Option<&dyn Writer>) -> Result<Report, Unwritten> {
    let failed = |error: rusqlite::Error| Unwritten { code: "index-failed", message: format!("the index: {error}") };
    let index = Index::of(corpus.evidence(), vectors).map_err(failed)?;
    let mut jobs = template::jobs(corpus);
    jobs.extend(related(corpus, &index).map_err(failed)?);
    jobs.sort_by_key(|job| (job.section, job.paragraph));
    let mut report = Report { run: corpus.run().to_owned(), sentences: Vec::new(), deleted: Vec::new(), rewrites: 0 };
    for job in &jobs {
        let evidence = retrieved(corpus, &index, job).map_err(failed)?;
        let writer = writer.filter(|_| !job.disclosure);
        let written = sentence(corpus, job, &evidence, writer)?;
        report.rewrites += written.rewrites;
        let Written { draft, ruling, values, .. } = written;
        if ruling == Ruling::Supported {
            // A model may say the same twice.
            if report.sentences.iter().any(|one| one.section == job.section && one.draft.text == draft.text) {
                continue;
            }
            let number = report.sentences.len() + 1;
            let (section, paragraph) = (job.section, job.paragraph);
            report.sentences.push(Sentence { number, section, paragraph, draft, ruling, values });
        } else if job.disclosure {
            let why: Vec<&str> = ruling.reasons().iter().map(|reason| reason.message.as_str()).collect();
            let message = format!("what has to be disclosed is not supported: {} ({})", draft.text, why.join("; "));
            return Err(Unwritten { code: "disclosure-unsupported", message });
        } else {
            report.deleted.push(Deleted { section: job.section, draft, reasons: ruling.reasons().to_vec() });
        }
    }
    Ok(report)
}

/// What the given texts are quoted with: of each the sentences nearest to what the run was about.
fn related(corpus: &Corpus, index: &Index<'_>) -> Result<Vec<Job>, rusqlite::Error> {
    let about: Vec<&str> =
        corpus.evidence().iter().filter(|one| !one.literature).take(40).map(|one| one.text.as_str()).collect();
    let found = index.search(&about.join(" "), corpus.evidence().len())?;
    let mut jobs = Vec::<Job>::new();
    let given = corpus.evidence().iter().filter(|one| one.literature);
    for evidence in found.into_iter().filter(|one| one.literature).chain(given) {
        let of = |job: &&Job| {
            job.template.as_ref().is_some_and(|draft| draft.text.starts_with(&format!("{} says", evidence.source)))
        };
        let draft = template::quotation(evidence);
        let known = jobs.iter().any(|job| job.template.as_ref() == Some(&draft));
        if known || jobs.iter().filter(of).count() >= QUOTED {
            continue;
        }
        let intent = format!("what {} says", evidence.source);
        jobs.push(Job {
            section: Section::RelatedWork,
            paragraph: 0,
            intent,
            template: Some(draft),
            disclosure: false,
        });
    }
    Ok(jobs)
}

/// What a sentence may be written of: what the template cites, and what is nearest to it.
fn retrieved<'c>(corpus: &'c Corpus, index: &Index<'c>, job: &Job) -> Result<Vec<&'c Evidence>, rusqlite::Error> {
    let cited = job.template.iter().flat_map(|draft| &draft.cites).filter_map(|id| corpus.find(id));
    let mut all: Vec<&Evidence> = cited.collect();
    for evidence in index.search(&job.intent, RETRIEVED)? {
        if all.len() < RETRIEVED && all.iter().all(|one| one.id != evidence.id) {
            all.push(evidence);
        }
    }
    Ok(all)
}

struct Written {
    draft: Draft,
    ruling: Ruling,
    values: Vec<String>,
    rewrites: usize,
}

/// Writes one, and anew while it is refused and may be.
fn sentence(
    corpus: &Corpus,
    job: &Job,
    evidence: &[&Evidence],
    writer: Option<&dyn Writer>,
) -> Result<Written, Unwritten> {
    let failed = |message| Unwritten { code: "teacher-failed", message };
    let first = match (writer, &job.template) {
        (Some(writer), _) => writer.write(job, evidence, &[]).map_err(failed)?,
        (None, Some(draft)) => draft.clone(),
        (None, None) => return Err(failed("nobody writes it".to_owned())),
    };
    let mut draft = first;
    let mut refused: Vec<(Draft, String)> = Vec::new();
    for rewrites in 0.. {
        let verdict = only_of(evidence, &draft, corpus);
        let done = |draft: Draft, ruling: Ruling| Written { draft, ruling, values: verdict.values.clone(), rewrites };
        if verdict.ruling == Ruling::Supported || rewrites == REWRITES {
            return Ok(done(draft, verdict.ruling));
        }
        let next = match (&verdict.ruling, writer) {
            (Ruling::Weaken(text, _), _) if *text != draft.text => Some(Draft { text: text.clone(), ..draft.clone() }),
            (_, Some(writer)) => {
                let why: Vec<&str> = verdict.ruling.reasons().iter().map(|reason| reason.message.as_str()).collect();
                refused.push((draft.clone(), why.join("; ")));
                Some(writer.write(job, evidence, &refused).map_err(failed)?)
            }
            _ => None,
        };
        match next {
            Some(next) => draft = next,
            None => return Ok(done(draft, verdict.ruling)),
        }
    }
    Err(failed("it was never ruled on".to_owned()))
}

/// The ruling of a sentence that may cite what was retrieved for it, and nothing else.
fn only_of(evidence: &[&Evidence], draft: &Draft, corpus: &Corpus) -> crate::verify::Verdict {
    let mut verdict = verify(draft, corpus);
    let known = |id: &String| evidence.iter().any(|one| one.short() == *id);
    if verdict.ruling == Ruling::Supported && !draft.cites.iter().all(known) {
        let message = "it cites what it was not given".to_owned();
        verdict.ruling = Ruling::Unsupported(vec![Reason { code: "dangling-id", message }]);
    }
    verdict
}
