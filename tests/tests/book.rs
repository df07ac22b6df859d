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

/// Each `auto-host VERB … --flag …` shown as a command, and the flags in it.
fn commands(text: &str) -> Vec<(String, Vec<String>)> {
    let shown = text.lines().filter_map(|line| line.trim().strip_prefix("$ auto-host "));
    shown
        .filter_map(|line| {
            // What follows ` -- ` is the agent's, and what is quoted is an input.
            let line = line.split(" -- ").next()?.split('\'').next()?;
            let verb = line.split_whitespace().next()?.to_owned();
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
            let help = Command::new(&host).args([&verb, "--help"]).output().unwrap();
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
