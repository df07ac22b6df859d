//! Artifacts between machines: pushed to our own server and to a real OCI registry, pulled on a
//! clean folder with nothing but the public key, checked and run; and registries that lie, stall,
//! or hand out what is old.
//!
//! The OCI registry is Debian's `docker-registry`; where it is not installed, those tests say so
//! and do nothing.

#[path = "registry_transfer/servers.rs"]
mod servers;
#[path = "registry_transfer/shop.rs"]
mod shop;

use std::fs;
use std::path::Path;

use auto_json::Value;
use auto_schema::digest::Digest;
use auto_tests::tool::{Tool, printed};
use servers::{Docker, Fake, Served, get, request};
use shop::{ANSWER, INPUT, clean, ok, pulls_and_answers, refused, run, shop};

/// Our server over an empty registry that trusts the publisher, and takes what comes with the
/// token.
fn server(shop: &Tool, more: &[&str]) -> Served {
    let folder = Tool::new();
    fs::copy(shop.path("ours.pem.pub"), folder.path("ours.pem.pub")).unwrap();
    fs::copy(shop.path("token"), folder.path("token")).unwrap();
    ok(&folder, "registry trust ours.pem.pub");
    Served::start(folder, more)
}

#[test]
fn our_server_takes_what_is_pushed_and_a_clean_machine_pulls_checks_and_runs_it() {
    let shop = shop();
    let server = server(&shop, &["--token-file", "token"]);
    let to = format!("registry push team/shout --to {}", server.url);
    refused(&shop, 1, "remote-denied", &to);
    fs::write(shop.path("wrong"), "another-token-0123").unwrap();
    refused(&shop, 1, "remote-denied", &format!("{to} --token-file wrong"));
    ok(&shop, &format!("{to} --token-file token"));
    ok(&shop, &format!("{to} --token-file token"));
    let machine = pulls_and_answers(&shop, &server.url, "");
    ok(&machine, &format!("registry pull team/shout --from {}", server.url));
    let id = Digest::of(&fs::read(shop.path("shout.cbin")).unwrap());
    let other = clean(&shop);
    ok(&other, &format!("registry pull {id} --from {} --trust ours.pem.pub", server.url));
    ok(&other, &format!("registry get {id} --out x.cbin"));
    refused(&other, 1, "unknown-name", &format!("registry pull team/other --from {}", server.url));
    // Without the key nothing is taken.
    let stranger = Tool::new();
    refused(&stranger, 1, "unknown-key", &format!("registry pull team/shout --from {}", server.url));
    assert!(printed(&ok(&stranger, "registry list")).contains("nothing is there yet"));
    let (status, list) = get(&server.url, "/v1/list");
    assert_eq!(status, 200);
    let list = Value::parse(list).unwrap();
    let head = list.get("tags").and_then(|tags| tags.get("team/shout:latest")?.get("id")).and_then(Value::as_text);
    assert_eq!(head, Some(id.to_string().as_str()));
}

#[test]
fn our_server_keeps_to_its_token_its_keys_and_its_bounds() {
    let shop = shop();
    let reader = server(&shop, &[]);
    fs::write(shop.path("any"), "whatever-0123").unwrap();
    refused(&shop, 1, "remote-denied", &format!("registry push team/shout --to {} --token-file any", reader.url));

    let closed = server(&shop, &["--token-file", "token", "--private", "--max-body", "1000"]);
    let pull = format!("registry pull team/shout --from {}", closed.url);
    refused(&clean(&shop), 1, "remote-denied", &format!("{pull} --trust ours.pem.pub"));
    let push = format!("registry push team/shout --to {} --token-file token", closed.url);
    refused(&shop, 1, "body-too-large", &push);

    // A key that the server does not know, whoever has the token.
    let open = server(&shop, &["--token-file", "token"]);
    let stranger = Tool::new();
    for name in ["token", "shout.cbin"] {
        fs::copy(shop.path(name), stranger.path(name)).unwrap();
    }
    ok(&stranger, "registry keygen --out theirs.pem");
    ok(&stranger, "registry add shout.cbin --as team/shout --key theirs.pem");
    let push = format!("registry push team/shout --to {} --token-file token", open.url);
    refused(&stranger, 1, "unknown-key", &push);
    for (path, status) in [
        ("/v1/tags/latest/../../etc/passwd", 400),
        ("/v1/tags/latest/%2e%2e/x", 400),
        ("/v1/artifacts/..%2f..%2findex.json", 400),
        ("/v1/artifacts/AB", 400),
        ("/v1/nothing", 404),
        ("/health", 200),
        ("/ready", 200),
    ] {
        assert_eq!(get(&open.url, path).0, status, "{path}");
    }
    let lists = get(&open.url, "/v1/list").1;
    assert!(!String::from_utf8_lossy(&lists).contains("shout"), "what was staged and refused is nowhere to be seen");
}

#[test]
fn an_oci_registry_takes_what_is_pushed_and_a_clean_machine_pulls_checks_and_runs_it() {
    let Some(docker) = Docker::start(None) else { return };
    let shop = shop();
    let url = format!("oci://{}/prefix", docker.address);
    ok(&shop, &format!("registry push team/shout --to {url}"));
    ok(&shop, &format!("registry push team/shout --to {url}"));
    let machine = pulls_and_answers(&shop, &url, "");
    refused(&machine, 1, "unknown-name", &format!("registry pull team/other --from {url}"));

    // A newer one, and the log goes on.
    ok(&shop, "compile --contract shout.contract.toml --store shout.db --out plain.cbin --no-optimize");
    ok(&shop, "registry add plain.cbin --as team/shout --key ours.pem");
    ok(&shop, &format!("registry push team/shout --to {url}"));
    ok(&machine, &format!("registry pull team/shout --from {url}"));
    let log = printed(&ok(&machine, "registry log team/shout"));
    assert!(log.starts_with("2 ") && log.contains("\n1 "), "{log}");
    // Whoever would push an older history over it is refused.
    let behind = clean(&shop);
    fs::copy(shop.path("ours.pem"), behind.path("ours.pem")).unwrap();
    fs::copy(shop.path("shout.cbin"), behind.path("shout.cbin")).unwrap();
    fs::set_permissions(behind.path("ours.pem"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    ok(&behind, "registry trust ours.pem.pub");
    ok(&behind, "registry add shout.cbin --as team/shout --key ours.pem");
    // As two histories, or, where both began in the same second, as the older end of one.
    let output = behind.run(&format!("registry push team/shout --to {url} --json").split(' ').collect::<Vec<_>>());
    let said = printed(&output);
    assert!(said.contains("\"tag-forked\"") || said.contains("\"stale-tag\""), "{said}");
    assert_eq!(output.status.code(), Some(6), "{said}");
}

#[test]
fn what_is_pushed_to_an_oci_registry_is_what_other_clients_read() {
    let Some(docker) = Docker::start(None) else { return };
    let shop = shop();
    ok(&shop, "registry tag team/shout:v1 team/shout --key ours.pem");
    ok(&shop, &format!("registry push team/shout:v1 --to oci://{}", docker.address));
    let base = format!("http://{}", docker.address);
    let accept = "Accept: application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json\r\n";
    let manifest = |reference: &str| {
        let path = format!("/v2/team/shout/manifests/{reference}");
        let (status, body) = request(&base, "GET", &path, accept, b"");
        assert_eq!(status, 200, "{reference}: {}", String::from_utf8_lossy(&body));
        (Digest::of(&body), Value::parse(&body).unwrap())
    };
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_text).unwrap_or_default().to_owned();
    // As `wkg` wants it: one layer of WebAssembly, and its configuration.
    let (digest, wasm) = manifest("v1");
    assert_eq!(text(&wasm, "artifactType"), "application/vnd.auto.cbin.v1");
    let config = wasm.get("config").unwrap();
    assert_eq!(text(config, "mediaType"), "application/vnd.wasm.config.v0+json");
    let layers = wasm.get("layers").and_then(Value::as_list).unwrap();
    assert_eq!((layers.len(), text(&layers[0], "mediaType").as_str()), (1, "application/wasm"));
    let blob = |descriptor: &Value| {
        let digest = text(descriptor, "digest");
        let (status, body) = get(&base, &format!("/v2/team/shout/blobs/{digest}"));
        assert_eq!((status, format!("sha256:{}", Digest::of(&body))), (200, digest));
        assert_eq!(descriptor.get("size").and_then(Value::as_u64), Some(body.len() as u64));
        body
    };
    assert_eq!(blob(&layers[0]), fs::read(shop.path("shout.cbin")).unwrap());
    let config = Value::parse(blob(config)).unwrap();
    assert_eq!((text(&config, "architecture"), text(&config, "os")), ("wasm".into(), "wasip1".into()));
    assert_eq!(
        config.get("layerDigests").and_then(Value::as_list).unwrap()[0].as_text(),
        Some(&*text(&layers[0], "digest"))
    );
    // What refers to it, as `oras discover` finds it.
    let (_, index) = manifest(&format!("sha256-{digest}"));
    let referrer = index.get("manifests").and_then(Value::as_list).unwrap()[0].clone();
    assert_eq!(text(&referrer, "artifactType"), "application/vnd.auto.signed.v1");
    let (signed_digest, signed) = manifest("v1.auto");
    assert_eq!(text(&referrer, "digest"), format!("sha256:{signed_digest}"));
    assert_eq!(text(signed.get("subject").unwrap(), "digest"), format!("sha256:{digest}"));
    let papers = signed.get("layers").and_then(Value::as_list).unwrap();
    let statement = String::from_utf8(blob(&papers[1])).unwrap();
    assert!(statement.contains("application/vnd.in-toto+json"), "{statement}");
    let (_, tags) = get(&base, "/v2/team/shout/tags/list");
    assert!(String::from_utf8_lossy(&tags).contains("\"v1\""));

    // Somebody moves the tag with another client: what it leads to is not what was signed.
    let other = String::from_utf8(wasm.to_string().into_bytes()).unwrap().replace("vnd.auto.cbin.v1", "vnd.other");
    let kind = "Content-Type: application/vnd.oci.image.manifest.v1+json\r\n";
    assert_eq!(request(&base, "PUT", "/v2/team/shout/manifests/v1", kind, other.as_bytes()).0, 201);
    let machine = clean(&shop);
    let pull = format!("registry pull team/shout:v1 --from oci://{} --trust ours.pem.pub", docker.address);
    refused(&machine, 6, "tag-moved", &pull);
}

#[test]
fn an_oci_registry_that_wants_a_token_gets_one_for_a_password() {
    let Some(docker) = Docker::start(Some(("ann", "open sesame"))) else { return };
    let shop = shop();
    fs::write(shop.path("password"), "open sesame\n").unwrap();
    fs::write(shop.path("wrong"), "open barley\n").unwrap();
    let push = format!("registry push team/shout --to oci://{}", docker.address);
    refused(&shop, 1, "remote-denied", &push);
    refused(&shop, 1, "remote-denied", &format!("{push} --user ann --password-file wrong"));
    ok(&shop, &format!("{push} --user ann --password-file password"));
    let machine = clean(&shop);
    fs::copy(shop.path("password"), machine.path("password")).unwrap();
    let pull = format!("registry pull team/shout --from oci://{} --trust ours.pem.pub", docker.address);
    refused(&machine, 1, "remote-denied", &pull);
    ok(&machine, &format!("{pull} --user ann --password-file password"));
    assert_eq!(printed(&machine.run(&["run", "team/shout", "--input", INPUT])), ANSWER);
}

#[test]
fn an_upload_that_breaks_off_goes_on_where_it_was() {
    let Some(docker) = Docker::start(None) else { return };
    let shop = shop();
    let size = fs::metadata(shop.path("shout.cbin")).unwrap().len();
    // Every third chunk is lost, and its connection with it.
    let proxy = servers::Cutting::start(&docker.address, false);
    ok(&shop, &format!("registry push team/shout --to oci://{} --chunk 3000", proxy.address));
    assert!(proxy.cuts() >= 2, "{} cuts", proxy.cuts());
    let sent = proxy.sent();
    assert!(sent < 2 * size, "{sent} bytes of chunks for a file of {size}: it was begun anew");
    pulls_and_answers(&shop, &format!("oci://{}", docker.address), "");
}

#[test]
fn an_upload_that_the_registry_gives_up_is_begun_anew() {
    let Some(docker) = Docker::start(None) else { return };
    let shop = shop();
    let proxy = servers::Cutting::start(&docker.address, true);
    ok(&shop, &format!("registry push team/shout --to oci://{} --chunk 3000", proxy.address));
    assert_eq!(proxy.cuts(), 1);
    pulls_and_answers(&shop, &format!("oci://{}", docker.address), "");
}

/// A client of somebody else's, which knows the specification alone.
fn other_client(arguments: &[&str]) -> String {
    let script = auto_tests::root().join("tests/clients/oci_client.py");
    let output = std::process::Command::new("python3").arg(script).args(arguments).output().expect("python3");
    assert!(output.status.success(), "{}", printed(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_client_that_knows_the_specification_alone_reads_what_is_pushed_with_its_token() {
    let Some(docker) = Docker::start(Some(("ann", "open sesame"))) else { return };
    let shop = shop();
    fs::write(shop.path("password"), "open sesame\n").unwrap();
    ok(&shop, &format!("registry push team/shout --to oci://{} --user ann --password-file password", docker.address));
    let folder = shop.path("theirs");
    let base = format!("http://{}", docker.address);
    let arguments = [&base, "team/shout", "latest", folder.to_str().unwrap(), "ann", "open sesame"];
    let said = Value::parse(other_client(&arguments).trim()).unwrap();
    assert_eq!(fs::read(folder.join("artifact.wasm")).unwrap(), fs::read(shop.path("shout.cbin")).unwrap());
    assert_eq!(said.get("artifactType").and_then(Value::as_text), Some("application/vnd.auto.cbin.v1"));
    // What it found as a referrer is what lies beside a file of ours, and enough to check it by.
    let machine = clean(&shop);
    fs::copy(folder.join("artifact.wasm"), machine.path("got.cbin")).unwrap();
    fs::copy(folder.join("statements.jsonl"), machine.path("got.cbin.intoto.jsonl")).unwrap();
    ok(&machine, "registry trust ours.pem.pub");
    ok(&machine, "registry verify got.cbin");
}

/// What our server says of `team/shout`, and its file.
fn recorded(shop: &Tool) -> (Vec<u8>, Vec<u8>, String) {
    let server = server(shop, &["--token-file", "token"]);
    ok(shop, &format!("registry push team/shout --to {} --token-file token", server.url));
    let file = fs::read(shop.path("shout.cbin")).unwrap();
    let id = Digest::of(&file).to_string();
    (get(&server.url, "/v1/tags/latest/team/shout").1, file, id)
}

#[test]
fn a_registry_that_lies_lacks_or_stalls_changes_nothing() {
    let shop = shop();
    let (papers, file, id) = recorded(&shop);
    let machine = clean(&shop);
    ok(&machine, "registry trust ours.pem.pub");
    let unchanged = |what: &str| {
        let said = printed(&ok(&machine, "registry list"));
        assert!(said.contains("nothing is there yet"), "{what}: {said}");
    };
    let answer = |papers: Vec<u8>, artifact: Option<Vec<u8>>| {
        let path = format!("/v1/artifacts/{id}");
        Fake::start(move |asked| match asked {
            "/v1/keys" => Some((404, b"{}".to_vec())),
            "/v1/tags/latest/team/shout" => Some((200, papers.clone())),
            asked if asked == path => Some(artifact.clone().map_or((404, b"{}".to_vec()), |bytes| (200, bytes))),
            _ => Some((404, b"{}".to_vec())),
        })
    };
    let pull = |fake: &Fake, exit, code| {
        refused(&machine, exit, code, &format!("registry pull team/shout --from {} --timeout 2", fake.url));
        unchanged(code);
    };
    // Other bytes, and bytes of another artifact.
    let mut flipped = file.clone();
    flipped[700] ^= 1;
    pull(&answer(papers.clone(), Some(flipped)), 6, "digest-mismatch");
    pull(&answer(papers.clone(), Some(Vec::new())), 6, "digest-mismatch");
    // It speaks of what it does not have.
    pull(&answer(papers.clone(), None), 1, "remote-lacks");
    // Papers that were changed, in what they say and in who signed them.
    let text = String::from_utf8(papers.clone()).unwrap();
    let change = |what: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{what}");
        text.replacen(from, to, 1).into_bytes()
    };
    let value = Value::parse(&text).unwrap();
    let log = value.get("log").and_then(Value::as_text).unwrap().to_owned();
    let sig = log.split("sig\":\"").nth(1).unwrap()[..8].to_owned();
    let payload = log.split("payload\":\"").nth(1).unwrap()[60..68].to_owned();
    pull(&answer(change("a signature", &sig, "AAAAAAAA"), Some(file.clone())), 6, "bad-signature");
    let changed = answer(change("a payload", &payload, "AAAAAAAA"), Some(file.clone()));
    let output = run(&machine, &format!("registry pull team/shout --from {}", changed.url));
    assert_eq!(output.status.code(), Some(6), "{}", printed(&output));
    unchanged("a payload");
    pull(&answer(b"{}".to_vec(), Some(file.clone())), 1, "remote-nonsense");
    pull(&answer(b"<html>".to_vec(), Some(file.clone())), 1, "remote-nonsense");
    pull(&answer(b"{\"keys\":\"\",\"statements\":\"\",\"log\":\"\"}".to_vec(), Some(file.clone())), 6, "bad-tag-log");
    // It never answers; or never ends.
    let silent = Fake::start(|_| None);
    pull(&silent, 1, "remote-timeout");
    refused(&machine, 1, "remote-unreachable", "registry pull team/shout --from http://127.0.0.1:1");
    let good = answer(papers, Some(file));
    ok(&machine, &format!("registry pull team/shout --from {}", good.url));
}

#[test]
fn a_registry_that_hands_out_what_is_old_is_found_out_by_whoever_saw_the_new() {
    let shop = shop();
    let (papers, file, id) = recorded(&shop);
    let old = Fake::start(move |asked| {
        let artifact = format!("/v1/artifacts/{id}");
        match asked {
            "/v1/tags/latest/team/shout" => Some((200, papers.clone())),
            asked if asked == artifact => Some((200, file.clone())),
            _ => Some((404, b"{}".to_vec())),
        }
    });
    ok(&shop, "compile --contract shout.contract.toml --store shout.db --out plain.cbin --no-optimize");
    ok(&shop, "registry add plain.cbin --as team/shout --key ours.pem");
    let server = server(&shop, &["--token-file", "token"]);
    ok(&shop, &format!("registry push team/shout --to {} --token-file token", server.url));
    let machine = clean(&shop);
    ok(&machine, &format!("registry pull team/shout --from {} --trust ours.pem.pub", server.url));
    refused(&machine, 6, "stale-tag", &format!("registry pull team/shout --from {}", old.url));
    ok(&machine, "registry get team/shout --out got.cbin");
    assert_eq!(fs::read(machine.path("got.cbin")).unwrap(), fs::read(shop.path("plain.cbin")).unwrap());
    // The server itself does not go back either.
    refused(&behind(&shop, &server), 1, "stale-tag", &push_line(&server));
}

#[test]
fn a_key_that_a_registry_swaps_counts_for_nothing() {
    let shop = shop();
    let machine = clean(&shop);
    ok(&machine, "registry trust ours.pem.pub");
    // The same artifact under the same name, signed by somebody else, who also says that their
    // key follows another one of theirs.
    let thief = Tool::new();
    fs::copy(shop.path("shout.cbin"), thief.path("shout.cbin")).unwrap();
    ok(&thief, "registry keygen --out ours.pem");
    ok(&thief, "registry add shout.cbin --as team/shout --key ours.pem");
    ok(&thief, "registry rotate --key ours.pem --to next.pem --label ours");
    let server = Served::start(thief, &[]);
    refused(&machine, 1, "unknown-key", &format!("registry pull team/shout --from {}", server.url));
    let keys = printed(&ok(&machine, "registry keys"));
    assert!(keys.lines().count() == 1 && keys.contains(&key_of(&shop, "ours.pem")), "{keys}");
    assert!(printed(&ok(&machine, "registry list")).contains("nothing is there yet"));
}

fn push_line(server: &Served) -> String {
    format!("registry push team/shout --to {} --token-file token", server.url)
}

/// The publisher as it was before its last statement.
fn behind(shop: &Tool, _server: &Served) -> Tool {
    let tool = Tool::new();
    copy(&shop.path("auto-registry"), &tool.path("auto-registry"));
    fs::copy(shop.path("token"), tool.path("token")).unwrap();
    // The index with the log before: its objects are all still there.
    ok(shop, "registry log team/shout");
    let objects = fs::read_dir(tool.path("auto-registry/objects")).unwrap().flatten();
    let logs: Vec<_> = objects
        .filter(|entry| {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            text.lines().count() == 1 && text.len() < 1200 && text.contains("payload")
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let index = fs::read_to_string(tool.path("auto-registry/index.json")).unwrap();
    let body = index.lines().next().unwrap();
    let value = Value::parse(body).unwrap();
    let now = value.get("tags").and_then(|tags| tags.get("team/shout:latest")).and_then(Value::as_text).unwrap();
    let body = format!("{}\n", body.replace(now, &logs[0]));
    let digest = Digest::of(body.as_bytes());
    fs::write(tool.path("auto-registry/index.json"), format!("{body}{digest}\n")).unwrap();
    tool
}

fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_revocation_reaches_those_who_pull_even_where_nothing_else_can_be_pulled() {
    let shop = shop();
    ok(&shop, "registry keygen --out second.pem");
    let server = server(&shop, &["--token-file", "token"]);
    fs::copy(shop.path("second.pem.pub"), server.folder.path("second.pem.pub")).unwrap();
    ok(&server.folder, "registry trust second.pem.pub");
    ok(&shop, &push_line(&server));
    let machine = pulls_and_answers(&shop, &server.url, "");
    fs::copy(shop.path("second.pem.pub"), machine.path("second.pem.pub")).unwrap();
    ok(&machine, "registry trust second.pem.pub");
    let old = key_of(&shop, "ours.pem");
    ok(&shop, &format!("registry revoke {old} --key second.pem --reason stolen"));
    let keys = format!("registry push --keys --to {}", server.url);
    refused(&shop, 1, "remote-denied", &keys);
    ok(&shop, &format!("{keys} --token-file token"));
    refused(&machine, 1, "revoked-key", &format!("registry pull team/shout --from {}", server.url));
    let ran = machine.run(&["run", "team/shout", "--input", INPUT]);
    assert!(ran.status.code() == Some(6) && printed(&ran).contains("revoked-key"), "{}", printed(&ran));
}

/// The id of a key, as anybody finds it.
fn key_of(tool: &Tool, file: &str) -> String {
    let pem = fs::read_to_string(tool.path(&format!("{file}.pub"))).unwrap();
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    use base64::Engine as _;
    Digest::of(&base64::engine::general_purpose::STANDARD.decode(body).unwrap()).to_string()
}

#[test]
fn a_revocation_reaches_those_who_pull() {
    let shop = shop();
    let server = server(&shop, &["--token-file", "token"]);
    let push = push_line(&server);
    ok(&shop, &push);
    let machine = pulls_and_answers(&shop, &server.url, "");
    let old = key_of(&shop, "ours.pem");
    ok(&shop, "registry rotate --key ours.pem --to next.pem");
    ok(&shop, &format!("registry revoke {old} --key next.pem --reason stolen"));
    ok(&shop, &push);
    ok(&machine, &format!("registry pull team/shout --from {}", server.url));
    let keys = printed(&ok(&machine, "registry keys"));
    assert!(keys.contains(&format!("revoked {old} stolen")), "{keys}");
    assert_eq!(printed(&machine.run(&["run", "team/shout", "--input", INPUT])), ANSWER);
    // Whoever stole the key can push nothing any more.
    ok(&shop, "registry add shout.cbin --as late --key next.pem");
    let thief = clean(&shop);
    for name in ["token", "shout.cbin", "ours.pem"] {
        copy(&shop.path(name), &thief.path(name));
    }
    ok(&thief, "registry trust ours.pem.pub");
    ok(&thief, "registry add shout.cbin --as team/other --key ours.pem");
    refused(&thief, 1, "revoked-key", &format!("registry push team/other --to {} --token-file token", server.url));
}
