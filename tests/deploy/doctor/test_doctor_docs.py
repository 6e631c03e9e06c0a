"""What README shows is what the doctor says."""

from __future__ import annotations

import re
from pathlib import Path

from deploy.doctor.doctor_run import ROOT
from deploy.doctor.test_doctor_command import doctor
from specwatch_deploy.doctor.codes import CODES


def test_the_example_in_readme_is_real(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text().split("### Does the monitoring itself work?")[1].split("\n### ")[0]
    rules = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[0]
    shown = re.findall(r"```\n\$ specwatch doctor (\S+) (.*?)\n(.*?)```", text, re.DOTALL)[0]
    (tmp_path / "broken.yml").write_text(rules)
    told = doctor(str(tmp_path / "broken.yml"), *shown[1].split())
    assert told.stdout.replace(f"{tmp_path}/", "").rstrip() == shown[2].rstrip()


def test_every_code_has_its_three_lines_in_docs() -> None:
    page = (ROOT / "docs" / "doctor-findings.md").read_text()
    for code in CODES.values():
        entry = page.split(f"\n## {code.name}\n\n")[1].split("\n\n")[0].splitlines()
        assert len(entry) == 3
        assert entry[0].startswith(f"{code.severity}: {code.meaning}")
        assert entry[1].strip() == f"`{code.example}`"
        assert entry[2] == code.mend


def test_codes_that_readme_shows_exist() -> None:
    text = (ROOT / "README.md").read_text()
    assert set(re.findall(r"^  (?:error|warning|info) +([a-z-]+)  ", text, re.MULTILINE)) <= set(CODES)
