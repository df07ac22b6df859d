//! How many steps the extractor takes in a second on this machine, for `--seconds`.
//!
//! Measured once with a fixed problem that has no answer, and kept in the cache folder: an
//! unchanged compile is then looked up, as with `--steps`. What a search finds depends on its
//! steps alone, which the report says.

use auto_engine::Providers;
use auto_json::{Record, Value};
use auto_runtime::{CACHE_BYTES, Cache};

use crate::components::{Toolbox, exports};
use crate::failure::Failure;
use crate::options::Global;

/// The interface, without its version.
pub const EXTRACT: &str = "auto:pass/extract";

/// A call of the extractor has so much fuel for each of its steps: half again as much as was ever
/// measured (`auto-evals synth` reports it), so that steps end a search and fuel does not.
pub const FUEL_A_STEP: u64 = 8_000;

const INTERFACE: &str = "auto:pass/extract@0.1.0";

/// The steps of each search, and how many there are; the fastest says what the machine does.
const STEPS: u64 = 1_000_000;
const SEARCHES: usize = 3;

/// Inputs, and outputs that have nothing to do with them.
const WITHOUT_A_RULE: [(&str, &str); 8] = [
    ("qhzvk rtm-wpla, ncoxye", "sdgiubjtf"),
    ("mvrdwq oxh-ybtfe, kzpgsa", "lqwecnrhj"),
    ("tbgnesl kdi-zqor, xwjfhm", "vaypuctkd"),
    ("wfayj cgs-vmeuh, ortqld", "bxkzinpem"),
    ("hpkocx nwe-trds, aviqgb", "jmyfulzow"),
    ("zdlimtr sqb-hgkan, pewcjy", "fvoxhtrsa"),
    ("ycxsu vfo-jlpr, gmbkdt", "wqenizhab"),
    ("nrweqf apz-ukixc, dhtlvo", "gjsmybpkc"),
];

/// Steps in a second, in two digits.
pub fn steps_per_second(toolbox: &Toolbox, global: &Global) -> Result<u64, Failure> {
    let extractor = toolbox.all.iter().rev().find(|pass| exports(pass, INTERFACE));
    let name = extractor.map(|pass| format!("{}.steps", pass.digest)).unwrap_or_default();
    let cache = match global.cache_folder() {
        Some(folder) => Some(Cache::open(folder, global.cache_bytes.unwrap_or(CACHE_BYTES))?.part("calibration")?),
        None => None,
    };
    let known = cache.as_ref().and_then(|cache| cache.read(&name));
    if let Some(steps) = known.and_then(|bytes| String::from_utf8(bytes).ok()?.parse().ok()).filter(|&steps| steps > 0)
    {
        return Ok(steps);
    }
    let measured = measured(toolbox, &toolbox.providers)?;
    if let Some(cache) = cache {
        cache.write(&name, measured.to_string().as_bytes());
    }
    Ok(measured)
}

fn measured(toolbox: &Toolbox, providers: &Providers) -> Result<u64, Failure> {
    let observation = |(input, output): &(&str, &str)| -> Value {
        let text = |text: &str| Value::from(text).to_string();
        let witness: Value = Record::new().with("output", text(output)).with("count", 1).into();
        Record::new().with("input", text(input)).with("outputs", vec![witness]).with("errors", 0).into()
    };
    let observations: Vec<Value> = WITHOUT_A_RULE.iter().map(observation).collect();
    let hints = Record::new()
        .with("input_type", "text")
        .with("output_type", "text")
        .with("unlabelled", Vec::<Value>::new())
        .with("start", Vec::<Value>::new())
        .with("wrong_max_ppm", 0);
    let budget = Record::new().with("steps", STEPS).with("candidates", 1);
    let arguments = Value::List(vec![observations.into(), hints.into(), budget.into()]);
    let mut best = 1;
    for _ in 0..SEARCHES {
        let search = toolbox.engine.call_json_anew(providers, INTERFACE, "synthesize", &arguments)?;
        let steps = search.get("steps").and_then(Value::as_u64).unwrap_or(0);
        let micros = toolbox.engine.take_trace().last().map_or(1, |call| call.micros.max(1));
        best = best.max(steps.saturating_mul(1_000_000) / micros);
    }
    Ok(two_digits(best))
}

fn two_digits(number: u64) -> u64 {
    let unit = 10u64.pow(number.max(1).ilog10().saturating_sub(1));
    number / unit * unit
}

#[cfg(test)]
mod tests {
    #[test]
    fn figures_are_round() {
        let rounded = [0, 1, 99, 101, 4_567_891].map(super::two_digits);
        assert_eq!(rounded, [0, 1, 99, 100, 4_500_000]);
    }
}
