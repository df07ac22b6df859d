//! The driver's configuration: JSON from the command line, strict.

use auto_json::Value;
use auto_schema::contract::GUARD_ADMIT;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::bindings::auto::pass::types::Fault;
use crate::fault;

/// What `auto:driver/job#run` of this driver takes.
pub struct Config {
    /// Decides which rows are held out together.
    pub seed: u64,
    /// How many folds; default 5.
    pub folds: usize,
    /// The extractor's budget in its own steps.
    pub steps: u64,
    /// Programs to start from, in text form.
    pub start: Vec<String>,
    /// How many programs to ask for; default 8.
    pub candidates: u32,
    /// The share of held-out inputs the guard must admit, in parts per million.
    pub quantile: u32,
    /// Whether the program is rewritten into a shorter one that is equal; default true.
    pub optimize: bool,
    /// A module to seal instead of a program of ours.
    pub module: Option<Vec<u8>>,
    /// Who looks for the program; `enum` unless said otherwise.
    pub synth: Synth,
    /// How often a teacher is asked; default 4.
    pub rounds: u32,
    /// How many programs a teacher may propose at once; default 3.
    pub proposals: u32,
}

/// Who looks for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synth {
    /// `extract` alone.
    Enum,
    /// A teacher, and then `extract` with the teacher's ideas.
    Teacher,
}

impl Config {
    /// Reads the configuration; unknown keys are faults.
    pub fn read(text: &str) -> Result<Config, Fault> {
        let bad = |message: String| fault("bad-config", message);
        let value = Value::parse(text).map_err(|error| bad(error.to_string()))?;
        let record = value.as_record().ok_or_else(|| bad("the configuration is not an object".into()))?;
        let mut config = Config {
            seed: 0,
            folds: 5,
            steps: 20_000_000,
            start: Vec::new(),
            candidates: 8,
            quantile: GUARD_ADMIT,
            optimize: true,
            module: None,
            synth: Synth::Enum,
            rounds: 4,
            proposals: 3,
        };
        for (key, value) in record.iter() {
            let number = || value.as_u64().ok_or_else(|| bad(format!("{key} is not a whole number")));
            let small = || number().and_then(|n| u32::try_from(n).map_err(|_| bad(format!("{key} is too large"))));
            match key {
                "seed" => config.seed = number()?,
                "folds" => config.folds = small()? as usize,
                "steps" => config.steps = number()?,
                "start" => {
                    let texts = value.as_list().and_then(|texts| {
                        texts.iter().map(|text| text.as_text().map(str::to_owned)).collect::<Option<Vec<String>>>()
                    });
                    config.start = texts.ok_or_else(|| bad("start is not a list of texts".into()))?;
                }
                "candidates" => config.candidates = small()?,
                "quantile" => config.quantile = small()?,
                "optimize" => {
                    config.optimize =
                        value.as_bool().ok_or_else(|| bad("optimize is neither true nor false".into()))?;
                }
                "rounds" => config.rounds = small()?,
                "proposals" => config.proposals = small()?,
                "synth" => {
                    config.synth = match value.as_text() {
                        Some("enum") => Synth::Enum,
                        Some("teacher") => Synth::Teacher,
                        _ => return Err(bad("synth is neither enum nor teacher".into())),
                    }
                }
                "module" => {
                    let text = value.as_text().ok_or_else(|| bad("module is not text".into()))?;
                    config.module = Some(STANDARD.decode(text).map_err(|_| bad("module is not base64".into()))?);
                }
                _ => return Err(bad(format!("unknown key {key}"))),
            }
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::Config;

    #[test]
    fn unknown_keys_and_wrong_kinds_are_refused() {
        assert_eq!(Config::read("{}").ok().map(|config| config.folds), Some(5));
        assert_eq!(Config::read("{\"seed\":7}").ok().map(|config| config.seed), Some(7));
        for text in [
            "{\"sead\":7}",
            "{\"seed\":-1}",
            "{\"seed\":1.0}",
            "[]",
            "{\"module\":\"?\"}",
            "{\"start\":[1]}",
            "{\"synth\":\"llm\"}",
            "{",
        ] {
            assert_eq!(Config::read(text).err().map(|fault| fault.code).as_deref(), Some("bad-config"), "{text}");
        }
    }
}
