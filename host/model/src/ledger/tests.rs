//! Every cut and every flipped bit of a ledger: it never says less than was spent.

use std::fs;
use std::path::PathBuf;

use super::*;

fn purpose(session: &str, cap: u64) -> Purpose<'_> {
    Purpose { session, cap: MicroUsd(cap), model: "openai/gpt-4o" }
}

fn cost(micros: u64) -> Outcome<'static> {
    Outcome { how: "ok", cost: Some(MicroUsd(micros)), tokens: Some((3, 4)) }
}

/// A folder, and the path of a ledger in it.
fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join("spend.jsonl");
    (folder, path)
}

/// Three calls: one settled, one that nobody settled, one settled at its worst.
fn written(path: &Path) -> Vec<u8> {
    let mut ledger = Ledger::open(path).unwrap();
    let first = ledger.reserve(&purpose("a", 100), MicroUsd(40)).unwrap();
    ledger.settle(&first, &cost(10)).unwrap();
    let _lost = ledger.reserve(&purpose("a", 100), MicroUsd(50)).unwrap();
    let third = ledger.reserve(&purpose("b", 100), MicroUsd(7)).unwrap();
    ledger.settle(&third, &Outcome { how: "model-timeout", cost: None, tokens: None }).unwrap();
    fs::read(path).unwrap()
}

#[test]
fn a_session_counts_what_was_settled_and_the_worst_of_the_rest() {
    let (_folder, path) = scratch();
    written(&path);
    let mut ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.totals("a"), Totals { spent: MicroUsd(60), calls: 2 });
    assert_eq!(ledger.totals("b"), Totals { spent: MicroUsd(7), calls: 1 });
    assert_eq!(ledger.totals("c"), Totals::default());
    assert_eq!(ledger.spent(), MicroUsd(67));
    assert_eq!(ledger.reserve(&purpose("a", 100), MicroUsd(41)).unwrap_err().code, "spend-cap");
    assert!(ledger.reserve(&purpose("a", 100), MicroUsd(40)).is_ok());
    assert_eq!(ledger.reserve(&purpose("a", 100), MicroUsd(1)).unwrap_err().code, "spend-cap");
}

#[test]
fn it_is_json_lines_that_only_the_owner_reads() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_folder, path) = scratch();
    let text = String::from_utf8(written(&path)).unwrap();
    let events: Vec<String> = text
        .lines()
        .map(|line| Value::parse(line).unwrap().get("event").and_then(Value::as_text).unwrap().to_owned())
        .collect();
    assert_eq!(events, ["ledger", "reserve", "settle", "reserve", "reserve", "settle"]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn any_bytes_are_read_or_refused() {
    let (_folder, path) = scratch();
    let bytes = written(&path);
    assert!(Ledger::starts(&bytes) && !Ledger::starts(b"{\"event\":\"ledger\"}"));
    let whole = Ledger::read(&path, &bytes).unwrap();
    assert_eq!(
        whole.sessions().map(|(session, totals)| (session, totals.spent.0)).collect::<Vec<_>>(),
        [("a", 60), ("b", 7)]
    );
    for at in 0..bytes.len() {
        for damage in [&b"\xff\xfe"[..], b"99999999", b"{", b"\"}\n", b"\0\0\0\0"] {
            let with = [&bytes[..at], damage, &bytes[at..]].concat();
            let _ = Ledger::read(&path, &with);
            let over = [&bytes[..at], damage].concat();
            let _ = Ledger::read(&path, &over);
        }
    }
}

/// What the lines that are whole before a cut say was spent.
fn expected(cut: usize, bytes: &[u8]) -> u64 {
    let lines = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
    [0, 0, 40, 10, 60, 67, 67][lines]
}

#[test]
fn wherever_it_is_cut_the_whole_lines_count_and_it_goes_on() {
    let (_folder, path) = scratch();
    let bytes = written(&path);
    for cut in 0..=bytes.len() {
        for zeros in [0, 5] {
            fs::write(&path, [&bytes[..cut], &vec![0; zeros]].concat()).unwrap();
            let mut ledger = Ledger::open(&path).unwrap();
            assert_eq!(ledger.spent().0, expected(cut, &bytes), "cut at {cut}");
            let next = ledger.reserve(&purpose("c", 9), MicroUsd(9)).unwrap();
            ledger.settle(&next, &cost(2)).unwrap();
            assert_eq!(Ledger::open(&path).unwrap().spent().0, expected(cut, &bytes) + 2, "cut at {cut}");
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_is_damage_and_nothing_is_spent() {
    let (_folder, path) = scratch();
    let bytes = written(&path);
    for at in 0..bytes.len() {
        for bit in [0, 3, 7] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            fs::write(&path, &flipped).unwrap();
            let error = Ledger::open(&path).expect_err("it was read");
            assert_eq!(error.code, "ledger-damaged", "bit {bit} of byte {at}");
            assert_eq!(fs::read(&path).unwrap(), flipped, "it was changed");
        }
    }
}

#[test]
fn a_line_that_is_missing_moved_or_there_twice_is_damage() {
    let (_folder, path) = scratch();
    let text = String::from_utf8(written(&path)).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let with = |order: &[usize]| order.iter().map(|line| lines[*line]).collect::<String>();
    for order in [vec![1, 2, 3], vec![0, 2, 3], vec![0, 1, 3], vec![0, 1, 1], vec![0, 3, 2], vec![0, 1, 2, 2]] {
        fs::write(&path, with(&order)).unwrap();
        assert_eq!(Ledger::open(&path).expect_err("it was read").code, "ledger-damaged", "{order:?}");
    }
}

#[test]
fn a_ledger_that_loses_lines_while_it_is_open_is_damage() {
    let (_folder, path) = scratch();
    let bytes = written(&path);
    let mut ledger = Ledger::open(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(ledger.reserve(&purpose("a", 1_000), MicroUsd(1)).unwrap_err().code, "ledger-damaged");
}

#[test]
fn a_ledger_that_cannot_be_written_lets_nothing_be_spent() {
    let (folder, _) = scratch();
    let mut ledger = Ledger::open(&folder.path().join("spend.jsonl")).unwrap();
    fs::create_dir(folder.path().join("spend.jsonl")).unwrap();
    assert_eq!(ledger.reserve(&purpose("a", 10), MicroUsd(1)).unwrap_err().code, "ledger-io");
}

#[test]
fn many_writers_never_spend_more_than_the_cap() {
    let (_folder, path) = scratch();
    let spent = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let mut ledger = Ledger::open(&path).unwrap();
                    let mut reserved = 0;
                    while let Ok(reservation) = ledger.reserve(&purpose("a", 100), MicroUsd(3)) {
                        reserved += 1;
                        ledger.settle(&reservation, &cost(2)).unwrap();
                    }
                    reserved * 2
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum::<u64>()
    });
    let total = Ledger::open(&path).unwrap().spent().0;
    assert_eq!(total, spent);
    assert!((98..=100).contains(&total), "{total} of 100");
}
