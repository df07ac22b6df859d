"""Draws the pictures of the book from real runs: what a compile called, what a guard decided, and
a stream of inputs.

    cargo xtask demo
    python3 evals/pictures/draw.py target/demo docs/pictures

Compiles the demo's recordings again, without anything that is remembered, and asks its artifact about
a ticket that it answers and one that it does not. `auto-host` and `auto-evals` are the built ones.
"""

import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILT = ROOT / "target/release"
INK, FAINT, GOOD, BAD = "#222", "#888", "#2f6f4f", "#b3261e"


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


class Picture:
    """An SVG of texts, lines and boxes that says in words what it shows."""

    def __init__(self, width, height, title):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif">',
            f"<title>{html.escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="white"/>',
        ]

    def text(self, x, y, text, size=13, colour=INK, anchor="start"):
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">{html.escape(text)}</text>'
        )

    def box(self, x, y, width, height, fill, stroke="none"):
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" rx="3" fill="{fill}" stroke="{stroke}"/>'
        )

    def line(self, x0, y0, x1, y1, colour=FAINT, dashes=""):
        self.parts.append(
            f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="{colour}" stroke-dasharray="{dashes}" fill="none"/>'
        )

    def write(self, path):
        path.write_text("\n".join([*self.parts, "</svg>", ""]), encoding="utf-8")


def calls(report):
    """Calls of a compile in their order, equal ones behind each other as one: name, times, fuel."""
    found = []
    for call in report["calls"]:
        name = (call["pass"], call["function"])
        if call["memo_hit"]:
            continue
        if found and found[-1][0] == name:
            found[-1][1] += 1
            found[-1][2] += call["fuel"]
        else:
            found.append([name, 1, call["fuel"]])
    return found


def pipeline(demo, out):
    """What a compile of the demo called, what that took, and what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        made = run(
            BUILT / "auto-host", "compile", "-v", "--json", "--contract", ROOT / "evals/demo/demo.contract.toml",
            "--store", demo / "demo.db", "--out", f"{folder}/a.cbin", "--cache", f"{folder}/cache", "--runs", f"{folder}/runs",
        )  # fmt: skip
    report = json.loads(made.stdout)
    rows = calls(report)
    said = [(rung["rung"], rung["why"]) for rung in report["rungs"] if rung["status"] == "passed"]
    most = max(fuel for _, _, fuel in rows)
    top, height = 64, 22
    tall = top + height * len(rows) + 40 + 18 * len(said) + 24
    picture = Picture(760, tall, "The calls of a compile in their order, with the fuel of each, and what came of it")
    picture.text(16, 26, "A compile of the demo, call by call", 16)
    picture.text(16, 46, "component, function, and the instructions that it took (fuel; the driver last)", 12, FAINT)
    for number, ((name, function), times, fuel) in enumerate(rows):
        y = top + height * number
        often = f"  × {times}" if times > 1 else ""
        picture.text(16, y + 15, f"{name} {function}{often}")
        # Square roots, so that what is a thousandth can still be seen; the figure is beside it.
        picture.box(230, y + 4, 380 * (fuel / most) ** 0.5, 14, "#b8cfe0")
        picture.text(240 + 380 * (fuel / most) ** 0.5, y + 15, f"{fuel / 1e6:,.1f} M" if fuel else "not counted", 12)
    y = top + height * len(rows) + 30
    picture.text(16, y, "what the driver reports", 12, FAINT)
    for number, (rung, why) in enumerate(said):
        picture.text(16, y + 20 + 18 * number, rung, 13, GOOD)
        picture.text(130, y + 20 + 18 * number, why)
    picture.write(out / "compile.svg")


CHECK = re.compile(r"^ +\d+\. (?P<what>[^:]+): (?P<found>.*); scores (?P<score>[\d.]+)%, (?P<side>at most|above) the limit (?P<limit>[\d.]+)%$")


def decision(artifact, ticket):
    told = run(BUILT / "auto-host", "explain", artifact, "--input", json.dumps(ticket)).stdout
    return [match for match in map(CHECK.match, told.splitlines()) if match], told


def guard(demo, out):
    """What each check of the guard measured on a ticket that is let through, and on one that is not."""
    known = json.loads((ROOT / "evals/demo/held-out.jsonl").read_text(encoding="utf-8").splitlines()[0])
    known = known.get("input", known)
    far = json.loads((ROOT / "evals/demo/far.json").read_text(encoding="utf-8"))
    both = [("a ticket that nobody recorded, answered", known), ("a ticket unlike any, abstained from", far)]
    checks = [(title, *decision(demo / "triage.cbin", ticket)) for title, ticket in both]
    rows = max(len(found) for _, found, _ in checks)
    picture = Picture(800, 60 + len(checks) * (rows * 22 + 46), "What each check of a guard measured on two tickets")
    picture.text(16, 26, "A guard decides: every check has to stay at or below one limit", 16)
    y = 52
    for title, found, told in checks:
        assert found, told
        picture.text(16, y, title, 14)
        limit = float(found[0]["limit"])
        # Percents as square roots: limits are small, and what is refused is often far above.
        place = lambda percent: 330 + 150 * (percent / 100) ** 0.5
        for number, check in enumerate(found):
            line, score = y + 20 + 22 * number, float(check["score"])
            colour = BAD if check["side"] == "above" else GOOD
            picture.text(16, line, check["what"], 12)
            picture.box(330, line - 10, max(place(score) - 330, 2), 12, colour)
            picture.text(495, line, check["found"][:46], 12, colour)
        picture.line(place(limit), y + 6, place(limit), y + 10 + 22 * len(found), INK, "4 3")
        picture.text(place(limit), y + 24 + 22 * len(found), f"limit {limit:.1f}%", 11, FAINT, "middle")
        y += rows * 22 + 46
    picture.write(out / "guard.svg")


def ratchet(out):
    """A stream of inputs: who answers, and who is asked."""
    made = run(
        BUILT / "auto-evals", "stream", "--data", ROOT / "evals/stream/desk.jsonl", "--plot", out / "ratchet.svg"
    )
    if made.returncode != 0:
        sys.exit(made.stderr)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    demo, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    pipeline(demo, out)
    guard(demo, out)
    ratchet(out)


main()
