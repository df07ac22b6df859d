"""Whether a run came to the right sum: exit 0 for yes, 1 for no.

It works from the same inboxes, by rules of its own: every file counts, each invoice once, and what
is no invoice counts as nothing.
"""

import os
import pathlib
import re
import sys
from decimal import Decimal

amounts = {}
for file in sorted((pathlib.Path("cases") / os.environ["AUTO_SEED"]).iterdir()):
    text = file.read_text()
    invoice = re.search(r"^Invoice: (.*)$", text, re.M)
    if invoice:
        amounts[invoice[1]] = Decimal(re.search(r"^Amount: (.*)$", text, re.M)[1].replace(",", ""))

expected = f"{sum(amounts.values(), Decimal(0)):.2f}"
made = pathlib.Path("out/total.txt")
found = made.read_text().strip() if made.exists() else "nothing"
print(f"expected {expected}, found {found}")
sys.exit(0 if found == expected else 1)
