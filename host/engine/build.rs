//! Lists the WIT packages, so that a file added to one of them is known to the host
//! without a line here.

use std::path::Path;
use std::{env, fs};

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../wit");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut text =
        String::from("/// `(package folder, file name, text)`.\npub(crate) const FILES: &[(&str, &str, &str)] = &[\n");
    for package in ["pass", "cbin", "host", "driver"] {
        let folder = root.join(package);
        println!("cargo::rerun-if-changed={}", folder.display());
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut names: Vec<_> = entries.map(|entry| entry.expect("readable").file_name()).collect();
        names.sort();
        for name in names.iter().filter_map(|name| name.to_str()).filter(|name| name.ends_with(".wit")) {
            let path = folder.join(name);
            text += &format!("    ({package:?}, {name:?}, include_str!({:?})),\n", path.display().to_string());
        }
    }
    text += "];\n";
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("wit_files.rs");
    fs::write(out, text).expect("OUT_DIR is writable");
}
