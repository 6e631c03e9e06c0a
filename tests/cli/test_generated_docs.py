from __future__ import annotations

from tools.update_docs import FILES, ROOT, rendered


def test_generated_parts_are_what_the_code_says() -> None:
    stale = [name for name in FILES if rendered((ROOT / name).read_text()) != (ROOT / name).read_text()]
    assert stale == [], "run 'make docs'"
