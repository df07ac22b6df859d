"""scikit-learn beside the models of the compiler, on the same texts, in the same run: a table in Markdown.

    python3 evals/classify/beside.py --train clinc150-train.jsonl --test clinc150-val.jsonl \
        --oos clinc150-oos-val.jsonl --classes 10 --labels 500 --seeds 6

Draws the texts as `auto-evals classify` does (from a digest of seed and text), runs that, and fits
what scikit-learn has for the purpose: TF-IDF of words, of characters, of both, with logistic
regression and a linear support vector machine. `auto-evals` is the built one, or $AUTO_EVALS.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import time

import numpy
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_union
from sklearn.svm import LinearSVC

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EVALS = os.environ.get("AUTO_EVALS", str(ROOT / "target/release/auto-evals"))


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def order(seed, text):
    return hashlib.sha256(f"{seed}\n{text}".encode()).digest()


def drawn(train, test, seed, classes, labels):
    """Training texts, and those of the test set that are of the drawn classes and not."""
    names = sorted({row["label"] for row in train}, key=lambda label: order(seed, label))[:classes]
    pool = sorted((row for row in train if row["label"] in names), key=lambda row: order(seed, row["text"]))
    first = {row["label"]: index for index, row in reversed(list(enumerate(pool)))}
    indices = sorted(first.values()) + [index for index in range(len(pool)) if index not in first.values()]
    inside = [row for row in test if row["label"] in names]
    near = [row for row in test if row["label"] not in names]
    return [pool[index] for index in indices[:labels]], inside, near


def words():
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)


def characters():
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)


MODELS = {
    "words, logistic regression": (words, lambda: LogisticRegression(C=20, max_iter=300)),
    "characters, logistic regression": (characters, lambda: LogisticRegression(C=20, max_iter=300)),
    "words and characters, logistic regression": (
        lambda: make_union(words(), characters()),
        lambda: LogisticRegression(C=20, max_iter=300),
    ),
    "characters, linear SVM": (characters, LinearSVC),
    "words and characters, linear SVM": (lambda: make_union(words(), characters()), LinearSVC),
}


def measured(vectors, model, train, test, others):
    """Accuracy, seconds, and for texts of no class the area under the curve and what 95% let through."""
    started = time.monotonic()
    vectors = vectors()
    model = model().fit(vectors.fit_transform([row["text"] for row in train]), [row["label"] for row in train])
    seconds = time.monotonic() - started
    said = vectors.transform([row["text"] for row in test])
    figures = {"accuracy": float((model.predict(said) == [row["label"] for row in test]).mean()), "train_s": seconds}
    if others:
        inside = highest(model, said)
        outside = highest(model, vectors.transform([row["text"] for row in others]))
        truth = numpy.concatenate([numpy.ones(len(inside)), numpy.zeros(len(outside))])
        figures["auroc"] = float(roc_auc_score(truth, numpy.concatenate([inside, outside])))
        figures["fpr95"] = float((outside >= numpy.quantile(inside, 0.05)).mean())
    return figures


def highest(model, vectors):
    scores = model.decision_function(vectors)
    return scores.max(axis=1) if scores.ndim > 1 else numpy.abs(scores)


def ours(options):
    command = [EVALS, "classify", "--train", options.train, "--test", options.test, "--seeds", str(options.seeds)]
    command += ["--seed", str(options.seed)]
    for name in ("oos", "classes", "labels"):
        if getattr(options, name) is not None:
            command += [f"--{name}", str(getattr(options, name))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--oos")
    parser.add_argument("--classes", type=int)
    parser.add_argument("--labels", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--models", default="", help="only those whose name has this in it")
    options = parser.parse_args()
    train, test = read(options.train), read(options.test)
    others = read(options.oos) if options.oos else []
    keys = ["accuracy", "auroc", "fpr95", "train_s"]
    print(f"| model | {' | '.join(keys)} |\n|---|{'---:|' * len(keys)}")

    def show(name, figures):
        print(f"| {name} | {' | '.join(f'{figures[key]:.4f}' if key in figures else '' for key in keys)} |", flush=True)

    for name, (vectors, model) in MODELS.items():
        if options.models not in name:
            continue
        rows = []
        for seed in range(options.seed, options.seed + options.seeds):
            kept, inside, _ = drawn(train, test, seed, options.classes, options.labels)
            rows.append(measured(vectors, model, kept, inside, others))
        show(name, {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]})
    report = ours(options)
    show("auto", report)
    print(json.dumps({key: value for key, value in report.items() if key != "reports"}))


if __name__ == "__main__":
    main()
