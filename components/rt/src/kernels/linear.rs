//! The arithmetic of a linear classifier over hashed n-grams: from texts to counts, from
//! counts to the class with the highest score. Integers throughout, so that the trainer, the
//! evaluator and every artifact decide alike.
//!
//! A text counts, for each run of what is not white space with a space before and behind it,
//! every window of two to four bytes; and for each run of letters and digits, twice, the run
//! and the run with the one after it. Capitals of ASCII count as small letters. Every such
//! piece is hashed (FNV-1a, 32 bits, finished as in MurmurHash3) to one of `2^bits` buckets.
//! A bucket's value is `TF[count] * idf`, the vector of values is brought to length `2^14`,
//! and a class scores the inner product with its weights, plus its bias.

/// The highest count of a bucket; what occurs more often counts as so often.
pub const MOST_COUNTED: usize = 63;

/// How long, in units, a vector of values is made: `2^14`.
const LENGTH_BITS: u32 = 14;

/// Bytes of the shortest and of the longest window.
const SHORTEST: usize = 2;
const LONGEST: usize = 4;

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

/// How often each bucket was met, and which were.
pub struct Counts<'a> {
    /// One per bucket.
    counts: &'a mut [u8],
    /// The buckets that were met, each once; as long as `counts`.
    met: &'a mut [u16],
    used: usize,
}

impl<'a> Counts<'a> {
    /// Empty counts. `counts` is all zero and a power of two up to `2^16` long, `met` is as
    /// long; `None` otherwise.
    pub fn new(counts: &'a mut [u8], met: &'a mut [u16]) -> Option<Counts<'a>> {
        let fits = counts.len().is_power_of_two() && counts.len() <= 1 << 16 && counts.len() == met.len();
        fits.then_some(Counts { counts, met, used: 0 })
    }

    /// The buckets that were met and how often.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u8)> + '_ {
        let met = self.met.get(..self.used).unwrap_or_default();
        met.iter().map(|bucket| (usize::from(*bucket), self.counts.get(usize::from(*bucket)).copied().unwrap_or(0)))
    }

    fn add(&mut self, hash: u32, amount: u8) {
        let bucket = finished(hash) as usize & (self.counts.len() - 1);
        let Some(count) = self.counts.get_mut(bucket) else { return };
        if *count == 0
            && let Some(place) = self.met.get_mut(self.used)
        {
            *place = bucket as u16;
            self.used += 1;
        }
        *count = (*count + amount).min(MOST_COUNTED as u8);
    }

    /// Counts the pieces of a text. Texts of different `salt` have different pieces.
    pub fn text(&mut self, text: &[u8], salt: u32) {
        let seed = 0x811C_9DC5 ^ salt.wrapping_mul(0x9E37_79B9);
        text.split(u8::is_ascii_whitespace).filter(|run| !run.is_empty()).for_each(|run| self.windows(run, seed));
        self.words(text, seed ^ 0x5555_5555);
    }

    /// The windows of a run with a space before and behind it.
    fn windows(&mut self, run: &[u8], seed: u32) {
        let byte = |index: usize| match index.checked_sub(1).and_then(|index| run.get(index)) {
            Some(byte) => byte.to_ascii_lowercase(),
            None => b' ',
        };
        let length = run.len() + 2;
        for start in 0..length - 1 {
            let mut hash = seed;
            for end in start..length.min(start + LONGEST) {
                hash = step(hash, byte(end));
                let window = end + 1 - start;
                if window >= SHORTEST {
                    self.add(hash ^ window as u32, 1);
                }
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

/// Adds to the scores, which hold the biases of the classes, what the counts say: `idf` has one
/// byte per bucket, `rows` for each bucket one weight per class. `None` where there is no class.
pub fn classify(idf: &[u8], rows: &[i8], counts: &Counts<'_>, scores: &mut [i32]) -> Option<Best> {
    classify_values(counts.values(idf), rows, scores)
}

/// [`classify`], given the values of the buckets.
pub fn classify_values(values: impl Iterator<Item = (usize, i32)>, rows: &[i8], scores: &mut [i32]) -> Option<Best> {
    let classes = scores.len();
    for (bucket, value) in values {
        let Some(row) = rows.get(bucket * classes..(bucket + 1) * classes) else { continue };
        for (score, weight) in scores.iter_mut().zip(row) {
            // At most 2^16 values of a vector of length 2^14: the sum is below 2^29.
            *score = score.wrapping_add(value.wrapping_mul(i32::from(*weight)));
        }
    }
    let mut best: Option<Best> = None;
    for (class, &score) in scores.iter().enumerate() {
        best = Some(match best {
            None => Best { class, score, lead: i32::MAX },
            Some(best) if score > best.score => Best { class, score, lead: score.saturating_sub(best.score) },
            Some(best) => Best { lead: best.lead.min(best.score.saturating_sub(score)), ..best },
        });
    }
    best
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
    use super::*;

    #[test]
    fn term_frequencies_are_those_of_the_formula() {
        for (count, tf) in TF.iter().enumerate().skip(1) {
            assert_eq!(f64::from(*tf), (256.0 * (1.0 + (count as f64).ln())).round(), "{count}");
        }
    }

    fn counted(text: &str, salt: u32) -> ([u8; 256], usize) {
        let (mut counts, mut met) = ([0; 256], [0; 256]);
        let mut all = Counts::new(&mut counts, &mut met).unwrap();
        all.text(text.as_bytes(), salt);
        let used = all.used;
        (counts, used)
    }

    #[test]
    fn case_and_white_space_do_not_count_and_the_salt_does() {
        assert_eq!(counted("Where is it", 0), counted("  where\tIS  it\n", 0));
        assert_ne!(counted("where is it", 0), counted("where is it", 1));
        assert_ne!(counted("where is it", 0), counted("where it is", 0));
        assert_eq!(counted(" \t\n", 0).1, 0);
        // One run of one byte: windows " a", "a ", " a "; the word.
        assert_eq!(counted("a", 0).0.iter().map(|count| u32::from(*count)).sum::<u32>(), 5);
    }

    #[test]
    fn the_vector_has_the_length_that_is_said() {
        let (mut counts, mut met) = ([0; 256], [0; 256]);
        let mut all = Counts::new(&mut counts, &mut met).unwrap();
        all.text(b"the quick brown fox", 0);
        let squares: f64 = all.values(&[30; 256]).map(|(_, value)| f64::from(value).powi(2)).sum();
        assert!((squares.sqrt() / 16384.0 - 1.0).abs() < 0.001, "{}", squares.sqrt());
    }

    #[test]
    fn the_first_of_equal_classes_wins_without_a_lead() {
        let (mut counts, mut met) = ([0; 16], [0; 16]);
        let all = Counts::new(&mut counts, &mut met).unwrap();
        let best = |biases: &mut [i32]| classify(&[1; 16], &[0; 48], &all, biases);
        assert_eq!(best(&mut [3, 7, 7]), Some(Best { class: 1, score: 7, lead: 0 }));
        assert_eq!(best(&mut [9, 7, 2]), Some(Best { class: 0, score: 9, lead: 2 }));
        assert_eq!(best(&mut [3]), Some(Best { class: 0, score: 3, lead: i32::MAX }));
        assert_eq!(best(&mut []), None);
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
