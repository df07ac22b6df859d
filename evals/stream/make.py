"""Writes desk.jsonl: a help desk's messages as they might come, with two shifts.

The first 90 are of three kinds. From there on a fourth comes in, and from 180 on a new policy: the
desk calls what it called "returns" "claims", under the same words.
"""
import json
import random

TEXTS = {
    "delivery": [
        "Where is my parcel? It should have been here on Monday.",
        "The parcel says delivered but nothing is at my door.",
        "Can the courier leave the parcel with my neighbour?",
        "My parcel has been stuck at the depot for a week.",
        "Please change the delivery address to my office.",
        "The courier came while I was out, can it be delivered again?",
        "Tracking has not moved since Friday, where is the parcel?",
        "Could you deliver in the evening instead of the morning?",
        "The courier left the parcel in the rain and the box is wet.",
        "When will the second half of my delivery arrive?",
    ],
    "returns": [
        "The shoes are too small, I would like to send them back.",
        "How do I return a lamp that I do not like?",
        "I want to send back two shirts from my last order.",
        "Please send me a return label for the kettle.",
        "The colour is not what the picture shows, can I return it?",
        "I returned the jacket last week, did you get it?",
        "May I send back a gift without the receipt?",
        "The return label does not print, please send another.",
        "I would like to return everything from this order.",
        "How long may I wait before I send something back?",
    ],
    "account": [
        "I forgot my password and the reset mail does not come.",
        "Please delete my account and all my data.",
        "How do I change the mail address of my account?",
        "I cannot log in since the update of your site.",
        "Somebody else uses my account, please lock it.",
        "The login page says my password is too old.",
        "Can two people share one account?",
        "I have two accounts, please put them together.",
        "The code for the login never reaches my phone.",
        "Please change the name on my account.",
    ],
    "invoice": [
        "The invoice shows the wrong company name.",
        "I need an invoice with the tax number for my last order.",
        "Please send the invoice as a PDF.",
        "The amount on the invoice is not what I paid.",
        "Can you split the invoice between two companies?",
        "The tax on this invoice is wrong.",
        "I never got an invoice for the order of May.",
        "Our bookkeeping needs all invoices of last year.",
    ],
}
rng = random.Random(8)
lines = []
for at in range(270):
    kinds = ["delivery", "returns", "account"] + (["invoice", "invoice"] if at >= 90 else [])
    kind = rng.choice(kinds)
    output = "claims" if kind == "returns" and at >= 180 else kind
    lines.append({"input": {"message": rng.choice(TEXTS[kind])}, "output": output})
with open("desk.jsonl", "w") as file:
    file.writelines(json.dumps(line) + "\n" for line in lines)
