//! Every reader of bytes that somebody else may have written is total: damaged seeds are read or
//! refused, and nothing panics.

mod support;

use auto_registry::{Envelope, KeyId, Policy, PublicKey, Reference, Report, Statement, TagLog, TagName, read_bundle};
use support::{Shop, artifact};

/// A generator of which bytes to damage: xorshift (Marsaglia 2003), so that a failure comes again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides.max(1) as u64).unwrap_or(0)
    }
}

/// Flips bits, cuts, repeats or inserts what readers look for.
fn damaged(seed: &[u8], dice: &mut Dice) -> Vec<u8> {
    const TOKENS: [&[u8]; 9] = [b"\"", b"{", b"[", b"\n", b"null", b"-1", b"1e99", b"\\u0000", b"\xff\xfe"];
    let mut bytes = seed.to_vec();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(bytes.len() + 1);
        match dice.roll(4) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.roll(8),
            1 => bytes.truncate(at),
            2 => {
                let end = at + dice.roll(bytes.len() - at + 1);
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                let token = TOKENS[dice.roll(TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
        }
    }
    bytes
}

#[test]
fn no_reader_of_the_registry_panics_on_damaged_bytes() {
    let shop = Shop::new();
    let file = artifact("triage", 1);
    shop.publish(&file, "triage");
    let tag: TagName = "triage".parse().unwrap();
    let next = auto_registry::PrivateKey::generate().unwrap();
    shop.registry.rotate(&shop.key, &next, "next", 1).unwrap();
    let parcel = shop.registry.pack(&"triage".parse().unwrap(), &Policy::default()).unwrap();
    let log = parcel.log.unwrap().to_bytes();
    let bundle = auto_registry::write_bundle(&parcel.envelopes);
    let keys = auto_registry::write_bundle(&parcel.keys);
    let payload = parcel.envelopes[0].payload.clone();
    let pem = shop.key.public().to_pem().into_bytes();
    let der = shop.key.public().to_der();
    let ring = shop.registry.keys().unwrap();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut read, mut refused) = (0, 0);
    let mut count = |good: bool| if good { read += 1 } else { refused += 1 };
    for _ in 0..3000 {
        let mut text = |seed: &[u8]| String::from_utf8_lossy(&damaged(seed, &mut dice)).into_owned();
        count(text(b"team/triage:latest").parse::<Reference>().is_ok());
        count(PublicKey::from_pem(&text(&pem)).is_some());
        count(KeyId::parse(&text(shop.key.public().id().to_string().as_bytes())).is_some());
        count(PublicKey::from_der(&damaged(&der, &mut dice)).is_some());
        count(TagLog::parse(&tag, &damaged(&log, &mut dice)).is_ok());
        count(Statement::parse(&damaged(&payload, &mut dice)).is_ok());
        count(read_bundle(&damaged(&keys, &mut dice)).map(|keys| ring.clone().merge(&keys)).is_ok());
        let envelopes = read_bundle(&damaged(&bundle, &mut dice));
        count(envelopes.and_then(|all| Report::of(&file, &all, &ring, &Policy::default())).is_ok());
        // Signed by a key that counts, and nonsense all the same.
        let mut signed = Envelope::unsigned(damaged(&payload, &mut dice));
        signed.sign(&shop.key);
        count(Report::of(&file, &[signed], &ring, &Policy::default()).is_ok());
    }
    assert!(read > 500 && refused > 10_000, "{read} read, {refused} refused");
}
