"""Prompts for mathematics, from question templates in packages and from requests written for this project.

The packages are programs that make questions. They are not run: their templates are read from the syntax tree of
their sources and filled here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

from classes_corpus.expressions import VARIABLES, expression, number, polynomial
from classes_corpus.packages import unpack
from classes_corpus.phrases import lines_of
from classes_corpus.prompt import Prompt

_EXPRESSIONS = re.compile(r"expr|equ|polyn|func|composed|sequence|system|question|latex|integrand", re.IGNORECASE)
_LETTERS = re.compile(r"var|letter|fn|symbol|name", re.IGNORECASE)
_FIELD = re.compile(r"\{(\w*)[^{}]*\}")


def requests(_cache: Path, rng: Random) -> Iterator[Prompt]:
    """Exercises, proofs and word problems from templates of this project (synthetic)."""
    for template in lines_of("math"):
        for _ in range(8):
            variable = rng.choice(VARIABLES)
            given: dict[str, object] = {f"n{index}": number(rng) for index in range(1, 8)}
            given |= {"x": variable, "e1": expression(rng, variable), "e2": expression(rng, variable)}
            yield Prompt(template.format_map(given), template)


def word_problems(cache: Path, rng: Random) -> Iterator[Prompt]:
    """The 100 GSM-symbolic templates of reasoning-gym, filled with the words that their generators choose from."""
    folder = unpack("reasoning-gym", cache) / "reasoning_gym/arithmetic/gsm_symbolic"
    for path in sorted(folder.glob("generators_*.py")):
        names = sorted(
            set(re.findall(r'"([A-Z][a-z]{2,8})"', "".join(re.findall(r"names\w* = \[.*", path.read_text()))))
        )
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                words = {f"name{index}": names for index in ("", "1", "2", "3", "_1", "_2")} | _choices(node)
                for template in _assigned(node, "question"):
                    for _ in range(7):
                        yield Prompt(_filled(template, rng, words), node.name)


def school_questions(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Templates of mathematics-dataset: every string constant that has a field and reads like a question."""
    folder = unpack("mathematics-dataset", cache) / "mathematics_dataset/modules"
    for path in sorted(folder.glob("*.py")):
        if path.stem.endswith("_test"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and _FIELD.search(text) and " " in text and text[:1].isupper():
                for _ in range(4):
                    yield Prompt(_filled(text, rng, {}), text)


def generated_problems(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Problem templates of mathgenerator, whose formulas are in LaTeX."""
    folder = unpack("mathgenerator", cache) / "mathgenerator/funcs"
    for path in sorted(folder.rglob("*.py")):
        for template in _assigned(ast.parse(path.read_text()), "problem"):
            if len(template) > 12:
                for _ in range(6):
                    yield Prompt(_filled(template, rng, {}), path.stem)


def theory(cache: Path, rng: Random) -> Iterator[Prompt]:
    """Paragraphs of sympy's documentation that hold formulas, to be explained, proved or continued."""
    asks = (
        "{}",
        "{}",
        "Explain: {}",
        "Prove the following.\n\n{}",
        "Is this correct? {}",
        "{}\n\nWhy does this hold?",
    )
    for path in sorted((unpack("sympy", cache) / "sympy").rglob("*.py")):
        if "tests" in path.parts or "`" not in (text := path.read_text()):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                if _is_formula(paragraph):
                    plain = re.sub(r":[\w:]+:(?=`)", "", paragraph).replace("`", rng.choice(("$", "")))
                    yield Prompt(rng.choice(asks).format(plain), f"{path.stem} {node.name}")


def _is_formula(paragraph: str) -> bool:
    formula = ":math:" in paragraph or re.search(r"\\(frac|int|sum|cdot|left|mathbb|leq|in|alpha|pi)\b", paragraph)
    return bool(formula) and ">>>" not in paragraph and 60 < len(paragraph) < 900


def _assigned(tree: ast.AST, name: str) -> list[str]:
    """Templates of what is assigned to `name`; the parts that vary become {fields}."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == name for target in node.targets
        ):
            template = _template(node.value)
            if template.strip():
                found.append(template)
    return found


def _template(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value).replace("{", "{{").replace("}", "}}") if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_template(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return "{" + (node.value.id if isinstance(node.value, ast.Name) else "value") + "}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _template(node.left) + _template(node.right)
    return ""


def _choices(tree: ast.AST) -> dict[str, list[str]]:
    """Words per variable: `x = rng.choice(words)` with a list of strings."""
    lists: dict[str, list[str]] = {}
    chosen: dict[str, str] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        target, value = node.targets[0].id, node.value
        if isinstance(value, ast.List) and all(isinstance(item, ast.Constant) for item in value.elts):
            lists[target] = [str(item.value) for item in value.elts if isinstance(item, ast.Constant)]
        elif isinstance(value, ast.Call) and ast.unparse(value.func) == "rng.choice":
            chosen[target] = ast.unparse(value.args[0])
    return {name: lists[source] for name, source in chosen.items() if lists.get(source)}


def _filled(template: str, rng: Random, words: dict[str, list[str]]) -> str:
    variable = rng.choice(VARIABLES)

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name in words:
            return rng.choice(words[name])
        if _EXPRESSIONS.search(name):
            return polynomial(rng, variable) + rng.choice(("", " = 0", f" = {number(rng)}"))
        return variable if _LETTERS.search(name) else str(number(rng))

    return _FIELD.sub(value, template.replace("{{", "\0").replace("}}", "\1")).replace("\0", "{").replace("\1", "}")
