//! The options that every verb takes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use auto_config::Config;
use auto_engine::Limits;
use auto_json::{Record, Value};
use auto_scrub::{ScrubError, Scrubber};
use clap::Args;

use crate::failure::Failure;
use crate::inputs;
use crate::reply::Exit;

/// More stack than any program has use for. Calls in a row each have theirs, on one thread.
const LARGEST_STACK: u64 = 256 << 20;

/// The longest that a flag may let something wait, in seconds and in milliseconds: a hundred years.
/// Clocks cannot add much more.
pub const LONGEST_S: u64 = 3_155_760_000;
pub const LONGEST_MS: u64 = LONGEST_S * 1_000;

/// Options of the tool itself.
#[derive(Args, Clone)]
pub struct Global {
    /// Print one JSON object on stdout instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Say on stderr what each pass call took
    #[arg(long, short, global = true)]
    pub verbose: bool,
    /// Use the components in this folder instead of the built-in ones; the built-in gate still decides
    #[arg(long, global = true, value_name = "DIR")]
    pub passes: Option<PathBuf>,
    /// Where compiled code and results of passes are kept [default: $AUTO_CACHE, or `auto`
    /// in the user's cache folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// The most bytes the cache may take; what was not used for longest goes first
    /// [default: 1073741824]
    #[arg(long, global = true, value_name = "BYTES")]
    pub cache_bytes: Option<u64>,
    /// The fuel of a call (about one unit an instruction)
    #[arg(long, global = true, value_name = "N")]
    pub fuel: Option<u64>,
    /// The most memory of a call, in bytes
    #[arg(long, global = true, value_name = "BYTES")]
    pub memory: Option<u64>,
    /// The most time of a call, in seconds
    #[arg(long, global = true, value_name = "SECONDS")]
    pub deadline: Option<u64>,
    /// The most entries of tables of a call
    #[arg(long, global = true, value_name = "N")]
    pub table_entries: Option<u64>,
    /// The stack of a call, in bytes; at most 268435456
    #[arg(long, global = true, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(..=LARGEST_STACK))]
    pub stack: Option<u64>,
    /// The most core instances that a pass may consist of
    #[arg(long, global = true, value_name = "N")]
    pub instances: Option<u64>,
    /// The largest result of a pass call, in bytes
    #[arg(long, global = true, value_name = "BYTES")]
    pub max_output: Option<u64>,
    /// The deepest that a value may nest which a pass is given or returns
    #[arg(long, global = true, value_name = "N")]
    pub max_depth: Option<u64>,
    /// The largest arguments of a pass call, in bytes
    #[arg(long, global = true, value_name = "BYTES")]
    pub max_value: Option<u64>,
    /// The most that a pass call may write to its log, in bytes
    #[arg(long, global = true, value_name = "BYTES")]
    pub max_log: Option<u64>,
    /// The largest input of an artifact, in bytes
    #[arg(long, global = true, value_name = "BYTES")]
    pub max_input: Option<u64>,
    /// What holds where no flag and no variable says otherwise [default: auto.toml in this
    /// folder, where it is there]
    #[arg(long, global = true, value_name = "FILE", env = "AUTO_CONFIG")]
    pub config: Option<PathBuf>,
    /// What that file says.
    #[arg(skip)]
    pub file: Config,
}

impl Global {
    /// Reads the file, and takes from it what no flag says. Codes: those of `auto_config`.
    pub fn load(&mut self) -> Result<(), Failure> {
        self.file = match &self.config {
            Some(path) => {
                inputs::note(path);
                Config::read(path)?
            }
            None => Config::beside(Path::new(""))?,
        };
        let (limits, file) = (&self.file.limits, &self.file);
        self.passes = self.passes.take().or_else(|| file.passes.folder.clone());
        self.cache_bytes = self.cache_bytes.or(file.cache.bytes);
        self.fuel = self.fuel.or(limits.fuel);
        self.memory = self.memory.or(limits.memory);
        self.deadline = self.deadline.or(limits.deadline);
        self.table_entries = self.table_entries.or(limits.table_entries);
        self.stack = self.stack.or(limits.stack);
        self.instances = self.instances.or(limits.instances);
        self.max_output = self.max_output.or(limits.max_output);
        self.max_depth = self.max_depth.or(limits.max_depth);
        self.max_value = self.max_value.or(limits.max_value);
        self.max_log = self.max_log.or(limits.max_log);
        self.max_input = self.max_input.or(limits.max_input);
        Ok(())
    }

    /// The limits of pass calls, as far as flags set them.
    pub fn limits(&self) -> Limits {
        Limits {
            fuel: self.fuel,
            raised: None,
            memory: self.memory,
            deadline: self.deadline.map(Duration::from_secs),
            output: self.max_output,
            table_entries: self.table_entries,
            stack: self.stack,
            instances: self.instances,
            depth: self.max_depth,
            value: self.max_value,
            log: self.max_log,
        }
    }

    /// The cache folder: the flag, `$AUTO_CACHE`, that of `auto.toml`, or `auto` in the user's
    /// cache folder; none where the user has no home.
    pub fn cache_folder(&self) -> Option<PathBuf> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
        let user = || absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        let given = self.cache.clone().or_else(|| variable("AUTO_CACHE")).or_else(|| self.file.cache.folder.clone());
        given.or_else(|| user().map(|folder| folder.join("auto")))
    }
}

/// Which store a verb works on.
#[derive(Args)]
pub struct StoreOption {
    /// The store with the recorded traces
    #[arg(long, value_name = "FILE", env = "AUTO_STORE", default_value = "auto.db")]
    pub store: PathBuf,
}

/// Where eval-run records go.
#[derive(Args)]
pub struct RunsOption {
    /// The folder for eval-run records and journals
    #[arg(long, value_name = "DIR", default_value = "auto-runs")]
    pub runs: PathBuf,
}

/// What is taken out before anything is written.
#[derive(Args)]
pub struct ScrubOption {
    /// Take keys, tokens, secrets, addresses, numbers of phones, cards and accounts, home folders
    /// and host names out before anything is written; equal values get equal placeholders
    #[arg(long)]
    pub scrub: bool,
    /// Take out what this pattern matches too, as NAME=REGEX; implies --scrub
    #[arg(long, value_name = "NAME=REGEX")]
    pub scrub_pattern: Vec<String>,
}

impl ScrubOption {
    /// The scrubber, where one is wanted. Its key lies beside the store.
    pub fn beside(&self, store: &Path) -> Result<Option<Arc<Scrubber>>, Failure> {
        if !self.scrub && self.scrub_pattern.is_empty() {
            return Ok(None);
        }
        let own = self.scrub_pattern.iter().map(|pattern| match pattern.split_once('=') {
            Some((name, regex)) => Ok((name.to_owned(), regex.to_owned())),
            None => Err(Failure::new(Exit::Usage, "bad-pattern", format!("{pattern:?} is not NAME=REGEX"))),
        });
        let own = own.collect::<Result<Vec<_>, Failure>>()?;
        let scrubber = Scrubber::beside(store, &own).map_err(|error| match error {
            ScrubError::BadPattern { .. } => Failure::new(Exit::Usage, "bad-pattern", error.to_string()),
            ScrubError::Key(..) => Failure::new(Exit::Refused, "no-scrub-key", error.to_string())
                .help("give back the key that was there: another one would give equal values other placeholders"),
        })?;
        Ok(Some(Arc::new(scrubber)))
    }
}

/// What was taken out, as a line and as a record; nothing where nothing was wanted.
pub fn scrubbed(scrubber: Option<&Scrubber>) -> (String, Value) {
    let Some(scrubber) = scrubber else { return (String::new(), Value::Null) };
    let counts = scrubber.counts();
    let told: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let told = if told.is_empty() { "nothing was found".to_owned() } else { told.join(", ") };
    let record: Record = counts.into_iter().map(|(kind, count)| (kind, count.into())).collect();
    (format!("\ntaken out: {told}"), record.into())
}
