"""The walk over the log: the same records as `decode` reads, and past every kind of damage."""

from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.disk import Disk
from mqgateway.engine.message import PROPERTY_CRC32, format_properties, parse_properties
from mqgateway.engine.store.file_queue import FilePool
from mqgateway.engine.store.record import blank, decode, encode, record_size, sys_flag_for, topic_field
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import find_files
from mqgateway.engine.upkeep.walk import LogWalk, fields_of, keys_of
from tests.support.engine.store.stores import BORN, HOST, HOST_V6, message
from tests.support.engine.upkeep.damage import LOG, change, filled


def walk_of(disk: Disk, is_past_end: bool = False) -> tuple[LogWalk, Findings, list[int]]:
    findings = Findings()
    files = find_files(FilePool(disk), LOG, StorePart.LOG, findings, "")
    walk = LogWalk(files, findings, lambda _: is_past_end)
    return walk, findings, [position for _, _, position, _ in walk.records()]


def first_sizes(disk: Disk, count: int) -> list[int]:
    """Return the starts of the first records."""
    raw = disk.read_bytes(f"{LOG}/{0:020d}")
    places = [0]
    while len(places) < count:
        places.append(places[-1] + int.from_bytes(raw[places[-1] : places[-1] + 4], "big"))
    return places


def test_every_record_over_file_borders() -> None:
    walk, findings, positions = walk_of(filled(40))
    assert len(positions) == 52
    assert positions == sorted(positions)
    assert (walk.damaged, walk.has_rest, findings.kept) == ([], False, [])


def test_a_record_that_cannot_be_read_is_passed_over() -> None:
    disk = filled(20)
    places = first_sizes(disk, 6)
    change(disk, f"{LOG}/{0:020d}", places[3], b"\x7f")
    walk, findings, positions = walk_of(disk)
    assert places[3] not in positions
    assert places[4] in positions
    assert walk.damaged == [(places[3], places[4])]
    assert walk.is_damaged(places[3])
    assert walk.is_damaged(places[4] - 1)
    assert not walk.is_damaged(places[4])
    assert findings.kept[0].offset == places[3]


def test_a_file_whose_blank_is_gone() -> None:
    """The next file's records follow all the same."""
    disk = filled(40)
    raw = disk.read_bytes(f"{LOG}/{0:020d}")
    at = raw.rindex(bytes.fromhex("cbd43194")) - 4
    change(disk, f"{LOG}/{0:020d}", at, bytes(8))
    walk, findings, positions = walk_of(disk)
    assert walk.damaged == [(at, 4096)]
    assert len(positions) == 52
    assert findings.errors == 1


def test_a_blank_of_a_wrong_size_is_damage() -> None:
    disk = filled(40)
    at = disk.read_bytes(f"{LOG}/{0:020d}").rindex(bytes.fromhex("cbd43194")) - 4
    change(disk, f"{LOG}/{0:020d}", at + 3, b"\x01")
    _, findings, _ = walk_of(disk)
    assert "blank" in findings.kept[0].what


def test_a_missing_file_is_damage_between() -> None:
    disk = filled(60)
    disk.unlink(f"{LOG}/{4096:020d}")
    walk, _, positions = walk_of(disk)
    assert (4096, 8192) in walk.damaged
    assert positions[-1] > 8192


def test_records_past_the_end_end_the_walk_where_they_are_old() -> None:
    disk = filled(20)
    places = first_sizes(disk, 6)
    change(disk, f"{LOG}/{0:020d}", places[3], bytes(20))
    walk, findings, positions = walk_of(disk, is_past_end=True)
    assert positions == places[:3]
    assert walk.end == places[3]
    assert walk.has_rest
    assert findings.kept == []


def test_an_empty_file_after_the_last_one_is_fine() -> None:
    """RocketMQ creates the next file before it is needed."""
    disk = filled(5)
    disk.open(f"{LOG}/{4096:020d}", create=True).truncate(4096)
    walk, findings, positions = walk_of(disk)
    assert len(positions) == 8
    assert (findings.kept, walk.has_rest) == ([], False)


@given(
    topic=st.sampled_from(["t", "orders", "%RETRY%" + "g" * 200, "Thema-ä"]),
    body=st.binary(max_size=300),
    v6=st.booleans(),
    properties=st.dictionaries(
        st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "MY_KEYS", "x"]), st.text("ab ä", min_size=1, max_size=5)
    ),
)
def test_fields_are_those_that_decode_reads(
    topic: str, body: bytes, v6: bool, properties: dict[str, str]
) -> None:
    each = message(topic, 3, body, properties)
    each.born_host = HOST_V6 if v6 else BORN
    text = format_properties(properties).encode()
    flag, field = sys_flag_for(each), topic_field(topic, True)
    size = record_size(flag, len(body), len(field[1]), len(text))
    raw = b"pad" + encode(each, body, text, field, size, flag, 0, 7, 99, 1234)
    stored = decode(raw, 3)
    assert fields_of(raw, 3, size) == (3, 7, flag, 1234, topic.encode(), text)
    assert stored.topic == topic
    expected = tuple(
        properties[name].encode() if name in properties else None for name in ("TAGS", "UNIQ_KEY", "KEYS")
    )
    assert keys_of(text) == expected


@given(
    st.lists(
        st.sampled_from(["TAGS", "MYTAGS", "KEYS", "UNIQ_KEY", "\1", "\2", "a", "bc", "\n"]), max_size=14
    )
)
def test_keys_are_found_as_the_parser_finds_them(parts: list[str]) -> None:
    text = "".join(parts)
    parsed = parse_properties(text)
    found = [None if key is None else key.decode() for key in keys_of(text.encode())]
    assert found == [parsed.get(name) for name in ("TAGS", "UNIQ_KEY", "KEYS")]


def record_with_crc(spoil: bytes) -> bytes:
    """Return a record with RocketMQ's CRC property, damaged after the CRC was computed."""
    each = message("t", 0, b"hello", {"TAGS": "a"})
    text = b"TAGS\x01a\x02"
    field = topic_field("t", True)
    size = record_size(0, 5, len(field[1]), len(text) + 20)
    raw = encode(each, b"hello", text + bytes(20), field, size, 0, 0, 0, 0, 1234)
    digits = f"{crc32(raw[:-20]) & 0x7FFFFFFF:010d}"[::-1]
    whole = raw[:-20] + PROPERTY_CRC32.encode() + b"\x01" + digits.encode() + b"\x02"
    return whole.replace(HOST, spoil)


def test_the_crc_property_covers_what_nothing_else_does() -> None:
    for spoil, errors in ((HOST, 0), (b"\x7e" + HOST[1:], 1)):
        disk = filled(1)
        raw = record_with_crc(spoil)
        rest = blank(4096 - len(raw))
        change(disk, f"{LOG}/{0:020d}", 0, (raw + rest).ljust(4096, b"\0"))
        walk, findings, positions = walk_of(disk)
        assert len(walk.damaged) == findings.errors == errors
        assert len(positions) == 1 - errors


def test_records_that_are_taken_are_not_yielded() -> None:
    """Taken records count as valid: the walk ends where it ends without this."""
    disk = filled(40)
    every, _, positions = walk_of(disk)
    taken: list[int] = []

    def take(data: bytes, at: int, position: int) -> int:
        if position not in positions or positions.index(position) % 5 > 2:
            return 0
        taken.append(position)
        return int.from_bytes(data[at : at + 4], "big")

    files = find_files(FilePool(disk), LOG, StorePart.LOG, Findings(), "")
    walk = LogWalk(files, Findings(), lambda _: False, take=take)
    yielded = [position for _, _, position, _ in walk.records()]
    assert sorted(yielded + taken) == positions
    assert len(taken) > len(yielded) > 0
    assert (walk.end, walk.ended_by, walk.damaged) == (every.end, every.ended_by, every.damaged)
