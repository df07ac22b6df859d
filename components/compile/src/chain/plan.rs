//! What a program does, in order: the tree that was learnt from the runs.

use auto_schema::types::Type;

use super::hole::Hole;
use crate::report::Report;

/// What happens from some place on.
#[derive(Clone)]
pub enum Plan {
    /// The answer.
    Answer(Hole),
    /// One operation, or a loop of them, and what comes after.
    Step(Box<Step>),
    /// One of two ways.
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
    /// What it is called in the environment.
    pub name: String,
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
    /// Nothing needs it.
    Skip,
    /// It is asked for.
    Ask(Ask),
    /// It is asked for, or computed, for each item of a list.
    Each {
        /// Where the list is in the environment, as an expression.
        list: String,
        /// Over the item alone, or over the environment with `item` in it.
        context: bool,
        /// What is done with each.
        body: Body,
        /// The most items.
        most: u32,
    },
    /// It is asked for until the reply will do.
    Retry {
        /// What is asked.
        ask: Ask,
        /// Whether a reply will do.
        until: Until,
        /// The most times.
        most: u32,
    },
}

/// What is done with an item.
#[derive(Clone)]
pub enum Body {
    /// Computed.
    Compute(Hole),
    /// Asked for.
    Ask(Ask),
}

/// A request.
#[derive(Clone)]
pub struct Ask {
    /// `tool:NAME` or `model:ID`.
    pub capability: String,
    /// What it is given.
    pub input: Hole,
    /// Whether errors were recorded and are handed on.
    pub catches: bool,
    /// What replies were like.
    pub reply: Type,
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
            Plan::Step(step) => [step.action.holes(), step.then.holes()].concat(),
            Plan::Choice { test, yes, no } => [vec![test], yes.holes(), no.holes()].concat(),
        }
    }

    /// As [`Plan::holes`], to be filled.
    pub fn holes_mut(&mut self) -> Vec<&mut Hole> {
        match self {
            Plan::Answer(hole) => vec![hole],
            Plan::Step(step) => {
                let mut holes = step.action.holes_mut();
                holes.extend(step.then.holes_mut());
                holes
            }
            Plan::Choice { test, yes, no } => {
                let mut holes = vec![test];
                holes.extend(yes.holes_mut());
                holes.extend(no.holes_mut());
                holes
            }
        }
    }

    /// Says what becomes of each operation.
    pub fn report(&self, report: &mut Report) {
        match self {
            Plan::Answer(hole) => report.stage("answer", "compiled", &hole.program),
            Plan::Step(step) => {
                let (status, what) = step.action.words();
                report.stage(&step.stage, status, &what);
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

impl Action {
    fn holes(&self) -> Vec<&Hole> {
        match self {
            Action::Compute(hole) | Action::Each { body: Body::Compute(hole), .. } => vec![hole],
            Action::Skip => Vec::new(),
            Action::Ask(ask) | Action::Each { body: Body::Ask(ask), .. } => vec![&ask.input],
            Action::Retry { ask, until, .. } => match until {
                Until::Succeeds | Until::Says(_) => vec![&ask.input],
                Until::Holds(hole) => vec![&ask.input, hole],
            },
        }
    }

    fn holes_mut(&mut self) -> Vec<&mut Hole> {
        match self {
            Action::Compute(hole) | Action::Each { body: Body::Compute(hole), .. } => vec![hole],
            Action::Skip => Vec::new(),
            Action::Ask(ask) | Action::Each { body: Body::Ask(ask), .. } => vec![&mut ask.input],
            Action::Retry { ask, until, .. } => match until {
                Until::Succeeds | Until::Says(_) => vec![&mut ask.input],
                Until::Holds(hole) => vec![&mut ask.input, hole],
            },
        }
    }

    /// What became of it, in a word and in words.
    pub fn words(&self) -> (&'static str, String) {
        match self {
            Action::Compute(hole) => ("compiled", hole.program.clone()),
            Action::Skip => ("left out", "nothing after it needs what it gives".to_owned()),
            Action::Ask(ask) => ("effect", ask.words()),
            Action::Each { list, body, most, .. } => {
                let body = match body {
                    Body::Compute(hole) => hole.program.clone(),
                    Body::Ask(ask) => ask.words(),
                };
                ("loop", format!("for each of {list}, at most {most} (twice the most seen): {body}"))
            }
            Action::Retry { ask, until, most } => {
                let until = match until {
                    Until::Succeeds => "it succeeds".to_owned(),
                    Until::Says(test) => test.clone(),
                    Until::Holds(hole) => hole.program.clone(),
                };
                ("loop", format!("{}, until {until}, at most {most} times (twice the most seen)", ask.words()))
            }
        }
    }
}

impl Ask {
    fn words(&self) -> String {
        let errors = if self.catches { ", errors handed on" } else { "" };
        format!("{} of {}{errors}", self.capability, self.input.program)
    }
}
