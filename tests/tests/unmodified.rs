//! Programs that know nothing of Auto: one with the official OpenAI client through `proxy`, one with
//! OpenTelemetry's own exporter into `collect`. What they did is recorded, compiled and run.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use auto_tests::agent::Tool;
use auto_tests::outside;
use auto_tests::wire::Server;

fn clients() -> std::path::PathBuf {
    auto_tests::root().join("tests/clients")
}

fn python(packages: &Path, program: &str) -> Command {
    let mut python = Command::new("python3");
    python.arg("-B").arg(clients().join(program)).env("PYTHONPATH", packages);
    python
}

/// A model on this machine, gone at the end.
struct Model {
    child: Child,
    address: String,
}

impl Model {
    fn start() -> Model {
        let mut server = Command::new("python3");
        server.arg(clients().join("model_server.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = server.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Model { child, address: format!("http://127.0.0.1:{}", line.trim()) }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn server(tool: &Tool, arguments: &[&str]) -> Server {
    let mut command = Command::new(auto_tests::tool::binary());
    command.args(arguments).args(["--addr", "127.0.0.1:0"]).current_dir(tool.folder.path());
    command.env("AUTO_CACHE", tool.folder.path().join("cache"));
    Server::spawn(command)
}

#[test]
fn a_program_with_the_official_openai_client_is_recorded_compiled_and_run() {
    let Some(packages) = outside::python("clients", &["openai", "anthropic"]) else { return };
    let (tool, model) = (Tool::new(), Model::start());
    let proxy = server(&tool, &["proxy", "--upstream", &model.address, "--store", "s.db", "--task", "t"]);
    let base = format!("http://{}/v1", proxy.address);
    let output = python(&packages, "openai_agent.py").arg("12").env("OPENAI_BASE_URL", &base).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((told.lines().count(), told.lines().next()), (12, Some("The order is in hall A.")));
    let (stdout, _) = proxy.stop();
    assert!(stdout.starts_with("24 exchanges recorded, 0 put aside, 0 lost"), "{stdout}");
    // Each answer of the model, streamed or not, and each result of the tool.
    let census = tool.ask(0, &["census", "--task", "t", "--store", "s.db"]);
    let kinds = census.get("kinds").unwrap().to_string();
    assert!(kinds.contains(r#""kind":"model_call""#) && kinds.contains(r#""kind":"tool_call""#), "{kinds}");
    let row = census
        .get("operations")
        .unwrap()
        .as_list()
        .unwrap()
        .iter()
        .find(|row| row.get("name").unwrap().as_text() == Some("lookup"));
    assert_eq!(row.unwrap().get("all").unwrap().get("spans").unwrap().as_u64(), Some(12));
    // The whole history never repeats; the last message does.
    let proposed = census.get("proposed_keys").unwrap();
    assert!(!proposed.as_list().unwrap().is_empty(), "{census}");
    let key = r#"{"template":"in hall {hall}","of":"/messages/-1/content"}"#;
    tool.ask(0, &["key", "set", "--task", "t", "--store", "s.db", key]);
    let cases = [(r#"{"hall":"G"}"#, r#"{"content":"The order is in hall G."}"#)];
    compile_inferred(&tool, "model_call", "m", &cases);
    compile_inferred(&tool, "tool_call", "lookup", &[(r#"{"order":"G-12"}"#, r#""in hall G""#)]);
}

#[test]
fn a_program_with_an_opentelemetry_exporter_is_recorded_compiled_and_run() {
    let Some(packages) = outside::python("otel", &["opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"])
    else {
        return;
    };
    let tool = Tool::new();
    let collect = server(&tool, &["collect", "--store", "s.db", "--task", "t", "--quiet", "300"]);
    let endpoint = format!("http://{}", collect.address);
    let output =
        python(&packages, "otel_agent.py").arg("12").env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    collect.wait_for("/ready", "\"traces\":12");
    let (stdout, _) = collect.stop();
    assert!(
        stdout.starts_with("12 traces with 48 spans recorded; 12 spans without captured content, 0 rejected"),
        "{stdout}"
    );
    compile_inferred(&tool, "tool_call", "route", &[(r#"{"team":"orders"}"#, r#""ORDERS""#)]);
    tool.ask(0, &["key", "set", "--task", "t", "--store", "s.db", "/messages/-1/content"]);
    compile_inferred(&tool, "model_call", "m", &[("\"[billing] ticket\"", r#"{"content":"billing"}"#)]);
}

/// Infers a contract for an operation, compiles it and runs the artifact.
fn compile_inferred(tool: &Tool, kind: &str, name: &str, cases: &[(&str, &str)]) {
    let _ = std::fs::remove_file(tool.folder.path().join("c.toml"));
    let _ = std::fs::remove_file(tool.folder.path().join("c.cbin"));
    let scope = format!("{kind}:{name}");
    tool.ask(0, &["contract", "infer", "--task", "t", "--scope", &scope, "--store", "s.db", "--out", "c.toml"]);
    tool.compile(0);
    for (input, expected) in cases {
        let output = tool.run(&["run", "c.cbin", "--input", input]);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && told.trim() == *expected, "{input}: {output:?}");
    }
}
