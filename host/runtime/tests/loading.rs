//! What is loaded and what is refused, and the cache of compiled code.

mod fixtures;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use auto_runtime::{CACHE_BYTES, Cache, Limits, LoadError, Outcome, Program, Sandbox};
use fixtures::*;

fn refusal(text: &str) -> LoadError {
    sandbox().load(&wat::parse_str(text).unwrap()).err().unwrap()
}

#[test]
fn a_missing_or_different_export_is_named() {
    let whole = text(ECHO);
    let run = "auto:cbin/behavior@0.1.0#run";
    let error = refusal(&whole.replace(run, "auto:cbin/behavior@0.2.0#run"));
    assert_eq!(error.code(), "missing-export");
    assert!(error.to_string().contains(&format!("`{run}` (func(i32, i32) -> i32)")), "{error}");

    let error = refusal(&whole.replace("(export \"memory\")", ""));
    assert_eq!(error, LoadError::MissingExport { name: "memory", expected: "a 32-bit memory" });

    let error = refusal(
        &whole
            .replace("(export \"memory\")", "(export \"cabi_realloc\")")
            .replace("(func (export \"cabi_realloc\")", "(func (export \"memory\")"),
    );
    assert_eq!(error.code(), "wrong-export");
    assert!(error.to_string().contains("func(i32, i32, i32, i32) -> i32"), "{error}");

    let other = whole.replace("(param $old i32) (param $held i32)", "(param $old i64) (param $held i32)");
    assert!(refusal(&other).to_string().contains("is func(i64, i32, i32, i32) -> i32"), "{}", refusal(&other));
}

#[test]
fn imports_are_refused_by_name() {
    let text = text(ECHO).replace("(module", "(module (import \"wasi_snapshot_preview1\" \"fd_write\" (func))");
    let error = refusal(&text);
    assert_eq!(error.code(), "imports");
    assert!(error.to_string().contains("fd_write"), "{error}");
}

#[test]
fn memory_beyond_the_limit_is_refused_at_load() {
    let error = refusal(&text(ECHO).replace("(export \"memory\") 1)", "(export \"memory\") 2000)"));
    assert_eq!(error, LoadError::Memory { needs: 2000 << 16, limit: 64 << 20 });
    assert!(error.to_string().contains("--memory"));
}

#[test]
fn what_would_keep_the_compiler_busy_is_refused() {
    let with = |function: &str| text(ECHO).replace("(global $top", &format!("(func {function}) (global $top"));
    let joins = format!("(local {}) {}", "i32 ".repeat(1_001), "block end ".repeat(1_000));
    let params = format!("(param {}) {}", "i32 ".repeat(1_000), "block end ".repeat(1_001));
    let targets = format!("(br_table {} (i32.const 0))", "0 ".repeat(50_002));
    for (function, says) in [
        (joins, "1001000 blocks and branches times locals"),
        (params, "1001000 blocks and branches times locals"),
        (targets, "targets of a branch table"),
        (format!("{} {}", "block ".repeat(5_001), "end ".repeat(5_001)), "blocks in each other"),
        ("nop ".repeat(2 << 20), "bytes, and there may be 2097152"),
    ] {
        let error = refusal(&with(&function));
        assert_eq!(error.code(), "too-large", "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let many = text(ECHO).replace("(global $top", &format!("{} (global $top", "(func) ".repeat(50_000)));
    assert!(refusal(&many).to_string().contains("functions, and there may be 50000"));
    // The most that is let through.
    let most = format!("(local {}) {}", "i32 ".repeat(1_000), "block end ".repeat(1_000));
    assert!(sandbox().load(&wat::parse_str(with(&most)).unwrap()).is_ok());
}

#[test]
fn more_than_an_instance_has_room_for_is_refused_before_it_is_compiled() {
    let with = |more: &str| text(ECHO).replace("(global $top", &format!("{more} (global $top"));
    let error = refusal(&with("(table 10001 funcref)"));
    assert_eq!(error, LoadError::Table { needs: 10_001, limit: 10_000 }, "{error}");
    let error = refusal(&with("(table 1 funcref) (table 1 funcref)"));
    assert_eq!(
        (error.code(), error.to_string().contains("2 tables, and there may be 1")),
        ("too-large", true),
        "{error}"
    );
    let error = refusal(&with(&"(global i64 (i64.const 1)) ".repeat(20_000)));
    assert!(error.to_string().contains("20002 globals, and there may be 20000"), "{error}");
    // The most that is let through runs.
    let most = format!(
        "(table 10000 funcref) {} (elem declare func {})",
        "(global (mut i64) (i64.const 1)) ".repeat(19_998),
        (0..40_000).map(|at| format!("$f{at} ")).collect::<String>()
    );
    let functions: String = (0..40_000).map(|at| format!("(func $f{at})")).collect();
    let loaded = sandbox().load(&wat::parse_str(with(&format!("{most} {functions}"))).unwrap()).unwrap();
    assert!(loaded.run_fresh("null").is_ok());
}

#[test]
fn what_differs_between_machines_is_not_valid() {
    let relaxed = "(v128.store (i32.const 0) (f32x4.relaxed_madd (v128.load (i32.const 0)) (v128.load (i32.const 0))
         (v128.load (i32.const 0)))) (i32.const 0)";
    assert_eq!(refusal(&text(relaxed)).code(), "invalid-module");
    let second = text(ECHO).replace("(global $top", "(memory $second 1) (global $top");
    assert_eq!(refusal(&second).code(), "invalid-module");
    let wide = text(ECHO).replace("(export \"memory\") 1)", "(export \"memory\") i64 1)");
    assert!(matches!(refusal(&wide).code(), "invalid-module" | "wrong-export"));
}

#[test]
fn only_intact_files_are_programs() {
    let file = sealed(ECHO, true);
    let load = |bytes: &[u8]| Program::load(&sandbox(), bytes).err();
    assert_eq!(load(&file), None);
    assert_eq!(load(b"{}").unwrap().code(), "not-wasm");
    assert_eq!(load(b"").unwrap().code(), "truncated");
    assert!(load(&module(ECHO)).is_some(), "an unsealed module is not a program");
    let sandbox = sandbox();
    assert!(Program::load(&sandbox, &file[..file.len() - 1]).is_err());
}

#[test]
fn every_flipped_bit_is_refused_as_damage() {
    let sandbox = sandbox();
    for file in [sealed(ECHO, true), sealed(COUNTER, false)] {
        assert!(Program::load(&sandbox, &file).is_ok());
        assert!(file.windows(19).any(|window| window == b"component-type:cbin"));
        for bit in 0..file.len() * 8 {
            let mut flipped = file.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let error = Program::load(&sandbox, &flipped).err();
            let code = error.as_ref().map_or("accepted", LoadError::code);
            let damage = ["truncated", "malformed", "no-digest", "digest-mismatch", "component-type"];
            assert!(damage.contains(&code), "bit {} of byte {}: {code}", bit % 8, bit / 8);
        }
    }
}

#[test]
fn a_component_is_told_from_a_module() {
    let component = wat::parse_str("(component)").unwrap();
    assert_eq!(sandbox().load(&component).err().unwrap().code(), "component");
}

#[test]
fn compiled_code_is_kept_and_a_damaged_copy_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("code");
    let open =
        || Sandbox::with_cache(Limits::default(), Some(Cache::open(path.clone(), CACHE_BYTES).unwrap())).unwrap();
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let files = || {
        let folders = entries(&path).into_iter().filter(|folder| folder.is_dir());
        folders.flat_map(|folder| entries(&folder)).collect::<Vec<_>>()
    };
    let run = || open().load(&module(ECHO)).unwrap().run_fresh("1").unwrap().0;

    assert_eq!(run(), Outcome::Answer("1".into()));
    let [kept] = &files()[..] else { panic!("one file was expected, not {:?}", files()) };
    let good = fs::read(kept).unwrap();
    assert_eq!(run(), Outcome::Answer("1".into()));
    assert_eq!(fs::read(kept).unwrap(), good);

    for damage in [0, 12, 44, good.len() - 1] {
        let mut bad = good.clone();
        bad[damage] ^= 1;
        fs::write(kept, &bad).unwrap();
        assert_eq!(run(), Outcome::Answer("1".into()));
        assert_ne!(fs::read(kept).unwrap(), bad, "damaged code at {damage} was neither refused nor replaced");
    }
    fs::write(kept, &good[..good.len() / 2]).unwrap();
    assert_eq!(run(), Outcome::Answer("1".into()));

    open().load(&module(COUNTER)).unwrap();
    assert_eq!(files().len(), 2, "another module is another file");
}

#[test]
fn a_cache_that_others_can_enter_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("code");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let error = Cache::open(path.clone(), CACHE_BYTES).unwrap_err();
    assert_eq!(error.code(), "cache");
    assert!(error.to_string().contains("chmod 700"), "{error}");

    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(Cache::open(link, CACHE_BYTES).is_err(), "a link may point anywhere tomorrow");
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(Cache::open(file, CACHE_BYTES).is_err());
}
