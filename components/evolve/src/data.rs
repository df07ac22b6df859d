//! The rows that everything is measured on, split once and for all: rows to learn from, rows that the
//! search is scored on, and rows that confirm what it found, which nothing sees before its end. Rows
//! of one group, or of one and the same input, never straddle.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use auto_search::{Fields, Random, Refusal};

const CODE: &str = "bad-rows";

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Split {
    /// To learn from, labels and all.
    Train,
    /// To score what is tried.
    Select,
    /// To confirm what was found.
    Confirm,
}

/// How rows are read and split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The member that is the answer; none where instances have no label.
    pub label: Option<String>,
    /// The member that tells rows apart; else they are numbered by what is in them.
    pub id: Option<String>,
    /// The member that rows of one origin share.
    pub group: Option<String>,
    /// The share of the rows that score, in millionths.
    pub select: i64,
    /// The share that confirms.
    pub confirm: i64,
    /// The most rows that are read: those with the least hashes.
    pub most: usize,
    /// So many labels, the most frequent ones, are kept as they are.
    pub labels: Option<usize>,
    /// What the others are called; without that their rows are left out.
    pub rest: Option<String>,
    /// Goes into the hashes.
    pub salt: String,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Told apart by this.
    pub id: String,
    /// Without label, id and group.
    pub input: Value,
    /// What is right.
    pub label: Option<String>,
    /// What it is for.
    pub split: Split,
}

/// All rows, those of a split in the order of their hashes, so that the first part of them is a
/// sample of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows(Vec<Row>);

impl Rows {
    /// Reads rows. Code: `bad-rows`.
    pub fn read(value: &Value, shape: &Shape) -> Result<Rows, Refusal> {
        let list = value.as_list().ok_or_else(|| Refusal::new(CODE, "the rows are no list"))?;
        let (mut rows, mut seen) = (Vec::new(), BTreeMap::<String, u32>::new());
        for (at, value) in list.iter().enumerate() {
            let (row, origin) = row(value, at, shape, &mut seen)?;
            let hash = |text: &str| Digest::of(format!("{}\n{text}", shape.salt).as_bytes()).to_string();
            rows.push((hash(&row.id), Row { split: split(&hash(&origin), shape), ..row }));
        }
        rows.sort_by(|a, b| (&a.0, &a.1.id).cmp(&(&b.0, &b.1.id)));
        if let Some(pair) = rows.windows(2).find(|pair| pair[0].1.id == pair[1].1.id) {
            return Err(Refusal::new(CODE, format!("two rows have the id {:?}", pair[0].1.id)));
        }
        let mut rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
        if let Some(labels) = shape.labels {
            rows = fewer_labels(rows, labels, shape.rest.as_deref());
        }
        rows.truncate(shape.most);
        let rows = Rows(rows);
        let needed = if shape.label.is_some() {
            vec![Split::Train, Split::Select, Split::Confirm]
        } else {
            vec![Split::Select, Split::Confirm]
        };
        for split in needed {
            if rows.of(split, 1_000_000).is_empty() {
                let message =
                    format!("of {} rows none is of the split {split:?}; give more rows, or other shares", rows.0.len());
                return Err(Refusal::new(CODE, message));
            }
        }
        Ok(rows)
    }

    /// Those of a split, of which the first share (in millionths), at least one.
    pub fn of(&self, split: Split, share: i64) -> Vec<&Row> {
        let all: Vec<&Row> = self.0.iter().filter(|row| row.split == split).collect();
        let share = usize::try_from(share).unwrap_or(0);
        let count = (all.len() * share).div_ceil(1_000_000);
        all.into_iter().take(count).collect()
    }

    /// The texts that stand in fields of the inputs from which the label can be told alone: what is
    /// most often right for each value of the field in the rows to learn from is right in at least
    /// `ceiling` of the rows that score. Such a field was made of the answer.
    pub fn derived(&self, ceiling: i64) -> Vec<String> {
        let (train, select) = (self.of(Split::Train, 1_000_000), self.of(Split::Select, 1_000_000));
        let names: BTreeSet<&str> = select
            .iter()
            .filter_map(|row| row.input.as_record())
            .flat_map(Record::iter)
            .map(|(name, _)| name)
            .collect();
        names.into_iter().filter(|name| told_by(name, &train, &select) >= ceiling).map(str::to_owned).collect()
    }
}

fn row(value: &Value, at: usize, shape: &Shape, seen: &mut BTreeMap<String, u32>) -> Result<(Row, String), Refusal> {
    let fields = Fields::of(value, format!("/{at}"), CODE)?;
    let mut input = fields.record().clone();
    let mut take = |name: &Option<String>| -> Result<Option<Value>, Refusal> {
        let Some(name) = name else { return Ok(None) };
        fields.need(name)?;
        Ok(input.remove(name))
    };
    let plain = |value: Value| value.as_text().map_or_else(|| value.canonical().into_string(), str::to_owned);
    let label = take(&shape.label)?.map(plain);
    let id = take(&shape.id)?.map(plain);
    let group = take(&shape.group)?.map(plain);
    let input = Value::from(input);
    let text = input.canonical().into_string();
    let id = id.unwrap_or_else(|| {
        let same = seen.entry(text.clone()).or_default();
        *same += 1;
        format!("{}-{same}", &Digest::of(text.as_bytes()).to_string()[..16])
    });
    Ok((Row { id, input, label, split: Split::Train }, group.unwrap_or(text)))
}

/// By the first 32 bits of a hash.
fn split(hash: &str, shape: &Shape) -> Split {
    let at = (u64::from_str_radix(&hash[..8], 16).unwrap_or(0) * 1_000_000) >> 32;
    match i64::try_from(at).unwrap_or(0) {
        at if at < shape.select => Split::Select,
        at if at < shape.select + shape.confirm => Split::Confirm,
        _ => Split::Train,
    }
}

fn fewer_labels(rows: Vec<Row>, most: usize, rest: Option<&str>) -> Vec<Row> {
    let mut counts = BTreeMap::<String, usize>::new();
    rows.iter().filter_map(|row| row.label.clone()).for_each(|label| *counts.entry(label).or_default() += 1);
    let mut order: Vec<(usize, String)> = counts.into_iter().map(|(label, count)| (count, label)).collect();
    order.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let kept: BTreeSet<String> = order.into_iter().take(most).map(|(_, label)| label).collect();
    let known = |row: &Row| row.label.as_ref().is_some_and(|label| kept.contains(label));
    let one = |row: Row| match (known(&row), rest) {
        (true, _) => Some(row),
        (false, Some(rest)) => Some(Row { label: Some(rest.to_owned()), ..row }),
        (false, None) => None,
    };
    rows.into_iter().filter_map(one).collect()
}

/// How often the label that a field's value mostly has is right, in millionths.
fn told_by(name: &str, train: &[&Row], select: &[&Row]) -> i64 {
    let mut known = BTreeMap::<String, BTreeMap<&str, u32>>::new();
    let value = |row: &Row| row.input.get(name).map(|value| value.canonical().into_string());
    for row in train {
        if let (Some(value), Some(label)) = (value(row), row.label.as_deref()) {
            *known.entry(value).or_default().entry(label).or_default() += 1;
        }
    }
    let best = |labels: &BTreeMap<&str, u32>| {
        labels
            .iter()
            .max_by_key(|(label, count)| (**count, std::cmp::Reverse(**label)))
            .map(|(label, _)| (*label).to_owned())
    };
    // Where there are no labels there is nothing to be told.
    let tells = |row: &&&Row| row.label.is_some() && value(row).and_then(|value| best(known.get(&value)?)) == row.label;
    let right = select.iter().filter(tells);
    (right.count() * 1_000_000 / select.len().max(1)) as i64
}

/// Rows as a file: one a line; `labels` gives each the label it is told, or none.
pub fn lines(rows: &[&Row], labels: &[Option<&str>], without: &[String]) -> String {
    let mut text = String::new();
    for (row, label) in rows.iter().zip(labels) {
        let mut input = row.input.clone();
        if let Value::Record(record) = &mut input {
            without.iter().for_each(|name| drop(record.remove(name)));
        }
        let mut record = Record::new().with("id", row.id.as_str()).with("input", input);
        if let Some(label) = label {
            record.set("label", *label);
        }
        text.push_str(Value::from(record).canonical().as_str());
        text.push('\n');
    }
    text
}

/// The labels of rows, in another order.
pub fn shuffled<'r>(rows: &[&'r Row], seed: u64) -> Vec<Option<&'r str>> {
    let mut labels: Vec<Option<&str>> = rows.iter().map(|row| row.label.as_deref()).collect();
    Random::of(seed, "shuffled labels").shuffle(&mut labels);
    labels
}

/// How often each label is right.
pub fn counts(rows: &[&Row]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    rows.iter().filter_map(|row| row.label.clone()).for_each(|label| *counts.entry(label).or_default() += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Shape {
        Shape {
            label: Some("label".to_owned()),
            id: None,
            group: None,
            select: 300_000,
            confirm: 300_000,
            most: 1_000,
            labels: None,
            rest: None,
            salt: "s".to_owned(),
        }
    }

    fn table(rows: usize) -> Value {
        let row = |at: usize| {
            let label = ["a", "b", "c"][at * at % 3];
            Record::new().with("text", format!("row {}", at / 2)).with("code", format!("{label}!")).with("label", label)
        };
        Value::List((0..rows).map(|at| row(at).into()).collect())
    }

    #[test]
    fn every_row_is_of_one_split_and_equal_inputs_are_of_the_same() {
        let rows = Rows::read(&table(300), &shape()).unwrap();
        assert_eq!(rows, Rows::read(&table(300), &shape()).unwrap());
        let of = |split| rows.of(split, 1_000_000);
        let all = [of(Split::Train), of(Split::Select), of(Split::Confirm)];
        assert_eq!(all.iter().map(Vec::len).sum::<usize>(), 300);
        assert!(all.iter().all(|split| split.len() > 60), "{:?}", all.each_ref().map(Vec::len));
        let inputs: Vec<BTreeSet<String>> =
            all.iter().map(|split| split.iter().map(|row| row.input.to_string()).collect()).collect();
        assert!(inputs[0].is_disjoint(&inputs[1]) && inputs[1].is_disjoint(&inputs[2]));
        let part = rows.of(Split::Select, 200_000);
        assert_eq!(part[..], of(Split::Select)[..part.len()], "a part is the first of all");
        let salted = Rows::read(&table(300), &Shape { salt: "t".to_owned(), ..shape() }).unwrap();
        assert_ne!(salted, rows);
    }

    #[test]
    fn groups_stay_together_and_rare_labels_go_or_get_a_name() {
        let grouped = Shape { group: Some("code".to_owned()), ..shape() };
        let rows = Rows(Rows::read(&table(300), &shape()).unwrap().0);
        assert!(rows.0.iter().all(|row| row.input.get("code").is_some()));
        // Two labels, so two groups: one split has to be empty.
        assert_eq!(Rows::read(&table(300), &grouped).unwrap_err().code, "bad-rows");
        let few = Shape { labels: Some(1), ..shape() };
        let labels = |rows: &Rows| rows.0.iter().filter_map(|row| row.label.clone()).collect::<BTreeSet<_>>();
        assert_eq!(labels(&Rows::read(&table(300), &few).unwrap()).len(), 1);
        let named = Shape { rest: Some("other".to_owned()), ..few };
        assert!(labels(&Rows::read(&table(300), &named).unwrap()).contains("other"));
    }

    #[test]
    fn a_field_that_was_made_of_the_answer_is_found() {
        let rows = Rows::read(&table(300), &shape()).unwrap();
        assert_eq!(rows.derived(950_000), ["code"]);
        let unlabelled = Rows::read(&table(300), &Shape { label: None, ..shape() }).unwrap();
        assert_eq!(unlabelled.derived(950_000), [""; 0]);
    }

    #[test]
    fn what_is_no_table_of_rows_is_refused_where_it_is_wrong() {
        let refused = |value: &Value, shape: &Shape| Rows::read(value, shape).unwrap_err();
        assert_eq!(refused(&Value::Null, &shape()).code, "bad-rows");
        assert_eq!(refused(&Value::parse(r#"[{"label":"a"},3]"#).unwrap(), &shape()).at, "/1");
        assert_eq!(refused(&Value::parse(r#"[{"text":"a"}]"#).unwrap(), &shape()).at, "/0/label");
        let named = Shape { id: Some("id".to_owned()), ..shape() };
        let twice = Value::parse(r#"[{"id":"x","label":"a"},{"id":"x","label":"b"}]"#).unwrap();
        assert!(refused(&twice, &named).message.contains("two rows have the id"));
    }

    #[test]
    fn labels_are_given_only_where_they_are_said() {
        let rows = Rows::read(&table(100), &shape()).unwrap();
        let some = rows.of(Split::Select, 100_000);
        let text = lines(&some, &vec![None; some.len()], &["code".to_owned()]);
        assert!(!text.contains("label") && !text.contains("code") && text.contains("\"text\""), "{text}");
        let told = shuffled(&some, 1);
        assert!(lines(&some, &told, &[]).contains("\"label\""));
        let train = rows.of(Split::Train, 1_000_000);
        let sorted = |labels: Vec<Option<&str>>| {
            let mut labels: Vec<String> = labels.into_iter().flatten().map(str::to_owned).collect();
            labels.sort();
            labels
        };
        let own: Vec<Option<&str>> = train.iter().map(|row| row.label.as_deref()).collect();
        assert_ne!(shuffled(&train, 1), own);
        assert_eq!(sorted(shuffled(&train, 1)), sorted(own));
    }
}
