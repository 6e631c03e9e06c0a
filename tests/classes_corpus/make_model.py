"""Make the shipped model anew: gather, train, judge, and write the figures into docs/traffic-classes.md.

    PYTHONPATH=tests python -m classes_corpus.make_model

It takes a few minutes, most of them for the models that each leave one source out. The figures on the page are
those of the file that it writes.
"""

from __future__ import annotations

import sys

from classes_corpus.gather import OUTSIDE_FILE, TRAIN
from classes_corpus.gather import main as gather
from classes_corpus.left_out import left_out
from classes_corpus.report import evaluation_tables, put, recall_table, sources_table
from classes_corpus.sources import OUTSIDE, TRAINING
from specwatch_exporters.classes.evaluation import evaluate
from specwatch_exporters.classes.examples import read_examples
from specwatch_exporters.classes.hashed_linear import DEFAULT_MODEL, HashedLinearClassifier
from specwatch_exporters.classes.model_file import write_model
from specwatch_exporters.classes.training import train

TEST_SHARE, SEED = 0.2, 0


def main() -> int:
    if gather() != 0:
        return 1
    examples = read_examples(TRAIN).examples
    trained = train(examples, test_share=TEST_SHARE, seed=SEED)
    print(f"wrote {DEFAULT_MODEL.name}, {write_model(trained.model, DEFAULT_MODEL):,} bytes")
    classifier = HashedLinearClassifier.default()
    outside = evaluate(classifier, classifier.classes, read_examples(OUTSIDE_FILE).examples)
    parts = {
        "training sources": sources_table(TRAINING),
        "outside sources": sources_table(OUTSIDE),
        "held-out": evaluation_tables(trained.held_out),
        "outside": evaluation_tables(outside),
        "left out": recall_table(left_out(examples, TEST_SHARE, SEED)),
    }
    for name, content in parts.items():
        print(f"\n{name}\n{content}")
        put(name, content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
