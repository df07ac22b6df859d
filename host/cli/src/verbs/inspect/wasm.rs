//! WebAssembly: artifacts, modules that are none, and components.

use auto_engine::Pass;
use auto_json::{Record, Value};
use auto_schema::{cbin, shown};

use super::{File, artifact, damaged, foreign, whole};
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::options::Global;
use crate::reply::{Exit, Reply};

const MAGIC: &[u8] = b"\0asm";

/// The interfaces that are ours; a component that names one is a pass, a driver, or meant
/// to be.
const OUR_PACKAGES: [&str; 2] = ["auto:pass/", "auto:driver/"];

pub fn describe(file: &File<'_>, global: &Global) -> Result<Option<Reply>, Failure> {
    let damage = match artifact::describe(file) {
        Ok(reply) => return Ok(Some(reply)),
        Err(damage) => damage,
    };
    match damage.code {
        "not-wasm" if file.bytes.starts_with(MAGIC) => Ok(Some(foreign("wasm", &file.place, &damage.message))),
        "not-wasm" => Ok(None),
        // Nothing, or the beginning of the magic number and no more.
        "truncated" if file.bytes.len() < MAGIC.len() => Ok(None),
        "component" => component(file, global).map(Some),
        "imports" | "unsealed" => Ok(Some(module(file))),
        _ => Ok(Some(damaged("artifact", &file.place, damage))),
    }
}

/// A core module that is not sealed.
fn module(file: &File<'_>) -> Reply {
    let imports = cbin::import_names(&file.bytes).unwrap_or_default();
    let imports = match imports.len() {
        0 => "nothing".to_owned(),
        count => {
            imports.iter().take(5).map(|name| shown(name)).collect::<Vec<_>>().join(", ")
                + if count > 5 { ", …" } else { "" }
        }
    };
    let line = format!(
        "a core module of {} bytes that imports {imports}; it is no artifact: `auto-host compile --module` has it sealed",
        file.bytes.len()
    );
    foreign("module", &file.place, &line)
}

fn component(file: &File<'_>, global: &Global) -> Result<Reply, Failure> {
    let toolbox = Toolbox::open(global, &[])?;
    match toolbox.engine.load(&file.place, file.bytes.clone()) {
        Ok(pass) => {
            let builtin = toolbox.all.iter().find(|own| own.digest == pass.digest);
            Ok(loadable(file, &pass, builtin.map(|own| own.label.as_str())))
        }
        Err(error) if is_ours(&file.bytes) => {
            let torn = matches!(error.code, "malformed" | "truncated");
            let mut failure = Failure::from(error);
            failure.at = None;
            failure.exit = if torn { Exit::Integrity } else { Exit::Refused };
            Ok(damaged("component", &file.place, failure))
        }
        Err(error) => {
            let line =
                format!("a component that is none of ours; as a pass it would be refused: {}", shown(&error.message));
            Ok(foreign("component", &file.place, &line))
        }
    }
}

fn loadable(file: &File<'_>, pass: &Pass, builtin: Option<&str>) -> Reply {
    let what = match (builtin, pass.is_driver()) {
        (Some(name), _) => format!("the component {name} that comes with this program"),
        (None, true) => "a driver component".to_owned(),
        (None, false) => "a component".to_owned(),
    };
    let side = |names: &[String]| if names.is_empty() { "nothing".to_owned() } else { shown(&names.join(", ")) };
    let line = format!(
        "{what}, {} bytes\n  digest: {}\n  exports: {}\n  imports: {}",
        pass.size,
        pass.digest,
        side(&pass.exports),
        side(&pass.imports)
    );
    let names = |names: &[String]| Value::List(names.iter().map(|name| name.as_str().into()).collect());
    let fields = Record::new()
        .with("digest", pass.digest.to_string())
        .with("bytes", pass.size)
        .with("builtin", builtin)
        .with("exports", names(&pass.exports))
        .with("imports", names(&pass.imports));
    let reply = whole("component", &file.place, &line, fields);
    let ours = pass.exports.iter().any(|name| OUR_PACKAGES.iter().any(|package| name.starts_with(package)));
    if ours { reply } else { reply.exit(Exit::Refused) }
}

fn is_ours(bytes: &[u8]) -> bool {
    OUR_PACKAGES.iter().any(|package| bytes.windows(package.len()).any(|window| window == package.as_bytes()))
}
