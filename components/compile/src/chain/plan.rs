//! What a program does, in order: the tree that was learnt from the runs.

use auto_schema::ir::Guard;
use auto_schema::types::Type;

use super::hole::Hole;
use super::replies::Seen;
use crate::report::Report;

/// What happens from some place on.
#[derive(Clone)]
pub enum Plan {
    /// The answer.
    Answer(Hole),
    /// Runs end here without an answer.
    Abstain,
    /// A way ends where it comes together with another; a round of a loop is over.
    End,
    /// One operation, or ways or rounds of them, and what comes after.
    Step(Box<Step>),
    /// One of two ways, each to its own answer.
    Choice {
        /// Gives `true` for the first.
        test: Hole,
        /// Where it is true.
        yes: Box<Plan>,
        /// Where it is false.
        no: Box<Plan>,
    },
}

/// An operation.
#[derive(Clone)]
pub struct Step {
    /// As the report names it: `tool_call lookup`.
    pub stage: String,
    /// What is known after it that was not before.
    pub gives: Vec<String>,
    /// What becomes of it.
    pub action: Action,
    /// What comes after.
    pub then: Plan,
}

/// What becomes of an operation.
#[derive(Clone)]
pub enum Action {
    /// It is computed.
    Compute(Hole),
    /// A decision: what it is decided by is computed, and from that what is decided.
    Decide {
        /// What it is decided by.
        given: Hole,
        /// What is decided, over that.
        test: Hole,
    },
    /// Nothing needs it.
    Skip,
    /// It is asked for.
    Ask(Ask),
    /// One of two ways that come together again.
    Either {
        /// Gives `true` for the first.
        test: Hole,
        /// Where it is true, to its end.
        yes: Plan,
        /// Where it is false, to its end.
        no: Plan,
    },
    /// It is done for each item of a list.
    Each {
        /// Where the list is in the environment, as an expression.
        list: String,
        /// What the item is called in the environment.
        item: String,
        /// Over the item alone, or over the environment with the item in it.
        context: bool,
        /// What is done with each.
        body: Body,
        /// The most items.
        most: u32,
    },
    /// It is done until what it gives will do.
    Retry {
        /// What is done.
        body: Body,
        /// Whether what it gave will do.
        until: Until,
        /// The most times.
        most: u32,
    },
}

/// A round of a loop.
#[derive(Clone)]
pub enum Body {
    /// One value is computed.
    Compute(Hole),
    /// One thing is asked for.
    Ask(Ask),
    /// Several operations, which give what the step gives.
    Several(Plan),
}

/// A request.
#[derive(Clone)]
pub struct Ask {
    /// `tool:NAME`, `model:ID` or `memory:OPERATION`.
    pub capability: String,
    /// What it is given.
    pub input: Hole,
    /// Whether errors were recorded and are handed on.
    pub catches: bool,
    /// What replies were like.
    pub reply: Type,
    /// What came back in the runs.
    pub seen: Vec<Seen>,
    /// What is let through of what comes back.
    pub guards: Vec<Guard>,
    /// A test for what was the same in every reply and no guard looks at.
    pub always: Option<String>,
}

/// When a reply will do.
#[derive(Clone)]
pub enum Until {
    /// When it is no error; it is then unwrapped.
    Succeeds,
    /// When one value in it says so, which is in every reply that did and in no other.
    Says(String),
    /// When a program says so.
    Holds(Hole),
}

impl Plan {
    /// Every hole, in the order of the plan.
    pub fn holes(&self) -> Vec<&Hole> {
        match self {
            Plan::Answer(hole) => vec![hole],
            Plan::Abstain | Plan::End => Vec::new(),
            Plan::Step(step) => [step.action.holes(), step.then.holes()].concat(),
            Plan::Choice { test, yes, no } => [vec![test], yes.holes(), no.holes()].concat(),
        }
    }

    /// Every hole on which it depends which way is taken, in the order of the plan.
    pub fn predicates(&self) -> Vec<&Hole> {
        match self {
            Plan::Answer(_) | Plan::Abstain | Plan::End => Vec::new(),
            Plan::Step(step) => [step.predicates(), step.then.predicates()].concat(),
            Plan::Choice { test, yes, no } => [vec![test], yes.predicates(), no.predicates()].concat(),
        }
    }

    /// Every operation, in the order of the plan, those in ways and rounds after what they are in.
    pub fn steps(&self) -> Vec<&Step> {
        match self {
            Plan::Answer(_) | Plan::Abstain | Plan::End => Vec::new(),
            Plan::Step(step) => {
                let inside = step.action.inside().into_iter().flat_map(Plan::steps);
                [&**step].into_iter().chain(inside).chain(step.then.steps()).collect()
            }
            Plan::Choice { yes, no, .. } => [yes.steps(), no.steps()].concat(),
        }
    }

    /// Every request, in the order of the plan.
    pub fn asks(&mut self) -> Vec<&mut Ask> {
        match self {
            Plan::Answer(_) | Plan::Abstain | Plan::End => Vec::new(),
            Plan::Step(step) => {
                let Step { action, then, .. } = &mut **step;
                action.asks().into_iter().chain(then.asks()).collect()
            }
            Plan::Choice { yes, no, .. } => yes.asks().into_iter().chain(no.asks()).collect(),
        }
    }

    /// Says what becomes of each operation.
    pub fn report(&self, report: &mut Report) {
        match self {
            Plan::Answer(hole) => report.stage("answer", "compiled", &hole.program),
            Plan::Abstain => report.stage("the end", "abstains", "recordings end here without an output"),
            Plan::End => {}
            Plan::Step(step) => {
                let (status, what) = step.action.words();
                report.stage(&step.stage, status, &what);
                step.action.inside().iter().for_each(|plan| plan.report(report));
                step.then.report(report);
            }
            Plan::Choice { test, yes, no } => {
                report.stage(&test.place, "branch", &test.program);
                yes.report(report);
                no.report(report);
            }
        }
    }
}

impl Step {
    /// What computes it in place of a model.
    pub fn computed(&self) -> Option<&Hole> {
        match &self.action {
            Action::Compute(hole) | Action::Each { body: Body::Compute(hole), .. } if self.is_model_call() => {
                Some(hole)
            }
            _ => None,
        }
    }

    /// What tells what it is asked with.
    pub fn given(&self) -> Option<&Hole> {
        match &self.action {
            Action::Ask(ask)
            | Action::Each { body: Body::Ask(ask), .. }
            | Action::Retry { body: Body::Ask(ask), .. } => Some(&ask.input),
            _ => None,
        }
    }

    /// Whether a model was asked here and need not be.
    pub fn leaves_out_a_model(&self) -> bool {
        self.is_model_call() && matches!(self.action, Action::Skip)
    }

    fn is_model_call(&self) -> bool {
        self.stage.starts_with("model_call ")
    }

    fn predicates(&self) -> Vec<&Hole> {
        match &self.action {
            Action::Compute(hole) if self.stage.starts_with("branch ") => vec![hole],
            Action::Decide { given, test } => vec![given, test],
            Action::Either { test, yes, no } => [vec![test], yes.predicates(), no.predicates()].concat(),
            Action::Each { body, .. } => body.predicates(),
            Action::Retry { body, until: Until::Holds(hole), .. } => [body.predicates(), vec![hole]].concat(),
            Action::Retry { body, .. } => body.predicates(),
            Action::Compute(_) | Action::Skip | Action::Ask(_) => Vec::new(),
        }
    }
}

impl Action {
    fn asks(&mut self) -> Vec<&mut Ask> {
        match self {
            Action::Ask(ask) => vec![ask],
            Action::Either { yes, no, .. } => yes.asks().into_iter().chain(no.asks()).collect(),
            Action::Each { body, .. } | Action::Retry { body, .. } => match body {
                Body::Ask(ask) => vec![ask],
                Body::Several(plan) => plan.asks(),
                Body::Compute(_) => Vec::new(),
            },
            Action::Compute(_) | Action::Decide { .. } | Action::Skip => Vec::new(),
        }
    }

    fn holes(&self) -> Vec<&Hole> {
        match self {
            Action::Compute(hole) => vec![hole],
            Action::Decide { given, test } => vec![given, test],
            Action::Skip => Vec::new(),
            Action::Ask(ask) => vec![&ask.input],
            Action::Either { test, yes, no } => [vec![test], yes.holes(), no.holes()].concat(),
            Action::Each { body, .. } => body.holes(),
            Action::Retry { body, until: Until::Holds(hole), .. } => [body.holes(), vec![hole]].concat(),
            Action::Retry { body, .. } => body.holes(),
        }
    }

    /// The ways or rounds in it.
    fn inside(&self) -> Vec<&Plan> {
        match self {
            Action::Either { yes, no, .. } => vec![yes, no],
            Action::Each { body: Body::Several(plan), .. } | Action::Retry { body: Body::Several(plan), .. } => {
                vec![plan]
            }
            _ => Vec::new(),
        }
    }

    /// What became of it, in a word and in words.
    pub fn words(&self) -> (&'static str, String) {
        match self {
            Action::Compute(hole) => ("compiled", hole.program.clone()),
            Action::Decide { given, test } => ("compiled", format!("{} of {}", test.program, given.program)),
            Action::Skip => ("left out", "nothing after it needs what it gives".to_owned()),
            Action::Ask(ask) => ("effect", ask.words()),
            Action::Either { test, .. } => ("branch", format!("{}, and both ways come together again", test.program)),
            Action::Each { list, body, most, .. } => {
                ("loop", format!("for each of {list}, at most {most} (the most seen): {}", body.words()))
            }
            Action::Retry { body, until, most } => {
                let until = match until {
                    Until::Succeeds => "it succeeds",
                    Until::Says(test) => test,
                    Until::Holds(hole) => &hole.program,
                };
                ("loop", format!("{}, until {until}, at most {most} times (the most seen)", body.words()))
            }
        }
    }
}

impl Body {
    fn predicates(&self) -> Vec<&Hole> {
        match self {
            Body::Several(plan) => plan.predicates(),
            Body::Compute(_) | Body::Ask(_) => Vec::new(),
        }
    }

    fn holes(&self) -> Vec<&Hole> {
        match self {
            Body::Compute(hole) => vec![hole],
            Body::Ask(ask) => vec![&ask.input],
            Body::Several(plan) => plan.holes(),
        }
    }

    fn words(&self) -> String {
        match self {
            Body::Compute(hole) => hole.program.clone(),
            Body::Ask(ask) => ask.words(),
            Body::Several(_) => "the operations that follow here".to_owned(),
        }
    }
}

impl Ask {
    fn words(&self) -> String {
        let errors = if self.catches { ", errors handed on" } else { "" };
        format!("{} of {}{errors}", self.capability, self.input.program)
    }
}
