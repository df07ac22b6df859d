//! The arithmetic of a linear classifier over hashed n-grams: from texts to counts, from
//! counts to the class with the highest score. Integers throughout, so that the trainer, the
//! evaluator and every artifact decide alike.
//!
//! A text counts, for each run of what is not white space with a space before and behind it,
//! every window of two to four bytes; and for each run of letters and digits, twice, the run
//! and the run with the one before it. Capitals of ASCII count as small letters. Every such
//! piece is hashed (words by FNV-1a, 32 bits; all finished as in MurmurHash3) to one of `2^bits`
//! buckets.
//! A bucket's value is `TF[count] * idf`, the vector of values is brought to length `2^14`,
//! and a class scores the inner product with its weights, plus its bias.

/// The highest count of a bucket; what occurs more often counts as so often.
pub const MOST_COUNTED: usize = 63;

/// How long, in units, a vector of values is made: `2^14`.
const LENGTH_BITS: u32 = 14;

/// Bytes of the shortest and of the longest window.
const SHORTEST: u32 = 2;
const LONGEST: u32 = 4;

/// What a word adds to its bucket, where a window adds 1.
const WORD: u8 = 2;

/// 256 (1 + ln n), rounded; 0 of 0. Sublinear term frequency (Manning, Raghavan, Schütze
/// 2008, 6.4.1).
static TF: [u16; MOST_COUNTED + 1] = [
    0, 256, 433, 537, 611, 668, 715, 754, 788, 818, 845, 870, 892, 913, 932, 949, 966, 981, 996, 1010, 1023, 1035,
    1047, 1059, 1070, 1080, 1090, 1100, 1109, 1118, 1127, 1135, 1143, 1151, 1159, 1166, 1173, 1180, 1187, 1194, 1200,
    1207, 1213, 1219, 1225, 1231, 1236, 1242, 1247, 1252, 1257, 1263, 1268, 1272, 1277, 1282, 1286, 1291, 1295, 1300,
    1304, 1308, 1313, 1317,
];

/// A bucket that was met, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    bucket: u16,
    count: u8,
}

/// How often each bucket was met, and which were: a sparse set (Briggs and Torczon 1993), so that
/// nothing has to be cleared before a text, however many buckets there are.
pub struct Counts<'a> {
    /// For each bucket where in `met` it is, if it is there; else anything.
    slots: &'a mut [u16],
    /// The buckets that were met, each once, in the order they were met; as long as `slots`.
    met: &'a mut [Met],
    used: usize,
}

impl<'a> Counts<'a> {
    /// Empty counts. `slots` is a power of two up to `2^16` long, `met` is as long, and what is in
    /// them does not matter; `None` otherwise.
    pub fn new(slots: &'a mut [u16], met: &'a mut [Met]) -> Option<Counts<'a>> {
        let fits = slots.len().is_power_of_two() && slots.len() <= 1 << 16 && slots.len() == met.len();
        fits.then_some(Counts { slots, met, used: 0 })
    }

    /// The buckets that were met and how often.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u8)> + '_ {
        let met = self.met.get(..self.used).unwrap_or_default();
        met.iter().map(|met| (usize::from(met.bucket), met.count))
    }

    fn add(&mut self, hash: u32, amount: u8) {
        let bucket = finished(hash) as usize & (self.slots.len() - 1);
        let Some(slot) = self.slots.get_mut(bucket) else { return };
        let known = self.met.get_mut(..self.used).and_then(|met| met.get_mut(usize::from(*slot)));
        if let Some(met) = known
            && usize::from(met.bucket) == bucket
        {
            met.count = (met.count + amount).min(MOST_COUNTED as u8);
        } else if let Some(met) = self.met.get_mut(self.used) {
            *met = Met { bucket: bucket as u16, count: amount };
            *slot = self.used as u16;
            self.used += 1;
        }
    }

    /// Counts the pieces of a text. Texts of different `salt` have different pieces.
    pub fn text(&mut self, text: &[u8], salt: u32) {
        let seed = 0x811C_9DC5 ^ salt.wrapping_mul(0x9E37_79B9);
        self.windows(text, seed);
        self.words(text, seed ^ 0x5555_5555);
    }

    /// The windows of every run with a space before and behind it.
    fn windows(&mut self, text: &[u8], seed: u32) {
        // The last four bytes of the run so far, and how many it has; none before a run.
        let (mut last, mut length) = (0, 0);
        for byte in text.iter().chain(b" ") {
            let ends = byte.is_ascii_whitespace();
            match (ends, length) {
                (true, 0) => continue,
                (false, 0) => (last, length) = (u32::from(b' '), 1),
                _ => {}
            }
            let byte = if ends { b' ' } else { byte.to_ascii_lowercase() };
            last = (last << 8) | u32::from(byte);
            length += 1;
            for window in SHORTEST..=length.min(LONGEST) {
                let bytes = last & (u32::MAX >> (32 - 8 * window));
                self.add((bytes ^ seed).wrapping_add(window.wrapping_mul(0x9E37_79B9)), 1);
            }
            if ends {
                length = 0;
            }
        }
    }

    fn words(&mut self, text: &[u8], seed: u32) {
        let inside = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80;
        // The hash of the word before, where there is one.
        let mut before = None;
        for word in text.split(|byte| !inside(byte)).filter(|word| !word.is_empty()) {
            let hash = |seed| word.iter().fold(seed, |hash, byte| step(hash, byte.to_ascii_lowercase()));
            if let Some(before) = before {
                self.add(hash(step(before, b' ')), WORD);
            }
            let own = hash(seed);
            self.add(own, WORD);
            before = Some(own);
        }
    }

    /// The values of the buckets that were met, in a vector of length `2^14`.
    pub fn values<'c>(&'c self, idf: &'c [u8]) -> impl Iterator<Item = (usize, i32)> + 'c {
        let raw = move |(bucket, count): (usize, u8)| {
            let tf = TF.get(usize::from(count)).copied().unwrap_or(0);
            (bucket, u64::from(tf) * u64::from(idf.get(bucket).copied().unwrap_or(0)))
        };
        let squares: u64 = self.iter().map(raw).map(|(_, value)| value * value).sum();
        let length = squares.isqrt().max(1);
        // 2^40 / length, so that one division does for all.
        let factor = (1 << 40) / length;
        self.iter().map(raw).map(move |(bucket, value)| (bucket, ((value * factor) >> (40 - LENGTH_BITS)) as i32))
    }
}

/// FNV-1a (Fowler, Noll, Vo; 32 bits).
fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

/// The finisher of MurmurHash3 (Appleby), so that every bit of a bucket depends on every byte.
fn finished(mut hash: u32) -> u32 {
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85EB_CA6B);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xC2B2_AE35);
    hash ^ hash >> 16
}

/// Where the scores of the best two classes put an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// The class with the highest score, the first of equals.
    pub class: usize,
    /// Its score.
    pub score: i32,
    /// How far the second highest is below it.
    pub lead: i32,
}

/// What a classifier knows, as integers.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'w> {
    /// One byte per bucket.
    pub idf: &'w [u8],
    /// For each bucket four bits per class, -8 to 7: of two classes the first in the lower half of a
    /// byte, so that a bucket has a byte for each two classes or one.
    pub rows: &'w [u8],
    /// What a weight of each class stands for: so many 256ths.
    pub scales: &'w [i32],
    /// What each class scores without any text.
    pub biases: &'w [i32],
}

impl Weights<'_> {
    /// What the counts say; `scores` has one place per class, which are overwritten. `None` where
    /// there is no class.
    pub fn classify(&self, counts: &Counts<'_>, scores: &mut [i32]) -> Option<Best> {
        self.classify_values(counts.values(self.idf), scores)
    }

    /// [`classify`](Weights::classify), given the values of the buckets.
    pub fn classify_values(&self, values: impl Iterator<Item = (usize, i32)>, scores: &mut [i32]) -> Option<Best> {
        scores.fill(0);
        let width = scores.len().div_ceil(2);
        for (bucket, value) in values {
            let Some(row) = self.rows.get(bucket * width..(bucket + 1) * width) else { continue };
            let (pairs, last) = scores.as_chunks_mut::<2>();
            // At most 2^16 values of a vector of length 2^14: the sums are below 2^26.
            for ([even, odd], byte) in pairs.iter_mut().zip(row) {
                *even = even.wrapping_add(value.wrapping_mul(lower(*byte)));
                *odd = odd.wrapping_add(value.wrapping_mul(upper(*byte)));
            }
            if let ([last], Some(byte)) = (last, row.last()) {
                *last = last.wrapping_add(value.wrapping_mul(lower(*byte)));
            }
        }
        let mut best: Option<Best> = None;
        for (class, (score, (scale, bias))) in scores.iter_mut().zip(self.scales.iter().zip(self.biases)).enumerate() {
            *score = ((i64::from(*score) * i64::from(*scale)) >> 8) as i32;
            *score = score.wrapping_add(*bias);
            best = Some(match best {
                None => Best { class, score: *score, lead: i32::MAX },
                Some(best) if *score > best.score => {
                    Best { class, score: *score, lead: score.saturating_sub(best.score) }
                }
                Some(best) => Best { lead: best.lead.min(best.score.saturating_sub(*score)), ..best },
            });
        }
        best
    }
}

fn lower(byte: u8) -> i32 {
    i32::from(((byte << 4) as i8) >> 4)
}

fn upper(byte: u8) -> i32 {
    i32::from((byte as i8) >> 4)
}

/// Two weights of a row in a byte.
pub fn packed(first: i8, second: i8) -> u8 {
    (first as u8 & 15) | ((second as u8) << 4)
}

/// How far below `high` a score is, in parts per million of what lies between `low` and
/// `high`; 0 above `high`, 1,000,000 below `low`.
pub fn shortfall(score: i32, low: i32, high: i32) -> u32 {
    let whole = (i64::from(high) - i64::from(low)).max(1);
    let short = (i64::from(high) - i64::from(score)).clamp(0, whole);
    (short * 1_000_000 / whole) as u32
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::collections::BTreeSet;
    use std::string::String;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn term_frequencies_are_those_of_the_formula() {
        for (count, tf) in TF.iter().enumerate().skip(1) {
            assert_eq!(f64::from(*tf), (256.0 * (1.0 + (count as f64).ln())).round(), "{count}");
        }
    }

    /// Memory as a call finds it: what was there before must not matter.
    fn dirty<const N: usize>(byte: u8) -> ([u16; N], [Met; N]) {
        let bucket = u16::from(byte) % N as u16;
        ([u16::from(byte) * 257; N], [Met { bucket, count: byte }; N])
    }

    fn counted(text: &str, salt: u32, dirt: u8) -> Vec<(usize, u8)> {
        let (mut slots, mut met) = dirty::<256>(dirt);
        let mut all = Counts::new(&mut slots, &mut met).unwrap();
        all.text(text.as_bytes(), salt);
        all.iter().collect()
    }

    #[test]
    fn case_white_space_and_old_memory_do_not_count_and_the_salt_does() {
        assert_eq!(counted("Where is it", 0, 0), counted("  where\tIS  it\n", 0, 255));
        assert_eq!(counted("Where is it", 0, 1), counted("where is it", 0, 7));
        assert_ne!(counted("where is it", 0, 0), counted("where is it", 1, 0));
        assert_ne!(counted("where is it", 0, 0), counted("where it is", 0, 0));
        assert!(counted(" \t\n", 0, 0).is_empty() && counted("", 0, 0).is_empty());
        let sum = |text: &str| counted(text, 0, 3).iter().map(|(_, count)| u32::from(*count)).sum::<u32>();
        // One run of one byte: windows " a", "a ", " a "; the word, twice.
        assert_eq!(sum("a"), 5);
        // Three of them; three words and two pairs, each twice.
        assert_eq!(sum("a b c"), 3 * 3 + 2 * 5);
    }

    #[test]
    fn a_full_table_counts_what_it_has_and_no_more() {
        let text = (0..4000).map(|n| std::format!("w{n} ")).collect::<String>();
        let all = counted(&text, 0, 9);
        assert_eq!(all.len(), 256);
        let buckets: BTreeSet<usize> = all.iter().map(|(bucket, _)| *bucket).collect();
        assert_eq!(buckets.len(), 256);
        assert!(all.iter().all(|(_, count)| usize::from(*count) == MOST_COUNTED));
    }

    #[test]
    fn the_vector_has_the_length_that_is_said() {
        let (mut slots, mut met) = dirty::<256>(0);
        let mut all = Counts::new(&mut slots, &mut met).unwrap();
        all.text(b"the quick brown fox", 0);
        let squares: f64 = all.values(&[30; 256]).map(|(_, value)| f64::from(value).powi(2)).sum();
        assert!((squares.sqrt() / 16384.0 - 1.0).abs() < 0.001, "{}", squares.sqrt());
    }

    #[test]
    fn the_first_of_equal_classes_wins_without_a_lead() {
        let (mut slots, mut met) = dirty::<16>(0);
        let all = Counts::new(&mut slots, &mut met).unwrap();
        let best = |biases: &[i32]| {
            let weights = Weights { idf: &[1; 16], rows: &[0; 32], scales: &[256; 3], biases };
            weights.classify(&all, &mut [9; 3][..biases.len()])
        };
        assert_eq!(best(&[3, 7, 7]), Some(Best { class: 1, score: 7, lead: 0 }));
        assert_eq!(best(&[9, 7, 2]), Some(Best { class: 0, score: 9, lead: 2 }));
        assert_eq!(best(&[3]), Some(Best { class: 0, score: 3, lead: i32::MAX }));
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn scores_are_inner_products_by_class() {
        // Two buckets, three classes: weights 1, -2, 7 and -8, 3, 0.
        let rows = [packed(1, -2), packed(7, 0), packed(-8, 3), packed(0, 0)];
        let weights = Weights { idf: &[1; 2], rows: &rows, scales: &[256, 128, 512], biases: &[10, 20, 30] };
        let mut scores = [0; 3];
        weights.classify_values([(0, 100), (1, 10)].into_iter(), &mut scores);
        assert_eq!(scores, [100 - 80 + 10, (-200 + 30) / 2 + 20, 2 * 700 + 30]);
        // A bucket beyond the rows says nothing.
        weights.classify_values([(2, 100)].into_iter(), &mut scores);
        assert_eq!(scores, [10, 20, 30]);
    }

    #[test]
    fn a_shortfall_is_a_share() {
        assert_eq!(shortfall(10, 0, 10), 0);
        assert_eq!(shortfall(5, 0, 10), 500_000);
        assert_eq!(shortfall(-5, 0, 10), 1_000_000);
        assert_eq!(shortfall(i32::MIN, i32::MIN, i32::MAX), 1_000_000);
        assert_eq!(shortfall(3, 3, 3), 0);
    }
}
