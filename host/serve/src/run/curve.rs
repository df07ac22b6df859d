//! The ratchet's curve: how the shares of the tiers went since the start, in as many points as
//! fit on a page. Points are of equal numbers of inputs; when there are too many, two become one.

use super::counts::Side;

/// The most points.
const POINTS: usize = 128;

/// A stretch of inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Answered by the artifact.
    pub tier1: u64,
    /// Answered by tier 0.
    pub tier0: u64,
    /// Not answered.
    pub nobody: u64,
    /// How often the name came to stand for another artifact.
    pub reloads: u64,
}

impl Point {
    fn inputs(&self) -> u64 {
        self.tier1 + self.tier0 + self.nobody
    }
}

/// Points of `width` inputs each, but for the last.
#[derive(Clone, Debug)]
pub struct Curve {
    points: Vec<Point>,
    width: u64,
}

impl Default for Curve {
    fn default() -> Curve {
        Curve { points: vec![Point::default()], width: 1 }
    }
}

impl Curve {
    /// One more input.
    pub fn add(&mut self, side: Side) {
        let width = self.width;
        let point = self.last();
        match side {
            Side::Tier1 => point.tier1 += 1,
            Side::Tier0 => point.tier0 += 1,
            Side::Nobody => point.nobody += 1,
        }
        if point.inputs() >= width {
            if self.points.len() == POINTS {
                self.halve();
            }
            self.points.push(Point::default());
        }
    }

    /// Another artifact from here on.
    pub fn reloaded(&mut self) {
        self.last().reloads += 1;
    }

    /// What there is, the oldest first; the last may be of fewer inputs.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    fn last(&mut self) -> &mut Point {
        if self.points.is_empty() {
            self.points.push(Point::default());
        }
        let last = self.points.len() - 1;
        &mut self.points[last]
    }

    fn halve(&mut self) {
        let pair = |pair: &[Point]| {
            pair.iter().fold(Point::default(), |sum, point| Point {
                tier1: sum.tier1 + point.tier1,
                tier0: sum.tier0 + point.tier0,
                nobody: sum.nobody + point.nobody,
                reloads: sum.reloads + point.reloads,
            })
        };
        self.points = self.points.chunks(2).map(pair).collect();
        self.width *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_inputs_there_are_the_points_are_few_and_lose_none() {
        let mut curve = Curve::default();
        for input in 0..10_000u64 {
            curve.add(if input < 100 { Side::Tier0 } else { Side::Tier1 });
            if input == 100 {
                curve.reloaded();
            }
            assert!(curve.points().len() <= POINTS);
        }
        let sum = |of: fn(&Point) -> u64| curve.points().iter().map(of).sum::<u64>();
        assert_eq!((sum(|point| point.tier0), sum(|point| point.tier1), sum(|point| point.reloads)), (100, 9_900, 1));
        assert!(curve.points()[0].tier0 > 0 && curve.points().last().unwrap().tier0 == 0);
    }
}
