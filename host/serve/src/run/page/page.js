// What /state says, as tables and a curve. Everything that comes from there is put in as text.
"use strict";

const EVERY = 2000;
const element = (id) => document.getElementById(id);
let chosen = null;
let paused = false;
let lastAlarms = null;

function make(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function count(number) { return Number(number).toLocaleString("en"); }

function money(micro) { return "$" + (micro / 1e6).toFixed(micro < 10000 ? 6 : 2); }

function total(tally) { return Object.values(tally).reduce((sum, one) => sum + one, 0); }

function share(counts) {
  const all = counts.tier1 + counts.tier0 + unanswered(counts);
  return all === 0 ? "–" : (100 * counts.tier1 / all).toFixed(1) + "%";
}

function unanswered(counts) {
  return counts.curve.reduce((sum, point) => sum + point[2], 0);
}

function row(artifact) {
  const counts = artifact.counts;
  const line = make("tr");
  const name = make("button", artifact.name);
  name.type = "button";
  name.dataset.name = artifact.name;
  name.addEventListener("click", () => choose(artifact.name));
  const first = make("th");
  first.scope = "row";
  first.append(name);
  line.setAttribute("aria-selected", String(artifact.name === chosen));
  line.append(first);
  const id = make("td");
  id.append(make("code", artifact.id.slice(0, 12)));
  if (artifact.suspended) id.append(" ", make("span", "suspended: drift", "alarm"));
  line.append(id);
  const saved = artifact.price_micro_usd === null ? "not measured" : money(counts.saved_micro_usd);
  const figures = [count(counts.tier1), count(counts.tier0), count(total(counts.abstained)), share(counts),
    money(counts.spent_micro_usd), saved];
  for (const figure of figures) line.append(make("td", figure, "number"));
  return line;
}

function choose(name) {
  chosen = name;
  refresh();
}

// Up and down go from name to name.
function move(event) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const names = [...element("artifacts").querySelectorAll("button")];
  const at = names.indexOf(document.activeElement);
  if (at < 0) return;
  const next = names[at + (event.key === "ArrowDown" ? 1 : -1)];
  if (next) next.focus();
  event.preventDefault();
}

function curve(points) {
  const svg = element("curve");
  svg.replaceChildren();
  const all = points.filter((point) => point[0] + point[1] + point[2] > 0);
  const width = 640 / Math.max(1, all.length);
  const add = (tag, className, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    made.setAttribute("class", className);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    svg.append(made);
  };
  all.forEach((point, index) => {
    const sum = point[0] + point[1] + point[2];
    let top = 160;
    ["tier1", "tier0", "nobody"].forEach((tier, which) => {
      const height = 160 * point[which] / sum;
      top -= height;
      if (height > 0) add("rect", tier, { x: index * width, y: top, width: width + 0.5, height });
    });
    if (point[3] > 0) add("line", "reload", { x1: index * width, x2: index * width, y1: 0, y2: 160 });
  });
}

function detail(artifact) {
  element("detail").hidden = !artifact;
  if (!artifact) return;
  const counts = artifact.counts;
  element("detail-title").textContent = artifact.name;
  curve(counts.curve);
  const versions = counts.curve.reduce((sum, point) => sum + point[3], 0);
  element("curve-text").textContent = `The ratchet since the start: ${share(counts)} of the inputs by tier 1 (green), ` +
    `the rest by tier 0 (amber) or by nobody (red); ${versions} versions (dashed).`;
  const compared = counts.sampled === 0 ? "nothing compared yet"
    : `${count(counts.sampled - counts.agreed)} of ${count(counts.sampled)} compared answers differ`;
  const facts = [["Artifact", artifact.id], ["Task", `${artifact.task}: ${artifact.scope}`],
    ["Input", artifact.input], ["Output", artifact.output],
    ["Guard", artifact.guarded ? "yes" : "none, as its contract asks"],
    ["Tier 0", artifact.has_tier0 ? "stands behind it" : "nobody"],
    ["Price of tier 0", artifact.price_micro_usd === null ? "not measured" : money(artifact.price_micro_usd)],
    ["Drift", compared]];
  element("facts").replaceChildren(...facts.flatMap(([term, text]) => [make("dt", term), make("dd", text)]));
  const reasons = [["abstained", counts.abstained], ["failed", counts.failed], ["tier 0 failed", counts.tier0_failed]];
  element("reasons").replaceChildren(...reasons.flatMap(([what, tally]) => Object.entries(tally).map(([reason, times]) => {
    const line = make("tr");
    line.append(make("td", what), make("td", reason), make("td", count(times), "number"));
    return line;
  })));
}

function show(state) {
  const focused = document.activeElement && document.activeElement.dataset.name;
  const artifacts = state.artifacts;
  if (!artifacts.some((one) => one.name === chosen)) chosen = artifacts.length ? artifacts[0].name : null;
  element("artifacts").replaceChildren(...artifacts.map(row));
  if (focused) {
    const again = [...element("artifacts").querySelectorAll("button")].find((one) => one.dataset.name === focused);
    if (again) again.focus();
  }
  element("none").hidden = artifacts.length > 0;
  element("held").replaceChildren(...state.held.map((one) =>
    make("li", `${one.name} does not take ${(one.wanted || "its artifact").slice(0, 12)}: ${one.code}: ${one.message}`, "alarm")));
  detail(artifacts.find((one) => one.name === chosen));
  element("events").replaceChildren(...state.events.map((event) => {
    const times = event.times > 1 ? ` (${event.times} times)` : "";
    const whose = event.name ? `${event.name}: ` : "";
    return make("li", `${event.at} s: ${whose}${event.code}: ${event.message}${times}`, event.alarm ? "alarm" : "");
  }));
  element("summary").textContent =
    `version ${state.version}, up ${count(state.up_seconds)} s, ${count(state.connections)} connections`;
  if (state.alarms !== lastAlarms) {
    element("alarm").hidden = state.alarms === 0;
    element("alarm").textContent = `${count(state.alarms)} alarms; see the events`;
    lastAlarms = state.alarms;
  }
}

async function refresh() {
  const token = sessionStorage.getItem("token");
  try {
    const reply = await fetch("/state", { headers: token ? { Authorization: `Bearer ${token}` } : {} });
    element("sign-in").hidden = reply.ok;
    if (reply.ok) return show(await reply.json());
    element("summary").textContent = (await reply.json()).message;
  } catch (error) {
    element("summary").textContent = `The server does not answer: ${error.message}`;
  }
}

element("pause").addEventListener("click", () => {
  paused = !paused;
  element("pause").setAttribute("aria-pressed", String(paused));
});
element("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", element("token").value);
  element("token").value = "";
  refresh();
});
document.addEventListener("keydown", move);
setInterval(() => { if (!paused) refresh(); }, EVERY);
refresh();
