"""Findings as JUnit XML: one failed test case each, or a passed one if there are none."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from specwatch_deploy.doctor.finding import Finding, Severity


def junit_text(findings: list[Finding]) -> str:
    """One suite; what is only worth knowing is no failure."""
    failed = [one for one in findings if one.severity is not Severity.INFO]
    suite = Element(
        "testsuite", name="specwatch doctor", tests=str(max(1, len(findings))), failures=str(len(failed))
    )
    for one in findings:
        case = SubElement(suite, "testcase", classname=str(one.place), name=f"{one.code}: {one.place.part}")
        text = "\n".join(part for part in (one.evidence, f"instead: {one.mended}" if one.mended else "") if part)
        if one.severity is Severity.INFO:
            SubElement(case, "system-out").text = f"{one.message}\n{text}"
        else:
            failure = SubElement(case, "failure", message=one.message, type=one.severity.value)
            failure.text = text
    if not findings:
        SubElement(suite, "testcase", classname="specwatch doctor", name="no findings")
    indent(suite)
    return tostring(suite, encoding="unicode", xml_declaration=True)
