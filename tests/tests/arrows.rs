//! The arrows of the design: who may depend on whom. Components and host meet as bytes.

use std::path::Path;

use auto_tests::{Crate, crates};

/// The passes that know the expression language, and the driver whose candidates are programs of it.
const USE_LANG: [&str; 7] =
    ["auto-extract", "auto-check", "auto-propose", "auto-optimize", "auto-guard", "auto-emit", "auto-evolve"];

fn needs(of: &Path, from: &Path) -> Vec<String> {
    let all = crates().unwrap();
    let target = |name: &String| all.iter().any(|one| one.name == *name && one.folder.starts_with(from));
    all.iter()
        .filter(|one| one.folder.starts_with(of))
        .flat_map(|one| {
            one.needs.iter().filter(|need| target(need)).map(move |need| format!("{} needs {need}", one.name))
        })
        .collect()
}

#[test]
fn the_host_knows_no_component() {
    assert_eq!(needs(Path::new("host"), Path::new("components")), [""; 0]);
}

#[test]
fn components_know_no_host() {
    assert_eq!(needs(Path::new("components"), Path::new("host")), [""; 0]);
}

#[test]
fn the_schema_stands_on_nothing() {
    assert_eq!(needs(Path::new("schema"), Path::new("components")), [""; 0]);
    assert_eq!(needs(Path::new("schema"), Path::new("host")), [""; 0]);
}

/// `cli -> serve -> {engine, runtime, store, model} -> schema`, and never back.
#[test]
fn nothing_in_the_host_needs_the_command_line() {
    for one in crates().unwrap() {
        let free = one.folder == Path::new("host/cli") || !one.folder.starts_with("host");
        assert!(free || !one.needs.contains(&"auto-host".to_owned()), "{} needs auto-host", one.name);
    }
    assert_eq!(needs(Path::new("host/runtime"), Path::new("host")), ["auto-runtime needs auto-files"]);
    assert_eq!(needs(Path::new("host/model"), Path::new("host")), ["auto-model needs auto-files"]);
    assert_eq!(needs(Path::new("host/store"), Path::new("host")), ["auto-store needs auto-files"]);
    assert_eq!(needs(Path::new("host/jobs"), Path::new("host")), ["auto-jobs needs auto-files"]);
    let below =
        ["auto-engine", "auto-files", "auto-importing", "auto-model", "auto-registry", "auto-runtime", "auto-store"];
    let serve = needs(Path::new("host/serve"), Path::new("host"));
    assert!(serve.iter().all(|arrow| below.iter().any(|one| arrow.ends_with(one))), "{serve:?}");
    assert_eq!(
        needs(Path::new("host/importing"), Path::new("host")),
        ["auto-importing needs auto-engine", "auto-importing needs auto-store"]
    );
    assert_eq!(needs(Path::new("host/registry"), Path::new("host")), ["auto-registry needs auto-files"]);
    assert_eq!(
        needs(Path::new("host/config"), Path::new("host")),
        ["auto-config needs auto-files", "auto-config needs auto-registry"]
    );
    assert_eq!(needs(Path::new("host/files"), Path::new("")), [""; 0], "files are written below everything else");
}

#[test]
fn only_passes_about_programs_know_the_language() {
    let components: Vec<Crate> = crates().unwrap().into_iter().filter(|one| one.world.is_some()).collect();
    assert!(!components.is_empty());
    for one in components {
        let knows = one.needs.contains(&"auto-lang".to_owned());
        assert!(!knows || USE_LANG.contains(&one.name.as_str()), "{} needs auto-lang", one.name);
    }
}
