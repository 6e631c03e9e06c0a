from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from classes_corpus.framing import framed
from classes_corpus.packages import PACKAGES
from classes_corpus.phrases import FOLDER, blocks_of, fill, lines_of
from classes_corpus.report import PAGE, sources_table
from classes_corpus.sources import OUTSIDE, TRAINING, Source, prompts_of

OWN = [source for source in TRAINING if not source.packages]


def test_every_package_is_pinned_licensed_and_used() -> None:
    assert all(re.fullmatch("[0-9a-f]{64}", package.sha256) for package in PACKAGES.values())
    assert all(package.registry in {"pypi", "npm"} and package.licence for package in PACKAGES.values())
    assert {name for source in TRAINING + OUTSIDE for name in source.packages} == set(PACKAGES)


def test_no_package_is_trained_on_and_judged_with() -> None:
    trained = {name for source in TRAINING for name in source.packages}
    assert trained.isdisjoint(name for source in OUTSIDE for name in source.packages)


def test_sources_have_names_of_their_own_and_the_four_classes() -> None:
    names = [source.name for source in TRAINING + OUTSIDE]
    assert len(names) == len(set(names))
    assert {source.class_name for source in TRAINING} == {"code", "math", "chat", "other"}
    assert {source.class_name for source in OUTSIDE} == {"code", "math", "chat", "other"}


@pytest.mark.parametrize("source", OWN, ids=[source.name for source in OWN])
def test_own_templates_make_the_same_prompts_every_time(source: Source, tmp_path: Path) -> None:
    made = prompts_of(source, tmp_path)
    assert made == prompts_of(source, tmp_path)
    assert len({prompt.text for prompt in made}) == len(made) > 300
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["chat", "chat_situations", "code"])
def test_no_slot_is_left_unfilled(name: str) -> None:
    for template in lines_of(name):
        assert not re.search(r"\{[a-z_]+\}(?!\})", fill(template, Random(1))) or "{{" in template


def test_own_templates_are_several_hundred_and_each_is_there_once() -> None:
    for path in FOLDER.glob("*.txt"):
        lines = lines_of(path.stem)
        repeated = {line for line in lines if lines.count(line) > 1}
        assert repeated <= {"{code}", "{document}"}
    assert len(lines_of("chat")) > 300
    assert len(blocks_of("other_documents")) == 8


def test_a_frame_leaves_most_prompts_as_they_are() -> None:
    rng = Random(2)
    same = sum(framed("What is tea", rng) == "What is tea" for _ in range(1000))
    assert 500 < same < 800


def test_the_page_lists_the_sources() -> None:
    page = PAGE.read_text()
    assert sources_table(TRAINING) in page
    assert sources_table(OUTSIDE) in page
