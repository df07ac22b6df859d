//! A registry in a folder: what it gives, what it refuses, and what is left when a byte changes.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use auto_registry::{Class, Policy, PrivateKey, Reach, Reference, Registry, RegistryError, Relation, Report, TagName};
use support::{Shop, artifact, evidence};

fn code<T>(result: Result<T, RegistryError>) -> Result<(), &'static str> {
    result.map(|_| ()).map_err(|error| error.code)
}

fn tag(text: &str) -> TagName {
    text.parse().unwrap()
}

fn named(text: &str) -> Reference {
    text.parse().unwrap()
}

#[test]
fn an_artifact_comes_back_by_id_and_by_name_with_what_was_said_about_it() {
    let shop = Shop::new();
    let file = artifact("triage", 1);
    let id = shop.publish(&file, "team/triage");
    for reference in [id.to_string(), "team/triage".to_owned(), "team/triage:latest".to_owned()] {
        let got = shop.registry.get(&named(&reference), &Policy::default()).unwrap();
        assert_eq!((got.bytes.as_slice(), got.report.artifact.id), (file.as_slice(), id));
        assert_eq!(got.report.evidence[0].latency.as_ref().unwrap().get("p50_ns").unwrap().as_u64(), Some(900));
    }
    let version = shop.registry.version().unwrap();
    assert!(!shop.registry.add(&file, &[]).unwrap().new, "adding it again is nothing new");
    assert_eq!(shop.registry.version().unwrap(), version);
    assert_eq!(code(shop.registry.get(&named("other"), &Policy::default())), Err("unknown-name"));
    let absent = "0".repeat(64);
    assert_eq!(code(shop.registry.get(&named(&absent), &Policy::default())), Err("unknown-id"));
}

#[test]
fn what_is_no_artifact_never_gets_in() {
    let shop = Shop::new();
    let mut damaged = artifact("triage", 1);
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let error = shop.registry.add(&damaged, &[]).unwrap_err();
    assert_eq!((error.code, error.class), ("digest-mismatch", Class::Integrity));
    for (bytes, expected) in [(b"\0asm\x01\0\0\0".to_vec(), "unsealed"), (b"text".to_vec(), "not-wasm")] {
        let error = shop.registry.add(&bytes, &[]).unwrap_err();
        assert_eq!((error.code, error.class), (expected, Class::Refused));
    }
    assert!(shop.registry.list(&Policy::default()).unwrap().artifacts.is_empty());
}

#[test]
fn the_signature_of_another_artifact_is_refused_on_the_way_in_and_beside_a_file() {
    let shop = Shop::new();
    let (one, other) = (artifact("triage", 1), artifact("triage", 2));
    let envelope = evidence(&other, &shop.key);
    assert_eq!(code(shop.registry.add(&one, std::slice::from_ref(&envelope))), Err("other-artifact"));
    let beside = Report::of(&one, &[envelope], &shop.registry.keys().unwrap(), &Policy::default());
    assert_eq!(code(beside), Err("other-artifact"));
}

#[test]
fn unsigned_unknown_bad_and_revoked_are_four_things() {
    let shop = Shop::new();
    let file = artifact("triage", 1);
    let ring = shop.registry.keys().unwrap();
    let ask = |envelopes: &[_], ring: &_| {
        let report = Report::of(&file, envelopes, ring, &Policy::default()).unwrap();
        report.accept().map_err(|error| (error.code, error.class))
    };
    let good = evidence(&file, &shop.key);
    assert_eq!(ask(std::slice::from_ref(&good), &ring), Ok(()));
    assert_eq!(ask(&[], &ring), Err(("unsigned", Class::Refused)));
    let stranger = PrivateKey::generate().unwrap();
    assert_eq!(ask(&[evidence(&file, &stranger)], &ring), Err(("unknown-key", Class::Refused)));
    let mut bad = good.clone();
    bad.signatures[0].sig[40] ^= 4;
    assert_eq!(ask(&[bad.clone()], &ring), Err(("bad-signature", Class::Integrity)));
    let mut both = bad;
    both.signatures.push(evidence(&file, &stranger).signatures[0].clone());
    assert_eq!(ask(&[both], &ring), Err(("bad-signature", Class::Integrity)), "one bad signature is enough");
    let mut ended = ring.clone();
    ended.revoke(&shop.key, shop.key.public().id(), "lost", 1).unwrap();
    assert_eq!(ask(&[good], &ended), Err(("revoked-key", Class::Integrity)));
    assert!(Report::of(&file, &[], &ring, &Policy::unsigned()).unwrap().accept().is_ok());
}

#[test]
fn evidence_is_held_against_the_artifact_it_speaks_of() {
    let shop = Shop::new();
    let (one, other) = (artifact("triage", 1), artifact("triage", 2));
    let read = auto_schema::cbin::Cbin::read(&one).unwrap();
    let mut statement = support::said(&one).statement(&read).unwrap();
    let foreign = support::said(&other).statement(&auto_schema::cbin::Cbin::read(&other).unwrap()).unwrap();
    statement.predicate = foreign.predicate;
    let envelope = support::signed(&statement, &shop.key);
    let report = Report::of(&one, &[envelope], &shop.registry.keys().unwrap(), &Policy::default());
    assert_eq!(code(report), Err("other-manifest"));
    let mut said = support::said(&one);
    said.eval_run = Some("another record".into());
    assert_eq!(code(said.statement(&read)), Err("other-eval-run"));
    said.eval_run = None;
    said.contract = Some("no contract".into());
    assert_eq!(code(said.statement(&read)), Err("other-contract"));
}

#[test]
fn a_byte_that_changes_anywhere_is_refused_by_everything_that_reads() {
    let shop = Shop::new();
    shop.publish(&artifact("triage", 1), "triage");
    let files = files(shop.registry.path());
    assert_eq!(files.len(), 4, "an index, an artifact, a bundle and a log: {:?}", files.keys());
    for (path, good) in &files {
        for at in (0..good.len()).step_by(if good.len() > 400 { 5 } else { 1 }) {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            fs::write(path, bad).unwrap();
            let registry = Registry::open(shop.registry.path());
            let got = registry.and_then(|registry| registry.get(&named("triage"), &Policy::default()));
            let error = got.expect_err("it was taken");
            let class = if error.code == "registry-version" { Class::Refused } else { Class::Integrity };
            assert_eq!(error.class, class, "{}: byte {at}: {error:?}", path.display());
        }
        fs::remove_file(path).unwrap();
        let registry = Registry::open(shop.registry.path());
        let error = registry.and_then(|registry| registry.get(&named("triage"), &Policy::default())).unwrap_err();
        assert_eq!(error.class, Class::Integrity, "{} is gone: {error:?}", path.display());
        if path.ends_with("index.json") {
            assert_eq!(code(Registry::create_or_open(shop.registry.path())), Err("registry-damaged"), "no new one");
        }
        fs::write(path, good).unwrap();
    }
    assert!(shop.registry.get(&named("triage"), &Policy::default()).is_ok());
}

#[test]
fn what_was_damaged_is_mended_by_adding_it_again() {
    let shop = Shop::new();
    let file = artifact("triage", 1);
    let id = shop.publish(&file, "triage");
    let path = shop.registry.path().join("objects").join(id.to_string());
    fs::write(&path, "gone").unwrap();
    let listing = shop.registry.list(&Policy::default()).unwrap();
    assert_eq!(code(listing.artifacts[0].1.clone()), Err("object-damaged"));
    shop.registry.add(&file, &[]).unwrap();
    assert!(shop.registry.get(&named("triage"), &Policy::default()).is_ok());
}

#[test]
fn nobody_signs_that_a_name_leads_to_what_is_damaged_or_signs_it_with_a_key_that_ended() {
    let shop = Shop::new();
    let ids: Vec<_> = (1..=2).map(|number| shop.publish(&artifact("triage", number), "triage")).collect();
    let (next, stranger) = (PrivateKey::generate().unwrap(), PrivateKey::generate().unwrap());
    let path = shop.registry.path().join("objects").join(ids[0].to_string());
    let good = fs::read(&path).unwrap();
    fs::write(&path, "changed").unwrap();
    let tagged = |name: &str, key: &PrivateKey| shop.registry.tag(&tag(name), ids[0], "", 5, Some(key));
    assert_eq!(code(tagged("other", &shop.key)), Err("object-damaged"));
    assert_eq!(code(shop.registry.roll_back(&tag("triage"), None, "", 5, Some(&shop.key))), Err("object-damaged"));
    fs::write(&path, good).unwrap();
    assert_eq!(code(tagged("triage", &stranger)), Err("unknown-key"));
    assert_eq!(code(tagged("other", &stranger)), Ok(()), "that one never counted here");
    shop.registry.rotate(&shop.key, &next, "next", 6).unwrap();
    shop.registry.revoke(&next, shop.key.public().id(), "retired", 7).unwrap();
    assert_eq!(code(tagged("triage", &shop.key)), Err("revoked-key"));
    assert_eq!(code(tagged("triage", &next)), Ok(()));
}

#[test]
fn a_tag_moves_forward_and_going_back_is_a_new_statement() {
    let shop = Shop::new();
    let ids: Vec<_> = (1..=3).map(|number| shop.publish(&artifact("triage", number), "triage")).collect();
    let log = shop.registry.roll_back(&tag("triage"), None, "", 9, Some(&shop.key)).unwrap();
    assert_eq!((log.head().number, log.head().id), (4, ids[1]));
    let log = shop.registry.roll_back(&tag("triage"), Some(1), "the first was best", 9, Some(&shop.key)).unwrap();
    assert_eq!((log.head().number, log.head().id, log.head().note.as_str()), (5, ids[0], "the first was best"));
    assert_eq!(shop.registry.resolve(&named("triage"), &Policy::default()), Ok(ids[0]));
    let before = shop.registry.version().unwrap();
    let same = shop.registry.tag(&tag("triage"), ids[0], "", 10, Some(&shop.key)).unwrap();
    assert_eq!((same.relation(&log), shop.registry.version()), (Relation::Same, Ok(before)));
    let none = shop.registry.roll_back(&tag("triage"), Some(77), "", 9, Some(&shop.key));
    assert_eq!(code(none), Err("unknown-number"));
    let absent = auto_schema::digest::Digest::of(b"absent");
    assert_eq!(code(shop.registry.tag(&tag("triage"), absent, "", 1, Some(&shop.key))), Err("unknown-id"));
}

#[test]
fn an_unsigned_tag_counts_only_where_the_policy_says_so() {
    let shop = Shop::new();
    let added = shop.registry.add(&artifact("triage", 1), &[evidence(&artifact("triage", 1), &shop.key)]).unwrap();
    shop.registry.tag(&tag("triage"), added.id, "", 1, None).unwrap();
    assert_eq!(code(shop.registry.get(&named("triage"), &Policy::default())), Err("unsigned"));
    assert_eq!(shop.registry.resolve(&named("triage"), &Policy::unsigned()), Ok(added.id));
    shop.registry.tag(&tag("triage"), added.id, "", 1, Some(&shop.key)).unwrap();
    assert!(shop.registry.get(&named("triage"), &Policy::default()).is_ok());
}

#[test]
fn a_successor_signs_everything_again_and_then_the_old_key_may_go() {
    let shop = Shop::new();
    shop.publish(&artifact("triage", 1), "triage");
    let next = PrivateKey::generate().unwrap();
    assert_eq!(shop.registry.rotate(&shop.key, &next, "next", 2).unwrap(), 2);
    shop.registry.revoke(&next, shop.key.public().id(), "retired", 3).unwrap();
    let got = shop.registry.get(&named("triage"), &Policy::default()).unwrap();
    assert_eq!(got.report.signers, [next.public().id()]);
    let late = artifact("triage", 2);
    shop.registry.add(&late, &[evidence(&late, &shop.key)]).unwrap();
    let id: Reference = auto_schema::digest::Digest::of(&late).to_string().parse().unwrap();
    assert_eq!(code(shop.registry.get(&id, &Policy::default())), Err("revoked-key"));
}

#[test]
fn each_rule_of_a_policy_refuses_by_its_name() {
    let shop = Shop::new();
    let id = shop.publish(&artifact("triage", 1), "triage");
    let other = PrivateKey::generate().unwrap().public().id();
    let digest = auto_schema::digest::Digest::of(b"another gate");
    type Set = fn(&mut Policy);
    let rules: [(&str, Set); 9] = [
        ("signatures", |policy| policy.signatures = 2),
        ("min_agreement_ppm", |policy| policy.min_agreement_ppm = Some(999_001)),
        ("min_coverage_ppm", |policy| policy.min_coverage_ppm = Some(1)),
        ("max_silent_error_ppm", |policy| policy.max_silent_error_ppm = Some(9_999)),
        ("min_held_out", |policy| policy.min_held_out = Some(41)),
        ("predicates", |policy| policy.predicates = vec![auto_registry::Part::Contract]),
        ("predicates", |policy| policy.predicates = vec![auto_registry::Part::Other("https://slsa.dev/x".into())]),
        ("allow_unguarded", |policy| policy.allow_unguarded = false),
        ("capabilities", |policy| policy.capabilities = Some(vec![])),
    ];
    let refused = |policy: &Policy| {
        let report = shop.registry.look(&Reference::Id(id), policy).unwrap().report;
        assert_eq!(report.accept().unwrap_err().code, "policy");
        report.unmet.iter().map(|unmet| unmet.rule).collect::<Vec<_>>()
    };
    for (rule, set) in rules {
        let mut policy = Policy::default();
        set(&mut policy);
        assert_eq!(refused(&policy), [rule]);
    }
    let keys = Policy { keys: vec![other], ..Policy::default() };
    assert_eq!(refused(&keys), ["keys"]);
    // A statement of somebody who is trusted and not among the keys is nothing that the policy asks for.
    let slsa = "https://slsa.dev/x";
    let builder = PrivateKey::generate().unwrap();
    shop.registry.trust(&builder.public(), "builder").unwrap();
    let said = auto_registry::Statement::about("triage", id, slsa, auto_json::Record::new());
    shop.registry.add(&artifact("triage", 1), &[support::signed(&said, &builder)]).unwrap();
    let predicates = vec![auto_registry::Part::Other(slsa.to_owned())];
    let any = Policy { predicates: predicates.clone(), ..Policy::default() };
    assert!(shop.registry.get(&Reference::Id(id), &any).is_ok());
    let ours = Policy { predicates, keys: vec![shop.key.public().id()], ..Policy::default() };
    assert_eq!(refused(&ours), ["predicates"]);
    let both = Policy { keys: vec![shop.key.public().id(), builder.public().id()], ..ours };
    assert!(shop.registry.get(&Reference::Id(id), &both).is_ok());
    assert_eq!(code(shop.registry.resolve(&named("triage"), &keys)), Err("policy"), "and of the name");
    assert_eq!(refused(&Policy { gates: vec![digest], ..Policy::default() }), ["gates"]);
    let met = Policy {
        keys: vec![shop.key.public().id()],
        gates: vec![support::gate()],
        min_agreement_ppm: Some(999_000),
        max_silent_error_ppm: Some(10_000),
        min_held_out: Some(40),
        predicates: vec![auto_registry::Part::Latency, auto_registry::Part::Machine],
        capabilities: Some(vec!["tool:look".into()]),
        ..Policy::default()
    };
    assert!(shop.registry.get(&named("triage"), &met).is_ok());
}

#[test]
fn only_what_nothing_leads_to_is_collected() {
    let shop = Shop::new();
    let kept = shop.publish(&artifact("triage", 1), "triage");
    let loose = shop.registry.add(&artifact("triage", 2), &[]).unwrap().id;
    let objects = shop.registry.path().join("objects");
    let orphan = auto_schema::digest::Digest::of(b"left by a crash");
    fs::write(objects.join(orphan.to_string()), "left by a crash").unwrap();
    fs::write(objects.join("notes.txt"), "somebody's").unwrap();
    let before = files(shop.registry.path());
    let dry = shop.registry.collect(Reach { dry_run: true, untagged: true }).unwrap();
    assert_eq!(dry.artifacts, [loose]);
    assert_eq!(files(shop.registry.path()), before, "a dry run removes nothing");
    let done = shop.registry.collect(Reach::default()).unwrap();
    assert!(done.objects.iter().any(|(digest, _)| *digest == orphan) && done.artifacts.is_empty());
    assert!(shop.registry.get(&named(&loose.to_string()), &Policy::unsigned()).is_ok());
    let all = shop.registry.collect(Reach { dry_run: false, untagged: true }).unwrap();
    assert_eq!(all.artifacts, [loose]);
    assert_eq!(code(shop.registry.get(&named(&loose.to_string()), &Policy::unsigned())), Err("unknown-id"));
    assert!(shop.registry.get(&named(&kept.to_string()), &Policy::default()).is_ok());
    assert!(objects.join("notes.txt").exists());
    assert_eq!(files(shop.registry.path()).len(), 5);
}

#[test]
fn two_writers_lose_nothing() {
    let shop = Shop::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (path, key) = (shop.registry.path(), &shop.key);
            scope.spawn(move || {
                let registry = Registry::open(path).unwrap();
                for number in 0..6 {
                    let file = artifact("triage", writer * 100 + number);
                    let id = registry.add(&file, &[evidence(&file, key)]).unwrap().id;
                    registry.tag(&tag("shared"), id, "", 1, Some(key)).unwrap();
                    registry.get(&named(&id.to_string()), &Policy::default()).unwrap();
                }
            });
        }
    });
    assert_eq!(shop.registry.list(&Policy::default()).unwrap().artifacts.len(), 24);
    assert_eq!(shop.registry.log(&tag("shared")).unwrap().entries().len(), 24);
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    assert_eq!(code(Registry::create_or_open(folder.path())), Err("not-a-registry"));
    assert_eq!(code(Registry::open(folder.path())), Err("no-registry"));
    assert_eq!(files(folder.path()).len(), 1);
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}
