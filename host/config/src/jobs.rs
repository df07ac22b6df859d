//! `[jobs]`: where the commands of a search are run. What it says is kept with the run, so it comes out
//! as one record with every default in it; which keys there are depends on the backend.

use std::path::Path;

use auto_json::{Record, Value};

use crate::table::{ConfigError, Table};

type Result<T> = core::result::Result<T, ConfigError>;

/// The backends, with the keys of each beside `backend`.
const BACKENDS: [(&str, &[&str]); 6] = [
    ("process", &["processes"]),
    ("slurm", &["processes", "sbatch", "scontrol", "scancel", "partition", "cpus", "options"]),
    (
        "kubernetes",
        &["processes", "kubectl", "namespace", "image", "claim", "folder", "cpus", "secret", "service_account"],
    ),
    ("container", &["processes", "command", "image", "options"]),
    ("wasm", &["fuel"]),
    ("replay", &["from"]),
];

/// How long somebody who runs jobs is waited for: the keys of all backends that ask somebody, each with
/// the most and the default, in seconds.
const PATIENCE: [(&str, u64, u64); 4] = [
    ("poll_seconds", 600, 2),
    ("queue_seconds", 2_592_000, 86_400),
    ("settle_seconds", 3_600, 20),
    ("answer_seconds", 86_400, 300),
];

pub(crate) fn read(table: &Table<'_>, folder: &Path) -> Result<Record> {
    let backend = table.text("backend")?.ok_or_else(|| table.absent("backend"))?;
    let Some((_, own)) = BACKENDS.iter().find(|(name, _)| *name == backend) else {
        let known: Vec<&str> = BACKENDS.iter().map(|(name, _)| *name).collect();
        return Err(table.bad("backend", format!("there is no backend {backend:?}; there are {}", known.join(", "))));
    };
    let asks = ["slurm", "kubernetes", "container"].contains(&backend.as_str());
    let patience: Vec<&str> = PATIENCE.iter().filter(|_| asks).map(|(key, ..)| *key).collect();
    table.only(&[&["backend"], *own, &patience].concat())?;
    let mut record = Record::new().with("backend", backend.as_str());
    for key in *own {
        if let Some(value) = value(table, &backend, key, folder)? {
            record.set(*key, value);
        }
    }
    for (key, most, default) in PATIENCE.iter().filter(|_| asks) {
        record.set(*key, table.number(key, 1..=*most)?.unwrap_or(*default));
    }
    Ok(record)
}

/// What a key says, or what holds where nobody says.
fn value(table: &Table<'_>, backend: &str, key: &str, folder: &Path) -> Result<Option<Value>> {
    let words = |default: &[&str]| -> Result<Option<Value>> {
        let words = table.texts(key)?.unwrap_or_else(|| default.iter().map(|word| (*word).to_owned()).collect());
        if words.first().is_none_or(String::is_empty) {
            return Err(table.bad(key, "it names no program"));
        }
        Ok(Some(words.into_iter().map(Value::from).collect::<Vec<_>>().into()))
    };
    let needed = || -> Result<Option<Value>> {
        let text = table.text(key)?.ok_or_else(|| table.absent(key))?;
        if text.is_empty() { Err(table.bad(key, "it is empty")) } else { Ok(Some(text.into())) }
    };
    match key {
        "processes" => Ok(Some(table.number(key, 4..=1_000_000)?.unwrap_or(512).into())),
        "cpus" => Ok(Some(table.number(key, 1..=1_024)?.unwrap_or(1).into())),
        "fuel" => Ok(Some(table.number(key, 1..=u64::MAX >> 1)?.unwrap_or(10_000_000_000).into())),
        "sbatch" | "scontrol" | "scancel" | "kubectl" => words(&[key]),
        "command" => words(&["podman"]),
        "options" => {
            let options = table.texts(key)?.unwrap_or_default();
            Ok(Some(options.into_iter().map(Value::from).collect::<Vec<_>>().into()))
        }
        "image" | "claim" => needed(),
        "folder" | "from" => {
            // It is said with the run where that is, so it holds wherever the run goes on.
            let place = needed()?.and_then(|value| value.as_text().map(|path| folder.join(path)));
            let place =
                place.and_then(|place| std::path::absolute(place).ok()).map(|place| place.display().to_string());
            Ok(place.map(Value::from))
        }
        "namespace" | "secret" | "service_account" => match table.text(key)? {
            Some(name) if !is_name(&name) => Err(table.bad(key, "it is no name of lower-case letters, digits and `-`")),
            name => Ok(name.map(Value::from)),
        },
        "partition" => Ok(table.text(key)?.map(Value::from)),
        _ => Err(table.bad(key, format!("{backend} does not read it"))),
    }
}

/// A label of RFC 1123, as Kubernetes has its names.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.len() <= 63 && name.bytes().all(plain) && !name.starts_with('-') && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn parse(text: &str) -> core::result::Result<Record, ConfigError> {
        Config::parse(&format!("[jobs]\n{text}"), Path::new("/conf/auto.toml")).map(|config| config.jobs.unwrap())
    }

    #[test]
    fn every_default_is_in_the_record() {
        let text = |text: &str| Value::from(parse(text).unwrap()).canonical().into_string();
        assert_eq!(text("backend = \"process\""), "{\"backend\":\"process\",\"processes\":512}");
        assert_eq!(
            text("backend = \"slurm\"\nsettle_seconds = 5"),
            "{\"answer_seconds\":300,\"backend\":\"slurm\",\"cpus\":1,\"options\":[],\"poll_seconds\":2,\
             \"processes\":512,\"queue_seconds\":86400,\"sbatch\":[\"sbatch\"],\"scancel\":[\"scancel\"],\
             \"scontrol\":[\"scontrol\"],\"settle_seconds\":5}"
        );
        assert_eq!(text("backend = \"replay\"\nfrom = \"run\""), "{\"backend\":\"replay\",\"from\":\"/conf/run\"}");
    }

    #[test]
    fn what_is_not_understood_is_an_error_at_its_place() {
        for (text, code, at) in [
            ("", "missing-key", "/conf/auto.toml:1:1 jobs.backend"),
            ("backend = \"slrum\"", "bad-value", "/conf/auto.toml:2:11 jobs.backend"),
            ("backend = 1", "wrong-type", "/conf/auto.toml:2:11 jobs.backend"),
            ("backend = \"process\"\npartition = \"x\"", "unknown-key", "/conf/auto.toml:3:1 jobs.partition"),
            ("backend = \"slurm\"\npatrition = \"x\"", "unknown-key", "/conf/auto.toml:3:1 jobs.patrition"),
            ("backend = \"slurm\"\nsbatch = []", "bad-value", "/conf/auto.toml:3:10 jobs.sbatch"),
            ("backend = \"slurm\"\npoll_seconds = 0", "bad-value", "/conf/auto.toml:3:16 jobs.poll_seconds"),
            ("backend = \"process\"\nprocesses = 1", "bad-value", "/conf/auto.toml:3:13 jobs.processes"),
            ("backend = \"kubernetes\"\nimage = \"i\"", "missing-key", "/conf/auto.toml:2:1 jobs.claim"),
            (
                "backend = \"kubernetes\"\nimage = \"i\"\nclaim = \"c\"\nfolder = \"/x\"\nnamespace = \"Prod\"",
                "bad-value",
                "/conf/auto.toml:6:13 jobs.namespace",
            ),
            ("backend = \"container\"", "missing-key", "/conf/auto.toml:2:1 jobs.image"),
            ("backend = \"container\"\nimage = \"\"", "bad-value", "/conf/auto.toml:3:9 jobs.image"),
            ("backend = \"wasm\"\nfuel = 0", "bad-value", "/conf/auto.toml:3:8 jobs.fuel"),
            ("backend = \"replay\"", "missing-key", "/conf/auto.toml:2:1 jobs.from"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.code, error.at.as_str()), (code, at), "{text}: {}", error.message);
        }
    }
}
