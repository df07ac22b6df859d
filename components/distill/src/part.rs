//! One part of the output: which family of models learns it best, and the model of that family.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_kit::Fault;
use auto_schema::ir::model::Linear;

use crate::Options;
use crate::graph::{Decision, Part};
use crate::quantise;
use crate::questions::{Question, structured};
use crate::train::{self, Random};
use crate::trees::{Table, Trees, best};

/// Families are compared on parts of the rows that they were not shown: so many parts.
const PARTS: usize = 4;

/// More rows than these are not asked about: trees are for records, not for archives.
const MOST_ROWS: usize = 3_000;

/// What all parts of the output have in common.
pub(crate) struct Problem<'a> {
    pub(crate) inputs: &'a [&'a Value],
    pub(crate) texts: &'a [Vec<String>],
    /// How much each row counts.
    pub(crate) shares: &'a [f32],
    pub(crate) questions: &'a [Question<'a>],
    pub(crate) options: &'a Options,
}

/// A family of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Tree,
    Boosted,
    Linear,
}

impl Family {
    fn name(self) -> &'static str {
        match self {
            Family::Tree => "one decision tree",
            Family::Boosted => "boosted trees",
            Family::Linear => "linear over n-grams",
        }
    }
}

/// The classes of a part and which row has which.
struct Labelled<'v> {
    classes: Vec<&'v Value>,
    labels: Vec<usize>,
    counts: Vec<usize>,
}

impl<'v> Labelled<'v> {
    fn of(values: &[&'v Value]) -> Labelled<'v> {
        let mut counts: BTreeMap<&Value, usize> = BTreeMap::new();
        values.iter().for_each(|value| *counts.entry(value).or_default() += 1);
        let classes: Vec<&Value> = counts.keys().copied().collect();
        let labels = values.iter().map(|value| classes.binary_search(value).unwrap_or(0)).collect();
        Labelled { classes, labels, counts: counts.into_values().collect() }
    }

    fn note(&self) -> String {
        let (least, most) = (self.counts.iter().min().unwrap_or(&0), self.counts.iter().max().unwrap_or(&0));
        let mut note = format!("{} classes of {least} to {most} observations", self.counts.len());
        let alone = self.counts.iter().filter(|count| **count == 1).count();
        if alone > 0 {
            note.push_str(&format!("; {alone} classes were seen once"));
        }
        if *most >= 10 * (*least).max(1) {
            note.push_str("; the rarer a class, the more each of its observations counts");
        }
        note
    }
}

impl Problem<'_> {
    /// The part, and lines about it.
    pub(crate) fn solved(&self, values: &[&Value], max_bytes: u32) -> Result<(Part, Vec<String>), Fault> {
        let labelled = Labelled::of(values);
        let bits = self.bits(labelled.classes.len(), max_bytes)?;
        let mut notes = vec![labelled.note()];
        let comparable = structured(self.questions) && values.len() <= MOST_ROWS && values.len() >= PARTS;
        if comparable {
            let table = self.table(&labelled);
            let (family, note) = self.chosen(&table, &labelled, bits);
            notes.push(note);
            let rows: Vec<usize> = (0..values.len()).collect();
            let grown = match family {
                Family::Linear => None,
                Family::Tree => Some(table.tree(&rows)),
                Family::Boosted => table.boosted(&rows),
            };
            if let Some(trees) = grown {
                return Ok((Part::Trees(Box::new(self.decision(&trees, &table, &labelled, bits))), notes));
            }
        }
        let (model, note) = self.linear(&labelled, bits);
        notes.push(note);
        Ok((Part::Model(Box::new(model)), notes))
    }

    fn bits(&self, classes: usize, max_bytes: u32) -> Result<u32, Fault> {
        quantise::bits(classes, max_bytes).ok_or_else(|| {
            let message = format!(
                "{classes} classes need {} bytes of weights, {max_bytes} are allowed",
                quantise::bytes(classes, quantise::LEAST_BITS)
            );
            Fault::new("too-large", message)
        })
    }

    fn linear(&self, labelled: &Labelled, bits: u32) -> (Linear, String) {
        let Problem { texts, shares, options, .. } = self;
        let data = train::Data::new(texts, bits, labelled.labels.clone(), labelled.classes.len()).weighing(shares);
        let weights = train::fit(&data, options.seed, options.steps);
        let classes = labelled.classes.iter().map(|class| (*class).clone()).collect();
        let (model, differ) = quantise::linear(&data, &weights, classes);
        let rows = labelled.labels.len();
        let note =
            format!("2^{bits} buckets; in four bits the weights decide {differ} of {rows} observations otherwise");
        (model, note)
    }

    fn table(&self, labelled: &Labelled) -> Table {
        let answers = |question: &Question| self.inputs.iter().map(|input| question.holds(input)).collect();
        Table {
            answers: self.questions.iter().map(answers).collect(),
            labels: labelled.labels.clone(),
            weights: self.shares.to_vec(),
            classes: labelled.classes.len(),
        }
    }

    /// The family that is right most often on rows it was not shown, the plainest of equals. These
    /// are the pass's own figures: nothing that decides about the artifact counts them.
    fn chosen(&self, table: &Table, labelled: &Labelled, bits: u32) -> (Family, String) {
        let mut order: Vec<usize> = (0..labelled.labels.len()).collect();
        Random::new(self.options.seed).shuffle(&mut order);
        let right = |family: Family| -> usize {
            let part = |part: usize| {
                let (own, others): (Vec<usize>, Vec<usize>) = (0..order.len()).partition(|place| place % PARTS == part);
                let rows = |places: Vec<usize>| places.into_iter().map(|place| order[place]).collect::<Vec<usize>>();
                self.right(family, table, labelled, bits, (&rows(others), &rows(own)))
            };
            (0..PARTS).map(part).sum()
        };
        let mut best = (Family::Tree, 0);
        let mut told = Vec::new();
        for family in [Family::Tree, Family::Boosted, Family::Linear] {
            let right = right(family);
            told.push(format!("{} {right}", family.name()));
            if right > best.1 {
                best = (family, right);
            }
        }
        let note = format!("of {} rows not shown were right: {}", order.len(), told.join(", "));
        (best.0, note)
    }

    /// How many rows a family decides rightly that it was not shown.
    fn right(
        &self,
        family: Family,
        table: &Table,
        labelled: &Labelled,
        bits: u32,
        (shown, asked): (&[usize], &[usize]),
    ) -> usize {
        let grown = match family {
            Family::Tree => Some(table.tree(shown)),
            Family::Boosted => table.boosted(shown),
            Family::Linear => None,
        };
        if let Some(grown) = grown {
            let decides = |row: &&usize| best(&grown.scores(&table.row(**row))).0 == labelled.labels[**row];
            return asked.iter().filter(decides).count();
        }
        if family == Family::Boosted {
            return 0;
        }
        let of = |rows: &[usize]| -> Vec<Vec<String>> { rows.iter().map(|row| self.texts[*row].clone()).collect() };
        let labels = shown.iter().map(|row| labelled.labels[*row]).collect();
        let shares: Vec<f32> = shown.iter().map(|row| self.shares[*row]).collect();
        let data = train::Data::new(&of(shown), bits, labels, labelled.classes.len()).weighing(&shares);
        let weights = train::fit(&data, self.options.seed, self.options.steps);
        let decides = |row: &&usize| quantise::decided(&data, &weights, &self.texts[**row]) == labelled.labels[**row];
        asked.iter().filter(decides).count()
    }

    /// Trees as a part, with the doubts of a linear model where there are texts to doubt.
    fn decision(&self, trees: &Trees, table: &Table, labelled: &Labelled, bits: u32) -> Decision {
        let lead = (0..labelled.labels.len()).map(|row| best(&trees.scores(&table.row(row))).1).max().unwrap_or(1);
        let worded = self.questions.iter().any(Question::is_of_a_text);
        Decision {
            scores: trees.expression(self.questions),
            classes: labelled.classes.iter().map(|class| (*class).clone()).collect(),
            lead,
            doubt: worded.then(|| self.linear(labelled, bits).0),
            text: trees.text(),
        }
    }
}
