//! What a guard makes of an input: the same measure as the code that `emit` generates,
//! over a value in memory.

use auto_json::{Number, Value};
use auto_rt::kernels::novelty::{MOST, character_classes, scaled, sketch_score};
use auto_schema::ir::{Check, Guard, parse_path, visit};

/// What a guard thinks of an input; as in `auto:cbin/behavior`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Novelty {
    /// The kind of the check with the highest score, the first of several.
    pub reason: &'static str,
    /// That score, in parts per million.
    pub score: u32,
    /// The guard's limit.
    pub limit: u32,
}

impl Novelty {
    /// Whether the artifact may answer.
    pub fn admits(&self) -> bool {
        self.score <= self.limit
    }
}

/// Runs every check; a guard without one has nothing against any input.
pub fn assess(guard: &Guard, input: &Value) -> Novelty {
    let mut novelty = Novelty { reason: guard.checks.first().map_or("", Check::kind), score: 0, limit: guard.limit };
    for check in &guard.checks {
        let score = score(check, input);
        if score > novelty.score {
            novelty = Novelty { reason: check.kind(), score, ..novelty };
        }
    }
    novelty
}

fn score(check: &Check, input: &Value) -> u32 {
    let all = |holds: bool| if holds { 0 } else { MOST };
    match check {
        Check::Shape { ty } => all(ty.accepts(input).is_ok()),
        Check::Length { path, min, max } => highest(input, path, |value| match value {
            Value::Text(text) => all((*min..=*max).contains(&(text.chars().count() as u64))),
            Value::List(items) => all((*min..=*max).contains(&(items.len() as u64))),
            _ => 0,
        }),
        Check::Characters { path, classes } => {
            highest(input, path, |value| value.as_text().map_or(0, |text| all(character_classes(text) & !classes == 0)))
        }
        Check::Range { path, min, max } => {
            let bounds = (Number::from_lexeme(min.as_bytes()), Number::from_lexeme(max.as_bytes()));
            let (Ok(min), Ok(max)) = bounds else { return MOST };
            highest(input, path, |value| {
                value.as_number().map_or(0, |number| all(number.compare(&min).is_ge() && number.compare(&max).is_le()))
            })
        }
        Check::Sketch { path, bits, table } => {
            highest(input, path, |value| value.as_text().map_or(0, |text| sketch_score(text.as_bytes(), *bits, table)))
        }
        Check::Score { path, scale } => {
            highest(input, path, |value| value.as_i64().map_or(MOST, |number| scaled(number, *scale)))
        }
    }
}

/// The highest score among the values a path meets; 0 where it meets none.
fn highest(input: &Value, path: &str, score: impl Fn(&Value) -> u32) -> u32 {
    let mut highest = 0;
    if let Some(steps) = parse_path(path) {
        visit(input, &steps, &mut |value| highest = highest.max(score(value)));
    }
    highest
}
