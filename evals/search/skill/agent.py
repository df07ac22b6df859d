"""An agent that does what a skill says, and nothing else.

It reads the numbered steps and the rules under `skill/SKILL.md` and follows each sentence that it
understands; one that it does not understand it says so and passes over. Which inbox it works on is
a matter of its seed, so that runs with equal seeds can be compared.

    AUTO_SEED=0 python3 agent.py      in a folder with `skill/` and `cases/`; writes `out/`
"""

import os
import pathlib
import re
import shutil
from decimal import Decimal


class Stopped(Exception):
    """The skill says to stop."""


class Agent:
    def __init__(self, sentences):
        self.sentences = sentences
        self.files, self.numbers, self.total = [], [], None
        self.commas = self.once = False
        self.least = Decimal(0)
        self.no_amount = "stop"

    def understand(self):
        """What holds for all steps, before any is done."""
        for sentence in self.sentences:
            if re.search(r"[Ll]eave out the commas|[Rr]emove the commas", sentence):
                self.commas = True
            elif re.search(r"same invoice.*once|each invoice.*once", sentence, re.I):
                self.once = True
            elif match := re.search(r"[Ll]eave out amounts below ([0-9]+)", sentence):
                self.least = Decimal(match[1])
            elif match := re.search(r"no amount, (stop|skip it)", sentence):
                self.no_amount = match[1]

    def follow(self, sentence):
        if match := re.search(r"[Rr]ead the files `([^`]+)`", sentence):
            self.files = sorted(pathlib.Path().glob(match[1]))
            print(f"read {len(self.files)} files: {', '.join(file.name for file in self.files)}")
        elif match := re.search(r"[Tt]ake the number after `([^`]+)`", sentence):
            self.take(match[1])
        elif re.search(r"[Aa]dd up the numbers", sentence):
            self.total = sum(self.numbers, Decimal(0))
            print(f"the sum of {len(self.numbers)} numbers is {self.total}")
        elif match := re.search(r"[Ww]rite the sum to `([^`]+)`", sentence):
            path = pathlib.Path(match[1])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{self.total:.2f}\n")
            print(f"wrote {path}")
        elif not re.search(r"commas|once|no amount|amounts below", sentence):
            print(f"not understood: {sentence}")

    def take(self, label):
        seen = set()
        for file in self.files:
            text = file.read_text()
            invoice = re.search(r"^Invoice: (.*)$", text, re.M)
            found = re.search(rf"^{re.escape(label)} *([0-9,.]+)", text, re.M)
            if self.once and invoice and invoice[1] in seen:
                print(f"{file.name}: {invoice[1]} was counted already")
                continue
            seen.update(invoice.groups() if invoice else ())
            if found is None:
                print(f"{file.name}: no amount, so: {self.no_amount}")
                if self.no_amount == "stop":
                    raise Stopped(file.name)
                continue
            text = found[1].replace(",", "") if self.commas else found[1].split(",")[0]
            if Decimal(text) >= self.least:
                self.numbers.append(Decimal(text))


def sentences(skill):
    """Numbered steps and bulleted rules, without the front matter."""
    body = skill.split("---", 2)[2]
    return [line.strip() for line in re.findall(r"^(?:\d+\.|-) +(.+)$", body, re.M)]


def main():
    case = pathlib.Path("cases") / os.environ["AUTO_SEED"]
    shutil.copytree(case, "inbox")
    agent = Agent(sentences(pathlib.Path("skill/SKILL.md").read_text()))
    agent.understand()
    try:
        for sentence in agent.sentences:
            agent.follow(sentence)
    except Stopped as stopped:
        print(f"stopped at {stopped}, as the skill says")


main()
