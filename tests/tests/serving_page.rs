//! The page of `auto-host serve` in a real browser: what it shows, that it is used by keyboard
//! alone, and that it asks nobody but its own server for anything.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use auto_tests::outside;
use auto_tests::server::Server;
use auto_tests::tool::{Tool, printed};

/// What is done in the browser. It ends with another code than 0 where something is not as it should be.
const SCRIPT: &str = r##"
const { chromium } = require("playwright-core");
const assert = require("node:assert");
const [url, token] = process.argv.slice(2);
(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  const page = await browser.newPage();
  const asked = [], wrong = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("console", (message) => { if (message.text().includes("Content Security")) wrong.push(message.text()); });
  await page.goto(url);
  if (token) {
    await page.waitForSelector("#sign-in:not([hidden])");
    await page.focus("#token");
    await page.keyboard.type(token);
    await page.keyboard.press("Enter");
  }
  await page.waitForSelector("#artifacts tr:nth-child(2)");
  const first = await page.textContent("#artifacts tr:nth-child(1)");
  assert(first.includes("shout"), first);
  // Tab goes to the names, the arrows from one to the next, and Enter chooses.
  for (let at = 0; at < 10; at++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.dataset.name === "shout")) break;
  }
  assert.equal(await page.evaluate(() => document.activeElement.dataset.name), "shout");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.name), "zebra");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("detail-title").textContent === "shout");
  const reasons = await page.textContent("#reasons");
  assert(reasons.includes("abstained") && reasons.includes("characters"), reasons);
  assert((await page.$$("#curve rect")).length >= 2, "the curve has both answers and abstentions");
  assert((await page.textContent("#curve-text")).includes("50.0% of the inputs by tier 1"));
  assert((await page.textContent("#events")).includes("loaded"));
  // The focus is where it was after the page has refreshed itself.
  await page.waitForTimeout(2500);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.name), "shout");
  assert.deepEqual(asked.filter((one) => !one.startsWith(url)), [], "nothing from elsewhere");
  assert.deepEqual(wrong, []);
  await browser.close();
})().catch((error) => { console.error(error); process.exit(1); });
"##;

#[test]
fn the_page_shows_what_there_is_by_keyboard_and_asks_nobody_else() {
    if !outside::has("node") || !outside::has("chromium") {
        return;
    }
    let Some(packages) = outside::npm("page", &["playwright-core"]) else { return };
    let tool = Tool::with_shout();
    fs::create_dir(tool.path("reg")).unwrap();
    for name in ["shout", "zebra"] {
        fs::copy(tool.path("shout.cbin"), tool.path("reg").join(name).with_extension("cbin")).unwrap();
    }
    let file = "[[token]]\nname = \"ops\"\nsecret = \"ops-0123456789abcdef\"\noperator = true\n";
    fs::write(tool.path("tokens.toml"), file).unwrap();
    fs::set_permissions(tool.path("tokens.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(tool.path("page.cjs"), SCRIPT).unwrap();
    let serve = ["serve", "--registry", "reg", "--addr", "127.0.0.1:0"];
    for (more, token) in [(&[][..], None), (&["--token-file", "tokens.toml"], Some("ops-0123456789abcdef"))] {
        let server = Server::start(tool.command(&[&serve[..], more].concat()));
        let bearer: Vec<String> = token.iter().map(|token| format!("Authorization: Bearer {token}")).collect();
        let headers: Vec<&str> = bearer.iter().map(String::as_str).collect();
        let ask = |input: &str| server.post("/run/shout", input, &headers).status;
        assert_eq!(ask(r#"{"text":"please send the blue key"}"#), 200);
        assert_eq!(ask(r#"{"text":"zyx wvu 1"}"#), 409);
        let mut node = Command::new("node");
        node.arg(tool.path("page.cjs")).arg(format!("http://{}", server.address)).args(token);
        node.env("NODE_PATH", packages.join("node_modules")).env("CHROMIUM", "/usr/bin/chromium");
        let output = node.output().expect("node starts");
        assert!(output.status.success(), "{}", printed(&output));
    }
}
