//! Calibration: witnesses and held-out answers to a guard, and the guard into the graph.

use std::collections::BTreeSet;

use auto_json::Value;
use auto_kit::Fault;
use auto_schema::ir::{Body, Bounds, Edge, Effects, End, Graph, Guard, Node, PPM, Port, Uncertainty};

use crate::profile::Profile;
use crate::sketch::Sketch;

/// A sketch is of use only where the limit stays below this. A text of unknown windows
/// scores about 1,000,000 less the table's load (at most an eighth); one of twenty
/// characters scores less than this about once in thirty times.
const TELLS_APART: u32 = 750_000;

/// An answer for an input that the program had not been shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldOut {
    /// Inputs of one fold were held out together.
    pub fold: u32,
    /// The input.
    pub input: Value,
    /// Whether it was answered, and wrongly.
    pub wrong: bool,
}

/// Puts a guard that was calibrated on the witnesses into a valid program. A program that
/// has one gets its checks replaced. The same arguments give the same graph, witnesses in any order. A witness that is
/// there several times was seen as often.
///
/// `quantile` is the share of inputs like the witnesses that the sketches must admit, in
/// parts per million. Where `held_out` is empty, each witness is scored against the
/// others. Faults: `no-observations`, `bad-graph`.
pub fn calibrate(witnesses: &[Value], program: Graph, held_out: &[HeldOut], quantile: u32) -> Result<Graph, Fault> {
    if witnesses.is_empty() {
        return Err(Fault::new("no-observations", "a guard needs at least one input with a recorded output"));
    }
    let profile = Profile::of(witnesses);
    let (limit, sketches) = sketches(&profile.texts, witnesses, held_out, quantile.min(PPM));
    let name = if sketches.is_empty() && !profile.texts.is_empty() {
        "guard by profile alone: the witnesses' texts have too little in common"
    } else {
        "guard"
    };
    let mut checks = profile.checks;
    checks.extend(sketches.into_iter().map(Sketch::into_check));
    insert(program, name, Guard { limit, checks })
}

/// The sketches that can tell witnesses from other texts, and the limit they share.
///
/// One limit serves all, so a place whose texts have little in common (identifiers, say)
/// would make every other sketch useless: the most varied places are left to the profile
/// until the limit is low enough.
fn sketches(paths: &[String], witnesses: &[Value], held_out: &[HeldOut], quantile: u32) -> (u32, Vec<Sketch>) {
    let mut sketches: Vec<(u32, Vec<u32>, Sketch)> = Vec::new();
    for sketch in paths.iter().filter_map(|path| Sketch::of(path, witnesses)) {
        let scores = match held_out {
            // There is nothing to hold one witness against: only what is all in it passes.
            [] if witnesses.len() == 1 => vec![0],
            [] => sketch.leave_one_out(witnesses),
            rows => sketch.out_of_fold(witnesses, rows),
        };
        sketches.push((conformal(&scores, quantile), scores, sketch));
    }
    sketches.sort_by_key(|(own, _, _)| *own);
    loop {
        let rows = sketches.first().map_or(0, |(_, scores, _)| scores.len());
        let highest = |row| sketches.iter().map(|(_, scores, _)| scores[row]).max().unwrap_or(0);
        let novelty: Vec<u32> = (0..rows).map(highest).collect();
        let limit = conformal(&novelty, quantile);
        if limit <= TELLS_APART {
            let limit = lowered(limit, &novelty, held_out);
            return (limit, sketches.into_iter().map(|(_, _, sketch)| sketch).collect());
        }
        sketches.pop();
    }
}

/// The split-conformal quantile: the k-th smallest of n scores, k = ceil((n+1) q), the
/// largest where k > n (Vovk, Gammerman and Shafer 2005).
pub(crate) fn conformal(scores: &[u32], quantile: u32) -> u32 {
    let mut scores = scores.to_vec();
    scores.sort_unstable();
    let rank = ((scores.len() as u128 + 1) * u128::from(quantile)).div_ceil(u128::from(PPM));
    let rank = usize::try_from(rank).unwrap_or(usize::MAX).clamp(1, scores.len().max(1));
    scores.get(rank - 1).copied().unwrap_or(0)
}

/// Gives up the most novel of what the limit admits where that gives up more wrong answers
/// than right ones, and as many more as possible: the reject rule of Chow (1970), an
/// abstention costing half a wrong answer. Never raises the limit, and keeps it where the
/// wrong answers are not the novel ones. Such a limit admits less than the quantile.
fn lowered(limit: u32, novelty: &[u32], held_out: &[HeldOut]) -> u32 {
    let mut rows: Vec<(u32, bool)> = novelty
        .iter()
        .zip(held_out)
        .map(|(score, row)| (*score, row.wrong))
        .filter(|(score, _)| *score <= limit)
        .collect();
    rows.sort_unstable_by(|a, b| b.cmp(a));
    let (mut best, mut gain, mut most) = (limit, 0i64, 0i64);
    for (index, (score, wrong)) in rows.iter().enumerate() {
        gain += if *wrong { 1 } else { -1 };
        // A limit falls between two scores; below 0 there is none.
        let last_of_score = rows.get(index + 1).is_none_or(|(next, _)| next < score);
        if last_of_score && *score > 0 && gain > most {
            (best, most) = (score - 1, gain);
        }
    }
    best
}

/// Puts the guard between the input and everything that takes it.
fn insert(mut graph: Graph, name: &str, guard: Guard) -> Result<Graph, Fault> {
    let input = graph.input().ok_or_else(|| Fault::new("bad-graph", "the program has no input node"))?;
    let (from, port) = match input.outputs.as_slice() {
        [port] => (End { node: input.id, port: 0 }, port.clone()),
        _ => return Err(Fault::new("bad-graph", "the program's input node does not have one output")),
    };
    if graph.is_guarded() {
        let guarded: BTreeSet<u32> =
            graph.edges.iter().filter(|edge| edge.from == from).map(|edge| edge.to.node).collect();
        for node in graph.nodes.iter_mut().filter(|node| guarded.contains(&node.id)) {
            node.name = name.to_owned();
            node.body = Body::Guard(guard.clone());
        }
        return Ok(graph.canonical());
    }
    let highest = graph.nodes.iter().map(|node| node.id).max().unwrap_or(0);
    let id = highest.checked_add(1).ok_or_else(|| Fault::new("bad-graph", "the program has no id left for a guard"))?;
    for edge in graph.edges.iter_mut().filter(|edge| edge.from == from) {
        edge.from = End { node: id, port: 0 };
    }
    graph.edges.push(Edge { from, to: End { node: id, port: 0 } });
    graph.nodes.push(Node {
        id,
        name: name.to_owned(),
        inputs: vec![Port::new("input", port.ty.clone())],
        outputs: vec![Port::new("admitted", port.ty)],
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body: Body::Guard(guard),
    });
    Ok(graph.canonical())
}
