//! `registry push | pull | serve`: artifacts between machines.

use std::path::{Path, PathBuf};
use std::time::Duration;

use auto_json::Record;
use auto_registry::remote::{self, Access, Patience, Remote};
use auto_registry::{PublicKey, Reference, pull, push, push_keys};
use auto_schema::shown_path;
use auto_serve::http::{Bounds, Hidden, Listener, Stop, is_loopback, runtime};
use auto_serve::registry::{Desk, routes};
use clap::Args;

use crate::failure::Failure;
use crate::files;
use crate::inputs;
use crate::options::{Global, LONGEST_S};
use crate::registries::RegistryOption;
use crate::reply::{Exit, Reply};

/// The most bytes of a token or password.
const LARGEST_SECRET: usize = 4096;

/// Where a registry elsewhere is, and how one gets in.
#[derive(Args)]
struct RemoteOptions {
    /// The file of the token that it wants [default: that of auto.toml]
    #[arg(long, value_name = "FILE", env = "AUTO_REGISTRY_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// The user, of an OCI registry
    #[arg(long, value_name = "NAME", requires = "password_file")]
    user: Option<String>,
    /// The file of the user's password
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
    /// The most time of one exchange, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=LONGEST_S))]
    timeout: u64,
    /// How many bytes go to an OCI registry at once
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20, value_parser = clap::value_parser!(u32).range(2..))]
    chunk: u32,
}

/// Hand an artifact, and what is signed about it, to a registry elsewhere
///
/// https://HOST/PATH is a server of ours (`registry serve`), oci://HOST/PATH an OCI registry, where
/// the name becomes repository and tag. Only what may be used here is handed over.
#[derive(Args)]
#[command(
    after_help = "Example:\n  auto-host registry push team/triage --to https://registry.example --token-file token\n  \
    auto-host registry push triage --to oci://127.0.0.1:5000/team"
)]
pub struct Push {
    #[command(flatten)]
    registry: RegistryOption,
    /// Its name, NAME:TAG, or id
    #[arg(required_unless_present = "keys")]
    artifact: Option<Reference>,
    /// Only tell a server of ours which keys came and went
    #[arg(long, conflicts_with = "artifact")]
    keys: bool,
    /// Where to [default: `remote` of auto.toml]
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    #[command(flatten)]
    remote: RemoteOptions,
}

/// Get an artifact, and what is signed about it, from a registry elsewhere
///
/// All of it is taken in or nothing: the bytes have to be those of the id, the name has to lead
/// there by a log that goes on where the one that was seen before ended, and both have to be signed
/// by a key that is trusted here. Exit code 6: the registry lies, or hands out what is old.
#[derive(Args)]
#[command(
    after_help = "Example:\n  auto-host registry pull team/triage --from https://registry.example --trust theirs.pem.pub\n  \
    auto-host run team/triage --input '{\"subject\":\"Refund\"}'"
)]
pub struct Pull {
    #[command(flatten)]
    registry: RegistryOption,
    /// Its name, NAME:TAG, or, from a server of ours, its id
    artifact: Reference,
    /// Where from [default: `remote` of auto.toml]
    #[arg(long, value_name = "URL")]
    from: Option<String>,
    /// Trust this public key first
    #[arg(long, value_name = "KEY.pub")]
    trust: Option<PathBuf>,
    #[command(flatten)]
    remote: RemoteOptions,
}

/// Serve the registry over HTTP, for `push` and `pull`
///
/// Anybody may read, and whoever has the token may put; what is put has to be signed by a key that
/// is trusted here and to meet the policy. Encryption is a proxy's business.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry serve --addr 127.0.0.1:7434 --token-file token")]
pub struct Serve {
    #[command(flatten)]
    registry: RegistryOption,
    /// Where to listen
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7434")]
    addr: String,
    /// The file of the token that lets in what is put; without it nothing is
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Let nobody read without the token either
    #[arg(long, requires = "token_file")]
    private: bool,
    /// The most bytes of what is put
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    max_body: usize,
}

impl RemoteOptions {
    fn open(&self, global: &Global, given: Option<&String>) -> Result<Box<dyn Remote>, Failure> {
        let address = given.or(global.file.registry.remote.as_ref()).ok_or_else(|| {
            Failure::new(Exit::Usage, "no-remote", "it is not said where the other registry is")
                .help("give its address, or set remote in auto.toml under [registry]")
        })?;
        let token = self.token_file.as_ref().or(global.file.registry.token_file.as_ref());
        // An auto.toml that merely lies here may be somebody else's, and so may be where it sends to.
        if given.is_none() && global.config.is_none() && (token.is_some() || self.user.is_some()) {
            let message = "the address of the registry is that of the auto.toml of this folder, and a token or password \
                           goes only where somebody says so";
            return Err(Failure::new(Exit::Usage, "only-named", message)
                .help("give the address as it is there, or name that file with --config or $AUTO_CONFIG"));
        }
        let password = self.password_file.as_ref().map(|path| secret(path)).transpose()?;
        let access =
            Access { token: token.map(|path| secret(path)).transpose()?, user: self.user.clone().zip(password) };
        let whole = Duration::from_secs(self.timeout);
        let patience = Patience::default();
        let idle = patience.idle.min(whole);
        let patience = Patience { whole, idle, chunk: self.chunk as usize, ..patience };
        Ok(remote::open(address, access, patience)?)
    }
}

impl Push {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let registry = self.registry.open(global)?;
        let remote = self.remote.open(global, self.to.as_ref())?;
        let Some(artifact) = &self.artifact else {
            let count = push_keys(&registry, &*remote)?;
            let text = format!("pushed {count} statements about keys");
            return Ok(Reply::done("pushed", text, Record::new().with("statements", count)));
        };
        let id = push(&registry, &*remote, artifact, &self.registry.policy(global))?;
        let fields = Record::new().with("id", id.to_string()).with("artifact", artifact.to_string());
        Ok(Reply::done("pushed", format!("pushed {artifact} ({id})"), fields))
    }
}

impl Pull {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let remote = self.remote.open(global, self.from.as_ref())?;
        let registry = self.registry.create(global)?;
        if let Some(path) = &self.trust {
            inputs::note(path);
            registry.trust(&PublicKey::read(path)?, "")?;
        }
        let pulled = pull(&registry, &*remote, &self.artifact, &self.registry.policy(global))?;
        let how = if pulled.fetched { "pulled" } else { "already here:" };
        let fields = Record::new()
            .with("id", pulled.id.to_string())
            .with("artifact", self.artifact.to_string())
            .with("fetched", pulled.fetched)
            .with("number", pulled.number);
        Ok(Reply::done("pulled", format!("{how} {} ({})", self.artifact, pulled.id), fields))
    }
}

impl Serve {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let registry = self.registry.create(global)?;
        let token = self.token_file.as_ref().map(|path| secret(path)).transpose()?;
        let unusable = |error: std::io::Error| {
            Failure::new(Exit::Refused, "address", format!("cannot serve on {}: {error}", self.addr))
                .help("give another --addr")
        };
        if !is_loopback(&self.addr).map_err(unusable)? {
            eprintln!("note: others reach this server, and what is sent to it is not encrypted by it");
        }
        let bounds = Bounds { body: self.max_body, ..Bounds::default() };
        let desk = Desk {
            registry,
            policy: self.registry.policy(global),
            token: token.as_deref().map(Hidden::of),
            private: self.private,
            bounds: bounds.clone(),
        };
        let work = async {
            let listener = Listener::bind(&self.addr).await?;
            let stop = Stop::on_signals()?;
            eprintln!("serving {} on http://{}", shown_path(desk.registry.path()), listener.address);
            listener.serve(routes(desk), bounds, &stop).await;
            Ok(())
        };
        runtime(2).and_then(|runtime| runtime.block_on(work)).map_err(unusable)?;
        Ok(Reply::done("stopped", "stopped", Record::new()))
    }
}

/// The first line of a file with a secret.
fn secret(path: &Path) -> Result<String, Failure> {
    let bytes = files::read(path)?;
    let text = String::from_utf8(bytes).ok().map(|text| text.trim().to_owned());
    text.filter(|text| !text.is_empty() && text.len() <= LARGEST_SECRET && !text.contains('\n')).ok_or_else(|| {
        Failure::new(Exit::Usage, "bad-token", format!("{} does not hold a token on one line", shown_path(path)))
    })
}
