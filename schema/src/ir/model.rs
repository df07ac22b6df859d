//! The formats of trained models: what the weights of a [`Body::Model`](super::Body::Model)
//! are.

use auto_json::Value;

use crate::types::Type;

/// The format of a [`Linear`].
pub const LINEAR: &str = "linear/1";

/// The most classes of a model.
pub const MAX_CLASSES: usize = 4096;

/// A linear classifier over hashed n-grams of texts; `auto_rt::kernels::linear` gives its
/// meaning.
///
/// A node of it takes a list of texts and gives a record: `value`, the class with the highest
/// score; `doubt` and `unsure`, parts per million: how far that score is below `doubt`'s
/// range, and its lead over the second below `unsure`'s.
///
/// Bytes: `bits` and the number of classes, 32 bits each, little-endian; one byte of inverse
/// document frequency for each of `2^bits` buckets; for each bucket four bits per class, two classes
/// a byte; one scale per class, one bias per class, then the ranges of `doubt` and `unsure`, low and
/// high, 32 bits each;
/// the classes as the canonical text of a JSON list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linear {
    /// The logarithm of the number of buckets; 4 to 16.
    pub bits: u32,
    /// Inverse document frequency of each bucket.
    pub idf: Vec<u8>,
    /// Bucket by bucket, the weights of two classes a byte.
    pub rows: Vec<u8>,
    /// What a weight of each class stands for, in 256ths; 1 to 2^12.
    pub scales: Vec<i32>,
    /// One per class; at most 2^30 in magnitude.
    pub biases: Vec<i32>,
    /// Scores from which on there is no doubt, and below which there is nothing else.
    pub doubt: (i32, i32),
    /// Leads likewise.
    pub unsure: (i32, i32),
    /// What is answered; distinct.
    pub classes: Vec<Value>,
}

impl Linear {
    /// What a node of this model gives.
    pub fn output(&self) -> Type {
        output(Type::infer(self.classes.iter()))
    }

    /// The bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64 + self.idf.len() + self.rows.len());
        let word = |bytes: &mut Vec<u8>, word: u32| bytes.extend_from_slice(&word.to_le_bytes());
        word(&mut bytes, self.bits);
        word(&mut bytes, self.classes.len() as u32);
        bytes.extend_from_slice(&self.idf);
        bytes.extend_from_slice(&self.rows);
        let ranges = [self.doubt.0, self.doubt.1, self.unsure.0, self.unsure.1];
        self.scales.iter().chain(&self.biases).chain(&ranges).for_each(|number| word(&mut bytes, *number as u32));
        bytes.extend_from_slice(Value::List(self.classes.clone()).canonical().as_str().as_bytes());
        bytes
    }

    /// Reads the bytes of a model that makes sense; otherwise says what does not.
    pub fn from_bytes(bytes: &[u8]) -> Result<Linear, String> {
        let mut reader = Reader(bytes);
        let bits = reader.word()?;
        let classes = reader.word()? as usize;
        if !(4..=16).contains(&bits) {
            return Err(format!("a model has 2^4 to 2^16 buckets, not 2^{bits}"));
        }
        if !(2..=MAX_CLASSES).contains(&classes) {
            return Err(format!("a model has 2 to {MAX_CLASSES} classes, not {classes}"));
        }
        let idf = reader.take(1 << bits)?.to_vec();
        let rows = reader.take(classes.div_ceil(2) << bits)?.to_vec();
        let mut numbers = || (0..classes).map(|_| reader.number()).collect::<Result<Vec<i32>, String>>();
        let (scales, biases) = (numbers()?, numbers()?);
        let doubt = (reader.number()?, reader.number()?);
        let unsure = (reader.number()?, reader.number()?);
        if let Some(bias) = biases.iter().find(|bias| bias.unsigned_abs() > 1 << 30) {
            return Err(format!("a bias of {bias} is beyond 2^30"));
        }
        if let Some(scale) = scales.iter().find(|scale| !(1..=1 << 12).contains(*scale)) {
            return Err(format!("a scale of {scale} is not between 1 and 2^12"));
        }
        if doubt.0 >= doubt.1 || unsure.0 >= unsure.1 {
            return Err("a range of scores ends where it begins, or before".to_owned());
        }
        let text = core::str::from_utf8(reader.0).map_err(|_| "the classes are not UTF-8".to_owned())?;
        let value = Value::parse(text).map_err(|error| format!("the classes are no JSON: {error}"))?;
        if value.canonical().as_str() != text {
            return Err("the classes are not in canonical form".to_owned());
        }
        let Value::List(values) = value else { return Err("the classes are no list".to_owned()) };
        if values.len() != classes {
            return Err(format!("{classes} classes are announced, {} are there", values.len()));
        }
        let mut sorted: Vec<&Value> = values.iter().collect();
        sorted.sort();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("two classes are the same".to_owned());
        }
        Ok(Linear { bits, idf, rows, scales, biases, doubt, unsure, classes: values })
    }
}

/// What a model whose classes are of a type gives.
pub fn output(value: Type) -> Type {
    let field = |name: &str, ty| crate::types::Field::new(name, ty);
    Type::Record(vec![field("doubt", Type::Int), field("unsure", Type::Int), field("value", value)]).canonical()
}

/// What is left of the bytes.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, length: usize) -> Result<&'b [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(|| "the weights are cut off".to_owned())?;
        self.0 = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u32, String> {
        self.take(4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn number(&mut self) -> Result<i32, String> {
        self.word().map(|word| word as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Linear {
        Linear {
            bits: 4,
            idf: (0..16).collect(),
            rows: (0..16).map(|weight| weight * 16 + 15).collect(),
            scales: vec![1, 1 << 12],
            biases: vec![-5, 1 << 30],
            doubt: (-1, 9),
            unsure: (0, 1),
            classes: vec!["no".into(), Value::Null],
        }
    }

    #[test]
    fn bytes_are_read_back() {
        assert_eq!(Linear::from_bytes(&model().to_bytes()), Ok(model()));
    }

    #[test]
    fn what_is_cut_off_or_makes_no_sense_is_refused() {
        let bytes = model().to_bytes();
        for length in 0..bytes.len() {
            assert!(Linear::from_bytes(&bytes[..length]).is_err(), "{length}");
        }
        let refused = |change: fn(&mut Linear), why: &str| {
            let mut model = model();
            change(&mut model);
            let refusal = Linear::from_bytes(&model.to_bytes()).unwrap_err();
            assert!(refusal.contains(why), "{refusal}");
        };
        refused(|model| model.bits = 17, "2^17");
        refused(|model| model.bits = 5, "cut off");
        refused(|model| model.biases[0] = i32::MIN, "beyond 2^30");
        refused(|model| model.scales[1] = 0, "a scale of 0");
        refused(|model| model.doubt = (3, 3), "range");
        refused(|model| model.classes = vec!["a".into(), "a".into()], "the same");
        refused(|model| model.classes = vec!["a".into()], "2 to 4096 classes, not 1");
        // More than four thousand million bytes are announced, and not asked for.
        let mut lying = bytes;
        lying[4..8].copy_from_slice(&4096u32.to_le_bytes());
        lying[0] = 16;
        assert_eq!(Linear::from_bytes(&lying), Err("the weights are cut off".to_owned()));
    }
}
