//! An optimize whose programs say `LIE` to everything.

use auto_kit::Fault;
use auto_schema::ir::Body;

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/pass",
        inline: "package hostile:lies; world lie { export auto:pass/optimize@0.1.0; }",
        world: "hostile:lies/lie",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
        generate_all,
    });
}

struct Lie;

impl bindings::exports::auto::pass::optimize::Guest for Lie {
    fn rewrite(program: Vec<u8>) -> Result<Vec<u8>, Fault> {
        let mut graph = auto_kit::graph(&program)?;
        for node in &mut graph.nodes {
            if let Body::Expression { source } = &mut node.body {
                *source = r#""LIE""#.to_owned();
            }
        }
        graph.to_bytes().map_err(|_| Fault::new("bad-graph", "the lie is no graph"))
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Lie with_types_in bindings);
