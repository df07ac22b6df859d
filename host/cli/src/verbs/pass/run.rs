//! `pass run`: one call of one function of a component, with what it took and what it logged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use auto_engine::{CallTrace, Pass};
use auto_json::Value;
use auto_schema::{shown, shown_path};

use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::{Exit, Reply};
use crate::verbs::compile;

pub fn run(
    global: &Global,
    file: &Path,
    function: &str,
    arguments: &str,
    beneath: &[PathBuf],
) -> Result<Reply, Failure> {
    let arguments = read(arguments)?;
    let toolbox = Toolbox::open(global, beneath)?;
    let pass = toolbox.engine.load(&shown_path(file), files::read(file)?)?;
    let (interface, function) = resolve(&pass, function)?;
    if interface.starts_with("auto:driver/") {
        let message =
            format!("{} is a driver: it runs whole jobs, with services that a single call has not", pass.label);
        return Err(Failure::new(Exit::Usage, "driver", message).help("run its job: `auto-host compile` is one"));
    }
    let mut providers = toolbox.providers.clone();
    providers.push(pass);

    let result = toolbox.engine.call_json_anew(&providers, &interface, &function, &arguments);
    let trace = toolbox.engine.take_trace().pop();
    Ok(match result {
        Ok(value) => {
            let reply = Reply::done("called", value.to_string(), auto_json::Record::new().with("result", value));
            with_trace(reply, trace.as_ref())
        }
        Err(fault) => with_trace(Reply::from(Failure::from(fault)), trace.as_ref()),
    })
}

/// The arguments: JSON, `@FILE` or `-`.
fn read(arguments: &str) -> Result<Value, Failure> {
    let bytes = match arguments.strip_prefix('@') {
        Some(file) => files::read(Path::new(file))?,
        None if arguments == "-" => files::read(Path::new("-"))?,
        None => arguments.as_bytes().to_vec(),
    };
    Value::parse(&bytes).map_err(|error| {
        Failure::new(Exit::Usage, "bad-arguments", format!("the arguments are not JSON: {error}"))
            .help("give a list with an item for each parameter, such as '[1, \"two\"]', or @FILE, or - for stdin")
    })
}

/// The one exported function that is meant: by name, or as `interface#function` with or
/// without the interface's version.
fn resolve(pass: &Arc<Pass>, wanted: &str) -> Result<(String, String), Failure> {
    let functions = pass.exports.iter().flat_map(|interface| {
        let names = pass.interface(interface).into_iter().flat_map(|shape| shape.functions.keys());
        names.map(move |function| (interface.clone(), function.clone()))
    });
    let all: Vec<(String, String)> = functions.collect();
    let is_meant = |(interface, function): &&(String, String)| match wanted.rsplit_once('#') {
        None => function == wanted,
        Some((path, name)) => function == name && (interface == path || interface.split('@').next() == Some(path)),
    };
    let mut meant = all.iter().filter(is_meant);
    if let (Some(one), None) = (meant.next(), meant.next()) {
        return Ok(one.clone());
    }
    let names: Vec<String> = all.iter().map(|(interface, function)| format!("{interface}#{function}")).collect();
    let message = format!("`{wanted}` is not the name of one function of {}", pass.label);
    Err(Failure::new(Exit::Usage, "unknown-function", message).help(format!("it has {}", names.join(", "))))
}

fn with_trace(mut reply: Reply, trace: Option<&CallTrace>) -> Reply {
    let Some(trace) = trace else { return reply };
    let memory = trace.memory.unwrap_or_default();
    reply.text.push_str(&format!("\n  fuel {}, memory {memory} bytes, time {} µs", trace.fuel, trace.micros));
    trace.log.iter().for_each(|line| reply.text.push_str(&format!("\n  log: {}", shown(line))));
    reply.fields.set("call", compile::call(trace));
    reply
}
