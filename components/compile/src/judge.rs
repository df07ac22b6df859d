//! What the contract leaves to a judge: the artifact is run on everything that was recorded or
//! promised, and the teacher is asked where it answers otherwise. What it says goes from the
//! host to the gate; here it is only told.

use auto_json::Canonical;
use auto_schema::contract::{Contract, Match};
use auto_schema::evidence;
use auto_schema::judging::{Question, of_answers};

use crate::bindings::auto::host::artifact::Draft;
use crate::bindings::auto::host::{progress, sandbox, teacher};
use crate::bindings::auto::pass::types::{Fault, Observation, Outcome};
use crate::fault;
use crate::report::Report;

/// Asks about a draft, until nobody answers any more.
pub fn ask(contract: &Contract, observations: &[Observation], draft: &Draft, report: &mut Report) -> Result<(), Fault> {
    let judged = contract.acceptance.compare == Match::Judged
        || contract.examples.iter().any(|example| example.compare == Match::Judged);
    if !judged {
        return Ok(());
    }
    let questions = questions(contract, observations, draft)?;
    let total = questions.len() as u64;
    let (mut same, mut different, mut unclear) = (0u32, 0u32, 0u32);
    for (number, question) in questions.into_iter().enumerate() {
        progress::report("judge", number as u64, Some(total));
        match teacher::judge(&worded(question)) {
            Ok(true) => same += 1,
            Ok(false) => different += 1,
            Err(fault) if fault.code == "judge-unclear" => unclear += 1,
            Err(fault) => {
                report.remark("judge", format!("{} [{}]", fault.message, fault.code));
                break;
            }
        }
    }
    let open = total - u64::from(same + different);
    if same + different + unclear > 0 {
        report.passed("judge", format!("JUDGED {same} the same, {different} different, {open} left open of {total}"));
    }
    Ok(())
}

fn questions(contract: &Contract, observations: &[Observation], draft: &Draft) -> Result<Vec<Question>, Fault> {
    let seen = observations.iter().map(observation).collect::<Result<Vec<_>, Fault>>()?;
    let mut inputs: Vec<String> = observations.iter().map(|seen| seen.input.clone()).collect();
    inputs.extend(contract.examples.iter().map(|example| example.input.canonical().into_string()));
    inputs.sort();
    inputs.dedup();
    let replays = sandbox::run_recorded(&draft.module, &inputs)?;
    // An answer that is no JSON is the gate's affair.
    let answers = replays.iter().filter_map(|replay| match &replay.outcome {
        Outcome::Answer(answer) => Some((Canonical::of(&replay.input).ok()?, Canonical::of(answer).ok()?)),
        _ => None,
    });
    let answers: Vec<(Canonical, Canonical)> = answers.collect();
    let answers: Vec<_> = answers.iter().map(|(input, output)| (input, output)).collect();
    let held_out = draft.held_out.iter().filter_map(|row| match &row.outcome {
        Outcome::Answer(answer) => Some(Question {
            input: Canonical::of(&row.input).ok()?,
            expected: Canonical::of(&row.expected).ok()?,
            output: Canonical::of(answer).ok()?,
        }),
        _ => None,
    });
    Ok(of_answers(contract, &seen, &answers, &held_out.collect::<Vec<_>>()))
}

fn observation(seen: &Observation) -> Result<evidence::Observation, Fault> {
    let json = |text: &String| Canonical::of(text).map_err(|error| fault("bad-evidence", error.to_string()));
    let outputs = seen.outputs.iter().map(|witness| Ok((json(&witness.output)?, witness.count)));
    Ok(evidence::Observation {
        input: json(&seen.input)?,
        outputs: outputs.collect::<Result<_, Fault>>()?,
        errors: seen.errors,
    })
}

fn worded(question: Question) -> teacher::Question {
    teacher::Question {
        input: question.input.into_string(),
        expected: question.expected.into_string(),
        output: question.output.into_string(),
    }
}
