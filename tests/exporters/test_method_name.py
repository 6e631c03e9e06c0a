from __future__ import annotations

import pytest

from specwatch_exporters.method_name import same_method, spelling


@pytest.mark.parametrize(
    ("names", "other"),
    [
        (("p-eagle", "peagle", "P-EAGLE", "p_eagle"), "eagle"),
        (("draft_model", "draft-model", "Draft-Model"), "draft"),
        (("ngram", "n-gram", "NGRAM", "n_gram"), "ngram_gpu"),
        (("mtp", "MTP"), "deepseek_mtp"),
        (("eagle3", "EAGLE-3", "eagle_3"), "eagle"),
    ],
)
def test_spellings_of_one_method_are_the_same_and_no_other(names: tuple[str, ...], other: str) -> None:
    assert len({spelling(name) for name in names}) == 1
    assert spelling(other) != spelling(names[0])
    for name in names:
        assert same_method(name, (other, names[0])) == names[0]
        assert same_method(name, (other,)) is None


def test_the_name_as_written_comes_first() -> None:
    assert same_method("p-eagle", ("peagle", "p-eagle")) == "p-eagle"
