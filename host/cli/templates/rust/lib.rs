//! A guard that refuses a rule which was seen on too few inputs, and leaves everything else to
//! the guard beneath it.

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "mine", generate_all });
}

use bindings::auto::pass::guard as beneath;
use bindings::auto::pass::types::{Fault, Observation, Scored};
use bindings::exports::auto::pass::guard::{Guest, Policy};

/// A rule that was seen on fewer inputs may fit them by chance.
const LEAST: usize = 5;

struct Pass;

impl Guest for Pass {
    fn calibrate(
        on: Vec<Observation>,
        program: Vec<u8>,
        held_out: Vec<Scored>,
        policy: Policy,
    ) -> Result<Vec<u8>, Fault> {
        if let Some(fault) = too_few(on.len()) {
            return Err(fault);
        }
        beneath::calibrate(&on, &program, &held_out, beneath::Policy { quantile: policy.quantile })
    }
}

/// Why so many inputs are too few; none where they are enough. Of nothing at all the guard beneath
/// says so itself.
fn too_few(inputs: usize) -> Option<Fault> {
    (1..LEAST).contains(&inputs).then(|| Fault {
        code: "too-few-observations".to_owned(),
        message: format!("the rule was seen on {inputs} inputs, and {LEAST} are the least; record more"),
        at: Some("/on".to_owned()),
    })
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Pass with_types_in bindings);

#[cfg(test)]
mod tests {
    use super::too_few;

    #[test]
    fn a_rule_seen_on_too_few_inputs_is_refused() {
        assert_eq!(too_few(4).map(|fault| fault.code).as_deref(), Some("too-few-observations"));
        assert!(too_few(5).is_none() && too_few(0).is_none());
    }
}
