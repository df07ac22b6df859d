//! What a judge thinks of each unit in each dimension, and which cell is to be worked on.
//!
//! Scores are micro-units from 1 to 5. The gap of a score is `(5 - score) / 4`; to stay with whole
//! numbers four times the gap is kept, and compared with four times the threshold.

use std::collections::{BTreeMap, BTreeSet};

/// Micro-units: 1,000,000 is one.
pub type Micros = i64;

/// The least and the most that a score can be.
pub const SCORES: std::ops::RangeInclusive<Micros> = 1_000_000..=5_000_000;

/// A unit in one dimension.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Coordinate {
    pub unit: String,
    pub dimension: String,
}

/// What was said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub score: Micros,
    /// Traces that it rests on, by id.
    pub evidence: Vec<String>,
    pub reason: String,
}

/// Which gap decides among cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// The cell's own.
    #[default]
    CellMax,
    /// The mean of the dimension, then the cell's own.
    ColumnMean,
}

/// The scores of all units in all dimensions.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// In the order of the configuration.
    pub dimensions: Vec<String>,
    /// In the order of the document.
    pub units: Vec<String>,
    pub cells: BTreeMap<Coordinate, Cell>,
    /// Dimensions whose scores are older than the text.
    pub stale: BTreeSet<String>,
}

impl Matrix {
    /// Four times the gap of a cell; none where it has no score.
    pub fn gap(&self, at: &Coordinate) -> Option<Micros> {
        self.cells.get(at).map(|cell| SCORES.end() - cell.score)
    }

    fn coordinates(&self) -> impl Iterator<Item = (usize, usize, Coordinate)> + '_ {
        self.dimensions.iter().enumerate().flat_map(move |(column, dimension)| {
            self.units
                .iter()
                .enumerate()
                .map(move |(row, unit)| (column, row, Coordinate { unit: unit.clone(), dimension: dimension.clone() }))
        })
    }

    /// Whether no gap exceeds the threshold.
    pub fn converged(&self, threshold: Micros) -> bool {
        self.coordinates().all(|(_, _, at)| self.gap(&at).is_none_or(|gap| gap <= 4 * threshold))
    }

    /// The cell to work on: of those whose gap exceeds the threshold, that are not excluded and are in
    /// the active dimension if there is one, the one with the largest gap; then with the largest
    /// mean gap of its dimension; then in the order of dimensions and units.
    pub fn select(
        &self,
        threshold: Micros,
        active: Option<&str>,
        excluded: &BTreeSet<Coordinate>,
        reading: Reading,
    ) -> Option<Coordinate> {
        let mean = |column: usize| -> (Micros, Micros) {
            let gaps: Vec<Micros> =
                self.coordinates().filter(|(at, ..)| *at == column).filter_map(|(.., at)| self.gap(&at)).collect();
            (gaps.iter().sum(), Micros::try_from(gaps.len()).unwrap_or(Micros::MAX).max(1))
        };
        let candidates = self.coordinates().filter_map(|(column, row, at)| {
            let gap = self.gap(&at).filter(|gap| *gap > 4 * threshold)?;
            let wanted = active.is_none_or(|dimension| dimension == at.dimension) && !excluded.contains(&at);
            // Means of columns have one length of units, so sums would do; missing cells make them differ.
            let (sum, count) = mean(column);
            wanted.then_some((gap, sum * 1_000 / count, column, row, at))
        });
        let best = candidates.max_by_key(|(gap, mean, column, row, _)| {
            let order = (std::cmp::Reverse(*column), std::cmp::Reverse(*row));
            match reading {
                Reading::CellMax => (*gap, *mean, order),
                Reading::ColumnMean => (*mean, *gap, order),
            }
        });
        best.map(|(.., at)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn at(unit: &str, dimension: &str) -> Coordinate {
        Coordinate { unit: unit.into(), dimension: dimension.into() }
    }

    fn matrix(scores: &[(&str, &str, Micros)]) -> Matrix {
        let cell = |score| Cell { score, evidence: vec![], reason: String::new() };
        Matrix {
            dimensions: vec!["fit".into(), "economy".into()],
            units: vec!["a".into(), "b".into()],
            cells: scores.iter().map(|(unit, dimension, score)| (at(unit, dimension), cell(*score))).collect(),
            stale: BTreeSet::new(),
        }
    }

    const THRESHOLD: Micros = 375_000;

    #[test]
    fn a_score_of_three_and_a_half_is_exactly_the_threshold() {
        let none = BTreeSet::new();
        assert_eq!(matrix(&[("a", "fit", 3_500_000)]).select(THRESHOLD, None, &none, Reading::CellMax), None);
        assert_eq!(
            matrix(&[("a", "fit", 3_499_999)]).select(THRESHOLD, None, &none, Reading::CellMax),
            Some(at("a", "fit"))
        );
        assert!(matrix(&[("a", "fit", 3_500_000)]).converged(THRESHOLD));
    }

    #[test]
    fn the_largest_gap_is_worked_on_and_ties_have_an_order() {
        let none = BTreeSet::new();
        let table = matrix(&[
            ("a", "fit", 2_000_000),
            ("b", "fit", 2_000_000),
            ("a", "economy", 2_000_000),
            ("b", "economy", 1_000_000),
        ]);
        let select =
            |active, excluded: &BTreeSet<Coordinate>, reading| table.select(THRESHOLD, active, excluded, reading);
        assert_eq!(select(None, &none, Reading::CellMax), Some(at("b", "economy")));
        assert_eq!(select(Some("fit"), &none, Reading::CellMax), Some(at("a", "fit")));
        let excluded = BTreeSet::from([at("b", "economy")]);
        // Of three equal gaps, the one whose dimension is worse.
        assert_eq!(select(None, &excluded, Reading::CellMax), Some(at("a", "economy")));
        assert_eq!(
            select(Some("economy"), &BTreeSet::from([at("a", "economy"), at("b", "economy")]), Reading::CellMax),
            None
        );
        let uneven = matrix(&[
            ("a", "fit", 1_000_000),
            ("b", "fit", 5_000_000),
            ("a", "economy", 2_000_000),
            ("b", "economy", 2_000_000),
        ]);
        assert_eq!(uneven.select(THRESHOLD, None, &none, Reading::CellMax), Some(at("a", "fit")));
        assert_eq!(uneven.select(THRESHOLD, None, &none, Reading::ColumnMean), Some(at("a", "economy")));
    }
}
