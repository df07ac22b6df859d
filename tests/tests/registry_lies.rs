//! OCI registries that lie, lack, stall or lose what they take, and an address that somebody else wrote
//! down: nothing is changed and no secret goes there.

#[path = "registry_transfer/liar.rs"]
mod liar;
#[path = "registry_transfer/servers.rs"]
mod servers;
#[path = "registry_transfer/shop.rs"]
mod shop;

use std::fs;

use auto_schema::digest::Digest;
use auto_tests::tool::{Tool, printed};
use liar::{Liar, Said};
use servers::{Fake, get};
use shop::{TOKEN, clean, ok, pulls_and_answers, refused, run, shop};

/// Pulls from a liar into a folder that has nothing, and leaves nothing there.
fn pull_lies(shop: &Tool, liar: &Liar, exit: i32, code: &str) {
    let machine = clean(shop);
    ok(&machine, "registry trust ours.pem.pub");
    let pull = format!("registry pull team/shout --from oci://{} --timeout 2", liar.address);
    refused(&machine, exit, code, &pull);
    assert!(printed(&ok(&machine, "registry list")).contains("nothing is there yet"), "{code}");
}

#[test]
fn an_oci_registry_that_lies_lacks_or_stalls_changes_nothing() {
    let shop = shop();
    let liar = Liar::start();
    ok(&shop, &format!("registry push team/shout --to oci://{}", liar.address));
    pulls_and_answers(&shop, &format!("oci://{}", liar.address), "");
    let id = Digest::of(&fs::read(shop.path("shout.cbin")).unwrap()).to_string();
    let of = |end: String, change: fn(&mut Said)| {
        move |_: &str, path: &str, mut said: Said| {
            if path.ends_with(&end) {
                change(&mut said);
            }
            Some(said)
        }
    };
    let (tag, papers, blob) =
        ("/manifests/latest".to_owned(), "/manifests/latest.auto".to_owned(), format!("/blobs/sha256:{id}"));
    let gone = |said: &mut Said| *said = Said { status: 404, ..Said::default() };
    let flipped = |said: &mut Said| said.body[10] ^= 1;
    let moved = |said: &mut Said| *said = Said { status: 200, body: b"{}".to_vec(), ..Said::default() };
    for (end, change, exit, code) in [
        (&tag, gone as fn(&mut Said), 6, "tag-moved"),
        (&tag, flipped, 6, "digest-mismatch"),
        (&tag, moved, 6, "tag-moved"),
        (&papers, gone, 1, "unknown-name"),
        (&papers, flipped, 6, "digest-mismatch"),
        (&papers, moved, 1, "remote-nonsense"),
        (&papers, |said| said.body = vec![b' '; 5 << 20], 1, "remote-too-large"),
        (&blob, gone, 1, "remote-lacks"),
        (&blob, flipped, 6, "digest-mismatch"),
        (&blob, |said| said.status = 500, 1, "remote-refused"),
    ] {
        liar.lie(of(end.clone(), change));
        pull_lies(&shop, &liar, exit, code);
    }
    // The papers of a tag of another name, as they are.
    ok(&shop, "registry tag team/other team/shout --key ours.pem");
    liar.lie(|_, _, said| Some(said));
    ok(&shop, &format!("registry push team/other --to oci://{}", liar.address));
    let (status, other) = get(&format!("http://{}", liar.address), "/v2/team/other/manifests/latest.auto");
    assert_eq!(status, 200);
    liar.lie(move |_, path, mut said| {
        if path == "/v2/team/shout/manifests/latest.auto" {
            said = Said { status: 200, body: other.clone(), ..Said::default() };
        }
        Some(said)
    });
    let machine = clean(&shop);
    let output = run(&machine, &format!("registry pull team/shout --from oci://{} --trust ours.pem.pub", liar.address));
    let said = printed(&output);
    assert!(said.contains("remote-lacks") || said.contains("bad-tag-log"), "{said}");
    // It never answers.
    liar.lie(|_, _, _| None);
    pull_lies(&shop, &liar, 1, "remote-timeout");
}

#[test]
fn a_registry_that_loses_what_it_takes_is_given_up_and_one_that_was_pushed_to_meanwhile_is_said() {
    let shop = shop();
    let liar = Liar::start();
    let push = format!("registry push team/shout --to oci://{} --chunk 3000 --timeout 10", liar.address);
    // Every second chunk is refused, and of the rest it says that it has next to nothing.
    let turns = std::sync::atomic::AtomicU64::new(0);
    liar.lie(move |method, path, mut said| {
        let turn = turns.fetch_add(u64::from(method == "PATCH"), std::sync::atomic::Ordering::SeqCst);
        if method == "PATCH" && turn % 2 == 1 {
            said.status = 416;
        }
        if method == "GET" && path.contains("/uploads/") {
            said.headers = vec![("Location", path.to_owned()), ("Range", "0-1".to_owned())];
        }
        Some(said)
    });
    refused(&shop, 1, "remote-broke-off", &push);
    // Somebody else puts the tag right after we did.
    liar.lie(|method, path, mut said| {
        if method == "GET" && path.ends_with("/manifests/latest") {
            said = Said { status: 200, body: b"{\"theirs\":1}".to_vec(), ..Said::default() };
        }
        Some(said)
    });
    refused(&shop, 1, "remote-raced", &push);
    // It wants larger chunks than we would send, and gets them.
    liar.lie(|method, path, mut said| {
        if method == "POST" && path.ends_with("/uploads/") {
            said.headers.push(("OCI-Chunk-Min-Length", "1000000".to_owned()));
        }
        if method == "PATCH" && said.headers.iter().any(|(name, value)| *name == "Range" && value == "0-2999") {
            said.status = 400;
        }
        Some(said)
    });
    ok(&shop, &push);
}

#[test]
fn no_token_goes_to_an_address_that_merely_lies_in_the_folder() {
    let shop = shop();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let heard = seen.clone();
    let trap = Fake::with_head(move |_, head| {
        heard.lock().unwrap().push_str(head);
        Some((401, b"{}".to_vec()))
    });
    fs::write(shop.path("auto.toml"), format!("[registry]\nremote = \"{}\"\n", trap.url)).unwrap();
    let with_token = |line: &str| {
        let mut command = shop.command(&line.split_whitespace().collect::<Vec<_>>());
        printed(&command.env("AUTO_REGISTRY_TOKEN_FILE", "token").output().unwrap())
    };
    for line in ["registry push team/shout", "registry pull team/shout"] {
        assert!(with_token(line).contains("error[only-named]"), "{line}");
        refused(&shop, 2, "only-named", &format!("{line} --token-file token"));
    }
    assert!(!seen.lock().unwrap().contains(TOKEN));
    let named = with_token("registry push team/shout --config auto.toml");
    assert!(named.contains("error[remote-denied]") && seen.lock().unwrap().contains(TOKEN), "{named}");
}
