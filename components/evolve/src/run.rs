//! A run: what is asked of the driver, the search, and the report.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_search::Fields;

use crate::bench::Bench;
use crate::commit::{self, Commit, files};
use crate::data::Rows;
use crate::genome::Genome;
use crate::lent::{Fault, File, Lent};
use crate::race::race;
use crate::report;
use crate::search::Search;
use crate::settings::{Settings, Subject};

const CODE: &str = "bad-config";

/// Does what the configuration asks for, and reports.
pub fn run(lent: &mut impl Lent, config: &str) -> Result<Value, Fault> {
    let config = Value::parse(config).map_err(|error| Fault::new(CODE, error.to_string()))?;
    let table = Fields::of(&config, "", CODE)?;
    table.only(&["run", "action", "edit", "to", "actor", "settings", "inputs"])?;
    let own = table.need("settings")?;
    let settings = Settings::read(own)?;
    let inputs = table.need_fields("inputs")?;
    inputs.only(&["rows", "files", "code", "probe"])?;
    let cancel = match table.need_text("action")? {
        "run" => false,
        "cancel" => true,
        "rollback" => return commit::rollback(lent, table.text("to")?, table.text("actor")?.unwrap_or_default()),
        "approve" | "reject" => {
            let message = "an evolution decides by what it measures, so nothing waits for a person; go back with `search rollback`";
            return Err(Fault::new("nothing-pending", message));
        }
        other => return Err(table.refuse("action", format!("there is no action {other:?}")).into()),
    };
    let run = table.text("run")?.unwrap_or_default();
    if let Some(ab) = &settings.ab {
        let beside = listed(input(lent, &inputs, "files")?, "files")?;
        return race(lent, &settings, ab, &beside, run, cancel);
    }
    let rows = input(lent, &inputs, "rows")?.unwrap_or(Value::Null);
    let rows = Rows::read(&rows, &settings.shape)?;
    let beside = listed(input(lent, &inputs, "files")?, "files")?;
    let code = listed(input(lent, &inputs, "code")?, "code")?;
    let base = base(lent, &settings, &code)?;
    let probe = input(lent, &inputs, "probe")?;
    let bench = Bench::new(&settings, rows, beside, probe.as_ref(), base.files.clone())?;
    let begun = Search::begin(lent, (&settings, own), bench, base.clone());
    let mut search = begun.map_err(|fault| match cancel && fault.code == "experiment-budget" {
        true => Fault::new(
            "nothing-measured",
            "the run was cut off before its baseline was measured; go on with it instead",
        ),
        false => fault,
    })?;
    let first = committed(&mut search, None, &base, "")?;
    let stop = search.run(cancel)?;
    let holds = search.confirmed.as_ref().is_some_and(|confirmed| confirmed.holds);
    let head = match holds {
        true => {
            let own = &search.all[search.incumbent];
            let (genome, why) = (own.genome.clone(), format!("{}, confirmed", own.id()));
            committed(&mut search, Some(first.clone()), &genome, &why)?
        }
        false => first.clone(),
    };
    Ok(report::of(run, &search, &stop, (&first, &head)))
}

/// An input as JSON, where there is one.
fn input(lent: &mut impl Lent, inputs: &Fields<'_>, name: &str) -> Result<Option<Value>, Fault> {
    let Some(digest) = inputs.text(name)? else { return Ok(None) };
    let bytes = lent.get(digest)?;
    let value = Value::parse(&bytes).map_err(|error| Fault::new("bad-input", format!("{name} is no JSON: {error}")))?;
    Ok(Some(value))
}

fn listed(value: Option<Value>, name: &str) -> Result<Vec<File>, Fault> {
    let list = value.map_or(Some(Vec::new()), |value| files(&value));
    list.ok_or_else(|| Fault::new("bad-input", format!("{name} is no list of files")))
}

/// The first individual.
fn base(lent: &mut impl Lent, settings: &Settings, code: &[File]) -> Result<Genome, Fault> {
    match &settings.subject {
        Subject::Program { base, .. } => Ok(Genome::program(base.as_str())),
        Subject::Files { space, frozen } => {
            let mut texts = BTreeMap::new();
            for file in code {
                let text = String::from_utf8(lent.get(&file.digest)?);
                let text = text.map_err(|_| Fault::new("bad-input", format!("{} is not UTF-8", file.path)))?;
                texts.insert(file.path.clone(), text);
            }
            let base = Genome { params: space.default(), files: texts };
            if let Some(path) = frozen.editable.iter().find(|path| !base.files.contains_key(*path)) {
                return Err(Fault::new("bad-input", format!("{path} may be changed, and is no file of `code`")));
            }
            let held = frozen.check(&base.files, &base.files).or_else(|broken| match frozen.editable.is_empty() {
                true => Ok(()),
                false => Err(broken),
            });
            held.map_err(|(code, why)| Fault::new(code, format!("the baseline itself breaks a constraint: {why}")))?;
            Ok(base)
        }
    }
}

fn committed<L: Lent>(
    search: &mut Search<'_, L>,
    parent: Option<String>,
    genome: &Genome,
    why: &str,
) -> Result<String, Fault> {
    let module = search.module(genome);
    match parent {
        None => Commit::first(search.lent, genome, module.as_deref()),
        parent => Commit::of(search.lent, parent, genome, module.as_deref(), why)?.make_head(search.lent),
    }
}
