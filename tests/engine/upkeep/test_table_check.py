"""Truncated and damaged config tables, and checkpoints that contradict the log."""

import pytest

from mqgateway.engine.store import schema
from tests.support.engine.store.stores import ROOT
from tests.support.engine.upkeep.damage import CONFIG, change, check, filled, findings, put_file, the_finding

TOPICS = f"{CONFIG}/topics.json"
GOOD = b'{"dataVersion":{"counter":3},"topicConfigTable":{"orders":{"perm":6},"pay":{}}}'
CHECKPOINT = f"{ROOT}/checkpoint"


def test_good_tables_are_counted() -> None:
    disk = filled(1)
    put_file(disk, TOPICS, GOOD)
    put_file(disk, f"{CONFIG}/delayOffset.json", b'{"offsetTable":{3:1}}')
    put_file(disk, f"{CONFIG}/transactionMetrics", b'{"transactionCount":{}}')
    report = check(disk)
    assert report.findings.kept == []
    assert report.tables == 3


@pytest.mark.parametrize("text", [b"{}", b'{"topicConfigTable":{"orders":{}}}'])
def test_topics_with_messages_that_are_in_no_table_are_reported(text: bytes) -> None:
    disk = filled(1)
    assert findings(disk) == []
    put_file(disk, TOPICS, text)
    found = the_finding(disk)
    assert found.path == TOPICS and found.what.endswith("pay" if b"orders" in text else "orders, pay")
    assert "the next start of a master adds them" in found.advice


def test_a_table_that_was_set_aside_is_noted() -> None:
    disk = filled(0)
    put_file(disk, f"{TOPICS}.bak.broken-2", b"garbage")
    assert any("set aside" in finding.what for finding in findings(disk, "note"))


@pytest.mark.parametrize("length", range(len(GOOD)))
def test_a_table_cut_at_any_byte(length: int) -> None:
    """With a backup the next start succeeds, as the advice states."""
    disk = filled(0)
    put_file(disk, TOPICS, GOOD[:length])
    assert "restore it from a copy" in the_finding(disk).advice
    put_file(disk, TOPICS + ".bak", GOOD)
    assert "topics.json.bak" in the_finding(disk).advice


def test_a_broken_backup_and_one_without_its_table() -> None:
    disk = filled(0)
    put_file(disk, TOPICS, GOOD)
    put_file(disk, TOPICS + ".bak", GOOD[:9])
    assert "next write" in the_finding(disk).advice
    put_file(disk, TOPICS + ".bak", GOOD)
    disk.unlink(TOPICS)
    assert "only this backup is there" in the_finding(disk).what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"[1]", "not a JSON object"),
        (bytes(40), "nothing but blanks or zeros"),
        (b"", "is empty"),
        (b'{"topicConfigTable":7}', "topicConfigTable is not an object"),
    ],
)
def test_json_that_is_not_a_table_is_reported(text: bytes, what: str) -> None:
    disk = filled(0)
    put_file(disk, TOPICS, text)
    assert what in the_finding(disk).what


def test_temporary_files_are_noted() -> None:
    disk = filled(0)
    put_file(disk, TOPICS + ".tmp", b"{")
    put_file(disk, f"{ROOT}/consumequeue.rebuilding/x", b"")
    assert findings(disk) == []
    assert len(findings(disk, "note")) == 3  # one is that there is no index


@pytest.mark.parametrize("field", ["physic_msg_timestamp", "logics_msg_timestamp", "index_msg_timestamp"])
def test_a_checkpoint_from_the_future(field: str) -> None:
    disk = filled(5)
    fields = dict(schema.CHECKPOINT.parse(disk.read_bytes(CHECKPOINT)))
    fields[field] = 1_900_000_000_000
    put_file(disk, CHECKPOINT, bytes(schema.CHECKPOINT.build(fields)))
    finding = the_finding(disk)
    assert "later than the log's last record" in finding.what
    assert finding.path == CHECKPOINT


def test_a_checkpoint_that_points_nowhere() -> None:
    disk = filled(5)
    change(disk, CHECKPOINT, 40, (333).to_bytes(8, "big"))
    assert "where no record of the log begins" in the_finding(disk).what


def test_a_short_and_a_missing_checkpoint() -> None:
    disk = filled(5)
    put_file(disk, CHECKPOINT, bytes(48))
    assert "has 48 bytes" in the_finding(disk).what
    disk.unlink(CHECKPOINT)
    assert findings(disk) == []
    assert "next start makes it" in findings(disk, "note")[0].what


def test_wrong_queue_ends_are_reported() -> None:
    """A start trusts that table, so it must be right."""
    disk = filled(10, queue_table_from=1)
    path = f"{ROOT}/queuetable"
    assert findings(disk) == []
    text = disk.read_bytes(path)
    put_file(disk, path, text.replace(b"[1,0,1,5,0,5]", b"[1,0,1,4,0,5]"))
    finding = the_finding(disk)
    assert finding.path == path
    assert "orders queue 1 is said to end at 4, it does at 5" in finding.what
    put_file(disk, path, text[:20])
    assert "is not JSON" in the_finding(disk).what
