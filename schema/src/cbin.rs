//! The container that makes a core module a `.cbin`: which custom sections it has, how
//! one is sealed, and how one is checked before anything else looks at it.
//!
//! ```text
//! the module, as it was judged
//! component-type:cbin   constant; appended where the module lacks it
//! auto:graph            the IR graph; absent for a module of somebody's own
//! auto:manifest         the manifest
//! auto:digest           SHA-256 of every byte outside itself and component-type:cbin
//! ```
//!
//! `component-type:cbin` is outside the digest because lifting to a component strips it; it
//! must equal the constant bytes instead, so every bit of a file is checked by something.
//! Section headers must be in shortest form, so that there is one way to write a file.
//! Whether the code is valid WebAssembly is the engine's business, not this module's.

use core::fmt;
use core::ops::Range;

use crate::digest::{Digest, Hasher};
use crate::ir::Graph;
use crate::manifest::Manifest;
use crate::violation::{Quoted, Violation};

/// The custom section with the IR graph.
pub const GRAPH_SECTION: &str = "auto:graph";

/// The custom section with the manifest.
pub const MANIFEST_SECTION: &str = "auto:manifest";

/// The last custom section: 32 bytes of digest.
pub const DIGEST_SECTION: &str = "auto:digest";

/// The custom section that says of which world a module is, in the encoding of
/// `wit_component`.
pub const COMPONENT_TYPE_SECTION: &str = "component-type:cbin";

/// Its bytes for `auto:cbin/cbin@0.1.0`; made from `wit/cbin` by `cargo xtask codegen`.
/// They name no producer, so lifting adds nothing to the module and it still reads as a
/// [`Cbin`] inside the component.
pub const COMPONENT_TYPE: &[u8] = include_bytes!("generated/cbin-0.1.0.component-type");

/// Every custom section of that prefix claims to be a component type.
const COMPONENT_TYPE_PREFIX: &str = "component-type";

/// Custom sections of that prefix are ours; unknown ones are refused.
const OUR_PREFIX: &str = "auto:";

/// Why a file is not a `.cbin`, or a module cannot become one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Stable: `not-wasm`, `truncated`, `malformed`, `component`, `imports`, `unsealed`,
    /// `no-digest`, `digest-mismatch`, `component-type`, `manifest`, `graph`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// The byte at which, where there is one.
    pub offset: Option<usize>,
}

impl Damage {
    fn at(code: &'static str, offset: usize, message: impl Into<String>) -> Damage {
        Damage { code, message: message.into(), offset: Some(offset) }
    }

    fn whole(code: &'static str, message: impl Into<String>) -> Damage {
        Damage { code, message: message.into(), offset: None }
    }

    fn of_part(code: &'static str, section: &str, wrong: &[Violation]) -> Damage {
        let first: Vec<String> = wrong.iter().take(5).map(Violation::to_string).collect();
        let more = if wrong.len() > 5 { format!("; and {} more", wrong.len() - 5) } else { String::new() };
        Damage::whole(code, format!("{section}: {}{more}", first.join("; ")))
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.offset.map_or(Ok(()), |offset| write!(f, ", at byte {offset}"))
    }
}

impl core::error::Error for Damage {}

/// A section of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// 0 for a custom section.
    pub id: u8,
    /// Of a custom section.
    pub name: Option<&'a str>,
    /// The whole section in the file, with its header.
    pub range: Range<usize>,
    /// What it holds; of a custom section, what follows the name.
    pub payload: &'a [u8],
}

/// Splits a core module into its sections, accounting for every byte.
///
/// Codes: `not-wasm`, `component`, `truncated`, `malformed` (an unknown section, one out
/// of order or there twice, a length not in shortest form, a name that is not UTF-8).
pub fn sections(module: &[u8]) -> Result<Vec<Section<'_>>, Damage> {
    header(module)?;
    let mut cursor = Cursor { bytes: module, at: 8, end: module.len() };
    let mut last = 0;
    let mut sections = Vec::new();
    while cursor.at < cursor.end {
        let start = cursor.at;
        let id = cursor.byte()?;
        let size = cursor.length()?;
        let end = cursor.at.checked_add(size).filter(|&end| end <= module.len()).ok_or_else(|| {
            Damage::at(
                "truncated",
                start,
                format!("section {id} has {size} bytes, {} are left", module.len() - cursor.at),
            )
        })?;
        let name = if id == 0 {
            let mut inside = Cursor { bytes: module, at: cursor.at, end };
            let name = inside.name()?;
            cursor.at = inside.at;
            Some(name)
        } else {
            let rank = rank(id).ok_or_else(|| Damage::at("malformed", start, format!("unknown section {id}")))?;
            if rank <= last {
                return Err(Damage::at("malformed", start, format!("section {id} is out of order or there twice")));
            }
            last = rank;
            None
        };
        sections.push(Section { id, name, range: start..end, payload: &module[cursor.at..end] });
        cursor.at = end;
    }
    Ok(sections)
}

fn header(module: &[u8]) -> Result<(), Damage> {
    const MAGIC: &[u8] = b"\0asm";
    if !MAGIC.starts_with(&module[..module.len().min(4)]) {
        return Err(Damage::at("not-wasm", 0, "not WebAssembly: it must start with \\0asm"));
    }
    match module.get(4..8) {
        Some([1, 0, 0, 0]) => Ok(()),
        Some([_, 0, 1, 0]) => {
            Err(Damage::at("component", 4, "a component; a .cbin is a core module, so give the module inside"))
        }
        Some(version) => Err(Damage::at("not-wasm", 4, format!("WebAssembly of an unknown version {version:02x?}"))),
        None => Err(Damage::at("truncated", module.len(), "the file ends inside its first eight bytes")),
    }
}

/// The place of a section among the others (WebAssembly core specification 3.0, 5.5.2).
fn rank(id: u8) -> Option<u8> {
    const ORDER: [u8; 13] = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11];
    ORDER.iter().position(|&known| known == id).map(|position| position as u8 + 1)
}

/// The names of a module's imports, as `module.name`.
///
/// Codes: those of [`sections`], and `malformed` or `truncated` where the import section
/// cannot be read to its end.
pub fn import_names(module: &[u8]) -> Result<Vec<String>, Damage> {
    names_of_imports(module, &sections(module)?)
}

fn names_of_imports(module: &[u8], sections: &[Section<'_>]) -> Result<Vec<String>, Damage> {
    let Some(section) = sections.iter().find(|section| section.id == 2) else { return Ok(Vec::new()) };
    let start = section.range.end - section.payload.len();
    let mut cursor = Cursor { bytes: module, at: start, end: section.range.end };
    let mut names = Vec::new();
    for _ in 0..cursor.number()? {
        let from = cursor.name()?;
        names.push(format!("{from}.{}", cursor.name()?));
        cursor.skip_import_type()?;
    }
    if cursor.at < cursor.end {
        return Err(Damage::at("malformed", cursor.at, "bytes after the last import"));
    }
    Ok(names)
}

fn refuse_imports(module: &[u8], sections: &[Section<'_>]) -> Result<(), Damage> {
    let names = names_of_imports(module, sections)?;
    if names.is_empty() {
        return Ok(());
    }
    let first: Vec<String> = names.iter().take(5).map(|name| Quoted(name).to_string()).collect();
    let more = if names.len() > 5 { format!(" and {} more", names.len() - 5) } else { String::new() };
    let message = format!("imports {}{more}; a .cbin imports nothing", first.join(", "));
    Err(Damage { code: "imports", message, offset: None })
}

/// Where we are in a part of the file.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    fn byte(&mut self) -> Result<u8, Damage> {
        if self.at >= self.end {
            return Err(Damage::at("truncated", self.at, "a section ends too early"));
        }
        self.at += 1;
        Ok(self.bytes[self.at - 1])
    }

    /// An unsigned LEB128 of at most 64 bits in at most ten bytes.
    fn number(&mut self) -> Result<u64, Damage> {
        let start = self.at;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Damage::at("malformed", start, "a number that is too large"))
    }

    /// A length: 32 bits, in shortest form.
    fn length(&mut self) -> Result<usize, Damage> {
        let start = self.at;
        let value = self.number()?;
        let shortest = (64 - (value | 1).leading_zeros()).div_ceil(7) as usize;
        if self.at - start != shortest {
            return Err(Damage::at("malformed", start, "a length that is not in shortest form"));
        }
        u32::try_from(value)
            .map(|value| value as usize)
            .map_err(|_| Damage::at("malformed", start, "a length beyond 32 bits"))
    }

    fn name(&mut self) -> Result<&'a str, Damage> {
        let length = self.length()?;
        let start = self.at;
        let end = start.checked_add(length).filter(|&end| end <= self.end);
        let end = end.ok_or_else(|| Damage::at("truncated", start, "a name is longer than its section"))?;
        self.at = end;
        core::str::from_utf8(&self.bytes[start..end])
            .map_err(|_| Damage::at("malformed", start, "a name that is not UTF-8"))
    }

    /// What is imported: a function, table, memory, global or tag.
    fn skip_import_type(&mut self) -> Result<(), Damage> {
        let start = self.at;
        match self.byte()? {
            0 => self.number().map(drop),
            1 => {
                self.skip_value_type()?;
                self.skip_limits()
            }
            2 => self.skip_limits(),
            3 => {
                self.skip_value_type()?;
                self.byte().map(drop)
            }
            4 => {
                self.byte()?;
                self.number().map(drop)
            }
            other => Err(Damage::at("malformed", start, format!("unknown kind of import {other}"))),
        }
    }

    fn skip_value_type(&mut self) -> Result<(), Damage> {
        // Typed references are followed by a heap type, a LEB128 like any other.
        if matches!(self.byte()?, 0x63 | 0x64) { self.number().map(drop) } else { Ok(()) }
    }

    fn skip_limits(&mut self) -> Result<(), Damage> {
        let flags = self.byte()?;
        self.number()?;
        if flags & 1 != 0 {
            self.number()?;
        }
        // A memory with a page size of its own.
        if flags & 8 != 0 {
            self.number()?;
        }
        Ok(())
    }
}

/// Makes a `.cbin` of a module that has been judged: refuses what [`Cbin::read`] would
/// refuse, then appends what makes it one. The same arguments give the same bytes.
///
/// The manifest must cite this module (`code`, `module_bytes`) and agree with the graph.
/// Codes: as for [`Cbin::read`], where they apply.
pub fn seal(module: &[u8], graph: Option<&[u8]>, manifest: &Manifest) -> Result<Vec<u8>, Damage> {
    let sections = sections(module)?;
    refuse_imports(module, &sections)?;
    if let Some(section) = sections.iter().find(|section| is_ours(section)) {
        let message = format!("the module already has the section {}", Quoted(section.name.unwrap_or_default()));
        return Err(Damage::at("malformed", section.range.start, message));
    }
    let typed = component_type(&sections)?.is_some();
    let program = graph.map(read_graph).transpose()?;
    agree(manifest, program.as_ref())?;
    cites(manifest, module)?;
    let manifest = manifest.to_bytes().map_err(|wrong| Damage::of_part("manifest", MANIFEST_SECTION, &wrong))?;

    let mut file = module.to_vec();
    if !typed {
        append(&mut file, COMPONENT_TYPE_SECTION, COMPONENT_TYPE);
    }
    if let Some(graph) = graph {
        append(&mut file, GRAPH_SECTION, graph);
    }
    append(&mut file, MANIFEST_SECTION, &manifest);
    let digest = digest_of(&file, self::sections(&file)?.iter().find(|section| is_component_type(section)));
    append(&mut file, DIGEST_SECTION, digest.as_bytes());
    Ok(file)
}

fn is_ours(section: &Section<'_>) -> bool {
    section.name.is_some_and(|name| name.starts_with(OUR_PREFIX))
}

fn is_component_type(section: &Section<'_>) -> bool {
    section.name.is_some_and(|name| name.starts_with(COMPONENT_TYPE_PREFIX))
}

/// The component-type section, if there is one; it must be the one we know, and the only
/// one.
fn component_type<'s, 'a>(sections: &'s [Section<'a>]) -> Result<Option<&'s Section<'a>>, Damage> {
    let mut found = sections.iter().filter(|section| is_component_type(section));
    let Some(section) = found.next() else { return Ok(None) };
    let fault = |section: &Section<'_>, message: &str| Err(Damage::at("component-type", section.range.start, message));
    if let Some(second) = found.next() {
        return fault(second, "a second component type");
    }
    if section.name != Some(COMPONENT_TYPE_SECTION) || section.payload != COMPONENT_TYPE {
        return fault(section, "the component type is not that of auto:cbin/cbin@0.1.0");
    }
    Ok(Some(section))
}

fn read_graph(bytes: &[u8]) -> Result<Graph, Damage> {
    Graph::from_bytes(bytes).map_err(|wrong| Damage::of_part("graph", GRAPH_SECTION, &wrong))
}

/// Whether manifest and program say the same about what both speak of.
fn agree(manifest: &Manifest, graph: Option<&Graph>) -> Result<(), Damage> {
    let Some(graph) = graph else { return Ok(()) };
    if manifest.guarded != graph.is_guarded() {
        let says = if manifest.guarded { "there is a guard" } else { "there is no guard" };
        return Err(Damage::whole("manifest", format!("it says {says}, the program says otherwise")));
    }
    for capability in graph.capabilities() {
        let text = capability.to_string();
        if !manifest.capabilities.contains(&text) {
            let message = format!("the program may ask for {}, which it does not list", Quoted(&text));
            return Err(Damage::whole("manifest", message));
        }
    }
    Ok(())
}

/// Whether the manifest is of this module.
/// Bytes before the first section.
const HEADER: usize = 8;

/// Where the module ends that a manifest is of, by its own word.
fn said(manifest: &Manifest) -> usize {
    usize::try_from(manifest.module_bytes).unwrap_or(usize::MAX)
}

fn cites(manifest: &Manifest, module: &[u8]) -> Result<(), Damage> {
    let code = Digest::of(module);
    if manifest.code != code {
        return Err(Damage::whole("manifest", format!("it is of the code {}, this is {code}", manifest.code)));
    }
    if manifest.module_bytes as usize != module.len() {
        let message = format!("it says the module has {} bytes, it has {}", manifest.module_bytes, module.len());
        return Err(Damage::whole("manifest", message));
    }
    Ok(())
}

/// Appends a custom section.
fn append(file: &mut Vec<u8>, name: &str, payload: &[u8]) {
    let mut prefix = Vec::with_capacity(name.len() + 5);
    write_length(&mut prefix, name.len());
    prefix.extend_from_slice(name.as_bytes());
    file.push(0);
    write_length(file, prefix.len() + payload.len());
    file.extend_from_slice(&prefix);
    file.extend_from_slice(payload);
}

fn write_length(out: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

/// The digest of everything but the component-type section.
fn digest_of(bytes: &[u8], component_type: Option<&Section<'_>>) -> Digest {
    let left_out = component_type.map_or(bytes.len()..bytes.len(), |section| section.range.clone());
    let mut hasher = Hasher::new();
    hasher.update(&bytes[..left_out.start]);
    hasher.update(&bytes[left_out.end..]);
    hasher.finish()
}

/// Whether the last bytes of a file are those of a digest section.
fn ends_sealed(file: &[u8]) -> bool {
    let name = file.len().checked_sub(32).map(|end| &file[..end]);
    name.is_some_and(|name| name.ends_with(DIGEST_SECTION.as_bytes()))
}

/// What a core module is that does not end with a digest.
fn without_digest(file: &[u8], sections: &[Section<'_>]) -> Damage {
    if sections.iter().any(is_ours) {
        return Damage::whole("no-digest", format!("a damaged artifact: its last section is not {DIGEST_SECTION}"));
    }
    match refuse_imports(file, sections) {
        Err(damage) => damage,
        Ok(()) => Damage::whole("unsealed", "a core module that is not sealed: it has neither manifest nor digest"),
    }
}

/// A `.cbin` whose every byte has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cbin {
    /// SHA-256 of the file.
    pub id: Digest,
    /// What it says about itself.
    pub manifest: Manifest,
    /// The program; `None` for a module of somebody's own.
    pub graph: Option<Graph>,
    /// The program's id: SHA-256 of the graph's bytes.
    pub program: Option<Digest>,
    /// What the file is made of, in order.
    pub parts: Vec<Part>,
}

/// A section, by name and place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name of a custom section, or the specification's for the others.
    pub name: String,
    /// With its header, in the file.
    pub range: Range<usize>,
}

impl Cbin {
    /// Reads a file and checks all of it but the validity of the code.
    ///
    /// In this order, with these codes: it is a core module (`not-wasm`, `component`) of
    /// well-formed sections (`truncated`, `malformed`); its last section is a digest
    /// (`no-digest`; where nothing in it is ours, `imports` or `unsealed`) and right
    /// (`digest-mismatch`); a component type, where there is one, is ours
    /// (`component-type`); it imports nothing (`imports`); before the digest come the
    /// manifest (`manifest`) and, perhaps, before that a program (`graph`); there is no
    /// other section of ours (`malformed`); manifest, program and module agree (`manifest`).
    ///
    /// A file that ends as only a sealed one does is a damaged artifact, whatever its first
    /// bytes say (`malformed`).
    pub fn read(file: &[u8]) -> Result<Cbin, Damage> {
        let sections = sections(file).map_err(|damage| match damage.code {
            "not-wasm" | "component" if ends_sealed(file) => Damage {
                code: "malformed",
                message: format!("a damaged artifact: it ends with {DIGEST_SECTION}, but begins as {}", damage.message),
                ..damage
            },
            _ => damage,
        })?;
        let sealed =
            sections.split_last().filter(|(last, _)| last.name == Some(DIGEST_SECTION) && last.payload.len() == 32);
        let Some((digest, rest)) = sealed else { return Err(without_digest(file, &sections)) };
        let component_type = component_type(rest);
        let excluded = component_type.as_ref().ok().copied().flatten();
        if digest_of(&file[..digest.range.start], excluded).as_bytes() != digest.payload {
            // Where the component type is what was damaged, say so: it is not in the digest.
            component_type?;
            return Err(Damage::whole("digest-mismatch", "the file is damaged: its digest does not match"));
        }
        component_type?;
        refuse_imports(file, &sections)?;

        let Some((manifest, rest)) = rest.split_last().filter(|(last, _)| last.name == Some(MANIFEST_SECTION)) else {
            return Err(Damage::whole("manifest", format!("no {MANIFEST_SECTION} before the {DIGEST_SECTION}")));
        };
        let (graph, rest) = match rest.split_last() {
            Some((last, rest)) if last.name == Some(GRAPH_SECTION) => (Some(last.payload), rest),
            _ => (None, rest),
        };
        if let Some(section) = rest.iter().find(|section| is_ours(section)) {
            let message = format!("unexpected section {}", Quoted(section.name.unwrap_or_default()));
            return Err(Damage::at("malformed", section.range.start, message));
        }
        let manifest = Manifest::from_bytes(manifest.payload)
            .map_err(|wrong| Damage::of_part("manifest", MANIFEST_SECTION, &wrong))?;
        let program = graph.map(Digest::of);
        let graph = graph.map(read_graph).transpose()?;
        agree(&manifest, graph.as_ref())?;
        // What was judged ends with its last section, before a component type that sealing added.
        let judged =
            rest.iter().rev().find(|section| !is_component_type(section) || section.range.end == said(&manifest));
        cites(&manifest, &file[..judged.map_or(HEADER, |last| last.range.end)])?;
        Ok(Cbin { id: Digest::of(file), manifest, graph, program, parts: sections.iter().map(Part::of).collect() })
    }
}

impl Part {
    fn of(section: &Section<'_>) -> Part {
        const NAMES: [&str; 14] = [
            "custom",
            "type",
            "import",
            "function",
            "table",
            "memory",
            "global",
            "export",
            "start",
            "element",
            "code",
            "data",
            "data count",
            "tag",
        ];
        let standard = || NAMES.get(usize::from(section.id)).copied().unwrap_or("unknown");
        Part { name: section.name.unwrap_or_else(standard).to_owned(), range: section.range.clone() }
    }
}
