"""Findings are kept up to a limit for each part, and counted beyond it."""

from mqgateway.engine.upkeep.findings import Findings, Severity, StorePart


def test_errors_and_notes_are_kept_apart() -> None:
    findings = Findings()
    findings.error(StorePart.LOG, "/s/commitlog/0", 12, "is torn", "restore it")
    findings.note(StorePart.STATE, "/s/abort", -1, "is there")
    assert findings.errors == 1
    assert [str(finding) for finding in findings.kept] == [
        "/s/commitlog/0 at byte 12: is torn - restore it",
        "/s/abort: is there",
    ]


def test_the_limit_is_that_of_a_part_and_severity() -> None:
    findings = Findings(limit=2)
    for number in range(5):
        findings.add(True, StorePart.INDEX, "/i", number, "what", "do")
        findings.add(False, StorePart.INDEX, "/i", number, "what", "do")
    findings.error(StorePart.LOG, "/l", 0, "what", "do")
    assert len(findings.kept) == 5
    assert findings.left_out == 6
    assert findings.errors == 6
    assert findings.counts[Severity.ERROR, StorePart.INDEX] == 5
