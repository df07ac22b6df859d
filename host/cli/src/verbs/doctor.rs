//! `doctor`: checks the installation and says what is missing.

use std::path::Path;
use std::process::{Command, Stdio};

use auto_json::{Record, Value};
use auto_schema::shown_path;
use auto_store::shown_store;
use clap::Args;
use rustix::fs::Access;

use crate::components::{GATE, Toolbox, artifact_cache};
use crate::failure::Failure;
use crate::options::{Global, StoreOption};
use crate::reply::{Exit, Reply};
use crate::spool::Spool;

/// Check the installation and say what is missing
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host doctor")]
pub struct Opts {
    #[command(flatten)]
    store: StoreOption,
}

/// One thing that was looked at.
struct Check {
    name: &'static str,
    required: bool,
    result: Result<String, String>,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let folder = global.cache_folder().filter(|folder| folder.exists());
        let cache = cache(global, folder.is_some());
        // Nothing is called with a cache folder that cannot be trusted, and none is made.
        let usable = !cache.required || cache.result.is_ok();
        let after = |name, check: fn(&Toolbox) -> Result<String, String>| {
            let unusable = || Err("not checked before the cache is mended".to_owned());
            let checked = || {
                Toolbox::open_with(global, folder.clone(), global.limits(), &[], false)
                    .map_err(|refused| refused.to_string())
            };
            let result = if usable { checked().and_then(|toolbox| check(&toolbox)) } else { unusable() };
            Check { name, required: true, result }
        };
        let checks = [after("components", components), cache, after("engine", gate), python(), recordings(&self.store)];
        let failed = checks.iter().any(|check| check.required && check.result.is_err());
        let mut text = String::new();
        let mut rows: Vec<Value> = Vec::new();
        for check in &checks {
            let (mark, detail) = match &check.result {
                Ok(detail) => ("ok", detail),
                Err(detail) if check.required => ("MISSING", detail),
                Err(detail) => ("absent", detail),
            };
            text.push_str(&format!("{mark:<8} {:<12} {detail}\n", check.name));
            rows.push(
                Record::new().with("name", check.name).with("status", mark).with("detail", detail.as_str()).into(),
            );
        }
        let fields = Record::new().with("checks", rows);
        let code = if failed { "incomplete" } else { "healthy" };
        let reply = Reply::done(code, text.trim_end(), fields);
        Ok(if failed { reply.exit(Exit::Refused) } else { reply })
    }
}

fn components(toolbox: &Toolbox) -> Result<String, String> {
    match toolbox.all.len() {
        0 => Err("none; build with `cargo xtask build`, or name a folder with --passes DIR".to_owned()),
        count => Ok(format!("{count} loaded and checked")),
    }
}

/// Compiles and calls the gate on evidence of nothing: the engine works and code can be kept.
fn gate(toolbox: &Toolbox) -> Result<String, String> {
    let call = || -> Result<String, Failure> {
        let gate = toolbox.gate(None)?;
        let mut alone = auto_engine::Providers::new();
        alone.push(gate.clone());
        let arguments = Value::List(vec!["{}".into(), no_evidence()]);
        match toolbox.engine.call_json(&alone, GATE, "decide", &arguments) {
            Ok(_) => Err(Failure::new(Exit::Refused, "bad-gate", "the gate accepted a contract with nothing in it")),
            Err(fault) if fault.class.code() == "bad-contract" => Ok(format!("{} answers", gate.label)),
            Err(fault) => Err(fault.into()),
        }
    };
    call().map_err(|failure| failure.to_string())
}

fn no_evidence() -> Value {
    let none = || Value::List(Vec::new());
    let reference =
        Record::new().with("durations", none()).with("costs", none()).with("tokens", none()).with("malformed", 0u32);
    let subject = Record::new().with("recordings", reference);
    let evidence = Record::new().with("observations", none()).with("subject", subject);
    evidence.with("rulings", none()).with("opinions", none()).into()
}

/// The folder is closed to others, and takes files; or it can be made.
fn cache(global: &Global, is_there: bool) -> Check {
    if let (Some(folder), false) = (global.cache_folder(), is_there) {
        return Check { name: "cache", required: false, result: makeable(&folder) };
    }
    let result = match (global.cache_folder(), artifact_cache(global)) {
        (Some(_), Err(refused)) => {
            return Check { name: "cache", required: true, result: Err(refused.message) };
        }
        (Some(folder), Ok(Some(cache))) => {
            cache.write("doctor", b"well");
            match cache.read("doctor") {
                Some(_) => Ok(format!("compiled code is kept in {}", shown_path(&folder))),
                None => Err(format!("{} takes no files: compiled code is not kept", shown_path(&folder))),
            }
        }
        _ => Err("no home folder: compiled code is not kept; give --cache DIR to keep it".to_owned()),
    };
    Check { name: "cache", required: false, result }
}

/// Whether a folder that is not there can be made when it is first needed.
fn makeable(folder: &Path) -> Result<String, String> {
    let above = folder.ancestors().skip(1).find(|above| above.exists() || above.as_os_str().is_empty());
    let above = above.filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (name, above) = (shown_path(folder), above);
    match rustix::fs::access(above, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) if above.is_dir() => {
            Ok(format!("compiled code will be kept in {name}, which is made when it is needed"))
        }
        _ => Err(format!("{name} cannot be made in {}: compiled code is not kept", shown_path(above))),
    }
}

fn python() -> Check {
    let version = Command::new("python3").arg("--version").stdin(Stdio::null()).output();
    let result = match version {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        _ => Err("python3 was not found; only the Python SDK and the demo need it".to_owned()),
    };
    Check { name: "python", required: false, result }
}

/// What a `record` that was stopped left.
fn recordings(store: &StoreOption) -> Check {
    let result = match Spool::beside(&store.store).advice() {
        None => Ok(format!("none were left beside {}", shown_store(&store.store))),
        Some(advice) => Err(advice),
    };
    Check { name: "recordings", required: false, result }
}
