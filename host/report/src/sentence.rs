//! What a report is made of: sections, the jobs in them, and the sentences that came of the jobs.

use crate::evidence::Evidence;
use crate::expression::Expression;
use crate::verify::Ruling;

/// The parts of a report, in their order. The title is made of the run's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// All of it in few sentences.
    Abstract,
    /// What was to be made better.
    Introduction,
    /// How it was searched.
    Method,
    /// What was measured.
    Experiments,
    /// What it means, what it cost, what failed.
    Discussion,
    /// What the given texts say.
    RelatedWork,
}

/// All of them.
pub const SECTIONS: [Section; 6] = [
    Section::Abstract,
    Section::Introduction,
    Section::Method,
    Section::Experiments,
    Section::Discussion,
    Section::RelatedWork,
];

impl Section {
    /// Its heading.
    pub fn heading(self) -> &'static str {
        match self {
            Section::Abstract => "Abstract",
            Section::Introduction => "Introduction",
            Section::Method => "Method",
            Section::Experiments => "Experiments",
            Section::Discussion => "Discussion",
            Section::RelatedWork => "Related Work",
        }
    }
}

/// A sentence that is to be written.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where it will stand.
    pub section: Section,
    /// Which paragraph of the section, from 0.
    pub paragraph: usize,
    /// What it is to say: for a model, and what evidence is looked for with.
    pub intent: String,
    /// What the template makes of it, where there is a template.
    pub template: Option<Draft>,
    /// Whether it is disclosure, which nobody but the template writes and which is never left out.
    pub disclosure: bool,
}

/// A sentence as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The sentence.
    pub text: String,
    /// The short names of the evidence that it rests on.
    pub cites: Vec<String>,
    /// What it computes.
    pub using: Vec<Expression>,
}

/// A sentence of a report, and what was ruled.
#[derive(Clone, Debug)]
pub struct Sentence {
    /// Its number in the report, from 1.
    pub number: usize,
    /// Where it stands.
    pub section: Section,
    /// Which paragraph of the section.
    pub paragraph: usize,
    /// What was written.
    pub draft: Draft,
    /// What was ruled.
    pub ruling: Ruling,
    /// The numbers it was found to rest on, for people.
    pub values: Vec<String>,
}

/// Who writes sentences.
pub trait Writer {
    /// Writes the sentence of a job of this evidence alone. `refused` is what was written before for the
    /// same job, with why it was refused. An error ends the report.
    fn write(&self, job: &Job, evidence: &[&Evidence], refused: &[(Draft, String)]) -> Result<Draft, String>;
}
