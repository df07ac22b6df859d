//! Parcels between registries: what is taken in, and what is refused whoever hands it over.

mod support;

use auto_registry::{Class, Policy, PrivateKey, Reference, Registry, RegistryError};
use support::{Shop, artifact, evidence};

fn named(text: &str) -> Reference {
    text.parse().unwrap()
}

/// A registry that trusts the key of another, and nothing else.
fn reader(of: &Shop) -> Shop {
    let reader = Shop::strange();
    reader.registry.trust(&of.key.public(), "theirs").unwrap();
    reader
}

fn refusal<T: std::fmt::Debug>(result: Result<T, RegistryError>) -> (&'static str, Class) {
    let error = result.expect_err("it was taken");
    (error.code, error.class)
}

#[test]
fn a_parcel_is_taken_in_on_the_strength_of_its_key_alone() {
    let (shop, policy) = (Shop::new(), Policy::default());
    let id = shop.publish(&artifact("triage", 1), "triage");
    let parcel = shop.registry.pack(&named("triage"), &policy).unwrap();
    let reader = reader(&shop);
    assert!(reader.registry.receive(&parcel, &policy).unwrap().new);
    assert!(!reader.registry.receive(&parcel, &policy).unwrap().new);
    assert_eq!(reader.registry.get(&named("triage"), &policy).unwrap().report.artifact.id, id);
    let stranger = Shop::new();
    assert_eq!(refusal(stranger.registry.receive(&parcel, &policy)), ("unknown-key", Class::Refused));
    assert!(stranger.registry.list(&policy).unwrap().artifacts.is_empty());
}

#[test]
fn a_tag_that_was_seen_further_on_is_stale_and_one_that_went_elsewhere_is_forked() {
    let (shop, policy) = (Shop::new(), Policy::default());
    shop.publish(&artifact("triage", 1), "triage");
    let old = shop.registry.pack(&named("triage"), &policy).unwrap();
    let newest = shop.publish(&artifact("triage", 2), "triage");
    let new = shop.registry.pack(&named("triage"), &policy).unwrap();
    let reader = reader(&shop);
    reader.registry.receive(&new, &policy).unwrap();
    assert_eq!(refusal(reader.registry.receive(&old, &policy)), ("stale-tag", Class::Integrity));
    // The same key, another history: as if it had been changed afterwards.
    let other = Shop { key: PrivateKey::read(&shop_key(&shop)).unwrap(), ..Shop::strange() };
    other.registry.trust(&other.key.public(), "").unwrap();
    (3..6).for_each(|number| {
        other.publish(&artifact("triage", number), "triage");
    });
    let forked = other.registry.pack(&named("triage"), &policy).unwrap();
    assert_eq!(refusal(reader.registry.receive(&forked, &policy)), ("tag-forked", Class::Integrity));
    assert_eq!(reader.registry.resolve(&named("triage"), &policy), Ok(newest));
}

fn shop_key(shop: &Shop) -> std::path::PathBuf {
    let path = shop.folder.path().join("key.pem");
    shop.key.write_new(&path).unwrap();
    path
}

#[test]
fn an_old_artifact_under_the_newest_tag_is_refused() {
    let (shop, policy) = (Shop::new(), Policy::default());
    shop.publish(&artifact("triage", 1), "triage");
    let old = shop.registry.pack(&named("triage"), &policy).unwrap();
    shop.publish(&artifact("triage", 2), "triage");
    let mut mixed = shop.registry.pack(&named("triage"), &policy).unwrap();
    (mixed.artifact, mixed.envelopes) = (old.artifact, old.envelopes);
    assert_eq!(refusal(reader(&shop).registry.receive(&mixed, &policy)), ("other-artifact", Class::Integrity));
}

#[test]
fn a_key_swapped_on_the_way_is_an_unknown_key() {
    let (shop, policy) = (Shop::new(), Policy::default());
    let file = artifact("triage", 1);
    shop.publish(&file, "triage");
    // Whoever is in between signs with a key of their own, and says that it follows ours.
    let thief = Shop::new();
    thief.publish(&file, "triage");
    let next = PrivateKey::generate().unwrap();
    thief.registry.rotate(&thief.key, &next, "ours, really", 2).unwrap();
    let swapped = thief.registry.pack(&named("triage"), &policy).unwrap();
    let reader = reader(&shop);
    assert_eq!(refusal(reader.registry.receive(&swapped, &policy)), ("unknown-key", Class::Refused));
    assert_eq!(reader.registry.keys().unwrap().trusted().count(), 1);
    // Our signature and theirs under it: ours counts, theirs brings nothing in.
    let mut both = shop.registry.pack(&named("triage"), &policy).unwrap();
    both.envelopes.push(evidence(&file, &thief.key));
    both.keys = swapped.keys;
    reader.registry.receive(&both, &policy).unwrap();
    assert_eq!(reader.registry.keys().unwrap().trusted().count(), 1);
}

#[test]
fn rotation_travels_and_a_revocation_stays_even_where_it_ends_what_was_asked_for() {
    let (shop, policy) = (Shop::new(), Policy::default());
    shop.publish(&artifact("triage", 1), "triage");
    let reader = reader(&shop);
    reader.registry.receive(&shop.registry.pack(&named("triage"), &policy).unwrap(), &policy).unwrap();
    let next = PrivateKey::generate().unwrap();
    shop.registry.rotate(&shop.key, &next, "next", 2).unwrap();
    let newer = artifact("triage", 2);
    let id = shop.registry.add(&newer, &[evidence(&newer, &next)]).unwrap().id;
    shop.registry.tag(&"triage".parse().unwrap(), id, "", 3, Some(&next)).unwrap();
    reader.registry.receive(&shop.registry.pack(&named("triage"), &policy).unwrap(), &policy).unwrap();
    assert_eq!(reader.registry.resolve(&named("triage"), &policy), Ok(id));

    shop.registry.revoke(&next, shop.key.public().id(), "stolen", 4).unwrap();
    let file = artifact("other", 3);
    let mut parcel = shop.registry.pack(&named("triage"), &policy).unwrap();
    (parcel.artifact, parcel.envelopes, parcel.log) = (file.clone(), vec![evidence(&file, &shop.key)], None);
    assert_eq!(refusal(reader.registry.receive(&parcel, &policy)), ("revoked-key", Class::Integrity));
    assert_eq!(reader.registry.keys().unwrap().revoked().count(), 1);
    assert!(reader.registry.get(&named("triage"), &policy).is_ok(), "its successor signed this one");
}

#[test]
fn signatures_that_a_registry_makes_up_neither_fill_an_envelope_nor_outlast_the_right_ones() {
    let (shop, policy) = (Shop::new(), Policy::default());
    let id = shop.publish(&artifact("triage", 1), "triage");
    let good = shop.registry.pack(&named("triage"), &policy).unwrap();
    let reader = reader(&shop);
    let junk = |keyid: String| auto_registry::Signature { keyid, sig: vec![1; 64] };
    // A new set of sixty of them, each time.
    for round in 0..3 {
        let mut parcel = good.clone();
        parcel.envelopes[0].signatures.extend((0..60).map(|number| junk(format!("{round}-{number}"))));
        reader.registry.receive(&parcel, &policy).unwrap();
        let kept = reader.registry.envelopes(id).unwrap();
        assert!(kept[0].signatures.len() <= 64 && kept[0].names(shop.key.public().id()), "round {round}");
    }
    // One in the name of a key that is trusted later.
    let late = PrivateKey::generate().unwrap();
    let mut parcel = good.clone();
    parcel.envelopes[0].signatures.push(junk(late.public().id().to_string()));
    let other = Shop::strange();
    other.registry.trust(&shop.key.public(), "theirs").unwrap();
    other.registry.receive(&parcel, &policy).unwrap();
    other.registry.trust(&late.public(), "late").unwrap();
    assert_eq!(refusal(other.registry.get(&named("triage"), &policy)), ("bad-signature", Class::Integrity));
    other.registry.receive(&good, &policy).unwrap();
    assert!(other.registry.get(&named("triage"), &policy).is_ok(), "an honest registry mends it");
    assert_eq!(refusal(other.registry.receive(&parcel, &policy)), ("bad-signature", Class::Integrity));
}

#[test]
fn a_parcel_that_does_not_meet_the_policy_leaves_nothing() {
    let shop = Shop::new();
    shop.publish(&artifact("triage", 1), "triage");
    let parcel = shop.registry.pack(&named("triage"), &Policy::default()).unwrap();
    let reader = reader(&shop);
    let strict = Policy { min_agreement_ppm: Some(1_000_000), ..Policy::default() };
    assert_eq!(refusal(reader.registry.receive(&parcel, &strict)), ("policy", Class::Refused));
    let objects = std::fs::read_dir(reader.registry.path().join("objects"));
    assert_eq!(objects.map_or(0, Iterator::count), 0);
    assert!(Registry::open(reader.registry.path()).unwrap().list(&strict).unwrap().tags.is_empty());
}
