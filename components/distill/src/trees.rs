//! Decision trees and gradient-boosted ones (Friedman 2001, "Greedy function approximation"), which
//! an artifact has as expressions: nested decisions with whole numbers at their leaves.

use crate::questions::Question;

/// How deep a single tree and a boosted one may be.
const DEPTH: usize = 4;
const BOOSTED_DEPTH: usize = 3;

/// How many trees are added up for each class, and how much of each.
const ROUNDS: usize = 20;
const SHRINKAGE: f32 = 0.3;

/// The most classes that are boosted: there are as many trees in each round.
const MOST_CLASSES: usize = 8;

/// A side of a decision has at least so many rows.
const LEAST_ROWS: usize = 2;

/// What a score of 1 is in whole numbers.
const SCALE: f32 = 1000.0;

/// The rows of a fit: answers to every question, question by question, and the classes.
pub(crate) struct Table {
    pub(crate) answers: Vec<Vec<bool>>,
    pub(crate) labels: Vec<usize>,
    pub(crate) weights: Vec<f32>,
    pub(crate) classes: usize,
}

/// A tree with leaves of a kind.
pub(crate) enum Tree<L> {
    Leaf(L),
    Split { question: usize, yes: Box<Tree<L>>, no: Box<Tree<L>> },
}

impl<L> Tree<L> {
    fn leaf(&self, answers: &[bool]) -> &L {
        match self {
            Tree::Leaf(leaf) => leaf,
            Tree::Split { question, yes, no } => if answers[*question] { yes } else { no }.leaf(answers),
        }
    }

    fn expression(&self, questions: &[Question], leaf: &impl Fn(&L) -> String) -> String {
        match self {
            Tree::Leaf(value) => leaf(value),
            Tree::Split { question, yes, no } => {
                let asked = questions[*question].expression();
                format!("if({asked}, {}, {})", yes.expression(questions, leaf), no.expression(questions, leaf))
            }
        }
    }

    fn splits(&self) -> usize {
        match self {
            Tree::Leaf(_) => 0,
            Tree::Split { yes, no, .. } => 1 + yes.splits() + no.splits(),
        }
    }
}

/// A fit: whole numbers for each class of an input.
pub(crate) enum Trees {
    /// One tree; a leaf has a number for each class.
    One(Tree<Vec<i32>>),
    /// For each class a number and trees that are added to it.
    Boosted(Vec<(i32, Vec<Tree<i32>>)>),
}

impl Trees {
    /// The scores of the classes.
    pub(crate) fn scores(&self, answers: &[bool]) -> Vec<i32> {
        match self {
            Trees::One(tree) => tree.leaf(answers).clone(),
            Trees::Boosted(classes) => {
                let sum = |(start, trees): &(i32, Vec<Tree<i32>>)| {
                    trees.iter().fold(*start, |sum, tree| sum.saturating_add(*tree.leaf(answers)))
                };
                classes.iter().map(sum).collect()
            }
        }
    }

    /// The same as an expression that gives a list.
    pub(crate) fn expression(&self, questions: &[Question]) -> String {
        match self {
            Trees::One(tree) => tree.expression(questions, &|leaf| format!("{leaf:?}")),
            Trees::Boosted(classes) => {
                let class = |(start, trees): &(i32, Vec<Tree<i32>>)| {
                    let terms = trees.iter().map(|tree| tree.expression(questions, &i32::to_string));
                    let terms: Vec<String> = std::iter::once(start.to_string()).chain(terms).collect();
                    format!("sum([{}])", terms.join(", "))
                };
                format!("[{}]", classes.iter().map(class).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// In a line.
    pub(crate) fn text(&self) -> String {
        match self {
            Trees::One(tree) => format!("decision tree of {} questions", tree.splits()),
            Trees::Boosted(classes) => {
                let trees = classes.iter().map(|(_, trees)| trees.len()).sum::<usize>();
                let splits = classes.iter().flat_map(|(_, trees)| trees).map(|tree| tree.splits()).sum::<usize>();
                format!("{trees} boosted trees of {splits} questions")
            }
        }
    }
}

impl Table {
    /// What a row answers to every question.
    pub(crate) fn row(&self, row: usize) -> Vec<bool> {
        self.answers.iter().map(|answers| answers[row]).collect()
    }

    /// One tree, split where that makes the classes purest (Gini; Breiman et al. 1984).
    pub(crate) fn tree(&self, rows: &[usize]) -> Trees {
        Trees::One(self.grown(rows, DEPTH))
    }

    fn counts(&self, rows: impl Iterator<Item = usize>) -> Vec<f32> {
        let mut counts = vec![0.0; self.classes];
        rows.for_each(|row| counts[self.labels[row]] += self.weights[row]);
        counts
    }

    fn grown(&self, rows: &[usize], depth: usize) -> Tree<Vec<i32>> {
        let counts = self.counts(rows.iter().copied());
        let total: f32 = counts.iter().sum();
        // A leaf of few rows is less sure than one of many (Laplace).
        let sure = |count: &f32| (count / (total + 1.0) * SCALE).round() as i32;
        let leaf = || Tree::Leaf(counts.iter().map(sure).collect());
        if depth == 0 || counts.iter().filter(|count| **count > 0.0).count() < 2 {
            return leaf();
        }
        // The sum of squares over the size is what purity comes to.
        let purity = |counts: &[f32]| {
            let total: f32 = counts.iter().sum();
            counts.iter().map(|count| count * count).sum::<f32>() / total.max(f32::MIN_POSITIVE)
        };
        let value = |answers: &Vec<bool>| {
            let yes = self.counts(rows.iter().copied().filter(|row| answers[*row]));
            let no: Vec<f32> = counts.iter().zip(&yes).map(|(all, yes)| all - yes).collect();
            purity(&yes) + purity(&no) - purity(&counts)
        };
        match self.best(rows, value) {
            None => leaf(),
            Some((question, yes, no)) => Tree::Split {
                question,
                yes: Box::new(self.grown(&yes, depth - 1)),
                no: Box::new(self.grown(&no, depth - 1)),
            },
        }
    }

    /// The question that is worth most, the first of equals, and the rows on its sides; none where
    /// no question is worth anything.
    fn best(&self, rows: &[usize], value: impl Fn(&Vec<bool>) -> f32) -> Option<(usize, Vec<usize>, Vec<usize>)> {
        let mut best: Option<(f32, usize)> = None;
        for (question, answers) in self.answers.iter().enumerate() {
            let yes = rows.iter().filter(|row| answers[**row]).count();
            if yes < LEAST_ROWS || rows.len() - yes < LEAST_ROWS {
                continue;
            }
            let value = value(answers);
            if value > 1e-4 && best.is_none_or(|(most, _)| value > most) {
                best = Some((value, question));
            }
        }
        let (_, question) = best?;
        let (yes, no) = rows.iter().copied().partition(|row| self.answers[question][*row]);
        Some((question, yes, no))
    }

    /// Trees for each class, each fitted to what those before it leave; none where there are too
    /// many classes.
    pub(crate) fn boosted(&self, rows: &[usize]) -> Option<Trees> {
        if self.classes > MOST_CLASSES {
            return None;
        }
        let counts = self.counts(rows.iter().copied());
        let total: f32 = counts.iter().sum::<f32>() + self.classes as f32;
        let starts: Vec<f32> = counts.iter().map(|count| ((count + 1.0) / total).ln()).collect();
        let mut scores = vec![starts.clone(); self.labels.len()];
        let mut classes: Vec<(i32, Vec<Tree<i32>>)> =
            starts.iter().map(|start| ((start * SCALE).round() as i32, Vec::new())).collect();
        for _ in 0..ROUNDS {
            let shares: Vec<Vec<f32>> = rows.iter().map(|row| softmax(&scores[*row])).collect();
            for (class, (_, trees)) in classes.iter_mut().enumerate() {
                let mut left = vec![0.0; self.labels.len()];
                for (row, shares) in rows.iter().zip(&shares) {
                    left[*row] = f32::from(u8::from(self.labels[*row] == class)) - shares[class];
                }
                let tree = self.fitted(rows, &left, BOOSTED_DEPTH);
                for row in rows {
                    scores[*row][class] += *tree.leaf(&self.row(*row)) as f32 / SCALE;
                }
                trees.push(tree);
            }
        }
        Some(Trees::Boosted(classes))
    }

    /// A tree of what is left, with a step of Newton's method at each leaf.
    fn fitted(&self, rows: &[usize], left: &[f32], depth: usize) -> Tree<i32> {
        let leaf = || {
            let (mut sum, mut curvature) = (0.0, 0.0);
            for row in rows {
                sum += self.weights[*row] * left[*row];
                curvature += self.weights[*row] * left[*row].abs() * (1.0 - left[*row].abs());
            }
            let share = (self.classes as f32 - 1.0) / self.classes as f32;
            // A step no longer than 4, where hardly anything is left to tell its length by.
            let step = (share * sum / curvature.max(1e-6)).clamp(-4.0, 4.0);
            Tree::Leaf((SHRINKAGE * step * SCALE).round() as i32)
        };
        if depth == 0 {
            return leaf();
        }
        let sums = |rows: &mut dyn Iterator<Item = usize>| {
            rows.fold((0.0, 0.0), |(sum, weight), row| {
                (sum + self.weights[row] * left[row], weight + self.weights[row])
            })
        };
        let worth = |(sum, weight): (f32, f32)| sum * sum / weight.max(f32::MIN_POSITIVE);
        let whole = sums(&mut rows.iter().copied());
        let value = |answers: &Vec<bool>| {
            let yes = sums(&mut rows.iter().copied().filter(|row| answers[*row]));
            worth(yes) + worth((whole.0 - yes.0, whole.1 - yes.1)) - worth(whole)
        };
        match self.best(rows, value) {
            None => leaf(),
            Some((question, yes, no)) => Tree::Split {
                question,
                yes: Box::new(self.fitted(&yes, left, depth - 1)),
                no: Box::new(self.fitted(&no, left, depth - 1)),
            },
        }
    }
}

fn softmax(scores: &[f32]) -> Vec<f32> {
    let highest = scores.iter().copied().fold(f32::MIN, f32::max);
    let shares: Vec<f32> = scores.iter().map(|score| (score - highest).exp()).collect();
    let sum: f32 = shares.iter().sum();
    shares.into_iter().map(|share| share / sum).collect()
}

/// The class with the highest score, the first of equals, and its lead over the second.
pub(crate) fn best(scores: &[i32]) -> (usize, i32) {
    let first_best = |best: usize, class: usize| if scores[class] > scores[best] { class } else { best };
    let best = (0..scores.len()).fold(0, first_best);
    let second = (0..scores.len()).filter(|class| *class != best).map(|class| scores[class]).max();
    (best, second.map_or(0, |second| scores[best].saturating_sub(second)))
}
