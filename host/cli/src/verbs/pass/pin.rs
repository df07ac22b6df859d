//! `pass pin`: writes a component's digest into `auto.toml`, so that it and no other is used.

use std::path::{Path, PathBuf};

use auto_config::Config;
use auto_files::regular;
use auto_json::Record;
use auto_schema::digest::Digest;
use auto_schema::shown_path;

use crate::components::pin_name;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::{Exit, Reply};

const TABLE: &str = "[passes.pins]";

pub fn pin(global: &Global, file: &Path) -> Result<Reply, Failure> {
    let bytes = files::read_wasm(file)?;
    // What would not be let in is not worth a pin.
    auto_engine::Engine::new(auto_engine::Options::default())?.load(&shown_path(file), bytes.clone())?;
    let (name, digest) = (pin_name(&shown_path(file)), Digest::of(&bytes));
    let config = global.config.clone().unwrap_or_else(|| PathBuf::from("auto.toml"));
    let old = match regular::read(&config, files::LARGEST) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| by_hand(&config, &name, digest, "it is not UTF-8"))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(files::unreadable(&config, &error)),
    };
    let before = Config::parse(&old, &config)?;
    let new = with_pin(&old, &name, digest);
    let after = Config::parse(&new, &config);
    // Nothing but the pin may have changed, however the file is written.
    let mut expected = before.clone();
    expected.passes.pins.get_or_insert_default().insert(name.clone(), digest);
    if after.as_ref() != Ok(&expected) {
        return Err(by_hand(
            &config,
            &name,
            digest,
            "its table of pins is written in a way that is not understood here",
        ));
    }
    let changed = before != expected;
    if changed {
        // It was read to be changed; a link to it stays one.
        let target = std::fs::canonicalize(&config).unwrap_or_else(|_| config.clone());
        auto_files::replace(&target, new.as_bytes()).map_err(|error| files::unwritable(&config, &error))?;
    }
    let (code, verb) = if changed { ("pinned", "pinned") } else { ("unchanged", "is pinned already:") };
    let text = format!("{verb} {name} in {}\n  sha-256 {digest}", shown_path(&config));
    Ok(Reply::done(code, text, Record::new().with("name", name).with("digest", digest.to_string())))
}

fn by_hand(config: &Path, name: &str, digest: Digest, why: &str) -> Failure {
    Failure::new(Exit::Refused, "not-pinned", format!("{} cannot be changed: {why}", shown_path(config)))
        .help(format!("write it yourself, under {TABLE}: {} = \"{digest}\"", quoted(name)))
}

/// A file name as a key of TOML.
fn quoted(name: &str) -> String {
    auto_json::Value::from(name).to_string()
}

/// The file with a pin in its table of pins, which is made at the end where there is none. Whoever
/// calls reads it again.
fn with_pin(old: &str, name: &str, digest: Digest) -> String {
    let line = format!("{} = \"{digest}\"", quoted(name));
    let mut lines: Vec<&str> = old.lines().collect();
    let Some(table) = lines.iter().position(|line| line.trim() == TABLE) else {
        let gap = if old.is_empty() {
            ""
        } else if old.ends_with('\n') {
            "\n"
        } else {
            "\n\n"
        };
        return format!("{old}{gap}{TABLE}\n{line}\n");
    };
    let end = lines[table + 1..].iter().position(|line| line.trim_start().starts_with('['));
    let end = end.map_or(lines.len(), |at| table + 1 + at);
    let is_it = |line: &&str| line.split('=').next().is_some_and(|key| [name, &quoted(name)].contains(&key.trim()));
    match lines[table + 1..end].iter().position(is_it) {
        Some(at) => lines[table + 1 + at] = &line,
        None => lines.insert(table + 1, &line),
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(of: &str) -> Digest {
        Digest::of(of.as_bytes())
    }

    #[test]
    fn a_pin_is_added_or_replaced_and_everything_else_stays() {
        let (a, b) = (digest("a"), digest("b"));
        assert_eq!(with_pin("", "x", a), format!("[passes.pins]\n\"x\" = \"{a}\"\n"));
        let other = "# ours\n[limits]\nfuel = 7\n";
        assert_eq!(with_pin(other, "x", a), format!("{other}\n[passes.pins]\n\"x\" = \"{a}\"\n"));
        let pinned = format!("[passes.pins]\n\"x\" = \"{a}\" # by me\ny = \"{b}\"\n[limits]\nfuel = 7\n");
        let again = with_pin(&pinned, "x", b);
        assert_eq!(again, format!("[passes.pins]\n\"x\" = \"{b}\"\ny = \"{b}\"\n[limits]\nfuel = 7\n"));
        let third = with_pin(&pinned, "z", b);
        assert!(third.starts_with(&format!("[passes.pins]\n\"z\" = \"{b}\"\n\"x\"")), "{third}");
        for text in [again, third] {
            assert!(Config::parse(&text, Path::new("auto.toml")).is_ok(), "{text}");
        }
    }
}
