//! `stream`: the ratchet on a stream of inputs that comes as it comes, kinds and all: what is asked
//! for again, what is answered without asking, and what of that is wrong.
//!
//! Each input goes to the artifact of what was recorded, then to the trained one where that is
//! sure, and else to the model, whose answer is recorded; both artifacts are then made again, by
//! the passes of the compiler in the host.

mod plot;
mod tiers;

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};
use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::clock::figure;
use tiers::{Bench, By, Item, Ratchet};

/// Runs the ratchet on a stream
///
/// A file has one `{"input", "output"}` a line, the input a text or an object with one; an output is
/// what the model would say. A phase begins where an output comes for the first time.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  auto-evals stream --data stream.jsonl --alpha 785000 --out stream.csv --plot stream.svg"
)]
pub struct Options {
    /// The stream
    #[arg(long)]
    data: PathBuf,
    /// How unsure the trained artifact may be when it answers an unseen input, in parts per
    /// million; with 0 it answers none
    #[arg(long, default_value_t = 785_000, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    alpha: u32,
    /// Also that many times in another order: shuffled within the phases, with the seeds from 1 on
    #[arg(long, default_value_t = 0)]
    shuffles: u64,
    /// A row for each input, in the order of the file
    #[arg(long, value_name = "CSV")]
    out: Option<PathBuf>,
    /// Calls of the model, wrong answers, and those of a cache, as a picture
    #[arg(long, value_name = "SVG")]
    plot: Option<PathBuf>,
    /// The folder of built components; target/components when left out
    #[arg(long)]
    components: Option<PathBuf>,
}

/// A line of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    input: String,
    output: String,
}

impl Options {
    /// Measures, and returns the report.
    pub fn run(self) -> anyhow::Result<Record> {
        let lines = read(&self.data)?;
        let bench = Bench::new(self.components.as_deref(), &lines[0].input)?;
        let items = self.once(&bench, &lines)?;
        if let Some(path) = &self.out {
            std::fs::write(path, csv(&items)).with_context(|| path.display().to_string())?;
        }
        if let Some(path) = &self.plot {
            std::fs::write(path, plot::svg(&items)).with_context(|| path.display().to_string())?;
        }
        let mut report = Sums::of(&items).report();
        if self.shuffles > 0 {
            let mut all = Vec::new();
            for seed in 1..=self.shuffles {
                let sums = Sums::of(&self.once(&bench, &shuffled(&lines, seed))?);
                eprintln!("seed {seed}: {} calls, {} of {} answers wrong", sums.deopts, sums.wrong, sums.tier1);
                all.push(sums);
            }
            report.set("median_of_shuffles", median(&all).report());
            report.set("most_wrong_of_shuffles", all.iter().map(|sums| sums.wrong).max().unwrap_or(0));
            report.set("shuffles", self.shuffles);
        }
        Ok(report)
    }

    fn once(&self, bench: &Bench, lines: &[Line]) -> anyhow::Result<Vec<Item>> {
        let mut ratchet = Ratchet::new(bench, self.alpha);
        lines.iter().map(|line| ratchet.take(&line.input, &line.output)).collect()
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<Line>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let line = |(number, line): (usize, &str)| {
        let value = Value::parse(line).with_context(|| format!("{}:{}", path.display(), number + 1))?;
        let part = |key| value.get(key).map(|part| part.canonical().into_string());
        let both = part("input").zip(part("output")).map(|(input, output)| Line { input, output });
        both.ok_or_else(|| anyhow!("{}:{} has no input and output", path.display(), number + 1))
    };
    let lines: Vec<Line> =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(line).collect::<Result<_, _>>()?;
    ensure!(!lines.is_empty(), "{} is empty", path.display());
    Ok(lines)
}

/// Where phases begin: at the first input, and where an output comes for the first time, but for
/// those that come with the first ones: as many inputs as a tenth of the stream.
fn phases(lines: &[Line]) -> Vec<usize> {
    let mut known: Vec<&str> = Vec::new();
    let mut starts = vec![0];
    for (at, line) in lines.iter().enumerate() {
        if !known.contains(&line.output.as_str()) {
            known.push(&line.output);
            if at >= lines.len().div_ceil(10) {
                starts.push(at);
            }
        }
    }
    starts
}

/// The lines in another order, each in its phase.
fn shuffled(lines: &[Line], seed: u64) -> Vec<Line> {
    let starts = phases(lines);
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let mut all = Vec::with_capacity(lines.len());
    for (start, end) in starts.iter().copied().zip(ends) {
        let mut phase: Vec<usize> = (start..end).collect();
        phase.sort_by_key(|at| Digest::of(format!("{seed} {at}").as_bytes()));
        all.extend(phase.into_iter().map(|at| lines[at].clone()));
    }
    all
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    items: usize,
    tier1: usize,
    unseen: usize,
    deopts: usize,
    wrong: usize,
    recompiles: usize,
    /// What never answering an unseen input comes to: calls, and wrong answers.
    cache: (usize, usize),
}

impl Sums {
    fn of(items: &[Item]) -> Sums {
        let mut sums = Sums { items: items.len(), ..Sums::default() };
        let mut kept: std::collections::BTreeMap<&str, &str> = Default::default();
        for item in items {
            let answered = item.by != By::Model;
            sums.tier1 += usize::from(answered);
            sums.unseen += usize::from(item.by == By::Trained);
            sums.deopts += usize::from(!answered);
            sums.wrong += usize::from(answered && item.answer != item.expected);
            sums.recompiles += usize::from(item.recompiled);
            match kept.get(item.input.as_str()) {
                Some(answer) => sums.cache.1 += usize::from(*answer != item.expected),
                None => {
                    sums.cache.0 += 1;
                    kept.insert(&item.input, &item.expected);
                }
            }
        }
        sums
    }

    fn report(&self) -> Record {
        Record::new()
            .with("items", self.items)
            .with("tier1", self.tier1)
            .with("deopts", self.deopts)
            .with("silent_wrong", self.wrong)
            .with("recompiles", self.recompiles)
            .with("cost_ratio", figure(self.deopts as f64 / self.items.max(1) as f64, 4))
            .with("tier1_unseen", self.unseen)
            .with("cache_deopts", self.cache.0)
            .with("cache_silent_wrong", self.cache.1)
    }
}

/// The median of each figure by itself.
fn median(all: &[Sums]) -> Sums {
    let of = |figure: fn(&Sums) -> usize| {
        let mut figures: Vec<usize> = all.iter().map(figure).collect();
        figures.sort_unstable();
        figures.get(figures.len() / 2).copied().unwrap_or(0)
    };
    Sums {
        items: of(|sums| sums.items),
        tier1: of(|sums| sums.tier1),
        unseen: of(|sums| sums.unseen),
        deopts: of(|sums| sums.deopts),
        wrong: of(|sums| sums.wrong),
        recompiles: of(|sums| sums.recompiles),
        cache: (of(|sums| sums.cache.0), of(|sums| sums.cache.1)),
    }
}

fn csv(items: &[Item]) -> String {
    let mut text = "item,by,right,recompiled,doubt,unsure,limit,expected,answer\n".to_owned();
    for (number, item) in items.iter().enumerate() {
        let by = match item.by {
            By::Recorded => "recorded",
            By::Trained => "trained",
            By::Model => "model",
        };
        let figure = |figure: Option<u64>| figure.map_or(String::new(), |figure| figure.to_string());
        let (doubt, unsure) = (item.said.as_ref().map(|said| said.doubt), item.said.as_ref().map(|said| said.unsure));
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let said = item.said.as_ref().map_or("", |said| said.answer.as_str());
        text.push_str(&format!(
            "{number},{by},{},{},{},{},{},{},{}\n",
            item.answer == item.expected,
            item.recompiled,
            figure(doubt),
            figure(unsure),
            figure(item.limit),
            quoted(&item.expected),
            quoted(said),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(outputs: &str) -> Vec<Line> {
        let line = |(at, output): (usize, char)| Line { input: at.to_string(), output: output.to_string() };
        outputs.chars().enumerate().map(line).collect()
    }

    #[test]
    fn a_phase_begins_with_a_new_output_and_shuffles_stay_within() {
        let stream = lines("ababababababababababccacbabcabcaddadbacd");
        assert_eq!(phases(&stream), [0, 20, 32]);
        let other = shuffled(&stream, 1);
        assert_ne!(other, stream);
        assert_eq!(other, shuffled(&stream, 1));
        let sorted = |lines: &[Line]| {
            let mut inputs: Vec<String> = lines.iter().map(|line| line.input.clone()).collect();
            inputs.sort();
            inputs
        };
        for phase in [0..20, 20..32, 32..40] {
            assert_eq!(sorted(&other[phase.clone()]), sorted(&stream[phase]));
        }
    }

    #[test]
    fn a_cache_asks_for_each_input_once_and_keeps_what_it_was_told() {
        let item = |input: &str, expected: &str, by: By| Item {
            input: input.to_owned(),
            expected: expected.to_owned(),
            answer: "a".to_owned(),
            by,
            said: None,
            limit: None,
            recompiled: by == By::Model,
        };
        let items = [
            item("x", "a", By::Model),
            item("x", "a", By::Recorded),
            item("x", "b", By::Recorded),
            item("y", "b", By::Trained),
        ];
        let sums = Sums::of(&items);
        assert_eq!((sums.deopts, sums.tier1, sums.unseen, sums.wrong, sums.cache), (1, 3, 1, 2, (2, 1)));
    }
}
