//! Whether a report that somebody may have edited still says nothing but what the run proves.

use std::collections::BTreeMap;

use crate::compose::Report;
use crate::corpus::Corpus;
use crate::draw::figures;
use crate::markdown;
use crate::sentence::Sentence;
use crate::template;
use crate::verify::{Ruling, verify};

/// Something that is wrong with a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// `not-a-report`, `other-run`, `stale-artifact`, `unsupported-claim`, `uncited-sentence`,
    /// `disclosure-missing`, `figure-missing`, `figure-changed` or `report-changed`.
    pub code: &'static str,
    /// The line, where there is one.
    pub line: Option<usize>,
    /// What and why.
    pub message: String,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// How many sentences stand.
    pub supported: usize,
    /// What is wrong, the gravest first.
    pub problems: Vec<Problem>,
}

/// What ends a check first, where several things are wrong.
const GRAVITY: [&str; 9] = [
    "not-a-report",
    "other-run",
    "stale-artifact",
    "unsupported-claim",
    "uncited-sentence",
    "disclosure-missing",
    "figure-missing",
    "figure-changed",
    "report-changed",
];

/// What reads a figure that lies beside a report.
pub type Beside<'f> = &'f dyn Fn(&str) -> Option<Vec<u8>>;

/// Holds a report in Markdown against the run, and the figures beside it, where it lies anywhere.
pub fn check(text: &str, corpus: &Corpus, figure: Option<Beside<'_>>) -> Checked {
    let mut checked = Checked::default();
    let Some(parsed) = markdown::read(text) else {
        checked.find("not-a-report", None, "it has no line that says of which run it is a report".to_owned());
        return checked;
    };
    if parsed.run != corpus.run() {
        let why =
            format!("it is a report of {}, and was held against {}", auto_schema::shown(&parsed.run), corpus.run());
        checked.find("other-run", None, why);
        return checked;
    }
    checked.files(&parsed, corpus);
    for (line, said) in &parsed.strange {
        let said = auto_schema::shown(said);
        checked.find("uncited-sentence", Some(*line), format!("it cites nothing: {said}"));
    }
    let report = checked.rulings(&parsed, corpus);
    checked.disclosure(&report, corpus);
    checked.drawn(text, &report, corpus, figure);
    checked.problems.sort_by_key(|problem| (GRAVITY.iter().position(|code| *code == problem.code), problem.line));
    checked
}

impl Checked {
    fn find(&mut self, code: &'static str, line: Option<usize>, message: String) {
        self.problems.push(Problem { code, line, message });
    }

    /// Files that it rests on and that are others by now.
    fn files(&mut self, parsed: &markdown::Parsed, corpus: &Corpus) {
        let now: BTreeMap<&str, String> =
            corpus.artifacts().iter().map(|artifact| (artifact.name.as_str(), artifact.digest.to_string())).collect();
        for (name, digest) in &parsed.files {
            let shown = auto_schema::shown(name);
            match now.get(name.as_str()) {
                Some(found) if found == digest => {}
                Some(_) => {
                    self.find("stale-artifact", None, format!("{shown} was changed after the report was written"))
                }
                None => self.find("stale-artifact", None, format!("{shown} is not there, or was not given again")),
            }
        }
    }

    /// Rules on every sentence anew.
    fn rulings(&mut self, parsed: &markdown::Parsed, corpus: &Corpus) -> Report {
        let mut report = Report { run: parsed.run.clone(), sentences: Vec::new(), deleted: Vec::new(), rewrites: 0 };
        for (at, line) in parsed.sentences.iter().enumerate() {
            let verdict = verify(&line.draft, corpus);
            match &verdict.ruling {
                Ruling::Supported => self.supported += 1,
                ruling => {
                    let why: Vec<String> =
                        ruling.reasons().iter().map(|reason| format!("{} ({})", reason.message, reason.code)).collect();
                    let why = format!("{} {}", auto_schema::shown(&line.draft.text), why.join("; "));
                    self.find("unsupported-claim", Some(line.line), why);
                }
            }
            let (section, paragraph, draft) = (line.section, line.paragraph, line.draft.clone());
            let ruling = verdict.ruling;
            report.sentences.push(Sentence {
                number: at + 1,
                section,
                paragraph,
                draft,
                ruling,
                values: verdict.values,
            });
        }
        report.deleted.clone_from(&parsed.deleted);
        report
    }

    /// What it cost and what failed has to be told.
    fn disclosure(&mut self, report: &Report, corpus: &Corpus) {
        for draft in template::jobs(corpus).into_iter().filter(|job| job.disclosure).filter_map(|job| job.template) {
            if !report.sentences.iter().any(|sentence| sentence.draft.text == draft.text) {
                self.find("disclosure-missing", None, format!("it does not say: {}", draft.text));
            }
        }
    }

    /// Tables, figures and the claims table are made again and compared.
    fn drawn(&mut self, text: &str, report: &Report, corpus: &Corpus, figure: Option<Beside<'_>>) {
        for (drawn, figure) in figures(corpus).into_iter().zip(figure.into_iter().cycle()) {
            let name = format!("{}.svg", drawn.name);
            match figure(&name) {
                Some(found) if found == drawn.svg.as_bytes() => {}
                Some(_) => self.find("figure-changed", None, format!("{name} is not what the run's files give")),
                None => self.find("figure-missing", None, format!("{name} does not lie beside the report")),
            }
        }
        let made = markdown::write(report, corpus);
        if made == text {
            return;
        }
        let differs = text.lines().zip(made.lines()).position(|(one, two)| one != two);
        let at = differs.unwrap_or_else(|| text.lines().count().min(made.lines().count())) + 1;
        let why = "this line is not what the run's files and the sentences of the report give; write the report anew";
        self.find("report-changed", Some(at), why.to_owned());
    }
}
