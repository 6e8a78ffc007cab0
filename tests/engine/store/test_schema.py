"""The formats have RocketMQ's sizes."""

from mqgateway.engine.store import schema


def test_sizes_are_the_standards() -> None:
    assert schema.QUEUE_UNIT.sizeof() == 20
    assert schema.INDEX_HEADER.sizeof() == 40
    assert schema.INDEX_ENTRY.sizeof() == 20
    assert schema.CHECKPOINT.sizeof() == 4096
    assert schema.BLANK.sizeof() == 8


def test_an_index_file_is_header_slots_and_entries() -> None:
    data = bytes(40 + 4 * 3 + 20 * 5)
    file = schema.index_file(3, 5).parse(data)
    assert file.size == len(data)
    assert (len(file.slots), len(file.entries)) == (3, 5)


def test_a_record_is_read_by_hand_made_bytes() -> None:
    data = (
        (91 + 1 + 2 + 4).to_bytes(4, "big")
        + bytes.fromhex("DAA320A7")
        + bytes(4)
        + (3).to_bytes(4, "big")
        + bytes(4)
        + (9).to_bytes(8, "big")
        + (64).to_bytes(8, "big")
        + bytes(4)
        + bytes(8)
        + bytes([10, 0, 0, 1, 0, 0, 0, 80])
        + bytes(8)
        + bytes([10, 0, 0, 2, 0, 0, 0, 81])
        + bytes(12)
        + b"\0\0\0\2hi"
        + b"\1t"
        + b"\0\4K\1v\2"
    )
    read = schema.RECORD.parse(data)
    assert (read.queue_id, read.queue_offset, read.physical_offset) == (3, 9, 64)
    assert (read.body, read.topic, read.properties) == (b"hi", b"t", b"K\1v\2")
