//! The demo: the main job on the shipped example, from recording to a running `.cbin`.
//!
//! Reads like the job: a model behind HTTP, an agent recorded twice, census, verdict,
//! compile, answers for tickets nobody recorded, one that trips the guard and is answered by
//! the model, recorded, compiled and then known, and everything that must be refused being
//! refused. Any expectation that breaks ends it with the step's output. What it writes is
//! under `target/demo`; what it reads is in `evals/demo`.

mod agent;
mod figures;
mod modules;
mod tell;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use auto_json::Value;

use crate::workspace::Workspace;
use crate::{components, setup};
use agent::Model;
use figures::{Comparison, Figures};
use tell::{Program, heading, say};

/// Sets up and builds what the demo runs.
pub fn build(workspace: &Workspace) -> Result<()> {
    heading("Set-up and build");
    setup::run_verb(workspace)?;
    components::build_all(workspace)
}

/// Runs the whole of it with the binaries as they are.
pub fn run(workspace: &Workspace) -> Result<()> {
    let started = Instant::now();
    let demo = Demo::prepare(workspace)?;
    let model = Model::start(&demo.data)?;
    demo.record(&model)?;
    demo.census_and_verdict()?;
    demo.compile()?;
    let comparison = demo.answers(&model)?;
    demo.abstains()?;
    demo.ratchet(&model)?;
    demo.refuses()?;
    demo.tau_bench(workspace)?;
    let figures = demo.measure(comparison)?;
    print!("{figures}");
    say(&format!("\nDone in {:.1} s after the build. Look further with:", started.elapsed().as_secs_f64()));
    for verb in ["inspect", "explain"] {
        say(&format!("  target/release/auto-host {verb} target/demo/triage.cbin"));
    }
    Ok(())
}

/// Where things are during the demo.
struct Demo {
    host: Program,
    evals: Program,
    /// `evals/demo`.
    data: PathBuf,
    /// `target/demo`, the folder the commands run in.
    folder: PathBuf,
}

impl Demo {
    /// An empty folder to work in; a cache of its own, so that every run starts cold.
    fn prepare(workspace: &Workspace) -> Result<Demo> {
        let folder = workspace.path("target/demo");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| format!("could not empty {}", folder.display()))?;
        }
        std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
        Ok(Demo {
            host: Program::new(workspace.binary("auto-host"), &folder),
            evals: Program::new(workspace.binary("auto-evals"), &folder),
            data: workspace.path("evals/demo"),
            folder,
        })
    }

    /// A file of `evals/demo`, as seen from the folder the commands run in.
    fn file(&self, name: &str) -> String {
        format!("../../evals/demo/{name}")
    }

    fn first_held_out(&self) -> Result<String> {
        let path = self.data.join("held-out.jsonl");
        let text = std::fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    fn record(&self, model: &Model) -> Result<()> {
        heading("Record the agent, twice");
        say("An agent triages 48 support tickets with a language model behind HTTP. The model is a");
        say("small server we ship; the agent and the recorder cannot tell.");
        for _ in 0..2 {
            let command =
                ["record", "--store", "demo.db", "--", "python3", &self.file("agent.py"), &self.file("tickets.jsonl")];
            self.host.with("DEMO_MODEL_URL", &model.url()).expect(0, &command)?;
        }
        let calls = model.calls()?;
        say(&format!("The server counted {calls} calls."));
        ensure!(calls == 96, "48 tickets twice are 96 model calls; the server counted {calls}");
        Ok(())
    }

    fn census_and_verdict(&self) -> Result<()> {
        heading("What in it is a fixed rule?");
        self.host.expect(0, &["census", "--task", "support-triage", "--store", "demo.db"])?;
        heading("Does what was recorded meet the contract?");
        self.host.expect(0, &["verify", "--contract", &self.file("demo.contract.toml"), "--store", "demo.db"])?;
        Ok(())
    }

    fn compile(&self) -> Result<()> {
        heading("Compile it");
        let contract = self.file("demo.contract.toml");
        let compile = |out: &str| {
            let command = ["compile", "--contract", &contract, "--store", "demo.db", "--out", out, "--explain"];
            self.host.expect(0, &command)
        };
        let first = compile("triage.cbin")?;
        let again = self
            .host
            .quiet()
            .expect(0, &["compile", "--contract", &contract, "--store", "demo.db", "--out", "again.cbin"])?;
        let same = self.read("triage.cbin")? == self.read("again.cbin")?;
        ensure!(same, "the same evidence compiled twice gave two different files");
        say(&format!(
            "The first compile took {} ms; with the evidence unchanged it took {} ms and gave the same bytes.",
            first.millis, again.millis
        ));
        Ok(())
    }

    /// Asks the model and the artifact about tickets that were never recorded.
    fn answers(&self, model: &Model) -> Result<Comparison> {
        heading("Twelve tickets that were never recorded");
        let held_out = self.file("held-out.jsonl");
        self.host.expect(0, &["run", "triage.cbin", "--input", &self.first_held_out()?])?;
        let asked = model.ask(&self.folder, &self.file("agent.py"), &held_out)?;
        let batch = self.host.quiet().expect(0, &["run", "triage.cbin", "--batch", &held_out])?;
        let comparison = Comparison::of(&asked, &batch.stdout)?;
        say(&comparison.sentence());
        comparison.acceptable()?;
        Ok(comparison)
    }

    fn measure(&self, comparison: Comparison) -> Result<Figures> {
        heading("Model against .cbin");
        let held_out = self.file("held-out.jsonl");
        let call = ["call", "--artifact", "triage.cbin", "--inputs-file", &held_out, "--native", "demo"];
        let timing = self.evals.quiet().expect(0, &call)?;
        let timing = timing.stdout.lines().last().unwrap_or_default().to_owned();
        let timing = Value::parse(&timing).map_err(|error| anyhow!("auto-evals call printed no JSON: {error}"))?;
        Ok(Figures { comparison, timing, bytes: self.read("triage.cbin")?.len() })
    }

    fn abstains(&self) -> Result<()> {
        heading("A ticket unlike any that was recorded");
        say("It has the right shape, and the rule would give an answer. The guard, which is inside the");
        say("file, says that nothing like it was witnessed: exit code 3, and the caller asks the model.");
        let far = std::fs::read_to_string(self.data.join("far.json"))?;
        let reply = self.host.expect(3, &["run", "triage.cbin", "--input", far.trim()])?;
        ensure!(reply.stdout.is_empty(), "an abstention must leave stdout empty");
        Ok(())
    }

    /// The guard's trip becomes an answer: tier 0 is asked once, and the next artifact knows.
    fn ratchet(&self, model: &Model) -> Result<()> {
        heading("The same ticket, asked once and then known");
        say("With --tier0 the model is asked where the guard trips, under a cap. Its answer is held to the");
        say("contract, returned, and recorded with what it cost.");
        let far = std::fs::read_to_string(self.data.join("far.json"))?;
        let (contract, prices) = (self.file("demo.contract.toml"), self.file("prices.toml"));
        let calls = model.calls()?;
        let ask = ["run", "triage.cbin", "--input", far.trim(), "--tier0", "model:openai/policy"];
        let money = ["--spend-cap-usd", "0.05", "--model-prices", &prices];
        let keep = ["--contract", &contract, "--store", "demo.db"];
        let ledger = self.folder.join("spend.jsonl").display().to_string();
        let host = self.host.with("OPENAI_BASE_URL", &model.url()).with("AUTO_SPEND_LEDGER", &ledger);
        let asked = host.expect(0, &[&ask[..], &money, &keep].concat())?;
        ensure!(model.calls()? == calls + 1, "tier 0 is asked once");
        say("Compiled again, the artifact answers it by itself; the model is not asked.");
        let compile = ["compile", "--contract", &contract, "--store", "demo.db", "--out", "triage-2.cbin"];
        self.host.expect(0, &compile)?;
        let known = self.host.expect(0, &["run", "triage-2.cbin", "--input", far.trim()])?;
        ensure!(known.stdout == asked.stdout, "tier 1 answers {}, tier 0 answered {}", known.stdout, asked.stdout);
        ensure!(model.calls()? == calls + 1, "the model was asked again");
        Ok(())
    }

    fn refuses(&self) -> Result<()> {
        heading("What must be refused");
        let contract = self.file("demo.contract.toml");
        let seal = |module: &str| {
            let out = format!("{module}.cbin");
            let command = ["compile", "--contract", &contract, "--store", "demo.db", "--module", module, "--out", &out];
            self.host.expect(1, &command)?;
            ensure!(!self.folder.join(&out).exists(), "{out} was written although it was refused");
            Ok(())
        };
        say("A module of the right shape with the wrong answers: the gate replays every witness.");
        self.write("wrong.wasm", &modules::wrong_answers())?;
        seal("wrong.wasm")?;
        say("A module that imports something: it could reach outside.");
        self.write("importing.wasm", &modules::importing())?;
        seal("importing.wasm")?;
        say("The artifact with one bit flipped: its digest says so before anything runs.");
        self.write("tampered.cbin", &modules::tampered(&self.read("triage.cbin")?))?;
        self.host.expect(6, &["run", "tampered.cbin", "--input", &self.first_held_out()?])?;
        Ok(())
    }

    /// 200 real runs of somebody else's agent, where they are at hand.
    fn tau_bench(&self, workspace: &Workspace) -> Result<()> {
        heading("A recording from outside: tau-bench, gpt-4o, airline");
        let recording = "../shared/data/traces/tau-bench-gpt-4o-airline.json";
        if !workspace.path(recording).exists() {
            say(&format!("Skipped: there is no {recording} (it is gpt-4o-airline.json in"));
            say("historical_trajectories of github.com/sierra-research/tau-bench, MIT).");
            return Ok(());
        }
        let file = format!("../../{recording}");
        let import = ["import", "--format", "tau-bench", "--task", "airline", "--store", "airline.db", &file];
        self.host.expect(0, &import)?;
        self.host.expect(0, &["census", "--task", "airline", "--store", "airline.db"])?;
        let census =
            self.host.quiet().expect(0, &["census", "--task", "airline", "--store", "airline.db", "--json"])?;
        figures::check_tau_bench(&census.stdout)?;
        say("The counts agree with those in the README beside the recording.");
        Ok(())
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.folder.join(name);
        std::fs::read(&path).with_context(|| format!("could not read {}", path.display()))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        std::fs::write(&path, bytes).with_context(|| format!("could not write {}", path.display()))
    }
}
