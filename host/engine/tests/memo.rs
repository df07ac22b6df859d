//! The memo and the cache of compiled code: when they answer, when they must not, and
//! what a damaged file does.

mod support;

use std::path::{Path, PathBuf};

use auto_engine::{Engine, FaultClass, Limits, Options, Providers};
use auto_schema::digest::Digest;
use support::{ENDLESS, SUM, adder, adder_over, cached, load, stack};
use wasmtime::component::Val;

const SUMS: &str = "third:party/sums@1.0.0";

fn add(engine: &Engine, providers: &Providers, a: u32) -> (u32, bool) {
    let result = engine.call(providers, SUMS, "add", &[Val::U32(a), Val::U32(1)]).unwrap();
    let top = &providers.list().next().unwrap().label;
    let hit = engine.take_trace().iter().rfind(|call| call.pass == *top).unwrap().memo_hit;
    match result[..] {
        [Val::U32(sum)] => (sum, hit),
        ref other => panic!("{other:?}"),
    }
}

fn files(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let shards = std::fs::read_dir(folder.join("cache").join(kind)).unwrap();
    shards
        .flat_map(|shard| std::fs::read_dir(shard.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect()
}

#[test]
fn an_equal_call_is_answered_by_another_engine() {
    let folder = tempfile::tempdir().unwrap();
    for (hit, again) in [(false, true), (true, true)] {
        let engine = cached(folder.path());
        let providers = stack(&engine, &[("sum", adder("1.0.0", SUM))]);
        assert_eq!(add(&engine, &providers, 1), (2, hit));
        assert_eq!(add(&engine, &providers, 1), (2, again));
    }
    let engine = cached(folder.path());
    let providers = stack(&engine, &[("sum", adder("1.0.0", SUM))]);
    assert_eq!(add(&engine, &providers, 2), (3, false));
}

#[test]
fn what_a_result_depends_on_is_in_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let engine = cached(folder.path());
    let over = adder_over("(call $under (local.get $a) (local.get $b))");
    let product = adder("1.0.0", "(i32.mul (local.get $a) (local.get $b))");
    let under_sum = stack(&engine, &[("sum", adder("1.0.0", SUM)), ("over", over.clone())]);
    let under_product = stack(&engine, &[("product", product), ("over", over)]);
    assert_eq!(add(&engine, &under_sum, 5), (6, false));
    assert_eq!(add(&engine, &under_product, 5), (5, false));
    assert_eq!(add(&engine, &under_sum, 5), (6, true));

    let limits = Limits { fuel: Some(1_000_000), ..Limits::default() };
    let other =
        Engine::new(Options { cache: Some(folder.path().join("cache")), limits, ..Options::default() }).unwrap();
    assert_eq!(add(&other, &under_sum, 5), (6, false));
}

#[test]
fn a_damaged_entry_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    for damage in
        [|bytes: &mut Vec<u8>| bytes.truncate(20), |bytes: &mut Vec<u8>| *bytes.last_mut().unwrap() ^= 1, Vec::clear]
    {
        let engine = cached(folder.path());
        let providers = stack(&engine, &[("sum", adder("1.0.0", SUM))]);
        add(&engine, &providers, 1);
        for file in files(folder.path(), "memo") {
            let mut bytes = std::fs::read(&file).unwrap();
            damage(&mut bytes);
            std::fs::write(&file, bytes).unwrap();
        }
        assert_eq!(add(&engine, &providers, 1), (2, false));
        assert_eq!(add(&engine, &providers, 1), (2, true));
    }
}

#[test]
fn damaged_compiled_code_is_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    for turn in 1..4 {
        let engine = cached(folder.path());
        let providers = stack(&engine, &[("sum", adder("1.0.0", SUM))]);
        assert_eq!(add(&engine, &providers, turn), (turn + 1, false));
        let code = files(folder.path(), "components");
        assert_eq!(code.len(), 1);
        let mut bytes = std::fs::read(&code[0]).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x40;
        std::fs::write(&code[0], bytes).unwrap();
    }
}

#[test]
fn a_fault_by_a_limit_is_never_kept() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { fuel: Some(10_000), ..Limits::default() };
    let engine =
        Engine::new(Options { cache: Some(folder.path().join("cache")), limits, ..Options::default() }).unwrap();
    let providers = stack(&engine, &[("endless", adder("1.0.0", ENDLESS))]);
    for _ in 0..2 {
        let fault = engine.call(&providers, SUMS, "add", &[Val::U32(1), Val::U32(1)]).unwrap_err();
        assert_eq!(fault.class, FaultClass::OutOfFuel);
    }
    assert!(files(folder.path(), "memo").is_empty());
}

fn audited(folder: &Path) -> Engine {
    Engine::new(Options { cache: Some(folder.join("cache")), audit: true, ..Options::default() }).unwrap()
}

#[test]
fn an_entry_under_another_name_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let engine = cached(folder.path());
    let providers = stack(&engine, &[("sum", adder("1.0.0", SUM))]);
    add(&engine, &providers, 1);
    let first = files(folder.path(), "memo").remove(0);
    add(&engine, &providers, 7);
    let other = files(folder.path(), "memo").into_iter().find(|file| *file != first).unwrap();
    std::fs::copy(other, first).unwrap();
    assert_eq!(add(&engine, &providers, 1), (2, false));
    assert_eq!(add(&engine, &providers, 1), (2, true));
}

/// Changes what an entry says and makes it look intact.
fn forge(entry: &Path, change: impl Fn(&mut [u8])) {
    let mut bytes = std::fs::read(entry).unwrap();
    let name = entry.file_name().unwrap().as_encoded_bytes();
    let start = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let (digest, contents) = bytes[start..].split_at_mut(32);
    change(contents);
    let named = [&(name.len() as u64).to_le_bytes()[..], name, contents].concat();
    digest.copy_from_slice(Digest::of(&named).as_bytes());
    std::fs::write(entry, bytes).unwrap();
}

#[test]
fn an_audit_finds_a_result_that_the_component_does_not_give() {
    let folder = tempfile::tempdir().unwrap();
    let engine = audited(folder.path());
    let providers = stack(&engine, &[("sum", adder("1.0.0", SUM)), ("over", adder_over(OVER))]);
    assert_eq!(add(&engine, &providers, 1), (2, false));
    assert_eq!(add(&engine, &providers, 1), (2, true));
    for entry in files(folder.path(), "memo") {
        forge(&entry, |contents| *contents.iter_mut().rfind(|byte| **byte == 2).unwrap() = 3);
    }
    assert_eq!(add(&cached(folder.path()), &providers, 1), (3, true), "only an audit can tell");
    let fault = audited(folder.path()).call(&providers, SUMS, "add", &[Val::U32(1), Val::U32(1)]).unwrap_err();
    assert_eq!((fault.class, fault.pass.as_str()), (FaultClass::BadOutput, "sum"), "who lied is named");
    assert!(fault.message.contains("not a pure function"), "{}", fault.message);
}

const OVER: &str = "(call $under (local.get $a) (local.get $b))";

#[test]
fn an_audit_makes_a_call_that_nobody_knows_twice() {
    for (folder, audit, calls) in [(None, false, 2), (None, true, 3), (Some(()), true, 3)] {
        let cache = folder.map(|()| tempfile::tempdir().unwrap());
        let cache = cache.as_ref().map(|folder| folder.path().join("cache"));
        let engine = Engine::new(Options { cache, audit, ..Options::default() }).unwrap();
        let providers = stack(&engine, &[("sum", adder("1.0.0", SUM)), ("over", adder_over(OVER))]);
        engine.call(&providers, SUMS, "add", &[Val::U32(1), Val::U32(1)]).unwrap();
        // What is called underneath is seen each time; the second look itself is not a call.
        assert_eq!(engine.take_trace().len(), calls, "{folder:?} {audit}");
    }
}

#[test]
fn a_folder_open_to_others_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("open");
    std::fs::create_dir(&cache).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = Engine::new(Options { cache: Some(cache), ..Options::default() }).unwrap_err();
    assert_eq!(error.code, "cache");
    assert!(error.message.contains("chmod 700"), "{error}");
}

#[test]
fn precompiled_code_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let engine = cached(folder.path());
    let sum = load(&engine, "sum", &adder("1.0.0", SUM));
    let beside = engine.precompile(&sum, None).unwrap();
    let providers = stack(&engine, &[("sum", adder("1.0.0", SUM))]);
    add(&engine, &providers, 1);
    let kept = std::fs::read(files(folder.path(), "components").remove(0)).unwrap();
    for code in [beside[32..].to_vec(), beside, kept] {
        let error = engine.load("code", code).unwrap_err();
        assert_eq!(error.code, "precompiled-code");
        assert!(error.message.contains("give the component it was compiled from"), "{error}");
    }
}

#[test]
fn the_folder_is_kept_below_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let bound = 300_000;
    let cache = Some(folder.path().join("cache"));
    let open =
        || Engine::new(Options { cache: cache.clone(), cache_bytes: Some(bound), ..Options::default() }).unwrap();
    let providers = stack(&open(), &[("sum", adder("1.0.0", SUM))]);
    for a in 0..100 {
        assert_eq!(add(&open(), &providers, a), (a + 1, false));
        let kept = [files(folder.path(), "memo"), files(folder.path(), "components")].concat();
        let bytes = kept.iter().map(|file| std::fs::metadata(file).unwrap().len().next_multiple_of(4096));
        assert!(bytes.sum::<u64>() <= bound, "{a}");
    }
    assert_eq!(add(&open(), &providers, 99), (100, true), "the newest stay");
    assert_eq!(add(&open(), &providers, 0), (1, false));
}

#[test]
fn code_that_came_with_a_component_is_run_and_any_other_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let engine = cached(folder.path());
    let sum = adder("1.0.0", SUM);
    let other = adder("1.0.0", "(i32.mul (local.get $a) (local.get $b))");
    let code = |bytes: &[u8]| engine.precompile(&load(&engine, "any", bytes), None).unwrap().leak() as &'static [u8];
    for (code, compiled, a) in [(code(&sum), 0, 5), (code(&other), 1, 6), (&[], 1, 7)] {
        let mut providers = Providers::new();
        // SAFETY: the code is what `precompile` just made.
        providers.push(unsafe { engine.load_precompiled("sum", sum.clone(), code) }.unwrap());
        assert_eq!(add(&engine, &providers, a), (a + 1, false));
        assert_eq!(files(folder.path(), "components").len(), compiled);
    }
}
