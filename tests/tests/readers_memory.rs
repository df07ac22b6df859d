//! Reading takes memory in proportion to what is read, however large the lengths are that it
//! claims. One test in a program of its own, because it counts every allocation.

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use targets::TARGETS;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static TOTAL: AtomicUsize = AtomicUsize::new(0);

// SAFETY: forwards to the system's allocator; the counters change nothing about it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TOTAL.fetch_add(layout.size(), Relaxed);
        MOST.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a target may have at once, and may ask for in all, for each byte that it reads; and
/// what it may have for none.
const AT_ONCE: usize = 600;
const IN_ALL: usize = 6_000;
const FOR_NOTHING: usize = 2 << 20;

fn check(name: &str, target: fn(&[u8]), what: &str, bytes: &[u8]) {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    TOTAL.store(0, Relaxed);
    target(bytes);
    let (most, total) = (MOST.load(Relaxed) - before, TOTAL.load(Relaxed));
    let length = bytes.len();
    assert!(most <= AT_ONCE * length + FOR_NOTHING, "{name}, {what}: {length} bytes took {most} at once");
    assert!(total <= IN_ALL * length + 8 * FOR_NOTHING, "{name}, {what}: {length} bytes took {total} in all");
}

/// Texts of about 100 KB that repeat one thing.
fn long() -> Vec<(&'static str, Vec<u8>)> {
    let many = |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>();
    let listed = |open: &str, items: Vec<String>, close: &str| format!("{open}{}{close}", items.join(","));
    let keys = many(8_000, &|index| format!("\"k{:05}\":0", 8_000 - index));
    let record = listed("{", keys, "}");
    let fields = many(8_000, &|index| format!("k{:05}: int", 8_000 - index));
    let key = "k".repeat(50_000);
    let text = |name: &'static str, text: String| (name, text.into_bytes());
    let header = r#"{"attrs":{},"sdk":"s","started_at_ms":1,"t":"trace","task":"t","trace_id":"i","v":0}"#;
    vec![
        text("open brackets", "[".repeat(100_000)),
        text("open braces", "{\"a\":".repeat(20_000)),
        text("open calls", "trim(".repeat(20_000)),
        text("open types", "list<".repeat(20_000)),
        text("a long number", "1".repeat(100_000)),
        text("a long text", format!("\"{}\"", "\\n".repeat(50_000))),
        text("many items", listed("[", many(40_000, &|_| "1".to_owned()), "]")),
        text("many keys, the last first", record.clone()),
        text("many fields, the last first", listed("record{", fields, "}")),
        text("many labels", listed("enum{", many(8_000, &|index| format!("\"{index}\"")), "}")),
        text("fields of fields", format!("${}", ".a".repeat(50_000))),
        text("a long path", "/a".repeat(50_000)),
        text("many lines", "{}\n".repeat(30_000)),
        text(
            "attributes",
            format!("{}\n", header.replace("\"attrs\":{}", &format!("\"attrs\":{}", record.replace(":0", ":\"\"")))),
        ),
        text("a long key with many values", format!("{key} = [{}]", "1,".repeat(25_000))),
        text(
            "a long table with many keys",
            format!("[{key}]\n{}", many(5_000, &|index| format!("a{index}=1\n")).concat()),
        ),
        text("dotted keys", format!("{} = 1", vec!["a"; 50_000].join("."))),
        text("many tables", "[[example]]\n".repeat(8_000)),
    ]
}

/// A number that claims to be a length, where one might be, in every form that we know of.
fn claims() -> Vec<Vec<u8>> {
    let word = [u32::MAX, i32::MAX as u32, 1 << 30, 1 << 20];
    let mut claims: Vec<Vec<u8>> = word.iter().map(|word| word.to_le_bytes().to_vec()).collect();
    claims.extend(word.iter().map(|word| u64::from(*word).to_le_bytes().to_vec()));
    claims.push(u64::MAX.to_le_bytes().to_vec());
    claims.push(vec![0xFF, 0xFF, 0xFF, 0xFF, 0x0F]);
    claims.push(vec![0x80, 0x80, 0x80, 0x80, 0x04]);
    claims
}

#[test]
fn reading_takes_memory_in_proportion() {
    for (name, target) in TARGETS {
        for (what, bytes) in long() {
            check(name, *target, what, &bytes);
        }
        for seed in fs::read_dir(auto_tests::root().join("tests/fuzz/seeds").join(name)).unwrap() {
            let seed = fs::read(seed.unwrap().path()).unwrap();
            check(name, *target, "a seed", &seed);
            for claim in claims() {
                for at in 0..seed.len() {
                    let mut bytes = seed.clone();
                    let end = (at + claim.len()).min(bytes.len());
                    bytes.splice(at..end, claim.iter().copied());
                    check(name, *target, "a claimed length", &bytes);
                }
            }
        }
    }
}
