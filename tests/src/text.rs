//! Small components for tests, made the way real ones are: WIT text and a core module in
//! text form go in, a component comes out.

use anyhow::{Context, Result};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::root;

/// A memory of 1 MiB, and a bump allocator that grows it and traps where it cannot.
pub const PRELUDE: &str = r#"
    (memory (export "memory") 16)
    (global $next (mut i32) (i32.const 0x80000))
    (func $alloc (param $align i32) (param $size i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $next) (i32.sub (local.get $align) (i32.const 1)))
                                (i32.sub (i32.const 0) (local.get $align))))
        (global.set $next (i32.add (local.get $at) (local.get $size)))
        (block $fits
            (br_if $fits (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
            (br_if $fits (i32.ne (i32.const -1)
                (memory.grow (i32.add (i32.const 1) (i32.div_u (local.get $size) (i32.const 65536))))))
            unreachable)
        (local.get $at))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
        (call $alloc (local.get 2) (local.get 3)))
"#;

/// A component of a world. `wit` is one or more packages (nested ones in braces), which may
/// use our own; `world` is `package/world` or a world of the last; `core` is the body of a
/// module that [`PRELUDE`] is put into, after what stands before `;; imports end`.
pub fn component(wit: &str, world: &str, core: &str) -> Result<Vec<u8>> {
    let imports_first = core.find(";; imports end").unwrap_or(0);
    let (imports, rest) = core.split_at(imports_first);
    encode(wit, world, &format!("(module {imports} {PRELUDE} {rest})"))
}

/// The same of a whole module, which has to bring memory and allocator where its world
/// needs them.
pub fn encode(wit: &str, world: &str, module: &str) -> Result<Vec<u8>> {
    let mut module = wat::parse_str(module).context("the module's text")?;
    let mut resolve = Resolve::default();
    for package in ["pass", "cbin", "host", "driver"] {
        resolve.push_dir(root().join("wit").join(package))?;
    }
    let package = resolve.push_str("test.wit", wit)?;
    let world = resolve.select_world(&[package], Some(world))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default().validate(true).module(&module)?.encode()
}
