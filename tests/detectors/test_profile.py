from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specwatch_detectors.baseline import Baseline
from specwatch_detectors.profile import ModelProfile, Profile, ProfileError, StreamProfile, load_profile
from specwatch_detectors.window import window


@pytest.fixture
def profile() -> Profile:
    baseline = Baseline(window(1000.0, (700.0, 500.0)))
    stream = StreamProfile(baseline, 12.5, "batch means", 13.5, 4.25, 1_772_409_600.0, 7.0)
    return Profile(10.0, 1.0, 5.0, "week.csv", {"m": ModelProfile(2, 0.0, 604_800.0, {"": stream})}, ("a note",))


def test_calibrations_are_what_a_monitor_starts_from(profile: Profile) -> None:
    (calibration,) = profile.calibrations("m").values()
    assert (calibration.design, calibration.threshold) == (12.5, 13.5)
    assert calibration.baseline.counts.accepted == (700.0, 500.0)
    assert profile.calibrations("other") == {}
    assert (profile.depth("m"), profile.depth("other")) == (2, None)


def test_what_is_saved_is_loaded(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    profile.save(path)
    assert load_profile(path) == profile
    assert [child.name for child in tmp_path.iterdir()] == ["profile.json"]


def test_a_person_can_read_it(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    profile.save(path)
    stream = json.loads(path.read_text())["models"]["m"]["streams"][""]
    assert stream["acceptance_length"] == 2.2
    assert stream["design_effect_from"] == "batch means"


def test_a_failed_save_leaves_the_old_file(profile: Profile, tmp_path: Path) -> None:
    folder = tmp_path / "profile.json"
    folder.mkdir()
    (folder / "kept").touch()
    with pytest.raises(OSError, match="profile"):
        profile.save(folder)
    assert sorted(child.name for child in tmp_path.iterdir()) == ["profile.json"]


def changed(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda body: body["models"]["m"]["streams"][""].update(fields)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda body: body.update(version=9), "a profile of version 9, this specwatch reads version 1"),
        (lambda body: body.pop("models"), "not a profile; make one with"),
        (lambda body: body.pop("interval_s"), "'interval_s' is missing"),
        (lambda body: body.update(interval_s=0), "must be positive"),
        (lambda body: body.update(models=[]), "not a usable profile"),
        (changed(threshold=0.0), "threshold positive"),
        (changed(design_effect=0.5), "design_effect must be 1 or more"),
        (changed(design_effect=float("inf")), "design_effect must be 1 or more"),
        (changed(baseline={"drafts": 1}), "not a baseline"),
        (changed(baseline=None), "not a usable profile"),
    ],
)
def test_a_bad_profile_is_one_line_that_names_the_file(
    change: Callable[[dict[str, Any]], None], words: str, profile: Profile, tmp_path: Path
) -> None:
    path = tmp_path / "bad.json"
    body = profile.as_json()
    change(body)
    path.write_text(json.dumps(body))
    with pytest.raises(ProfileError, match=r"bad\.json: ") as refused:
        load_profile(path)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000])
def test_anything_else_is_no_profile(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(ProfileError, match="not a profile"):
        load_profile(path)
    with pytest.raises(ProfileError, match="No such file"):
        load_profile(tmp_path / "missing.json")
