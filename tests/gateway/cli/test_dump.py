"""The dump tool: it shows every kind of file, and stops with a reason at invalid bytes."""

import json
from pathlib import Path

import pytest

from mqgateway.engine.message import pack_host
from mqgateway.engine.raft.files.entry import encode
from mqgateway.engine.raft.files.file_log import FileLog
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store import schema
from mqgateway.engine.timers import schema as timers
from mqgateway.gateway.cli.dump import DumpError, dump_file, kind_of
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command


def record(offset: int, body: bytes = b"hello") -> bytes:
    """Build a record by the schema."""
    values = {
        "total_size": 0,
        "magic": schema.MAGIC_V1,
        "body_crc": 7,
        "queue_id": 1,
        "flag": 0,
        "queue_offset": 2,
        "physical_offset": offset,
        "sys_flag": 0,
        "born_timestamp": 3,
        "born_host": pack_host("127.0.0.1", 5),
        "store_timestamp": 4,
        "store_host": pack_host("127.0.0.1", 10911),
        "reconsume_times": 0,
        "prepared_transaction_offset": 0,
        "body": body,
        "topic": b"orders",
        "properties": b"TAGS\x01a\x02",
    }
    values["total_size"] = len(schema.RECORD.build(values))
    return schema.RECORD.build(values)


def entries(
    path: Path, kind: str | None = None, offset: int = 0, limit: int = 100
) -> list[dict[str, object]]:
    return [json.loads(line) for line in dump_file(str(path), kind, offset, limit, "json")]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/s/commitlog/00000000000000000000", "commitlog"),
        ("/s/consumequeue/orders/0/00000000000000000000", "consumequeue"),
        ("/s/index/20261121112233444", "index"),
        ("/s/checkpoint", "checkpoint"),
        ("/s/dledger-n0/data/00000000000000000000", "dledger"),
        ("/s/dledger-n0/index/00000000000000000000", "dledgerindex"),
        ("/s/dledger-n0/checkpoint", "text"),
        ("/s/dledger-n0/currterm.bak", "text"),
        ("/s/config/topics.json.bak", "table"),
    ],
)
def test_path_determines_the_kind(path: str, kind: str) -> None:
    assert kind_of(path) == kind


def test_unknown_path_needs_an_explicit_kind() -> None:
    with pytest.raises(DumpError, match="--kind"):
        kind_of("/tmp/capture.bin")


def test_commit_log_is_shown_up_to_its_blank(tmp_path: Path) -> None:
    first = record(0)
    file = tmp_path / "log"
    file.write_bytes(first + schema.BLANK.build({"size": 500}) + bytes(100))
    shown = entries(file, "commitlog")
    assert shown[0]["topic"] == "orders"
    assert shown[0]["properties"] == {"TAGS": "a"}
    assert shown[0]["store_host"] == "127.0.0.1:10911"
    assert shown[1] == {"at": len(first), "blank": 500}


def test_torn_record_is_shown_as_unreadable(tmp_path: Path) -> None:
    first = record(0)
    file = tmp_path / "log"
    file.write_bytes(first + record(len(first))[:50])
    shown = entries(file, "commitlog")
    assert shown[1]["at"] == len(first)
    assert "unreadable" in shown[1]


def test_limit_reports_the_offset_to_continue_from(tmp_path: Path) -> None:
    first = record(0)
    file = tmp_path / "log"
    file.write_bytes(first * 3)
    lines = list(dump_file(str(file), "commitlog", 0, 1, "text"))
    assert lines[1] == f"... more; continue with --offset {len(first)}"
    assert len(entries(file, "commitlog", offset=len(first))) == 2


def test_queue_units_are_shown_up_to_the_first_empty_one(tmp_path: Path) -> None:
    unit = schema.QUEUE_UNIT.build({"physical_offset": 10, "size": 100, "tags_code": -5})
    file = tmp_path / "queue"
    file.write_bytes(unit * 2 + bytes(40))
    assert entries(file, "consumequeue")[1] == {"at": 20, "physical_offset": 10, "size": 100, "tags_code": -5}


def test_checkpoint_is_shown_and_a_short_one_is_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint"
    file.write_bytes((77).to_bytes(8, "big") + bytes(4088))
    assert entries(file)[0]["physic_msg_timestamp"] == 77
    file.write_bytes(b"short")
    assert "unreadable" in entries(file)[0]


def test_frames_are_shown_up_to_an_invalid_one(tmp_path: Path) -> None:
    command = RemotingCommand.request(RequestCode.GET_BROKER_CLUSTER_INFO, body=b"\x00\x01")
    file = tmp_path / "capture"
    file.write_bytes(encode_command(command) + b"\x7f\xff\xff\xff")
    shown = entries(file, "frame")
    assert (shown[0]["code"], shown[0]["body"]) == (106, "0001")
    assert "cannot have" in str(shown[1]["unreadable"])


def test_more_members_of_a_table_need_a_higher_limit(tmp_path: Path) -> None:
    file = tmp_path / "topics.json"
    file.write_text('{"a":1,"b":2}')
    assert list(dump_file(str(file), None, 0, 1, "text"))[1] == "... more; use a higher --limit"


def test_table_with_bare_keys_is_shown_and_invalid_json_is_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "consumerOffset.json"
    file.write_text('{"offsetTable":{"orders@g":{0:12}}}')
    assert entries(file)[0]["offsetTable"] == {"orders@g": {"0": 12}}
    file.write_text("{")
    assert "unreadable" in entries(file)[0]


def test_header_and_entries_of_an_index_file_are_shown(tmp_path: Path) -> None:
    header = {
        "begin_timestamp": 1,
        "end_timestamp": 2,
        "begin_physical_offset": 3,
        "end_physical_offset": 4,
        "used_slots": 1,
        "next_entry": 2,
    }
    entry = {"key_hash": 9, "physical_offset": 3, "seconds": 0, "previous_entry": 0}
    file = tmp_path / "index"
    with file.open("wb") as out:
        out.write(schema.INDEX_HEADER.build(header))
        out.seek(40 + 4 * 5_000_000 + 20)
        out.write(schema.INDEX_ENTRY.build(entry))
    shown = entries(file, "index")
    assert shown[0]["next_entry"] == 2
    assert (shown[1]["entry"], shown[1]["key_hash"]) == (1, 9)


def test_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="unknown kind 'poem'"):
        list(dump_file(str(tmp_path), "poem", 0, 1, "text"))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/s/batchconsumequeue/bulk/0/00000000000000000000", "batchconsumequeue"),
        ("/s/consumequeue_ext/orders/0/00000000000000000000", "consumequeue_ext"),
        ("/s/timerwheel", "timerwheel"),
        ("/s/timerlog/00000000000000000000", "timerlog"),
        ("/s/config/timercheck", "timercheck"),
        ("/s/config/timermetrics", "table"),
        ("/s/config/timermetrics.bak", "table"),
        ("/s/abort", "text"),
        ("/s/compaction/compactionLog/orders/0/00000000000000000000", "commitlog"),
        ("/s/consumequeue/index/0/00000000000000000000", "consumequeue"),
    ],
)
def test_path_determines_the_rarer_kinds(path: str, kind: str) -> None:
    """The nearest folder with a name of RocketMQ's layout decides, but a topic may have such a name too."""
    assert kind_of(path) == kind


def test_batch_consume_queue_is_shown_up_to_the_first_empty_unit(tmp_path: Path) -> None:
    unit = {
        "physical_offset": 10,
        "size": 100,
        "tags_code": 0,
        "store_timestamp": 7,
        "base_offset": 5,
        "messages": 3,
        "compact_offset": -1,
        "reserved": 0,
    }
    file = tmp_path / "queue"
    file.write_bytes(schema.BATCH_QUEUE_UNIT.build(unit) + bytes(46))
    assert entries(file, "batchconsumequeue") == [{"at": 0, **unit}]


def test_consume_queue_ext_is_shown_up_to_its_end(tmp_path: Path) -> None:
    unit = schema.EXT_UNIT.build({"tags_code": 9, "store_timestamp": 7, "bitmap": b"\x01\xff"})
    file = tmp_path / "ext"
    file.write_bytes(unit * 2 + b"\xff\xff" + bytes(20))
    shown = entries(file, "consumequeue_ext")
    assert shown[1] == {"at": 22, "size": 22, "tags_code": 9, "store_timestamp": 7, "bitmap": "01ff"}
    assert len(shown) == 2
    file.write_bytes(unit[:9])
    assert "unreadable" in entries(file, "consumequeue_ext")[0]


def test_used_slots_of_a_timer_wheel_are_shown(tmp_path: Path) -> None:
    slot = {"step": 1_700_000_000, "first": 0, "last": 52, "count": 2, "magic": 0}
    raw = bytearray(timers.SLOT.sizeof() * 10_000)
    raw[5000 * 32 : 5001 * 32] = timers.SLOT.build(slot)
    file = tmp_path / "timerwheel"
    file.write_bytes(raw)
    assert entries(file) == [{"at": 5000 * 32, **slot}]


def test_timer_log_is_shown_up_to_its_end(tmp_path: Path) -> None:
    unit = {
        "previous": -1,
        "magic": 1,
        "written": 1000,
        "delay": 5000,
        "physical_offset": 7,
        "message_size": 100,
        "topic_hash": 3,
        "mark": 0,
    }
    raw = timers.UNIT.build(unit)
    tail = timers.TAIL.build({"remaining": 60})
    file = tmp_path / "log"
    file.write_bytes(raw + tail.ljust(60, b"\0"))
    assert entries(file, "timerlog") == [{"at": 0, "size": 52, **unit}, {"at": 52, "blank": 60}]
    file.write_bytes(raw + bytes(100))
    assert len(entries(file, "timerlog")) == 1
    file.write_bytes(raw[:40])
    assert "unreadable" in entries(file, "timerlog")[0]


def test_timer_checkpoint_is_shown_and_a_short_one_is_unreadable(tmp_path: Path) -> None:
    names = (
        "read_time",
        "log_position",
        "queue_offset",
        "master_queue_offset",
        "state_version",
        "timestamp",
        "counter",
    )
    fields = {name: number for number, name in enumerate(names)}
    file = tmp_path / "timercheck"
    file.write_bytes(timers.CHECKPOINT.build(fields).ljust(4096, b"\0"))
    assert entries(file) == [{"at": 0, **fields}]
    file.write_bytes(b"short")
    assert "unreadable" in entries(file)[0]


def test_text_file_is_shown_by_lines(tmp_path: Path) -> None:
    file = tmp_path / "abort"
    file.write_text("4711")
    assert entries(file) == [{"at": 0, "line": "4711"}]


def test_index_file_of_another_size_is_shown_and_a_torn_one_is_unreadable(tmp_path: Path) -> None:
    """The number of slots follows from the length if the file has RocketMQ's proportions."""
    header = dict.fromkeys(
        ("begin_timestamp", "end_timestamp", "begin_physical_offset", "end_physical_offset"), 1
    )
    entry = {"key_hash": 9, "physical_offset": 3, "seconds": 0, "previous_entry": 0}
    file = tmp_path / "index"
    raw = schema.INDEX_HEADER.build({**header, "used_slots": 1, "next_entry": 2}) + bytes(40 + 20)
    file.write_bytes((raw + schema.INDEX_ENTRY.build(entry)).ljust(40 + 84 * 10, b"\0"))
    assert entries(file, "index")[1] == {"at": 100, "entry": 1, **entry}
    file.write_bytes(b"torn")
    assert "unreadable" in entries(file, "index")[0]


@pytest.mark.parametrize("output", ["text", "json"])
def test_control_characters_of_a_file_are_not_printed(tmp_path: Path, output: str) -> None:
    names = {"topic\x1b]0;x\x07": {"p\x9b2J": "\x7f\r\n"}}
    (tmp_path / "topics.json").write_text(json.dumps(names, ensure_ascii=False))
    (tmp_path / "frame").write_bytes(b"\x00\x00\x00\x04\x1b[2J")
    (tmp_path / "text").write_bytes(b"\x1b[2J\x9b2J")
    for name, kind in (("topics.json", "table"), ("frame", "frame"), ("text", "text")):
        lines = list(dump_file(str(tmp_path / name), kind, 0, 10, output))
        assert lines
        assert not set(map(ord, "".join(lines))) & {*range(0x20), *range(0x7F, 0xA0)}


def test_entries_and_index_of_a_dledger_member_are_shown(tmp_path: Path) -> None:
    log = FileLog(RealDisk(), str(tmp_path / "dledger-n0"), 2048)
    for number in range(4):
        log.append(3, record(log.place(len(record(0))) + 48, b"body %d" % number * 20))
    log.append(4, b"no record")
    log.append(4, bytes(1900))
    shown = entries(tmp_path / "dledger-n0" / "data" / ("0" * 20))
    assert [each.get("index") for each in shown] == [0, 1, 2, 3, 4, None]
    result = shown[1]["record"]
    assert isinstance(result, dict)
    assert (result["topic"], result["physical_offset"]) == ("orders", shown[1]["at"] + 48)  # type: ignore[operator]
    assert shown[4]["body"] == "no record"
    assert "blank" in shown[5]
    units = entries(tmp_path / "dledger-n0" / "index" / ("0" * 20))
    assert [unit["position"] for unit in units[:5]] == [each["at"] for each in shown[:5]]
    assert len(units) == 6


def test_torn_dledger_entry_or_index_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(encode(0, 1, 0, b"whole") + encode(1, 1, 53, b"torn")[:-1])
    assert [list(each)[-1] for each in entries(path, "dledger")] == ["body", "unreadable"]
    path.write_bytes(b"\0\0\0\2" * 8)
    assert "unreadable" in entries(path, "dledgerindex")[0]
