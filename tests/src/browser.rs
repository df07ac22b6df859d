//! A page in a real browser: that it is laid out, whole in itself, and shows what it should.

use std::path::Path;
use std::process::Command;

use crate::outside;
use crate::tool::printed;

/// What is done in the browser, on a wide and on a narrow screen. A picture of each is left beside the page.
const SCRIPT: &str = r##"
const { chromium } = require("playwright-core");
const assert = require("node:assert");
const [page_file, ...texts] = process.argv.slice(2);
(async () => {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  for (const width of [1280, 400]) {
    const page = await browser.newPage({ viewport: { width, height: 900 } });
    const asked = [], wrong = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("pageerror", (error) => wrong.push(String(error)));
    await page.goto("file://" + page_file);
    // What is folded is opened, as a reader would.
    for (const fold of await page.$$("details:not([open]) > summary")) await fold.click();
    const shown = await page.evaluate(() => document.body.innerText);
    for (const text of texts) assert(shown.includes(text), `${text} is not shown: ${shown}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    await page.screenshot({ path: `${page_file}.${width}.png`, fullPage: true });
    assert(wide <= width, `it is ${wide} wide on a screen of ${width}`);
    // No text lies on another.
    const over = await page.evaluate(() => {
      const boxes = [...document.querySelectorAll("svg text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
      const meet = (a, b) => a.left + 1 < b.right && b.left + 1 < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom;
      return boxes.flatMap(([a, one], at) => boxes.slice(at + 1).filter(([, other]) => meet(one, other)).map(([b]) => [a, b]));
    });
    assert.deepEqual(over, [], "texts of a drawing lie on each other");
    assert.equal(asked.length, 1, "nothing but the page itself is asked for");
    assert.deepEqual(wrong, []);
    await page.close();
  }
  await browser.close();
})().catch((error) => { console.error(error); process.exit(1); });
"##;

/// Opens a page and sees to it that these texts are shown. Skipped, said on stderr, where there is no browser.
pub fn looked_at(page: &Path, texts: &[&str]) {
    if !outside::has("node") || !outside::has("chromium") {
        return;
    }
    let Some(packages) = outside::npm("page", &["playwright-core"]) else { return };
    let script = page.with_extension("cjs");
    std::fs::write(&script, SCRIPT).expect("a script beside the page");
    let mut node = Command::new("node");
    node.arg(script).arg(page).args(texts).env("NODE_PATH", packages.join("node_modules"));
    let output = node.output().expect("node starts");
    assert!(output.status.success(), "{}", printed(&output));
}
