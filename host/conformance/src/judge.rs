//! Makes the calls and says what came of them.

use auto_engine::{Engine, Fault, FaultClass, Pass, Providers};
use auto_json::Value;
use auto_runtime::{Limits, Outcome as Ran, Sandbox};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::pattern::{all_at, difference};
use crate::short;
use crate::vector::{Expected, Module, Program, Suite, Vector};

/// Who evaluates programs.
const CHECK: &str = "auto:pass/check@0.1.0";

/// A component under test, and what serves it and judges it.
pub struct Bench {
    engine: Engine,
    beneath: Providers,
    providers: Providers,
    pass: std::sync::Arc<Pass>,
}

/// What came of a vector.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its name.
    pub vector: String,
    /// The function that was called.
    pub function: String,
    /// Fuel of the call itself; none where it was not made.
    pub fuel: Option<u64>,
    /// What it came to.
    pub verdict: Verdict,
}

/// Whether a vector holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It does not.
    Broken {
        /// What was handed over, as the vector has it.
        input: String,
        /// What was to come of it.
        expected: String,
        /// What came.
        got: String,
        /// The log of a call that failed.
        log: Vec<String>,
        /// Whether the component broke a limit or fell over.
        breakage: bool,
    },
}

/// What a call came to: its result, or a fault.
type Called = Result<Value, Fault>;

/// What was expected, and what came instead.
struct Parting {
    expected: String,
    got: String,
}

impl Bench {
    /// `pass` on top of `beneath`.
    pub fn new(engine: &Engine, beneath: &Providers, pass: std::sync::Arc<Pass>) -> Bench {
        let mut providers = beneath.clone();
        providers.push(pass.clone());
        Bench { engine: engine.clone(), beneath: beneath.clone(), providers, pass }
    }

    /// Tries every vector of a suite.
    pub fn run(&self, suite: &Suite) -> Vec<Outcome> {
        suite.vectors.iter().map(|vector| self.try_one(&suite.interface, vector)).collect()
    }

    /// Fuel of the first call of a suite that gives a result; none where there is none.
    pub fn cost(&self, suite: &Suite) -> Option<u64> {
        let results = suite.vectors.iter().filter(|vector| matches!(vector.expected, Expected::Result { .. }));
        results.map(|vector| self.call(&suite.interface, vector)).find_map(|(called, fuel)| called.ok().and(fuel))
    }

    fn try_one(&self, interface: &str, vector: &Vector) -> Outcome {
        let (first, fuel) = self.call(interface, vector);
        let (second, _) = self.call(interface, vector);
        let parting = match alike(&first, &second) {
            true => self.parting(vector, &first),
            false => Some(Parting {
                expected: format!("the same for the same arguments: {}", shown(&first)),
                got: shown(&second),
            }),
        };
        let verdict = parting.map_or(Verdict::Holds, |parting| {
            let fault = first.as_ref().err().or(second.as_ref().err());
            Verdict::Broken {
                input: vector.written.to_string(),
                expected: parting.expected,
                got: parting.got,
                log: fault.map(|fault| fault.log.clone()).unwrap_or_default(),
                breakage: fault.is_some_and(|fault| fault.class.is_breakage()),
            }
        });
        Outcome { vector: vector.name.clone(), function: vector.function.clone(), fuel, verdict }
    }

    /// One call, made whatever is remembered, and the fuel of it alone.
    fn call(&self, interface: &str, vector: &Vector) -> (Called, Option<u64>) {
        drop(self.engine.take_trace());
        let called = self.engine.call_json_anew(&self.providers, interface, &vector.function, &vector.arguments);
        let trace = self.engine.take_trace();
        let own = trace.iter().rev().find(|call| call.digest == self.pass.digest && call.function == vector.function);
        (called, own.map(|call| call.fuel))
    }

    fn parting(&self, vector: &Vector, called: &Called) -> Option<Parting> {
        match (&vector.expected, called) {
            (Expected::Fault(codes), called) => {
                let is_meant = |fault: &Fault| match &fault.class {
                    FaultClass::Refused(code) => codes.is_empty() || codes.contains(code),
                    _ => false,
                };
                let expected = || match codes.as_slice() {
                    [] => "a fault".to_owned(),
                    codes => format!("a fault of code {}", codes.join(" or ")),
                };
                let holds = called.as_ref().is_err_and(is_meant);
                (!holds).then(|| Parting { expected: expected(), got: shown(called) })
            }
            (Expected::Result { like, .. }, Err(_)) => {
                Some(Parting { expected: format!("a result: {like}"), got: shown(called) })
            }
            (Expected::Result { like, programs, modules }, Ok(value)) => {
                let different = difference(like, value);
                let different = different.map(|expected| Parting { expected, got: cut(value.to_string()) });
                different
                    .or_else(|| programs.iter().find_map(|program| self.program(program, value)))
                    .or_else(|| modules.iter().find_map(|module| module_parting(module, value)))
            }
        }
    }

    /// What is wrong with the programs at a place of a result.
    fn program(&self, wanted: &Program, result: &Value) -> Option<Parting> {
        all_at(result, &wanted.at).into_iter().find_map(|program| {
            let place = if wanted.at.is_empty() { "the result" } else { wanted.at.as_str() };
            // Nothing is agreed with where nothing is known; that the program is one is told all the same.
            let none = Value::List(Vec::new());
            let on = wanted.right_on.as_ref().unwrap_or(&none);
            let expected = match wanted.right_on {
                Some(_) => format!("{place} is a program that is right on every observation"),
                None => format!("{place} is a valid program"),
            };
            let wrong = match self.check(program, on) {
                Ok(finding) => {
                    finding.get("counterexamples").and_then(Value::as_list).and_then(<[Value]>::first).cloned()
                }
                Err(fault) => return Some(Parting { expected, got: shown(&Err(fault)) }),
            };
            if let Some(counterexample) = wrong {
                return Some(Parting { expected, got: cut(format!("one with the counterexample {counterexample}")) });
            }
            wanted.silent_on.iter().find_map(|input| self.answer(program, input)).map(|(input, answer)| Parting {
                expected: format!("{place} leaves {input} unanswered"),
                got: cut(format!("the answer {answer}")),
            })
        })
    }

    /// The answer of a program to an input, and the input cut to be shown; none where it has none.
    fn answer(&self, program: &Value, input: &Value) -> Option<(String, String)> {
        // Whatever it answers, it is not this: what was got is then told, and null where nothing was.
        let on = short::observations(&Value::List(vec![vec![input.clone(), NEVER.into()].into()])).ok()?;
        let got = match self.check(program, &on) {
            Ok(finding) => finding.get("counterexamples")?.as_list()?.first()?.get("got")?.as_text()?.to_owned(),
            Err(fault) => fault.to_string(),
        };
        Some((cut(input.to_string()), got))
    }

    fn check(&self, program: &Value, on: &Value) -> Called {
        let arguments = Value::List(vec![program.clone(), on.clone()]);
        self.engine.call_json(&self.beneath, CHECK, "check", &arguments)
    }
}

/// An output that no program of a vector has.
const NEVER: &str = "\u{0}no program gives this";

fn alike(one: &Called, other: &Called) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => one == other,
        (Err(one), Err(other)) => (&one.class, &one.message, &one.at) == (&other.class, &other.message, &other.at),
        _ => false,
    }
}

/// What is wrong with the modules at a place of a result.
fn module_parting(wanted: &Module, result: &Value) -> Option<Parting> {
    all_at(result, &wanted.at).into_iter().find_map(|module| {
        let expected = format!("{} is a module of the world auto:cbin/cbin without imports", wanted.at);
        let loaded = STANDARD
            .decode(module.as_text().unwrap_or_default())
            .map_err(|error| error.to_string())
            .and_then(|bytes| load(&bytes));
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(why) => return Some(Parting { expected, got: cut(why) }),
        };
        let answers = wanted.answers.iter().map(|(input, answer)| (input, Some(answer)));
        let silent = wanted.silent_on.iter().map(|input| (input, None));
        answers.chain(silent).find_map(|(input, answer)| {
            let got = match (loaded.run_fresh(input), answer) {
                (Ok((Ran::Answer(text), _)), Some(answer)) if Value::parse(&text).as_ref() == Ok(answer) => {
                    return None;
                }
                (Ok((Ran::Abstain { .. }, _)), None) => return None,
                (Ok((outcome, _)), _) => format!("{outcome:?}"),
                (Err(error), _) => error.to_string(),
            };
            let meant = answer.map_or("an abstention".to_owned(), ToString::to_string);
            Some(Parting { expected: format!("{} answers {input} with {meant}", wanted.at), got: cut(got) })
        })
    })
}

fn load(bytes: &[u8]) -> Result<auto_runtime::Module, String> {
    let sandbox = Sandbox::new(Limits::default()).map_err(|error| error.to_string())?;
    sandbox.load(bytes).map_err(|error| error.to_string())
}

fn shown(called: &Called) -> String {
    match called {
        Ok(value) => cut(value.to_string()),
        Err(fault) => {
            let at = fault.at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
            cut(format!("a fault of code {}{at}: {}", fault.class.code(), fault.message))
        }
    }
}

/// The most bytes of something that is shown: a graph is one long text.
const SHOWN: usize = 400;

fn cut(text: String) -> String {
    if text.len() <= SHOWN {
        return text;
    }
    format!("{}… ({} bytes)", &text[..text.floor_char_boundary(SHOWN)], text.len())
}
