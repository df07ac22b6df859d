//! What models cost: `prices.toml`, which has a date, and what the user puts over it.

use std::collections::BTreeMap;
use std::path::Path;

use auto_files::regular;
use toml::{Table, Value};

use crate::error::ModelError;
use crate::money::MicroUsd;
use crate::name::{ModelId, Provider};

/// Micro-USD per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Of what is sent.
    pub input: u64,
    /// Of what comes back, thoughts included.
    pub output: u64,
    /// The most input tokens that this price is for.
    pub max_input_tokens: Option<u64>,
}

/// Prices by model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    /// Of the table, or of the table that was put over it.
    pub date: String,
    list: BTreeMap<String, Price>,
}

/// The most bytes of a file of prices.
const LARGEST: u64 = 16 << 20;

const MILLION: u128 = 1_000_000;

impl Price {
    /// What so many tokens cost, rounded up.
    pub fn cost(&self, input: u64, output: u64) -> MicroUsd {
        let total = u128::from(input) * u128::from(self.input) + u128::from(output) * u128::from(self.output);
        MicroUsd(u64::try_from(total.div_ceil(MILLION)).unwrap_or(u64::MAX))
    }
}

impl Prices {
    /// The table that came with the program.
    pub fn built_in() -> Prices {
        // A test reads it, so it is never empty.
        Prices::read(include_str!("../prices.toml")).unwrap_or(Prices { date: String::new(), list: BTreeMap::new() })
    }

    /// The built-in table with the lines of a file put over it. Code: `bad-prices`.
    pub fn with_file(path: &Path) -> Result<Prices, ModelError> {
        let wrong = |why: String| {
            ModelError::new("bad-prices", format!("{}: {why}", path.display())).help(
                "a price is [[price]] with model = \"PROVIDER/NAME\", input and output in micro-USD per million tokens",
            )
        };
        let text = regular::text(path, LARGEST).map_err(|error| wrong(error.to_string()))?;
        let own = Prices::read(&text).map_err(wrong)?;
        let mut prices = Prices::built_in();
        prices.date = own.date;
        prices.list.extend(own.list);
        Ok(prices)
    }

    fn read(text: &str) -> Result<Prices, String> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let mut prices = Prices { date: String::new(), list: BTreeMap::new() };
        for (key, value) in &table {
            match (key.as_str(), value) {
                ("date", Value::String(date)) if is_date(date) => prices.date = date.clone(),
                ("date", _) => return Err("date is not YYYY-MM-DD in quotes".to_owned()),
                ("price", Value::Array(lines)) => {
                    for line in lines {
                        let (model, price) = line.as_table().ok_or("a price is no table").and_then(price)?;
                        if prices.list.insert(model.clone(), price).is_some() {
                            return Err(format!("{model} is there twice"));
                        }
                    }
                }
                _ => return Err(format!("{key} is not known")),
            }
        }
        if prices.date.is_empty() { Err("there is no date".to_owned()) } else { Ok(prices) }
    }

    /// What the table says of a model: by its name, or by its name without a date behind it.
    pub(crate) fn listed(&self, model: &ModelId) -> Option<Price> {
        let name = model.to_string();
        self.list.get(&name).or_else(|| self.list.get(undated(&name)?)).copied()
    }

    /// What a model costs; nothing where it runs on the user's machines. Code: `unknown-price`.
    pub fn of(&self, model: &ModelId) -> Result<Price, ModelError> {
        // What Ollama passes on to its cloud is not local.
        let local = model.provider.is_local() && !model.name.ends_with("cloud");
        let free = local.then_some(Price { input: 0, output: 0, max_input_tokens: None });
        self.listed(model).or(free).ok_or_else(|| {
            let message = format!("what {model} costs is not known (prices of {}), so nothing is sent", self.date);
            ModelError::new("unknown-price", message).help("give its price with --model-prices FILE")
        })
    }
}

fn price(line: &Table) -> Result<(String, Price), &'static str> {
    let number = |key: &str| match line.get(key) {
        None => Ok(None),
        Some(value) => value
            .as_integer()
            .and_then(|number| u64::try_from(number).ok())
            .map(Some)
            .ok_or("a price is not a whole number of micro-USD per million tokens"),
    };
    if line.keys().any(|key| !["model", "input", "output", "max_input_tokens"].contains(&key.as_str())) {
        return Err("a price has a key that is not known");
    }
    let model = line.get("model").and_then(Value::as_str).ok_or("a price has no model")?;
    let provided = model.split_once('/').is_some_and(|(provider, name)| {
        let known = [Provider::OpenAi, Provider::Anthropic, Provider::Ollama, Provider::LlamaCpp];
        !name.is_empty() && known.iter().any(|known| known.name() == provider)
    });
    if !provided {
        return Err("a model is not PROVIDER/NAME with a provider of openai, anthropic, ollama or llamacpp");
    }
    let missing = "a price needs input and output";
    let (input, output) = (number("input")?.ok_or(missing)?, number("output")?.ok_or(missing)?);
    Ok((model.to_owned(), Price { input, output, max_input_tokens: number("max_input_tokens")? }))
}

fn is_date(text: &str) -> bool {
    let form = |(index, byte): (usize, u8)| if matches!(index, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() == 10 && text.bytes().enumerate().all(form)
}

/// A name without `-YYYY-MM-DD`, `-YYYYMMDD` or `-latest`.
fn undated(name: &str) -> Option<&str> {
    if let Some(name) = name.strip_suffix("-latest") {
        return Some(name);
    }
    let dated = |length: usize| {
        let (name, date) = name.split_at_checked(name.len().checked_sub(length)?)?;
        Some((name.strip_suffix('-')?, date))
    };
    let long = dated(10).filter(|(_, date)| is_date(date));
    let short = || dated(8).filter(|(_, date)| date.bytes().all(|byte| byte.is_ascii_digit()));
    long.or_else(short).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn id(text: &str) -> ModelId {
        ModelId::parse(text, &Prices::built_in()).unwrap()
    }

    #[test]
    fn the_built_in_table_is_read_and_has_a_date() {
        let prices = Prices::read(include_str!("../prices.toml")).unwrap();
        assert!(is_date(&prices.date) && prices.list.len() > 10);
        assert_eq!(prices, Prices::built_in());
    }

    #[test]
    fn a_name_with_a_date_costs_as_without_unless_it_has_its_own_line() {
        let prices = Prices::built_in();
        let cost = |name: &str| prices.of(&id(name)).map(|price| price.input).map_err(|error| error.code);
        assert_eq!(cost("openai/gpt-4o-2024-08-06"), Ok(2_500_000));
        assert_eq!(cost("openai/gpt-4o-2024-05-13"), Ok(5_000_000));
        assert_eq!(cost("anthropic/claude-sonnet-4-5-20250929"), Ok(3_000_000));
        assert_eq!(cost("anthropic/claude-3-5-haiku-latest"), Ok(800_000));
        assert_eq!(cost("openai/gpt-4o-search"), Err("unknown-price"));
        assert_eq!(cost("ollama/llama3.2"), Ok(0));
        assert_eq!(cost("ollama/gpt-oss:120b-cloud"), Err("unknown-price"));
    }

    #[test]
    fn costs_are_rounded_up_and_never_wrap() {
        let price = |input, output| Price { input, output, max_input_tokens: None };
        assert_eq!(price(2_500_000, 10_000_000).cost(1_000, 100), MicroUsd(3_500));
        assert_eq!(price(1, 0).cost(1, 0), MicroUsd(1));
        assert_eq!(price(0, 0).cost(u64::MAX, u64::MAX), MicroUsd(0));
        assert_eq!(price(u64::MAX, u64::MAX).cost(u64::MAX, 1), MicroUsd(u64::MAX));
    }

    #[test]
    fn a_file_is_put_over_the_table_and_read_strictly() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prices.toml");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            Prices::with_file(&path)
        };
        let line = "date = \"2030-01-02\"\n[[price]]\nmodel = \"openai/own\"\ninput = 1\noutput = 2\n";
        let prices = read(line).unwrap();
        assert_eq!((prices.date.as_str(), prices.of(&id("openai/own")).unwrap().output), ("2030-01-02", 2));
        assert!(prices.of(&id("openai/gpt-4o")).is_ok());
        for wrong in [
            line.replace("date = \"2030-01-02\"", ""),
            line.replace("2030-01-02", "soon"),
            line.replace("output = 2", ""),
            line.replace("output = 2", "output = 2.5"),
            line.replace("output = 2", "output = -2"),
            line.replace("output = 2", "output = 2\nin = 3"),
            line.replace("openai/own", "own"),
            format!("{line}[[price]]\nmodel = \"openai/own\"\ninput = 1\noutput = 2\n"),
            format!("dates = 1\n{line}"),
            "[".to_owned(),
        ] {
            assert_eq!(read(&wrong).expect_err(&wrong).code, "bad-prices");
        }
    }
}
