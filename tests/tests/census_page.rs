//! The page of a census: whole in itself, true to the figures, and safe to open.

use std::process::Command;

use auto_json::Value;
use auto_tests::outside;
use auto_tests::tool::Tool;

/// A recording of a task whose names and inputs are written to break out of a page.
const HOSTILE: &str = r#"{"v":0,"t":"trace","trace_id":"00000000000000000000000000000001","task":"<script>\"'&","started_at_ms":0,"sdk":"s","attrs":{}}
{"v":0,"t":"span","trace_id":"00000000000000000000000000000001","span_id":1,"parent_span_id":null,"seq":1,"kind":"model_call","name":"</svg><img src=x onerror=alert(1)>","input":"</pre><script>alert(1)</script>","output":1,"error":null,"started_at_ms":0,"duration_ms":4,"attrs":{"cost_usd_micros":"1500","tokens":"7"}}
{"v":0,"t":"span","trace_id":"00000000000000000000000000000001","span_id":2,"parent_span_id":null,"seq":2,"kind":"model_call","name":"</svg><img src=x onerror=alert(1)>","input":"</pre><script>alert(1)</script>","output":2,"error":null,"started_at_ms":0,"duration_ms":6,"attrs":{"cost_usd_micros":"500"}}
{"v":0,"t":"span","trace_id":"00000000000000000000000000000001","span_id":3,"parent_span_id":null,"seq":3,"kind":"tool_call","name":"t","input":1,"output":1,"error":null,"started_at_ms":0,"duration_ms":0,"attrs":{}}
"#;

fn page(tool: &Tool, task: &str, store: &str) -> (String, Value) {
    let output = tool.run(&["census", "--task", task, "--store", store, "--html", "page.html", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let page = std::fs::read_to_string(tool.path("page.html")).unwrap();
    (page, Value::parse(&output.stdout).unwrap())
}

fn hostile() -> Tool {
    let tool = Tool::new();
    std::fs::write(tool.path("t.jsonl"), HOSTILE).unwrap();
    let output = tool.run(&["import", "--store", "s.db", "t.jsonl"]);
    assert!(output.status.success(), "{output:?}");
    tool
}

#[test]
fn the_page_is_one_file_that_loads_and_runs_nothing() {
    let tool = hostile();
    let (page, _) = page(&tool, "<script>\"'&", "s.db");
    for word in ["<script", "<img", "<link", "src=", "href=", "url(", "@import", "javascript:"] {
        let found = page.match_indices(word).filter(|(at, _)| !page[..*at].ends_with("img ")).count();
        assert_eq!(found, 0, "{word}: {page}");
    }
    assert!(
        page.contains("&lt;script&gt;") && page.contains("&lt;/svg&gt;&lt;img src=x onerror=alert(1)&gt;"),
        "{page}"
    );
}

#[test]
fn the_page_says_what_the_census_counts() {
    let tool = hostile();
    let (page, census) = page(&tool, "<script>\"'&", "s.db");
    let at = |path: &[&str]| path.iter().try_fold(&census, |value, key| value.get(key)).map(Value::to_string);
    assert_eq!(at(&["total", "all", "cost_micro_usd"]).as_deref(), Some("2000"), "{census}");
    assert_eq!(at(&["total", "all", "priced_spans"]).as_deref(), Some("2"));
    assert_eq!(at(&["total", "all", "tokens"]).as_deref(), Some("7"));
    assert!(
        page.contains("$0.002000 in 2 operations") && page.contains("always came out the same cost $0.000000"),
        "{page}"
    );
    assert!(page.contains("seen 2 times, 2 outputs") && page.contains("10.0 ms"), "{page}");
    let seen = census.get("seen").and_then(Value::as_list).unwrap();
    let spans: Vec<u64> = seen.iter().filter_map(|one| one.get("spans")?.as_u64()).collect();
    assert_eq!(spans, [1, 2, 0, 0, 0, 0]);
    let output = tool.run(&["census", "--task", "<script>\"'&", "--store", "s.db", "--html", "-"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), page, "the page stands alone on stdout");
    // Nothing is written over what is read.
    let output = tool.run(&["census", "--task", "<script>\"'&", "--store", "s.db", "--html", "s.db"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_browser_shows_the_page() {
    if !outside::has("chromium") {
        return;
    }
    let tool = Tool::with_shout();
    let (_, census) = page(&tool, "shout", "shout.db");
    let mut chromium = Command::new("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    chromium.arg(format!("--user-data-dir={}", tool.path("profile").display()));
    let output = chromium.arg(format!("file://{}", tool.path("page.html").display())).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let spans = census.get("total").and_then(|total| total.get("all")?.get("spans")?.as_u64()).unwrap();
    assert!(shown.contains(&format!("{spans} of {spans}")) || shown.contains(&format!("of {spans}")), "{shown}");
    // What a reader of screens is told.
    assert!(shown.contains("role=\"img\" aria-label=\"operations by kind"), "{shown}");
}
