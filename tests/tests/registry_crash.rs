//! What a crash at any write, a failing call and a full disk can do to a registry: nothing. It is
//! as before or as after, and the next command goes on.
//!
//! `strace` does it to the real binary, as in `crash.rs`, which says what it needs.

#[path = "registry_transfer/servers.rs"]
mod servers;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use auto_tests::tool::{Tool, binary, printed};

/// Calls by which files come about, grow, move and go.
const CALLS: [&str; 6] = ["openat", "flock", "write", "fsync", "rename,renameat,renameat2", "unlink,unlinkat"];

/// A registry where `shout` leads to `shout.cbin`, and another artifact to come.
fn shop() -> Tool {
    let tool = Tool::with_shout();
    for line in [
        "compile --contract shout.contract.toml --store shout.db --out plain.cbin --no-optimize",
        "registry keygen --out ours.pem",
        "registry keygen --out next.pem --no-trust",
        "registry add shout.cbin --as shout --key ours.pem",
    ] {
        let output = tool.run(&line.split(' ').collect::<Vec<_>>());
        assert!(output.status.success(), "{line}: {}", printed(&output));
    }
    tool
}

const ADD: [&str; 7] = ["registry", "add", "plain.cbin", "--as", "shout", "--key", "ours.pem"];

fn under(mut command: Command, folder: &Path) -> Command {
    command.current_dir(folder).env("AUTO_CACHE", folder.join("cache")).stdin(Stdio::null());
    command
}

fn host(folder: &Path, arguments: &[&str]) -> Output {
    under(Command::new(binary()), folder).args(arguments).output().unwrap()
}

fn copy(shop: &Tool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["plain.cbin", "shout.cbin", "ours.pem", "next.pem", "next.pem.pub", "auto-registry"] {
        let status = Command::new("cp").arg("-a").arg(shop.path(name)).arg(folder.path()).status().unwrap();
        assert!(status.success());
    }
    folder
}

/// Whatever happened: `shout` leads to the old artifact or the new one, and the same command
/// ends well now and leaves nothing else behind.
fn mend(folder: &Path, what: &str) {
    let listed = host(folder, &["registry", "list"]);
    assert!(listed.status.success(), "{what}: {}", printed(&listed));
    let got = host(folder, &["registry", "get", "shout", "--out", "got.cbin"]);
    assert!(got.status.success(), "{what}: {}", printed(&got));
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!([bytes("shout.cbin"), bytes("plain.cbin")].contains(&bytes("got.cbin")), "{what}");
    for command in [&ADD[..], &["registry", "get", "shout", "--out", "got.cbin"], &["registry", "gc"]] {
        let output = host(folder, command);
        assert!(output.status.success(), "{what}, then {command:?}: {}", printed(&output));
    }
    assert_eq!(bytes("got.cbin"), bytes("plain.cbin"), "{what}");
    let objects = fs::read_dir(folder.join("auto-registry/objects")).unwrap().count();
    assert_eq!(objects, 5, "{what}: two artifacts, what is said of each, and a log");
    let rest = fs::read_dir(folder.join("auto-registry")).unwrap().count();
    assert_eq!(rest, 2, "{what}: objects and an index");
}

/// Does it to the n-th call of a kind, for every n until it meets none.
fn sweep(shop: &Tool, calls: &str, does: &str, check: impl Fn(&Output, &str)) {
    let start = || copy(shop);
    swept(calls, does, &ADD, start, |folder, output, what| {
        check(output, what);
        mend(folder, what);
    });
}

fn swept(
    calls: &str,
    does: &str,
    arguments: &[&str],
    start: impl Fn() -> tempfile::TempDir,
    check: impl Fn(&Path, &Output, &str),
) {
    for n in 1..200 {
        let folder = start();
        let mut command = under(Command::new("strace"), folder.path());
        command.args(["-f", "-qq", "-o", "trace.log", "-e", &format!("trace={calls}")]);
        command.args(["-e", &format!("inject={calls}:{does}:when={n}")]).arg(binary()).args(arguments);
        let output = command.output().expect("strace is needed: apt-get install -y strace");
        let what = format!("{calls} {does} at {n}");
        let met = fs::read_to_string(folder.path().join("trace.log")).unwrap_or_default();
        if output.status.success() && !met.contains("INJECTED") {
            assert!(n > 1, "{what}: it met no call");
            return;
        }
        let _ = fs::remove_file(folder.path().join("trace.log"));
        check(folder.path(), &output, &what);
    }
    panic!("{calls} never ends");
}

#[test]
fn an_add_that_is_killed_anywhere_leaves_the_state_before_or_after() {
    let shop = shop();
    std::thread::scope(|scope| {
        for half in [&CALLS[..3], &CALLS[3..]] {
            let shop = &shop;
            scope.spawn(move || half.iter().for_each(|calls| sweep(shop, calls, "signal=KILL", |_, _| {})));
        }
    });
}

/// A pull into a folder that has an older artifact under that name.
#[test]
fn a_pull_that_is_killed_anywhere_leaves_the_state_before_or_after() {
    let shop = shop();
    let served = Tool::new();
    let status = Command::new("cp").arg("-a").arg(shop.path("auto-registry")).arg(served.folder()).status().unwrap();
    assert!(status.success());
    for name in ["plain.cbin", "ours.pem"] {
        fs::copy(shop.path(name), served.path(name)).unwrap();
    }
    assert!(served.run(&ADD).status.success());
    let server = servers::Served::start(served, &[]);
    let pull = ["registry", "pull", "shout", "--from", &server.url];
    for calls in ["write", "fsync", "rename,renameat,renameat2", "unlink,unlinkat"] {
        swept(
            calls,
            "signal=KILL",
            &pull,
            || copy(&shop),
            |folder, _, what| {
                let got = host(folder, &["registry", "get", "shout", "--out", "got.cbin"]);
                assert!(got.status.success(), "{what}: {}", printed(&got));
                let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
                assert!([bytes("shout.cbin"), bytes("plain.cbin")].contains(&bytes("got.cbin")), "{what}");
                for command in [&pull[..], &["registry", "get", "shout", "--out", "got.cbin"], &["registry", "gc"]] {
                    let output = host(folder, command);
                    assert!(output.status.success(), "{what}, then {command:?}: {}", printed(&output));
                }
                assert_eq!(bytes("got.cbin"), bytes("plain.cbin"), "{what}");
                assert_eq!(fs::read_dir(folder.join("auto-registry/objects")).unwrap().count(), 5, "{what}");
            },
        );
    }
}

#[test]
fn whatever_else_changes_a_registry_and_is_killed_leaves_the_state_before_or_after() {
    let shop = shop();
    assert!(shop.run(&ADD).status.success());
    let changes = [
        ("registry tag shout --back-to 1 --key ours.pem", CALLS),
        ("registry trust next.pem.pub", CALLS),
        ("registry rotate --key ours.pem --to next.pem", CALLS),
        // It only removes.
        ("registry gc --untagged", ["openat", "flock", "write", "unlink,unlinkat", "", ""]),
    ];
    for (change, calls) in changes {
        let change: Vec<&str> = change.split(' ').collect();
        for calls in calls.into_iter().skip(2).filter(|calls| !calls.is_empty()) {
            swept(
                calls,
                "signal=KILL",
                &change,
                || copy(&shop),
                |folder, _, what| {
                    let get = ["registry", "get", "shout", "--out", "got.cbin"];
                    for command in [&get[..], &["registry", "list"], &change, &get, &["registry", "gc"]] {
                        let output = host(folder, command);
                        assert!(output.status.success(), "{what} of {change:?}, {command:?}: {}", printed(&output));
                    }
                    let rest = fs::read_dir(folder.join("auto-registry")).unwrap().count();
                    assert_eq!(rest, 2, "{what} of {change:?}: objects and an index");
                },
            );
        }
    }
}

#[test]
fn a_call_that_fails_is_said_and_changes_nothing() {
    let shop = shop();
    for (calls, does) in
        [("fsync", "error=EIO"), ("rename,renameat,renameat2", "error=ENOSPC"), ("write", "error=ENOSPC")]
    {
        sweep(&shop, calls, does, |output, what| {
            let said = printed(output);
            match output.status.code() {
                // Who holds the lock could not be written down, which is for those who wait.
                Some(0) => {}
                Some(1) => {
                    assert!(said.contains("No space left") || said.contains("Input/output error"), "{what}: {said}")
                }
                _ => panic!("{what}: {output:?}"),
            }
        });
    }
}

#[test]
fn a_full_disk_leaves_the_registry_as_it_was_and_is_said() {
    let shop = shop();
    let folder = copy(&shop);
    fs::create_dir(folder.path().join("full")).unwrap();
    let script = "mount -t tmpfs -o size=96k none full || exit 99
        cp -a auto-registry full/
        export AUTO_REGISTRY=$PWD/full/auto-registry
        head -c 200000 /dev/zero > full/filler 2>/dev/null
        \"$HOST\" registry add plain.cbin --as shout --key ours.pem; [ $? = 1 ] || exit 98
        \"$HOST\" registry get shout --out got.cbin || exit 97
        cmp got.cbin shout.cbin || exit 96
        rm full/filler
        \"$HOST\" registry add plain.cbin --as shout --key ours.pem || exit 95
        \"$HOST\" registry get shout --out got.cbin || exit 94
        cmp got.cbin plain.cbin || exit 93
        [ \"$(ls -A full/auto-registry | tr '\\n' ' ')\" = 'index.json objects ' ] || exit 92";
    let root = rustix::process::geteuid().is_root();
    let mut command = under(Command::new("unshare"), folder.path());
    command.arg(if root { "-m" } else { "-rm" }).args(["sh", "-c", script]).env("HOST", binary());
    let output = command.output().expect("unshare starts");
    let said = printed(&output);
    assert_ne!(output.status.code(), Some(99), "no tmpfs could be mounted; run as root, or allow namespaces: {said}");
    assert!(output.status.success(), "{:?}: {said}", output.status);
    assert!(said.contains("error[unwritable]") && said.contains("No space left on device"), "{said}");
}
