//! Files to run that no compile made: a graph, emitted and sealed as the host would, with a
//! manifest that claims nothing.

use anyhow::anyhow;
use auto_schema::cbin;
use auto_schema::digest::Digest;
use auto_schema::ir::Graph;
use auto_schema::manifest::Manifest;
use auto_schema::types::Type;

/// A sealed file and the metered twin of its code.
pub struct Sealed {
    /// The `.cbin`.
    pub file: Vec<u8>,
    /// The same code, unsealed, with a counter.
    pub metered: Vec<u8>,
}

/// Emits a valid graph and seals it.
pub fn sealed(graph: &Graph) -> anyhow::Result<Sealed> {
    let bytes = graph.to_bytes().map_err(|violations| anyhow!("not a graph: {violations:?}"))?;
    let emitted = auto_emit::emit(&bytes).map_err(|fault| anyhow!("{}: {}", fault.code, fault.message))?;
    let input = graph.input().and_then(|node| node.outputs.first()).map_or(Type::Json, |port| port.ty.clone());
    let none = Digest::of(b"");
    let manifest = Manifest {
        format: 1,
        task: graph.name.clone(),
        scope: "task".into(),
        input,
        output: Type::Json,
        capabilities: vec![],
        guarded: graph.nodes.iter().any(|node| matches!(node.body, auto_schema::ir::Body::Guard(_))),
        contract: none,
        evidence: none,
        eval_run: none,
        code: Digest::of(&emitted.module),
        observations: 0,
        agreement: None,
        coverage: None,
        out_of_fold: None,
        out_of_fold_rows: 0,
        steps: None,
        module_bytes: u32::try_from(emitted.module.len())?,
        passes: vec![],
        trusted_gate: None,
        reusable: true,
        notes: vec![],
        judged: None,
    };
    let file = cbin::seal(&emitted.module, Some(&bytes), &manifest).map_err(|error| anyhow!("{error:?}"))?;
    Ok(Sealed { file, metered: emitted.metered })
}
