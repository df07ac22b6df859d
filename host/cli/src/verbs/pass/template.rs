//! The projects that `pass new` makes: the same guard in each language, as files that come with
//! this binary.

use super::new::Language;

/// A file of a template: its place, and what is in it.
type Source = (&'static str, &'static [u8]);

macro_rules! files {
    ($($place:literal from $file:literal),+ $(,)?) => {
        &[$(($place, include_bytes!(concat!("../../../templates/", $file)))),+]
    };
}

const RUST: &[Source] = files! {
    "Cargo.toml" from "rust/manifest.toml",
    "src/lib.rs" from "rust/lib.rs",
    "README.md" from "rust/README.md",
    ".gitignore" from "rust/gitignore",
};

const JS: &[Source] = files! {
    "package.json" from "js/package.json",
    "pass.js" from "js/pass.js",
    "few.js" from "js/few.js",
    "few.test.js" from "js/few.test.js",
    "README.md" from "js/README.md",
    ".gitignore" from "js/gitignore",
};

const PYTHON: &[Source] = files! {
    "guard_pass.py" from "python/guard_pass.py",
    "few.py" from "python/few.py",
    "test_few.py" from "python/test_few.py",
    "requirements.txt" from "python/requirements.txt",
    "README.md" from "python/README.md",
    ".gitignore" from "python/gitignore",
};

const C: &[Source] = files! {
    "pass.c" from "c/pass.c",
    "few.c" from "c/few.c",
    "few.h" from "c/few.h",
    "test_few.c" from "c/test_few.c",
    "gen/mine.c" from "c/gen/mine.c",
    "gen/mine.h" from "c/gen/mine.h",
    "gen/mine_component_type.o" from "c/gen/mine_component_type.o",
    "libc/libc.c" from "c/libc/libc.c",
    "libc/stdlib.h" from "c/libc/stdlib.h",
    "libc/string.h" from "c/libc/string.h",
    "README.md" from "c/README.md",
    ".gitignore" from "c/gitignore",
};

const WORLD: &[Source] = files! { "wit/world.wit" from "world.wit" };

/// The packages that a pass may need, as folders under `wit/deps`.
const PACKAGES: [&str; 2] = ["pass", "host"];

/// Every file of a project of that name.
pub fn files(name: &str, language: Language) -> Vec<(String, Vec<u8>)> {
    let sources = match language {
        Language::Rust => RUST,
        Language::Js => JS,
        Language::Python => PYTHON,
        Language::C => C,
    };
    let source = |(place, bytes): &Source| ((*place).to_owned(), filled(bytes, name));
    let vendored = auto_engine::wit_files().iter().filter(|(package, ..)| PACKAGES.contains(package));
    let vendored =
        vendored.map(|(package, file, text)| (format!("wit/deps/auto-{package}/{file}"), text.as_bytes().to_vec()));
    sources.iter().chain(WORLD).map(source).chain(vendored).collect()
}

/// A text with the name where it belongs; what is no text stays as it is.
fn filled(bytes: &[u8], name: &str) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.replace("{{name}}", name).replace("{{name_}}", &name.replace('-', "_")).into_bytes(),
        Err(_) => bytes.to_vec(),
    }
}
