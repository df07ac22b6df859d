//! Choices that follow from a seed: SplitMix64 (Steele, Lea and Flood 2014, figure 9), one row of
//! numbers for each name, so that how often one place draws changes nothing in another.

use auto_schema::digest::Digest;

/// A row of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The row of a seed and a name.
    pub fn of(seed: u64, name: &str) -> Random {
        let digest = Digest::of(format!("{seed}\n{name}").as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&digest.as_bytes()[..8]);
        Random(u64::from_le_bytes(first))
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, each as likely; 0 where `n` is.
    pub fn below(&mut self, n: usize) -> usize {
        // The high bits of a product: no bias that any search could see.
        usize::try_from((u128::from(self.number()) * n as u128) >> 64).unwrap_or(0)
    }

    /// A number of a range, both ends included.
    pub fn between(&mut self, least: i64, most: i64) -> i64 {
        let width = u128::try_from(i128::from(most) - i128::from(least) + 1).unwrap_or(1);
        let step = (u128::from(self.number()) * width) >> 64;
        i64::try_from(i128::from(least) + i128::try_from(step).unwrap_or(0)).unwrap_or(least)
    }

    /// Whether something happens that does so in `share` of a million cases.
    pub fn chance(&mut self, share: i64) -> bool {
        self.between(0, 999_999) < share
    }

    /// One of them; none of none.
    pub fn pick<'t, T>(&mut self, items: &'t [T]) -> Option<&'t T> {
        items.get(self.below(items.len()))
    }

    /// A place, each as likely as its weight says; none where all weights are 0.
    pub fn weighted(&mut self, weights: &[u64]) -> Option<usize> {
        let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        let mut at = (u128::from(self.number()) * all) >> 64;
        weights.iter().position(|weight| {
            let here = at < u128::from(*weight);
            at = at.wrapping_sub(u128::from(*weight));
            here
        })
    }

    /// In another order (Fisher and Yates 1938).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_name_give_the_same_row_and_others_another() {
        let row = |seed, name: &str| {
            let mut random = Random::of(seed, name);
            (0..4).map(|_| random.number()).collect::<Vec<_>>()
        };
        assert_eq!(row(1, "a"), row(1, "a"));
        assert_ne!(row(1, "a"), row(2, "a"));
        assert_ne!(row(1, "a"), row(1, "b"));
    }

    #[test]
    fn draws_stay_in_their_range_and_follow_their_weights() {
        let mut random = Random::of(7, "draws");
        let mut counts = [0_u32; 3];
        for _ in 0..3_000 {
            assert!(random.below(3) < 3);
            assert!((-2..=2).contains(&random.between(-2, 2)));
            counts[random.weighted(&[1, 0, 2]).unwrap()] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((800..1_200).contains(&counts[0]), "{counts:?}");
        assert_eq!((random.below(0), random.pick::<u8>(&[]), random.weighted(&[0, 0])), (0, None, None));
        assert_eq!(random.between(i64::MIN, i64::MAX).signum().abs(), 1);
        assert!(!random.chance(0) && random.chance(1_000_000));
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..20).collect();
        Random::of(3, "s").shuffle(&mut items);
        assert_ne!(items, (0..20).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..20).collect::<Vec<_>>());
    }
}
