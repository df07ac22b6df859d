//! The book and the README: links lead somewhere, every page is in the summary, and every
//! flag they show exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use auto_tests::root;

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.push(root().join("README.md"));
    pages
}

fn read(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The targets of `[text](target)`, without those on the web and without fragments.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let local = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    local.map(|target| target.split('#').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        for link in links(&read(&page)) {
            let target = page.parent().unwrap().join(&link);
            assert!(target.exists(), "{} links to {link}, which is not there", page.display());
        }
    }
}

#[test]
fn the_summary_has_every_page() {
    let summary: BTreeSet<String> = links(&read(&root().join("docs/SUMMARY.md"))).into_iter().collect();
    for page in pages() {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        let listed = summary.contains(&name) || name == "SUMMARY.md" || name == "README.md";
        assert!(listed, "docs/SUMMARY.md does not list {name}");
    }
}

/// Each `auto-host VERB … --flag …` shown as a command: its verb, what may be a verb of that, and the
/// flags in it.
fn commands(text: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let shown = text.lines().filter_map(|line| line.trim().strip_prefix("$ auto-host "));
    shown
        .filter_map(|line| {
            // What follows ` -- ` is the agent's, and what is quoted is an input.
            let line = line.split(" -- ").next()?.split('\'').next()?;
            let words = line.split_whitespace().map(str::to_owned);
            let verb: Vec<String> = words.take_while(|word| !word.starts_with('-')).take(2).collect();
            verb.first()?;
            let flags = line.split_whitespace().filter(|word| word.starts_with("--")).map(str::to_owned);
            Some((verb, flags.collect()))
        })
        .collect()
}

#[test]
fn every_verb_and_flag_exists() {
    let host = root().join("target/release/auto-host");
    assert!(host.exists(), "{} is not there; run: cargo xtask build", host.display());
    let mut seen = 0;
    for page in pages() {
        for (verb, flags) in commands(&read(&page)) {
            let help = Command::new(&host).args(&verb).arg("--help").output().unwrap();
            let verb = verb.join(" ");
            assert!(help.status.success(), "{}: auto-host has no verb {verb}", page.display());
            let help = String::from_utf8_lossy(&help.stdout).into_owned();
            for flag in flags {
                let known = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|word| word == flag);
                assert!(known, "{}: auto-host {verb} has no {flag}", page.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 0, "no command was found; has the way they are written changed?");
}

/// What stands between backticks, without what goes over the end of a line.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Every Rust file of the workspace.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Whether a name in the security model is a test: `file::test`, or `passes/NAME` for a
/// component of `tests/passes`.
fn is_test(name: &str, sources: &[PathBuf]) -> bool {
    if let Some(component) = name.strip_prefix("passes/") {
        return root().join("tests/passes").join(component).with_extension("wat").exists();
    }
    let Some((file, test)) = name.split_once("::") else { return false };
    let files = sources.iter().filter(|path| {
        let folder = path.parent().and_then(Path::file_name);
        path.file_stem() == Some(file.as_ref()) || path.ends_with("main.rs") && folder == Some(file.as_ref())
    });
    files.into_iter().any(|path| {
        let text = read(path);
        text.contains(&format!("fn {test}(")) || text.contains(&format!("\"{test}\""))
    })
}

#[test]
fn every_test_that_the_tables_of_threats_name_exists() {
    let mut files = Vec::new();
    sources(root(), &mut files);
    let page = read(&root().join("docs/security-model.md")) + &read(&root().join("docs/registry.md"));
    let is_name = |name: &&str| name.contains("::") || name.starts_with("passes/") && !name.ends_with("NAME");
    let names: Vec<&str> = quoted(&page).filter(is_name).filter(|name| *name != "file::test").collect();
    assert!(names.len() > 80, "only {} tests are named", names.len());
    let missing: Vec<&str> = names.into_iter().filter(|name| !is_test(name, &files)).collect();
    assert_eq!(missing, [""; 0]);
}

/// Each hostile component stands in the table of threats, with the code it ends with.
#[test]
fn every_hostile_component_is_in_the_table_of_threats() {
    let page = read(&root().join("docs/security-model.md"));
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
    for entry in std::fs::read_dir(root().join("tests/passes")).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "wat") {
            continue;
        }
        let name = format!("`passes/{}`", path.file_stem().unwrap().to_string_lossy());
        let row = rows.iter().find(|row| row.contains(&name)).unwrap_or_else(|| panic!("{name} is in no row"));
        let text = read(&path);
        let code = text.lines().find_map(|line| line.strip_prefix(";; fails: "));
        assert!(code.is_none_or(|code| row.contains(&format!("`{code}`"))), "{name}: {code:?} is not in: {row}");
    }
}
