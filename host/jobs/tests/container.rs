//! Experiments in real containers, by `podman`, in an image that is made here of this machine's own
//! shell and tools.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use auto_jobs::{Container, Ending, Experiment, Fault, Limits, Outcome, Patience, Settings};
use common::{LIMITS, patience, shell};

/// What the script and the tests need of an image.
const TOOLS: [&str; 12] = ["sh", "awk", "cat", "date", "env", "head", "id", "mkdir", "mv", "sleep", "timeout", "wc"];

/// Storage of its own with one image in it.
struct Bench {
    bench: common::Bench,
    podman: Vec<String>,
    options: Vec<String>,
}

impl Bench {
    /// None, said on stderr with what to do, where containers cannot be run.
    fn new() -> Option<Bench> {
        let bench = common::Bench::at("run");
        let at = |name: &str| bench.path(name).display().to_string();
        let runtime = if works(Command::new("runc").arg("--version")) { "runc" } else { "crun" };
        let words = ["podman", "--root", &at("root"), "--runroot", &at("runroot"), "--storage-driver", "vfs"];
        let podman: Vec<String> = words.iter().chain(&["--runtime", runtime]).map(|word| (*word).to_owned()).collect();
        // Fewer than anybody has, so that they can be set wherever this is run.
        let options = ["--ulimit=nofile=512:512", "--ulimit=nproc=512:512"].map(str::to_owned).to_vec();
        let bench = Bench { bench, podman, options };
        let image = bench.image(&folder_of_image(bench.bench.folder.path()));
        let mut first = bench.command();
        first.args(["run", "--rm", "--network=none"]).args(&bench.options).args(["auto-test", "sh", "-c", "exit 0"]);
        if image && works(&mut first) {
            return Some(bench);
        }
        eprintln!("skipped: podman runs no container; get it with: sudo apt-get install -y podman runc");
        None
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.podman[0]);
        command.args(&self.podman[1..]);
        command
    }

    fn image(&self, folder: &Path) -> bool {
        let archive = self.bench.path("image.tar");
        let packed = works(Command::new("tar").arg("-C").arg(folder).arg("-cf").arg(&archive).arg("."));
        packed && works(self.command().arg("import").arg(&archive).arg("auto-test"))
    }

    fn run_on(&self, options: &[&str], limits: Limits, script: &str) -> Result<Outcome, Fault> {
        let options = self.options.iter().cloned().chain(options.iter().map(|option| (*option).to_owned())).collect();
        let patience = Patience { unreachable: Duration::from_secs(20), ..patience() };
        let container = Container { command: self.podman.clone(), image: "auto-test".to_owned(), options, patience };
        let environment = BTreeMap::from([("TOKEN".to_owned(), "s3cret-value".to_owned())]);
        let backend = container.backend(Settings { environment, processes: 64, ..Settings::default() });
        let experiment = Experiment {
            environment: vec![("SEED".to_owned(), "7".to_owned())],
            input: "from stdin\n".to_owned(),
            collect: vec!["out".to_owned()],
            limits,
            ..shell(script)
        };
        self.bench.run_on(backend, &experiment)
    }

    fn run(&self, script: &str) -> Outcome {
        self.run_on(&[], LIMITS, script).unwrap_or_else(|fault| panic!("{script}: {fault}"))
    }

    fn text(&self, digest: auto_schema::digest::Digest) -> String {
        self.bench.text(digest)
    }

    /// The containers that are there.
    fn containers(&self) -> String {
        String::from_utf8(self.command().args(["ps", "--all", "--quiet"]).output().unwrap().stdout).unwrap()
    }
}

fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The tools, and the libraries that they are linked with.
fn folder_of_image(folder: &Path) -> PathBuf {
    let root = folder.join("image");
    let script = "set -e; root=$1; shift; mkdir -p $root/bin $root/tmp $root/proc $root/dev $root/etc
for tool in \"$@\"; do
    path=$(readlink -f $(command -v $tool))
    cp $path $root/bin/$tool
    for library in $(ldd $path | grep -o '/[^ ]*'); do
        mkdir -p $root$(dirname $library)
        cp -L $library $root$library
    done
done";
    works(Command::new("sh").args(["-c", script, "sh"]).arg(&root).args(TOOLS));
    root
}

#[test]
fn a_container_gets_what_it_was_given_and_nothing_else() {
    let Some(bench) = Bench::new() else { return };
    let outcome = bench.run("cat; echo \"$SEED $TOKEN\"; echo 7 > out; echo x > /bin/escaped || echo read-only");
    let said = bench.text(outcome.stdout);
    assert_eq!(outcome.ending, Ending::Exited(0), "{}", bench.text(outcome.stderr));
    assert_eq!(said, "from stdin\n7 <environment:TOKEN>\nread-only\n");
    assert_eq!(bench.text(outcome.files[0].digest), "7\n");
    let isolation = ["container", "limits", "no-network", "process-count", "process-namespace"];
    assert_eq!(outcome.isolation, isolation);
    // Neither a network device but its own, nor a process of anybody else's.
    let outcome = bench
        .run("cat /proc/net/dev | wc -l; cat /proc/1/cmdline | head -c 2; cat /proc/self/status | head -8 | wc -l");
    assert!(bench.text(outcome.stdout).starts_with("3\nsh"), "{}", bench.text(outcome.stdout));
    assert_eq!(bench.containers(), "", "none is left");
}

#[test]
fn a_container_is_held_to_its_limits() {
    let Some(bench) = Bench::new() else { return };
    assert_eq!(bench.run("exit 3").ending, Ending::Exited(3));
    assert_eq!(bench.run("head -c 100000 /dev/zero").ending, Ending::OverLimit("output".to_owned()));
    let limits = Limits { seconds: 2, ..LIMITS };
    let outcome = bench.run_on(&[], limits, "sleep 100").unwrap();
    assert_eq!(outcome.ending, Ending::TimedOut);
    let bomb = bench.run("i=0; while [ $i -lt 200 ]; do sleep 3 & i=$((i + 1)); done; wait");
    assert!(bench.text(bomb.stderr).contains("fork"), "{:?} {}", bomb.ending, bench.text(bomb.stderr));
    assert_eq!(bench.containers(), "", "none is left");
}

#[test]
fn what_cannot_be_started_is_the_machine_s_doing() {
    let Some(bench) = Bench::new() else { return };
    let fault = bench.run_on(&["--no-such-option"], LIMITS, "echo never").unwrap_err();
    assert_eq!((fault.code, fault.passing), ("machine", true));
    assert!(fault.message.contains("no-such-option"), "{fault}");
    assert_eq!(bench.containers(), "");
}
