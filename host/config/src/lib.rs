//! `auto.toml`: what holds in a folder where no flag and no variable of the environment says
//! otherwise. Read strictly: a key that is not known is an error at its line and column, and so
//! is a value of the wrong kind. Paths in it are relative to the file.
//!
//! ```toml
//! [registry]
//! path = "registry"
//! remote = "https://registry.example/team"
//! key = "keys/ours.pem"
//!
//! [registry.policy]
//! min_agreement_ppm = 1000000
//!
//! [limits]
//! fuel = 1000000000
//!
//! [passes]
//! folder = "passes"
//!
//! [passes.pins]
//! my-guard = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
//!
//! [cache]
//! bytes = 1073741824
//!
//! [learning.skill]
//! folder = "skill"
//! prompt = "File what is in inbox."
//! agent = ["python3", "agent.py"]
//!
//! [jobs]
//! backend = "slurm"
//! partition = "short"
//! ```

mod evolve;
mod jobs;
mod learning;
mod policy;
mod spec;
mod table;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use auto_files::regular;
use auto_json::{Record, Value};
use auto_registry::Policy;
use auto_schema::digest::Digest;
use auto_schema::shown_path;

pub use evolve::Evolve;
pub use learning::{Learning, Prompt, Skill, Teacher};
pub use spec::{SpecSearch, Triggers};
pub use table::{ConfigError, Table};

/// The most bytes of the file.
const LARGEST: u64 = 1 << 20;

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `[registry]`
    pub registry: RegistryTable,
    /// `[registry.policy]`; none where there is no such table.
    pub policy: Option<Policy>,
    /// `[limits]`
    pub limits: Limits,
    /// `[passes]`
    pub passes: Passes,
    /// `[cache]`
    pub cache: Cache,
    /// `[learning]`
    pub learning: Learning,
    /// `[jobs]`, every default filled in; none where there is no such table.
    pub jobs: Option<Record>,
}

/// Where artifacts come from and who signs them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistryTable {
    /// `path`: the folder.
    pub path: Option<PathBuf>,
    /// `remote`: where `push` and `pull` go.
    pub remote: Option<String>,
    /// `key`: the file of the private key that signs.
    pub key: Option<PathBuf>,
    /// `token_file`: the file of the token for `remote`.
    pub token_file: Option<PathBuf>,
}

/// Limits of calls, as the flags of the same names set them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the flags of the same names")]
pub struct Limits {
    pub fuel: Option<u64>,
    pub memory: Option<u64>,
    pub deadline: Option<u64>,
    pub table_entries: Option<u64>,
    pub stack: Option<u64>,
    pub instances: Option<u64>,
    pub max_output: Option<u64>,
    pub max_depth: Option<u64>,
    pub max_value: Option<u64>,
    pub max_log: Option<u64>,
    pub max_input: Option<u64>,
}

/// Which components are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// `folder`: used instead of the built-in ones.
    pub folder: Option<PathBuf>,
    /// `[passes.pins]`: digests by names of files without their ending; where there is such a table,
    /// no other component is used beside the built-in ones.
    pub pins: Option<BTreeMap<String, Digest>>,
    /// `signers`: files of public keys; where there are any, each component beside the built-in ones has
    /// to be signed by one of them.
    pub signers: Option<Vec<PathBuf>>,
}

/// Where compiled code and results of passes are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cache {
    /// `folder`
    pub folder: Option<PathBuf>,
    /// `bytes`: the most it may take.
    pub bytes: Option<u64>,
}

impl Config {
    /// Reads a file that has to be there. Codes: `unreadable`, `bad-toml`, `unknown-key`,
    /// `wrong-type`, `bad-value`.
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        let unreadable = |why: String| ConfigError {
            code: "unreadable",
            message: format!("cannot read {}: {why}", shown_path(path)),
            at: String::new(),
        };
        let bytes = regular::read(path, LARGEST).map_err(|error| unreadable(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
        Config::parse(&text, path)
    }

    /// The same of `auto.toml` in a folder; nothing where there is no such file. It may have come
    /// with the folder from somebody else, so it cannot say what only the user may: where code lies
    /// that is run as it is, and which file is sent to whom.
    ///
    /// Codes: those of [`Config::read`], `only-named`.
    pub fn beside(folder: &Path) -> Result<Config, ConfigError> {
        let path = folder.join("auto.toml");
        let config = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Config::default()),
            _ => Config::read(&path)?,
        };
        let refused = |key: &str, why: &str| ConfigError {
            code: "only-named",
            message: format!("`{key}` counts only in a file that --config or $AUTO_CONFIG names: {why}"),
            at: format!("{} {key}", shown_path(&path)),
        };
        if config.cache.folder.is_some() {
            return Err(refused("cache.folder", "code that lies in a cache is run as it is"));
        }
        if config.registry.token_file.is_some() {
            return Err(refused("registry.token_file", "what is in it is sent to the registry"));
        }
        Ok(config)
    }

    /// Reads the text of a file, which names itself and its folder in what it says.
    pub fn parse(text: &str, path: &Path) -> Result<Config, ConfigError> {
        let (file, folder) = (shown_path(path), auto_files::folder_of(path));
        let whole = table::Source::parse(text, &file)?;
        let root = whole.root();
        root.only(&["registry", "limits", "passes", "cache", "learning", "jobs"])?;
        let mut config = Config::default();
        if let Some(table) = root.table("registry")? {
            table.only(&["path", "remote", "key", "token_file", "policy"])?;
            let place = |key| Ok(table.text(key)?.map(|path| folder.join(path)));
            config.registry = RegistryTable {
                path: place("path")?,
                remote: table.text("remote")?,
                key: place("key")?,
                token_file: place("token_file")?,
            };
            config.policy = table.table("policy")?.map(|table| policy::read(&table)).transpose()?;
        }
        if let Some(table) = root.table("limits")? {
            config.limits = limits(&table)?;
        }
        if let Some(table) = root.table("passes")? {
            table.only(&["folder", "pins", "signers"])?;
            config.passes.folder = table.text("folder")?.map(|path| folder.join(path));
            let keys = |files: Vec<String>| files.into_iter().map(|file| folder.join(file)).collect();
            config.passes.signers = table.texts("signers")?.map(keys);
            config.passes.pins = table.table("pins")?.map(|table| pins(&table)).transpose()?;
        }
        if let Some(table) = root.table("learning")? {
            config.learning = learning::read(&table, folder)?;
        }
        config.jobs = root.table("jobs")?.map(|table| jobs::read(&table, folder)).transpose()?;
        if let Some(table) = root.table("cache")? {
            table.only(&["folder", "bytes"])?;
            let place = table.text("folder")?.map(|path| folder.join(path));
            config.cache = Cache { folder: place, bytes: table.number("bytes", 0..=u64::MAX)? };
        }
        Ok(config)
    }
}

/// A whole file in TOML as JSON; numbers keep their digits. Codes: `bad-toml`, `wrong-type`.
pub fn document(text: &str, path: &Path) -> Result<Value, ConfigError> {
    let file = shown_path(path);
    let whole = table::Source::parse(text, &file)?;
    whole.root().to_record().map(Value::from)
}

fn pins(table: &Table<'_>) -> Result<BTreeMap<String, Digest>, ConfigError> {
    let pin = |key: String| {
        let text = table.text(&key)?.unwrap_or_default();
        let digest = text.parse().map_err(|_| table.bad(&key, "it is no digest of 64 hexadecimal digits"))?;
        Ok((key, digest))
    };
    table.keys().into_iter().map(pin).collect()
}

fn limits(table: &Table<'_>) -> Result<Limits, ConfigError> {
    /// More stack than any program has use for.
    const LARGEST_STACK: u64 = 256 << 20;
    table.only(&[
        "fuel",
        "memory",
        "deadline",
        "table_entries",
        "stack",
        "instances",
        "max_output",
        "max_depth",
        "max_value",
        "max_log",
        "max_input",
    ])?;
    let any = |key| table.number(key, 0..=u64::MAX);
    Ok(Limits {
        fuel: any("fuel")?,
        memory: any("memory")?,
        deadline: any("deadline")?,
        table_entries: any("table_entries")?,
        stack: table.number("stack", 0..=LARGEST_STACK)?,
        instances: any("instances")?,
        max_output: any("max_output")?,
        max_depth: any("max_depth")?,
        max_value: any("max_value")?,
        max_log: any("max_log")?,
        max_input: any("max_input")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("conf/auto.toml"))
    }

    #[test]
    fn every_table_is_read_and_paths_are_those_of_the_file() {
        let config = parse(
            "[registry]\npath = \"r\"\nremote = \"oci://h/x\"\nkey = \"/k.pem\"\ntoken_file = \"t\"\n\
             [registry.policy]\nsignatures = 2\nmin_agreement_ppm = 1_000_000\npredicates = [\"contract\", \"https://x\"]\n\
             capabilities = []\nallow_unguarded = false\n\
             [limits]\nfuel = 7\nmax_input = 8\n[passes]\nfolder = \"p\"\n\
             [passes.pins]\nmine = \"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\"\n[cache]\nfolder = \"c\"\nbytes = 9\n",
        )
        .unwrap();
        let registry = config.registry;
        assert_eq!(registry.path, Some("conf/r".into()));
        assert_eq!((registry.remote.as_deref(), registry.key), (Some("oci://h/x"), Some("/k.pem".into())));
        let policy = config.policy.unwrap();
        assert_eq!((policy.signatures, policy.min_agreement_ppm), (2, Some(1_000_000)));
        assert_eq!((policy.predicates.len(), policy.capabilities), (2, Some(vec![])));
        assert!(!policy.allow_unguarded && policy.allow_judged);
        assert_eq!((config.limits.fuel, config.limits.max_input, config.limits.memory), (Some(7), Some(8), None));
        assert_eq!((config.passes.folder, config.cache.bytes), (Some("conf/p".into()), Some(9)));
        assert_eq!(config.passes.pins.unwrap()["mine"], Digest::of(b"foo"));
        assert_eq!(parse(""), Ok(Config::default()));
        assert_eq!(parse("[passes.pins]").unwrap().passes.pins, Some(BTreeMap::new()), "nothing may be used");
    }

    #[test]
    fn what_is_not_understood_is_an_error_at_its_place() {
        for (text, code, at) in [
            ("[registy]", "unknown-key", "conf/auto.toml:1:2 registy"),
            ("[limits]\nfuel = 1\nfule = 2", "unknown-key", "conf/auto.toml:3:1 limits.fule"),
            ("[limits]\nfuel = \"1\"", "wrong-type", "conf/auto.toml:2:8 limits.fuel"),
            ("[limits]\nfuel = -1", "bad-value", "conf/auto.toml:2:8 limits.fuel"),
            ("[limits]\nfuel = 1.5", "wrong-type", "conf/auto.toml:2:8 limits.fuel"),
            ("[limits]\nstack = 999999999999", "bad-value", "conf/auto.toml:2:9 limits.stack"),
            ("limits = 1", "wrong-type", "conf/auto.toml:1:10 limits"),
            ("[registry.policy]\nsilent = 1", "unknown-key", "conf/auto.toml:2:1 registry.policy.silent"),
            ("[registry.policy]\nkeys = [\"x\"]", "bad-value", "conf/auto.toml:2:8 registry.policy.keys"),
            ("[registry.policy]\nkeys = 7", "wrong-type", "conf/auto.toml:2:8 registry.policy.keys"),
            (
                "[registry.policy]\nmin_agreement_ppm = 1000001",
                "bad-value",
                "conf/auto.toml:2:21 registry.policy.min_agreement_ppm",
            ),
            ("[registry.policy]\nsignatures = 0\nkeys = []", "", ""),
            ("[passes.pins]\nmine = \"abc\"", "bad-value", "conf/auto.toml:2:8 passes.pins.mine"),
            ("[passes.pins]\nmine = 7", "wrong-type", "conf/auto.toml:2:8 passes.pins.mine"),
            ("[cache]\nbytes = 1\nbytes = 2", "bad-toml", "conf/auto.toml:3:1"),
            ("cache", "bad-toml", "conf/auto.toml:1:6"),
        ] {
            match parse(text) {
                Ok(_) => assert_eq!(code, "", "{text}"),
                Err(error) => assert_eq!((error.code, error.at.as_str()), (code, at), "{text}: {}", error.message),
            }
        }
    }

    #[test]
    fn a_file_that_merely_lies_there_says_less_than_one_that_was_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Config::beside(folder.path()), Ok(Config::default()));
        let path = folder.path().join("auto.toml");
        assert_eq!(Config::read(&path).unwrap_err().code, "unreadable");
        std::fs::write(&path, "[limits]\nfuel = 3").unwrap();
        assert_eq!(Config::beside(folder.path()).unwrap().limits.fuel, Some(3));
        for only in ["[cache]\nfolder = \"c\"", "[registry]\ntoken_file = \"/home/somebody/.token\""] {
            std::fs::write(&path, only).unwrap();
            assert_eq!(Config::beside(folder.path()).unwrap_err().code, "only-named", "{only}");
            assert!(Config::read(&path).is_ok(), "{only}");
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(Config::beside(folder.path()).unwrap_err().code, "unreadable");
    }
}
