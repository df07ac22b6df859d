//! Multinomial logistic regression by stochastic gradient descent, with features dropped out
//! (Srivastava et al. 2014) and labels smoothed (Szegedy et al. 2016): both make the model
//! less sure of texts that it has not seen.

use auto_rt::kernels::linear::{Counts, Met};

use crate::common;

/// The share of features that are left out of a step, in 1/256.
const DROPPED: u8 = 128;

/// The share of a label that is spread over all classes.
const SMOOTHING: f32 = 0.1;

/// The step size at first; it falls to nothing in equal parts.
const RATE: f32 = 2.0;

/// Biases move by so much less than weights.
const BIAS_RATE: f32 = 0.01;

/// Every row is learnt from so often: until so many steps are taken, and within these bounds.
/// Learning longer fits better what was shown, and neither what was not shown nor, by far, what
/// belongs to no class.
const STEPS: usize = 15_000;
const EPOCHS: (usize, usize) = (15, 100);

/// Rows as the trainer sees them.
pub(crate) struct Data {
    pub(crate) bits: u32,
    pub(crate) classes: usize,
    /// One byte per bucket.
    pub(crate) idf: Vec<u8>,
    /// Buckets and values; a vector of length `2^14` each.
    pub(crate) rows: Vec<Vec<(u16, i32)>>,
    pub(crate) labels: Vec<usize>,
    /// How much each row counts.
    weights: Vec<f32>,
}

impl Data {
    pub(crate) fn new(texts: &[Vec<String>], bits: u32, labels: Vec<usize>, classes: usize) -> Data {
        let mut reader = Reader::new(bits);
        let mut met_in = vec![0u32; 1 << bits];
        for texts in texts {
            reader.read(0, texts).iter().for_each(|(bucket, _)| met_in[bucket] += 1);
        }
        let own = met_in.clone();
        let mut count = texts.len();
        for place in 0..texts.first().map_or(0, Vec::len) {
            for (word, imagined) in common::words(texts.iter().map(|texts| texts[place].as_str())) {
                reader.read(place as u32, &[word]).iter().for_each(|(bucket, _)| met_in[bucket] += imagined);
                count = texts.len() + common::TEXTS as usize;
            }
        }
        // What most texts have tells none apart, however many are imagined.
        let most = |(rows, own): (&u32, &u32)| {
            if *own as usize * 2 > texts.len() { idf(texts.len(), *own) } else { idf(count, *rows) }
        };
        let idf: Vec<u8> = met_in.iter().zip(&own).map(most).collect();
        let row = |texts: &Vec<String>| {
            reader.read(0, texts).values(&idf).map(|(bucket, value)| (bucket as u16, value)).collect()
        };
        let rows = texts.iter().map(row).collect();
        let weights = vec![1.0; labels.len()];
        Data { bits, classes, idf, rows, labels, weights }
    }

    /// The buckets and values of texts that need not be among the rows.
    pub(crate) fn values(&self, texts: &[String]) -> Vec<(usize, i32)> {
        Reader::new(self.bits).read(0, texts).values(&self.idf).collect()
    }

    /// The same rows, each of which counts so much.
    pub(crate) fn weighing(self, weights: &[f32]) -> Data {
        Data { weights: weights.to_vec(), ..self }
    }
}

impl Data {
    /// By how much more a class is learnt from than one of middling size: the root of how much
    /// rarer it is, so that rare classes count, and three times as much at most.
    fn emphasis(&self) -> Vec<f32> {
        let mut counts = vec![0f32; self.classes];
        self.labels.iter().for_each(|label| counts[*label] += 1.0);
        let mean = self.labels.len() as f32 / self.classes as f32;
        counts.iter().map(|count| (mean / count.max(1.0)).sqrt().min(3.0)).collect()
    }
}

/// Inverse document frequency, 20 (1 + ln(n / (1 + rows))), from 1 to 255.
fn idf(n: usize, rows: u32) -> u8 {
    (20.0 * (1.0 + (n as f64 / (1.0 + f64::from(rows))).ln())).round().clamp(1.0, 255.0) as u8
}

/// Room to count in.
struct Reader {
    slots: Vec<u16>,
    met: Vec<Met>,
}

impl Reader {
    fn new(bits: u32) -> Reader {
        Reader { slots: vec![0; 1 << bits], met: vec![Met::default(); 1 << bits] }
    }

    /// The counts of some texts, the first of which has that salt.
    fn read<T: AsRef<str>>(&mut self, first: u32, texts: &[T]) -> Counts<'_> {
        let mut counts = Counts::new(&mut self.slots, &mut self.met).expect("a power of two up to 2^16");
        for (salt, text) in (first..).zip(texts) {
            counts.text(text.as_ref().as_bytes(), salt);
        }
        counts
    }
}

/// Weights of a fit: of values of length 1.
pub(crate) struct Weights {
    /// Bucket by bucket, one per class.
    pub(crate) rows: Vec<f32>,
    pub(crate) biases: Vec<f32>,
}

/// Fits within so many steps; one row learnt from once is one.
pub(crate) fn fit(data: &Data, seed: u64, steps: u64) -> Weights {
    let (classes, rows) = (data.classes, data.rows.len());
    let mut weights = Weights { rows: vec![0.0; classes << data.bits], biases: vec![0.0; classes] };
    let mut random = Random::new(seed);
    let mut order: Vec<usize> = (0..rows).collect();
    let epochs = (STEPS / rows.max(1)).clamp(EPOCHS.0, EPOCHS.1);
    let epochs = usize::try_from(steps / rows.max(1) as u64).unwrap_or(usize::MAX).min(epochs).max(1);
    let emphasis = data.emphasis();
    let mut scores = vec![0.0; classes];
    let mut kept: Vec<(usize, f32)> = Vec::new();
    for epoch in 0..epochs {
        random.shuffle(&mut order);
        let rate = RATE * (1.0 - epoch as f32 / epochs as f32);
        for &row in &order {
            kept.clear();
            let scale = 256.0 / f32::from(u16::from(u8::MAX) + 1 - u16::from(DROPPED)) / 16384.0;
            for &(bucket, value) in &data.rows[row] {
                if random.byte() >= DROPPED {
                    kept.push((usize::from(bucket) * classes, value as f32 * scale));
                }
            }
            let label = data.labels[row];
            let rate = rate * emphasis[label] * data.weights[row];
            learn(&mut weights, &kept, label, rate, &mut scores);
        }
    }
    weights
}

/// One step down the gradient of the cross entropy. Where a fit spends its time, so four classes
/// at once; the result is the same as one after the other.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn learn(weights: &mut Weights, row: &[(usize, f32)], label: usize, rate: f32, scores: &mut [f32]) {
    let classes = scores.len();
    scores.copy_from_slice(&weights.biases);
    for &(at, value) in row {
        for (score, weight) in scores.iter_mut().zip(&weights.rows[at..at + classes]) {
            *score += weight * value;
        }
    }
    // Scores to what each class has too much.
    let highest = scores.iter().copied().fold(f32::MIN, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - highest).exp();
        sum += *score;
    }
    let spread = SMOOTHING / classes as f32;
    scores.iter_mut().for_each(|score| *score = *score / sum - spread);
    scores[label] -= 1.0 - SMOOTHING;
    for &(at, value) in row {
        let step = rate * value;
        for (weight, score) in weights.rows[at..at + classes].iter_mut().zip(scores.iter()) {
            *weight -= step * score;
        }
    }
    for (bias, score) in weights.biases.iter_mut().zip(scores.iter()) {
        *bias -= rate * BIAS_RATE * score;
    }
}

/// `xorshift64*` (Vigna 2016).
pub(crate) struct Random {
    state: u64,
    /// Bytes that are left of the last draw.
    bytes: u64,
    left: u32,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        // Any seed but 0 will do; this one spreads small seeds (splitmix64's constant).
        Random { state: seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, bytes: 0, left: 0 }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Puts items into another order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn byte(&mut self) -> u8 {
        if self.left == 0 {
            (self.bytes, self.left) = (self.next(), 8);
        }
        self.left -= 1;
        self.bytes >>= 8;
        self.bytes as u8
    }
}
