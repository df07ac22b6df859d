//! The container: a sealed file reads back, and no other file close to it does.

mod common;

use auto_schema::cbin::{
    COMPONENT_TYPE, COMPONENT_TYPE_SECTION, Cbin, DIGEST_SECTION, Damage, MANIFEST_SECTION, import_names, seal,
    sections,
};
use auto_schema::digest::Digest;
use auto_schema::ir::{Body, Capability, Graph};
use auto_schema::manifest::{FORMAT, Manifest};
use auto_schema::types::Type;
use proptest::prelude::*;

/// A module with a type, a function, a memory, an export, code and a custom section.
fn module() -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    module.extend([1, 4, 1, 0x60, 0, 0]);
    module.extend([3, 2, 1, 0]);
    module.extend([5, 3, 1, 0, 1]);
    module.extend([7, 5, 1, 1, b'f', 0, 0]);
    module.extend([10, 4, 1, 2, 0, 0x0B]);
    custom(&mut module, "name", b"\x00\x02\x01m");
    module
}

fn custom(module: &mut Vec<u8>, name: &str, payload: &[u8]) {
    let size = 1 + name.len() + payload.len();
    module.push(0);
    if size >= 128 {
        module.push(size as u8 | 0x80);
    }
    module.push((size >> if size >= 128 { 7 } else { 0 }) as u8);
    module.push(name.len() as u8);
    module.extend(name.as_bytes());
    module.extend(payload);
}

fn manifest_of(module: &[u8], graph: Option<&Graph>) -> Manifest {
    Manifest {
        format: FORMAT,
        task: "t".to_owned(),
        scope: "task".to_owned(),
        input: Type::Json,
        output: Type::Text,
        capabilities: graph.map(Graph::capabilities).unwrap_or_default().iter().map(Capability::to_string).collect(),
        guarded: graph.is_some_and(Graph::is_guarded),
        contract: Digest([1; 32]),
        evidence: Digest([2; 32]),
        eval_run: Digest([3; 32]),
        code: Digest::of(module),
        observations: 4,
        agreement: Some(1_000_000),
        coverage: None,
        out_of_fold: None,
        out_of_fold_rows: 0,
        steps: None,
        module_bytes: module.len() as u32,
        passes: vec![],
        trusted_gate: None,
        reusable: true,
        notes: vec![],
        judged: None,
    }
    .canonical()
}

fn sealed(module: &[u8], graph: Option<&Graph>) -> Vec<u8> {
    let bytes = graph.map(|graph| graph.to_bytes().unwrap());
    seal(module, bytes.as_deref(), &manifest_of(module, graph)).unwrap()
}

fn refusal(file: &[u8]) -> &'static str {
    Cbin::read(file).expect_err("it was accepted").code
}

proptest! {
    #[test]
    fn what_is_sealed_reads_back(graph in common::graph()) {
        let module = module();
        let file = sealed(&module, Some(&graph));
        let cbin = Cbin::read(&file).unwrap();
        prop_assert_eq!(cbin.id, Digest::of(&file));
        prop_assert_eq!(cbin.program, Some(Digest::of(&graph.to_bytes().unwrap())));
        prop_assert_eq!(cbin.manifest, manifest_of(&module, Some(&graph)));
        prop_assert_eq!(cbin.graph, Some(graph));
        prop_assert!(file.starts_with(&module));
        prop_assert_eq!(&cbin.parts.last().unwrap().name, DIGEST_SECTION);
    }

    #[test]
    fn damaged_files_are_refused(damage in common::damage()) {
        let file = sealed(&module(), Some(&common::small_graph()));
        let damaged = common::damaged(&file, &damage);
        prop_assert!(damaged == file || Cbin::read(&damaged).is_err());
    }

    #[test]
    fn any_bytes_are_split_into_sections_without_a_gap_or_refused(tail in prop::collection::vec(prop_oneof![0u8..14, any::<u8>()], 0..60)) {
        let mut bytes = b"\0asm\x01\0\0\0".to_vec();
        bytes.extend(tail);
        let _ = import_names(&bytes);
        let _ = Cbin::read(&bytes);
        if let Ok(sections) = sections(&bytes) {
            let mut at = 8;
            for section in sections {
                prop_assert_eq!(section.range.start, at);
                prop_assert!(bytes[..section.range.end].ends_with(section.payload));
                at = section.range.end;
            }
            prop_assert_eq!(at, bytes.len());
        }
    }
}

/// The codes of files that never were artifacts; all others are of damaged ones.
const NEVER_ONE: [&str; 4] = ["not-wasm", "component", "imports", "unsealed"];

#[test]
fn every_flipped_bit_is_refused_as_damage() {
    for graph in [Some(common::small_graph()), None] {
        let file = sealed(&module(), graph.as_ref());
        Cbin::read(&file).unwrap();
        for bit in 0..file.len() * 8 {
            let mut flipped = file.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let code = refusal(&flipped);
            assert!(!NEVER_ONE.contains(&code), "bit {} of byte {}: {code}", bit % 8, bit / 8);
        }
    }
}

#[test]
fn every_truncation_is_refused() {
    let file = sealed(&module(), Some(&common::small_graph()));
    for length in 0..file.len() {
        assert!(Cbin::read(&file[..length]).is_err(), "{length} of {} bytes", file.len());
    }
}

#[test]
fn sealing_is_a_function_of_its_arguments() {
    let graph = common::small_graph();
    assert_eq!(sealed(&module(), Some(&graph)), sealed(&module(), Some(&graph)));
    let mut typed = module();
    custom(&mut typed, COMPONENT_TYPE_SECTION, COMPONENT_TYPE);
    let file = sealed(&typed, None);
    assert_eq!(
        file.windows(COMPONENT_TYPE_SECTION.len()).filter(|bytes| bytes == &COMPONENT_TYPE_SECTION.as_bytes()).count(),
        1
    );
    assert_eq!(Cbin::read(&file).unwrap().parts.len(), 9);
}

#[test]
fn the_component_type_names_no_producer() {
    assert!(!COMPONENT_TYPE.windows(9).any(|bytes| bytes == b"producers"));
}

#[test]
fn lifting_may_strip_the_component_type() {
    let file = sealed(&module(), Some(&common::small_graph()));
    let at = sections(&file)
        .unwrap()
        .into_iter()
        .find(|section| section.name == Some(COMPONENT_TYPE_SECTION))
        .unwrap()
        .range;
    let mut stripped = file.clone();
    stripped.drain(at.clone());
    assert_eq!(Cbin::read(&stripped).unwrap().manifest, Cbin::read(&file).unwrap().manifest);

    let mut foreign = file[..at.start].to_vec();
    custom(&mut foreign, "component-type:other", COMPONENT_TYPE);
    foreign.extend(&file[at.end..]);
    assert_eq!(refusal(&foreign), "component-type");
    let mut twice = file[..at.end].to_vec();
    twice.extend(&file[at.start..]);
    assert_eq!(refusal(&twice), "component-type");
    let mut changed = file.clone();
    changed[at.end - 1] ^= 1;
    assert_eq!(refusal(&changed), "component-type");
}

#[test]
fn what_is_refused_and_under_which_code() {
    let file = sealed(&module(), Some(&common::small_graph()));
    assert_eq!(refusal(b""), "truncated");
    assert_eq!(refusal(b"\0as"), "truncated");
    assert_eq!(refusal(b"MZ\x90\0\x03\0\0\0"), "not-wasm");
    assert_eq!(refusal(b"\0asm\x02\0\0\0"), "not-wasm");
    assert_eq!(refusal(b"\0asm\x0d\0\x01\0"), "component");
    assert_eq!(refusal(&module()), "unsealed");
    let mut importing = b"\0asm\x01\0\0\0".to_vec();
    importing.extend([1, 4, 1, 0x60, 0, 0, 2, 7, 1, 1, b'a', 1, b'b', 0, 0]);
    assert_eq!(refusal(&importing), "imports");
    assert_eq!(refusal(&digested(importing)), "imports");
    for (at, byte) in [(0, b'M'), (4, 2), (4, 13)] {
        let mut other = file.clone();
        other[at] = byte;
        other[6] = u8::from(byte == 13);
        assert_eq!(refusal(&other), "malformed", "an artifact that begins as something else");
    }
    assert_eq!(refusal(&file[..file.len() - 1]), "truncated");
    let mut changed = file.clone();
    changed[30] ^= 1;
    assert_eq!(refusal(&changed), "digest-mismatch");
    let mut longer = file.clone();
    custom(&mut longer, "note", b"");
    assert_eq!(refusal(&longer), "no-digest");
    let mut unknown = module();
    unknown.extend([14, 0]);
    assert_eq!(refusal(&unknown), "malformed");
    let mut disordered = module();
    disordered.extend([1, 1, 0]);
    assert_eq!(refusal(&disordered), "malformed");
    let mut padded = module();
    padded.extend([0, 0x82, 0x00, 1, b'x']);
    assert_eq!(refusal(&padded), "malformed");
}

/// A file with a right digest, whatever is in it.
fn digested(mut file: Vec<u8>) -> Vec<u8> {
    let digest = Digest::of(&file);
    custom(&mut file, DIGEST_SECTION, digest.as_bytes());
    file
}

#[test]
fn a_right_digest_is_not_enough() {
    let graph = common::small_graph();
    let manifest = manifest_of(&module(), Some(&graph));
    let assembled = |parts: &[(&str, &[u8])]| {
        let mut file = module();
        parts.iter().for_each(|(name, payload)| custom(&mut file, name, payload));
        digested(file)
    };
    let graph_bytes = graph.to_bytes().unwrap();
    let good = manifest.to_bytes().unwrap();
    assert!(Cbin::read(&assembled(&[("auto:graph", &graph_bytes), (MANIFEST_SECTION, &good)])).is_ok());
    for (parts, code) in [
        (&[("auto:graph", &graph_bytes[..])][..], "manifest"),
        (&[(MANIFEST_SECTION, b"no")], "manifest"),
        (&[("auto:graph", b"no"), (MANIFEST_SECTION, &good)], "graph"),
        (&[(MANIFEST_SECTION, &good), ("auto:graph", &graph_bytes)], "manifest"),
        (&[("auto:later", b""), (MANIFEST_SECTION, &good)], "malformed"),
        (&[(MANIFEST_SECTION, &good), (MANIFEST_SECTION, &good)], "malformed"),
        (&[("auto:graph", &graph_bytes), ("auto:graph", &graph_bytes), (MANIFEST_SECTION, &good)], "malformed"),
    ] {
        assert_eq!(refusal(&assembled(parts)), code, "{parts:?}");
    }
    let unguarded = Manifest { guarded: false, ..manifest.clone() }.to_bytes().unwrap();
    assert_eq!(refusal(&assembled(&[("auto:graph", &graph_bytes), (MANIFEST_SECTION, &unguarded)])), "manifest");
    // What another module came to says nothing of this one.
    for wrong in [
        Manifest { code: Digest([0; 32]), ..manifest.clone() },
        Manifest { module_bytes: manifest.module_bytes - 1, ..manifest.clone() },
        Manifest { module_bytes: 0, ..manifest.clone() },
    ] {
        let wrong = wrong.to_bytes().unwrap();
        assert_eq!(refusal(&assembled(&[("auto:graph", &graph_bytes), (MANIFEST_SECTION, &wrong)])), "manifest");
    }
    let mut asking = graph.clone();
    asking.nodes[2].body = Body::Effect { capability: "net".to_owned(), catches: false };
    asking.nodes[2].effects.capabilities.push(Capability::Net);
    let asking = asking.to_bytes().unwrap();
    assert_eq!(refusal(&assembled(&[("auto:graph", &asking), (MANIFEST_SECTION, &good)])), "manifest");
}

#[test]
fn sealing_refuses_what_reading_would() {
    let graph = common::small_graph();
    let bytes = graph.to_bytes().unwrap();
    let code =
        |module: &[u8], graph: Option<&[u8]>, manifest: &Manifest| seal(module, graph, manifest).unwrap_err().code;
    let manifest = manifest_of(&module(), Some(&graph));
    assert_eq!(code(b"", Some(&bytes), &manifest), "truncated");
    assert_eq!(code(&module(), Some(b"junk"), &manifest), "graph");
    assert_eq!(code(&sealed(&module(), None), Some(&bytes), &manifest), "malformed");
    assert_eq!(code(&module(), Some(&bytes), &Manifest { task: String::new(), ..manifest.clone() }), "manifest");
    assert_eq!(code(&module(), Some(&bytes), &Manifest { guarded: false, ..manifest.clone() }), "manifest");
    assert_eq!(code(&module(), Some(&bytes), &Manifest { module_bytes: 1, ..manifest.clone() }), "manifest");
    assert_eq!(code(&module(), Some(&bytes), &Manifest { code: Digest([0; 32]), ..manifest }), "manifest");
}

#[test]
fn imports_are_named_and_refused() {
    let mut imports = vec![5u8];
    let mut import = |name: &str, ty: &[u8]| {
        imports.extend([3, b'e', b'n', b'v', name.len() as u8]);
        imports.extend(name.as_bytes());
        imports.extend(ty);
    };
    import("f", &[0, 0]);
    import("t", &[1, 0x63, 0x01, 1, 1, 2]);
    import("m", &[2, 0, 1]);
    import("g", &[3, 0x7F, 0]);
    import("x", &[4, 0, 0]);
    let mut module = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0".to_vec();
    module.extend([2, imports.len() as u8]);
    module.extend(&imports);
    assert_eq!(import_names(&module).unwrap(), ["env.f", "env.t", "env.m", "env.g", "env.x"]);
    let Damage { code, message, .. } = seal(&module, None, &manifest_of(&module, None)).unwrap_err();
    assert_eq!(
        (code, message.as_str()),
        ("imports", r#"imports "env.f", "env.t", "env.m", "env.g", "env.x"; a .cbin imports nothing"#)
    );
    assert_eq!(refusal(&module), "imports");

    let mut none = b"\0asm\x01\0\0\0".to_vec();
    none.extend([2, 1, 0]);
    assert_eq!(import_names(&none).unwrap(), [""; 0]);
    none[10] = 1;
    assert_eq!(import_names(&none).unwrap_err().code, "truncated");
}
