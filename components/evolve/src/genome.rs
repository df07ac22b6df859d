//! What evolves: parameters and files, known by the digest of both.

use std::collections::BTreeMap;

use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use auto_search::patch;

/// The file of an individual that is a program of the language.
pub const PROGRAM: &str = "program.lang";
/// What the parameters are called where they are shown as a file.
pub const PARAMS: &str = "params.json";

/// An individual without what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Genome {
    /// Of the space.
    pub params: Record,
    /// Texts by their places.
    pub files: BTreeMap<String, String>,
}

impl Genome {
    /// One that is a program.
    pub fn program(text: impl Into<String>) -> Genome {
        Genome { params: Record::new(), files: BTreeMap::from([(PROGRAM.to_owned(), text.into())]) }
    }

    /// What it is known by.
    pub fn digest(&self) -> String {
        let files: Record = self.files.iter().map(|(path, text)| (path.clone(), text.as_str().into())).collect();
        let whole = Record::new().with("params", self.params.clone()).with("files", files);
        Digest::of(Value::from(whole).canonical().as_str().as_bytes()).to_string()
    }

    /// Bytes of all of it.
    pub fn bytes(&self) -> usize {
        let params = if self.params.is_empty() { 0 } else { self.shown_params().len() };
        params + self.files.values().map(String::len).sum::<usize>()
    }

    /// The parameters, one a line; steps of a pipeline, too.
    pub fn shown_params(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.params.iter() {
            match value.as_list() {
                Some(steps) if !steps.is_empty() => {
                    text.push_str(&format!("{name}:\n"));
                    steps.iter().for_each(|step| text.push_str(&format!("  {step}\n")));
                }
                _ => text.push_str(&format!("{name}: {value}\n")),
            }
        }
        text
    }

    /// Its texts by name, parameters among them where there are any.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let mut texts = self.files.clone();
        if !self.params.is_empty() {
            texts.insert(PARAMS.to_owned(), self.shown_params());
        }
        texts
    }

    /// What makes it of another one, file by file.
    pub fn patch_of(&self, before: &Genome) -> String {
        let (old, new) = (before.texts(), self.texts());
        let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let empty = String::new();
        let mut whole = String::new();
        for name in names {
            let [a, b] = [&old, &new].map(|side| side.get(name).unwrap_or(&empty));
            if a != b {
                let diff = patch::between(a, b);
                let body = diff.split_once("\n@@").map_or(diff.as_str(), |(_, body)| body);
                whole.push_str(&format!("--- {name}\n+++ {name}\n@@{body}"));
            }
        }
        whole
    }

    /// What two that differ by nothing but space and order of keys have in common.
    pub fn normal(&self) -> String {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let files = self.files.iter().map(|(path, text)| format!("{path}\n{}\n", words(text)));
        format!("{}\n{}", Value::from(self.params.clone()), files.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_genome_is_known_by_all_that_it_is_and_by_nothing_else() {
        let one = Genome::program("add($.a, 1)");
        assert_eq!(one.digest(), Genome::program("add($.a, 1)").digest());
        assert_ne!(one.digest(), Genome::program("add($.a, 2)").digest());
        let with = Genome { params: Record::new().with("n", 1_u32), ..one.clone() };
        assert_ne!(one.digest(), with.digest());
        assert_eq!(Genome::program("add($.a,  1)\n").normal(), one.normal());
    }

    #[test]
    fn a_patch_names_what_changed_and_nothing_else() {
        let steps = |list: &str| Record::new().with("p", Value::parse(list).unwrap()).with("n", 1_u32);
        let one = Genome { params: steps(r#"[{"step":"a"},{"step":"b"}]"#), ..Genome::program("1") };
        let two = Genome { params: steps(r#"[{"step":"a"},{"step":"c"}]"#), ..Genome::program("1") };
        let patch = two.patch_of(&one);
        assert!(patch.starts_with("--- params.json\n+++ params.json\n@@ "), "{patch}");
        assert!(patch.contains("-  {\"step\":\"b\"}\n+  {\"step\":\"c\"}\n") && !patch.contains("program"), "{patch}");
        assert_eq!(one.patch_of(&one), "");
    }
}
