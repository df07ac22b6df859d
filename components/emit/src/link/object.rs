//! Takes a module apart that was linked with `--emit-relocs`: functions with the places
//! where they name others, data segments likewise, and the symbols those places mean.
//!
//! The format: WebAssembly tool conventions, `Linking.md`.

use std::collections::BTreeMap;
use std::ops::Range;

use wasmparser::{
    CompositeInnerType, DataKind, DefinedDataSymbol, ExternalKind, FuncType, KnownCustom, Linking, Operator, Parser,
    Payload, RelocationEntry, RelocationType, SymbolInfo,
};

use super::LinkError;

/// A relocatable module.
pub(crate) struct Object<'a> {
    pub(crate) types: Vec<FuncType>,
    pub(crate) functions: Vec<Function<'a>>,
    pub(crate) segments: Vec<Segment<'a>>,
    /// Initial values; all are `i32`, and the first is the stack pointer.
    pub(crate) globals: Vec<i32>,
    pub(crate) symbols: Vec<Symbol<'a>>,
    /// Exported functions by name.
    pub(crate) exports: BTreeMap<&'a str, u32>,
}

/// A function and what it names.
pub(crate) struct Function<'a> {
    pub(crate) ty: u32,
    /// From the local declarations to the last `end`.
    pub(crate) body: &'a [u8],
    pub(crate) relocations: Vec<Relocation>,
}

/// A data segment and what it names.
pub(crate) struct Segment<'a> {
    pub(crate) bytes: &'a [u8],
    /// A power of two.
    pub(crate) align: u32,
    pub(crate) relocations: Vec<Relocation>,
}

/// A place that holds an index or an address.
pub(crate) struct Relocation {
    pub(crate) ty: RelocationType,
    /// Bytes into the body or the segment.
    pub(crate) range: Range<usize>,
    pub(crate) symbol: u32,
    pub(crate) addend: i32,
}

/// What a relocation means.
pub(crate) enum Symbol<'a> {
    Function(u32),
    Global(u32),
    /// A place in a segment.
    Data {
        segment: u32,
        offset: u32,
    },
    /// An address that the linker chooses.
    Absolute(&'a str),
    Other,
}

impl<'a> Object<'a> {
    /// Reads a module. It must have no imports, tables or start function.
    pub(crate) fn parse(module: &'a [u8]) -> Result<Object<'a>, LinkError> {
        let mut object = Object {
            types: Vec::new(),
            functions: Vec::new(),
            segments: Vec::new(),
            globals: Vec::new(),
            symbols: Vec::new(),
            exports: BTreeMap::new(),
        };
        let mut places = Places::default();
        let mut section = 0;
        for payload in Parser::new(0).parse_all(module) {
            let payload = payload?;
            if let Payload::CodeSectionStart { range, .. } = &payload {
                places.code = (section, range.start);
            }
            if let Payload::DataSection(data) = &payload {
                places.data = (section, data.range().start);
            }
            section += u32::from(payload.as_section().is_some());
            object.payload(payload, &mut places)?;
        }
        Ok(object)
    }

    fn payload(&mut self, payload: Payload<'a>, places: &mut Places) -> Result<(), LinkError> {
        match payload {
            Payload::TypeSection(types) => {
                for group in types {
                    for ty in group?.into_types() {
                        let CompositeInnerType::Func(ty) = ty.composite_type.inner else {
                            return Err(LinkError::new("a type that is not a function's"));
                        };
                        self.types.push(ty);
                    }
                }
            }
            Payload::FunctionSection(functions) => {
                for ty in functions {
                    self.functions.push(Function { ty: ty?, body: &[], relocations: Vec::new() });
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    self.globals.push(constant(&global?.init_expr)?);
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    if export.kind == ExternalKind::Func {
                        self.exports.insert(export.name, export.index);
                    }
                }
            }
            Payload::CodeSectionEntry(body) => {
                let index = places.bodies.len();
                let function = self.functions.get_mut(index).ok_or(LinkError::new("more bodies than functions"))?;
                function.body = body.as_bytes();
                places.bodies.push(body.range());
            }
            Payload::DataSection(segments) => {
                for segment in segments {
                    let segment = segment?;
                    let DataKind::Active { memory_index: 0, .. } = segment.kind else {
                        return Err(LinkError::new("a data segment that is not placed"));
                    };
                    // The bytes end where the segment ends.
                    places.segments.push(segment.range.end - segment.data.len()..segment.range.end);
                    self.segments.push(Segment { bytes: segment.data, align: 1, relocations: Vec::new() });
                }
            }
            Payload::CustomSection(custom) => match custom.as_known() {
                KnownCustom::Linking(linking) => self.linking(linking)?,
                KnownCustom::Reloc(relocations) => {
                    let section = relocations.section_index();
                    for entry in relocations.entries() {
                        self.relocation(section, entry?, places)?;
                    }
                }
                _ => {}
            },
            Payload::ImportSection(_) | Payload::TableSection(_) | Payload::ElementSection(_) => {
                return Err(LinkError::new("imports or tables"));
            }
            Payload::StartSection { .. } => return Err(LinkError::new("a start function")),
            _ => {}
        }
        Ok(())
    }

    fn linking(&mut self, linking: wasmparser::LinkingSectionReader<'a>) -> Result<(), LinkError> {
        for part in linking.subsections() {
            match part? {
                Linking::SegmentInfo(infos) => {
                    for (segment, info) in self.segments.iter_mut().zip(infos) {
                        segment.align = 1u32.checked_shl(info?.alignment).ok_or(LinkError::new("an alignment"))?;
                    }
                }
                Linking::SymbolTable(symbols) => {
                    for symbol in symbols {
                        self.symbols.push(Symbol::of(symbol?));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn relocation(&mut self, section: u32, entry: RelocationEntry, places: &Places) -> Result<(), LinkError> {
        let within = |start: usize, ranges: &[Range<usize>]| {
            let range = entry.relocation_range().ok()?;
            let (from, to) = (start.checked_add(range.start)?, start.checked_add(range.end)?);
            let index = ranges.partition_point(|owner| owner.end < to);
            let owner = ranges.get(index).filter(|owner| owner.start <= from)?;
            Some((index, from - owner.start..to - owner.start))
        };
        let lost = LinkError::new("a relocation outside what it relocates");
        let relocation = |range| Relocation { ty: entry.ty, range, symbol: entry.index, addend: entry.addend as i32 };
        if section == places.code.0 {
            let (index, range) = within(places.code.1, &places.bodies).ok_or(lost)?;
            self.functions[index].relocations.push(relocation(range));
        } else if section == places.data.0 {
            let (index, range) = within(places.data.1, &places.segments).ok_or(lost)?;
            self.segments[index].relocations.push(relocation(range));
        }
        Ok(())
    }
}

/// Where sections and their parts lie in the file.
#[derive(Default)]
struct Places {
    /// Section index, and where its contents start.
    code: (u32, usize),
    data: (u32, usize),
    bodies: Vec<Range<usize>>,
    segments: Vec<Range<usize>>,
}

impl<'a> Symbol<'a> {
    fn of(symbol: SymbolInfo<'a>) -> Symbol<'a> {
        use wasmparser::SymbolFlags;
        match symbol {
            SymbolInfo::Func { index, .. } => Symbol::Function(index),
            SymbolInfo::Global { index, .. } => Symbol::Global(index),
            SymbolInfo::Data { flags, name, .. } if flags.contains(SymbolFlags::ABSOLUTE) => Symbol::Absolute(name),
            SymbolInfo::Data { symbol: Some(DefinedDataSymbol { index, offset, .. }), .. } => {
                Symbol::Data { segment: index, offset }
            }
            _ => Symbol::Other,
        }
    }
}

fn constant(expression: &wasmparser::ConstExpr<'_>) -> Result<i32, LinkError> {
    match expression.get_operators_reader().read()? {
        Operator::I32Const { value } => Ok(value),
        _ => Err(LinkError::new("a global that is not an i32 constant")),
    }
}
