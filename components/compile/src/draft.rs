//! The end of every way to a program: a guard before it, code of it, and the draft that the host
//! seals.

use auto_schema::contract::{Contract, GuardPolicy};

use crate::bindings::auto::host::artifact::Draft;
use crate::bindings::auto::host::progress;
use crate::bindings::auto::pass::emit::emit;
use crate::bindings::auto::pass::guard::{Policy, calibrate};
use crate::bindings::auto::pass::types::{Fault, Observation, Scored};
use crate::config::Config;
use crate::report::Report;

/// The program with a guard, calibrated on what was held out, unless the contract wants none.
pub fn guarded(
    config: &Config,
    contract: &Contract,
    known: &[Observation],
    program: Vec<u8>,
    held_out: &[Scored],
    report: &mut Report,
) -> Result<Vec<u8>, Fault> {
    if contract.guard != GuardPolicy::Auto {
        unguarded(report);
        return Ok(program);
    }
    progress::report("guard", 0, None);
    let guarded = calibrate(known, &program, held_out, Policy { quantile: config.quantile })?;
    report.passed("guard", "calibrated on the held-out answers");
    Ok(guarded)
}

/// Says that the contract wants no guard.
pub fn unguarded(report: &mut Report) {
    report.passed("guard", "none, because the contract says guard = \"none\"");
}

/// Code of a finished program, and what the host needs to seal it.
pub fn drafted(program: Vec<u8>, held_out: Vec<Scored>, report: &mut Report) -> Result<Draft, Fault> {
    progress::report("emit", 0, None);
    let emitted = emit(&program)?;
    report.passed("emit", format!("{} bytes", emitted.module.len()));
    Ok(Draft {
        module: emitted.module,
        metered: Some(emitted.metered),
        graph: Some(program),
        held_out,
        notes: report.notes(),
    })
}
