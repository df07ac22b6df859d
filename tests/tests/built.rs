//! The built components, as files: what they may import, which world they are, and that
//! no folder of the machine that built them is inside.

use auto_tests::{Built, built, root};
use wit_component::{DecodedWasm, decode};
use wit_parser::{Resolve, Type, TypeDefKind, TypeId, UnresolvedPackageGroup, World, WorldId, WorldItem};

/// What a component imports: the interface's name, and whether it has any function.
fn imports(component: &Built) -> Vec<(String, bool)> {
    let (resolve, world) = decoded(&component.bytes);
    let import = |(key, item): (&wit_parser::WorldKey, &WorldItem)| {
        let calls = match item {
            WorldItem::Interface { id, .. } => !resolve.interfaces[*id].functions.is_empty(),
            WorldItem::Function(_) => true,
            WorldItem::Type { .. } => false,
        };
        (resolve.name_world_key(key), calls)
    };
    world_of(&resolve, world).imports.iter().map(import).collect()
}

fn exports(component: &Built) -> Vec<String> {
    let (resolve, world) = decoded(&component.bytes);
    world_of(&resolve, world).exports.keys().map(|key| resolve.name_world_key(key)).collect()
}

fn world_of(resolve: &Resolve, world: WorldId) -> &World {
    &resolve.worlds[world]
}

fn decoded(bytes: &[u8]) -> (Resolve, WorldId) {
    match decode(bytes).unwrap() {
        DecodedWasm::Component(resolve, world) => (resolve, world),
        DecodedWasm::WitPackage(..) => panic!("a WIT package, not a component"),
    }
}

fn is_driver(component: &Built) -> bool {
    exports(component).iter().any(|export| export.starts_with("auto:driver/job@"))
}

#[test]
fn every_component_crate_is_built() {
    let names: Vec<String> = built().unwrap().into_iter().map(|one| one.made_from.name).collect();
    for expected in [
        "extract",
        "distill",
        "check",
        "optimize",
        "guard",
        "gate",
        "emit",
        "import-anthropic",
        "import-auto",
        "import-claude-code",
        "import-langfuse",
        "import-langsmith",
        "import-openai",
        "import-otlp",
        "import-tau-bench",
        "compile",
    ] {
        assert!(names.contains(&format!("auto-{expected}")), "auto-{expected} is not among {names:?}");
    }
}

#[test]
fn a_pass_imports_types_and_the_log_alone() {
    for component in built().unwrap().iter().filter(|component| !is_driver(component)) {
        let name = &component.made_from.name;
        for (import, calls) in imports(component) {
            let types_alone = import.starts_with("auto:pass/") && !calls;
            // The one pass that may ask somebody, while a driver calls it.
            let asks = name == "auto-propose" && import.starts_with("auto:host/teacher@");
            assert!(types_alone || asks || import.starts_with("auto:host/log@"), "{name} imports {import}");
        }
    }
}

#[test]
fn a_driver_imports_passes_and_lent_services_alone() {
    let drivers: Vec<Built> = built().unwrap().into_iter().filter(is_driver).collect();
    assert!(!drivers.is_empty());
    for component in &drivers {
        for (import, _) in imports(component) {
            let allowed = import.starts_with("auto:pass/") || import.starts_with("auto:host/");
            assert!(allowed, "{} imports {import}", component.made_from.name);
        }
        assert_eq!(exports(component).len(), 1, "{} exports more than its job", component.made_from.name);
    }
}

#[test]
fn every_component_is_of_the_world_it_declares() {
    let resolve = live_wit();
    for component in built().unwrap() {
        let declared = component.made_from.world.as_deref().unwrap_or_default();
        let name = declared.rsplit('/').next().unwrap_or_default();
        let mut worlds = resolve.worlds.iter().filter(|(_, world)| world.name == name);
        let (world, _) = worlds.next().unwrap_or_else(|| panic!("wit has no world {declared}"));
        if let Err(error) = wit_component::targets(&resolve, world, &component.bytes) {
            panic!("{} is not of world {declared}: {error:#}", component.made_from.name);
        }
    }
}

#[test]
fn no_folder_of_this_machine_is_inside() {
    let home = std::env::home_dir().unwrap_or_default();
    let folders = [root().to_owned(), home.join(".cargo"), home.join(".rustup")];
    for component in built().unwrap() {
        for folder in &folders {
            let folder = folder.to_string_lossy();
            let inside = component.bytes.windows(folder.len()).any(|window| window == folder.as_bytes());
            assert!(!inside, "{} holds the path {folder}", component.made_from.name);
        }
    }
}

/// Interfaces, worlds, functions and the types an interface defines itself. The lines that
/// bring in (`use`, `import`, `export`) are as old as what they are in.
#[test]
fn every_wit_item_says_since_when() {
    let resolve = live_wit();
    assert!(resolve.interfaces.len() >= 15, "wit/ was not read");
    let mut missing = Vec::new();
    for (id, interface) in resolve.interfaces.iter() {
        let name = resolve.id_of(id).unwrap_or_default();
        if interface.stability.is_unknown() {
            missing.push(name.clone());
        }
        let functions = interface.functions.values().filter(|function| function.stability.is_unknown());
        missing.extend(functions.map(|function| format!("{name}#{}", function.name)));
        for (ty, id) in &interface.types {
            if resolve.types[*id].stability.is_unknown() && !is_use(&resolve, *id) {
                missing.push(format!("{name}.{ty}"));
            }
        }
    }
    let worlds = resolve.worlds.iter().filter(|(_, world)| world.stability.is_unknown());
    missing.extend(worlds.map(|(_, world)| format!("world {}", world.name)));
    assert_eq!(missing, [""; 0], "without @since");
}

/// Whether a type is another interface's, brought in by `use`.
fn is_use(resolve: &Resolve, id: TypeId) -> bool {
    let ty = &resolve.types[id];
    matches!(ty.kind, TypeDefKind::Type(Type::Id(other)) if resolve.types[other].owner != ty.owner)
}

fn live_wit() -> Resolve {
    let mut groups = ["cbin", "pass", "host", "driver"]
        .into_iter()
        .map(|package| UnresolvedPackageGroup::parse_dir(root().join("wit").join(package)).unwrap());
    let mut resolve = Resolve::default();
    let first = groups.next().unwrap();
    resolve.push_groups(first, groups.collect()).map_err(|error| error.kind().to_string()).unwrap();
    resolve
}
