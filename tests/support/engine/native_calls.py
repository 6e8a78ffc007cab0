"""Calls of every function of the extension: with good arguments, and with each of them damaged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import GeneratorType
from typing import Any, NamedTuple

from mqgateway.engine.message import Message, pack_host
from mqgateway.engine.record_batches.batches import build_batch
from mqgateway.engine.record_batches.records import Record, write_record
from mqgateway.engine.record_batches.snappy import XERIAL_HEADER
from mqgateway.engine.store.consume_queue import ADDRESS_MAX, UNIT
from mqgateway.engine.store.property_choice import Limits
from mqgateway.engine.store.record import MAGIC, encode, record_size, topic_field
from mqgateway.gateway.client.batches import encode_element
from mqgateway.gateway.client.message import Message as ToSend
from mqgateway.gateway.client.message import ReceivedMessage, queue_of
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.headers import SendMessageRequestHeader


def records_data(records: Sequence[Record]) -> bytes:
    """Return records of Kafka as they stand in a batch."""
    data = bytearray()
    for each in records:
        write_record(data, each)
    return bytes(data)


HOST = pack_host("10.0.0.7", 10911)
PROPERTIES = "UNIQ_KEY\1" + "A" * 32
RECORDS = 3
SNAPPY = bytes.fromhex("32 04 6162 11 02 f0 07 3031323334353637 3e 0500 12 1200 2b 03000000")
"""A block with elements of every kind, 50 bytes when inflated."""
KAFKA_RECORDS = records_data(
    [
        Record(None, b"value"),
        Record(b"key", None, [("name", b"x"), ("\xfc", None)], -70_000, 1),
        Record(b"", b"v" * 70, (), 1 << 40, 2),
    ]
)
PRODUCED = bytes.fromhex(
    "0000 000c 00000007 0002 6d65 00 00 ffff 000003e8 02 02 61 02 00000003 04 626262 000000"
)
"""A Produce request of version 12 with one batch, which has three bytes."""
FRAMES = XERIAL_HEADER + 2 * (len(SNAPPY).to_bytes(4, "big") + SNAPPY)
EXPECTED = (
    TypeError,
    ValueError,
    OverflowError,
    AttributeError,
    BufferError,
    KeyError,
    IndexError,
    MemoryError,
)


class Call(NamedTuple):
    """A function, and what it is given by place and by name."""

    function: str
    arguments: tuple[Any, ...] = ()
    named: dict[str, Any] = {}

    def on(self, native: Any) -> None:
        """Call the function of an extension. It may raise whatever is no fault of memory."""
        with suppress(*EXPECTED):
            getattr(native, self.function)(*map(fresh, self.arguments), **self._fresh_named())

    def _fresh_named(self) -> dict[str, Any]:
        return {name: fresh(value) for name, value in self.named.items()}


def fresh(argument: Any) -> Any:
    """A copy of what a function may change."""
    return argument.copy() if type(argument) in (list, dict, bytearray) else argument


def record(number: int, text: bytes = PROPERTIES.encode()) -> bytes:
    """A plain record, the one of this number in a log."""
    topic, body = topic_field("Orders", True), b"body of a message"
    size = record_size(0, len(body), len(topic[1]), len(text))
    one = Message("Orders", 3, body, {}, 1_700_000_000_000, HOST, HOST)
    return encode(one, body, text, topic, size, 0, 0, number, number * size, 1_700_000_000_001)


def good_calls() -> list[Call]:
    """At least one of each function."""
    log = b"".join(map(record, range(RECORDS)))
    size = len(log) // RECORDS
    units = b"".join(UNIT.pack(number * size, size, 5) for number in range(RECORDS))
    to_send = [ToSend("Orders", b"body" * 70, tags="a", keys=f"k{number}") for number in range(RECORDS)]
    batch = b"".join(map(encode_element, to_send))
    keyed = ToSend("Orders", b"body")
    keyed.properties = {"UNIQ_KEY": "A" * 32, "WAIT": "true"}
    places = [(number, number * size, size) for number in range(RECORDS)]
    header = SendMessageRequestHeader(
        producer_group="Shop",
        topic="Orders",
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=1,
        sys_flag=0,
        born_timestamp=5,
        flag=0,
        properties=PROPERTIES,
    ).encode()
    payload = encode_command(RemotingCommand(10, remark='say "why"', ext_fields=header, body=b"body"))[4:]
    end = 4 + int.from_bytes(payload[1:4], "big")
    fields = (
        ("topic", "topic", None, 0, True),
        ("queue_id", "queueId", {"1": 1}, 32, True),
        ("born_timestamp", "bornTimestamp", {"5": 5}, 64, False),
    )
    marks = (b"UNIQ_KEY\1", b"none\1")
    return [
        Call("crc32", (log,)),
        Call("crc32c", (log,)),
        Call("inflate_block", (SNAPPY, 1, 50)),
        Call("inflate_frames", (FRAMES, 16, 1 << 20)),
        Call("deflate_block", (log,)),
        Call("walk_records", (KAFKA_RECORDS, 3)),
        Call("cut_records", (KAFKA_RECORDS, 0, 3, 9, [])),
        Call("ordinary_batch", (bytes(build_batch([Record(b"k", b"v")], base_timestamp=0)), 0, 70)),
        Call("single_batch", (PRODUCED,)),
        Call("record_starts", (KAFKA_RECORDS, 0, 3)),
        Call("expand_records", (), expanding()),
        Call("add_messages", (), building(log)),
        Call("run_of", (log, 0, len(log), 0, True)),
        Call("record_rows", (log, 0, len(log), 0, 9)),
        Call("element_sizes", (batch,)),
        Call("batch_records", (batch, log[:88], b"\6Orders", 7, 77)),
        Call("batch_from", (to_send, 0, 1 << 20, 9)),
        Call("plain_messages", (ReceivedMessage, queue_of, "broker-a", ({"MIN_OFFSET": "0"},), log, 0, [])),
        Call("unique_keys", (encode_element(keyed) * 2,)),
        Call("key_hashes", (5, [b"A" * 32, b"B"])),
        Call("key_hash", (5, "A" * 32)),
        Call("queue_units", (77, [100, 200])),
        Call("index_entries", (bytearray(99), 5, 1, 9, [(1, 2, 3), (4, 5, 6000)])),
        Call("header", (SendMessageRequestHeader, fields, header)),
        Call("properties", (PROPERTIES,)),
        Call("properties_text", ({"UNIQ_KEY": "A" * 32, "TAGS": "a"},)),
        Call("json_header", (payload, end)),
        Call("json_texts", (b'{"topic":"Orders","quoted":"a \\"b\\" \\u0041"}',)),
        Call("json_typed", (SendMessageRequestHeader, fields, b'{"topic":"Orders","queueId":"1","x":"y"}')),
        Call("json_answer", (0, 501, 7, {"a": "b"}, "why", b"body")),
        Call("message_ids", (HOST, [5, 6])),
        Call("slices", (log, 0, places)),
        Call("gather", (log, 0, len(log), places, 0)),
        Call("property_values", (log[:size], marks)),
        Call("take_known", (), taking(log, units, marks)),
        Call("choose", (), choice(units)),
        Call("choose", (), {**choice(units), "codes": frozenset({5, 6})}),
        Call("record", (), RECORD_PARTS),
    ]


def expanding() -> dict[str, Any]:
    """The arguments of `expand_records`."""
    return {
        "data": KAFKA_RECORDS,
        "at": 0,
        "count": 3,
        "last": -1,
        "largest": 2,
        "wanted": 0,
        "most": 9,
        "room": 9999,
        "base_offset": 7,
        "base_timestamp": 70_000,
        "has_deltas": True,
        "head": record(0)[:88],
        "topic": b"\6Orders",
        "key": b"K" * 17,
        "found": [],
    }


def building(log: bytes) -> dict[str, Any]:
    """The arguments of `add_messages`."""
    return {
        "data": log,
        "at": 0,
        "least": 0,
        "most": 9,
        "room": 9999,
        "base_offset": 0,
        "base_timestamp": 5,
        "max_timestamp": 5,
        "is_empty": True,
        "records": bytearray(),
    }


def taking(log: bytes, units: bytes, marks: tuple[bytes, ...]) -> dict[str, Any]:
    """The arguments of `take_known`."""
    limits = Limits(
        due_position=0,
        due_offset=0,
        largest=9999,
        fresh_from=0,
        fresh_count=9,
        fresh_bytes=9999,
        old_count=9,
        old_bytes=9999,
    )
    return {
        "buffer": log,
        "begin": 0,
        "end": len(log),
        "units": units,
        "first": 0,
        "number": 50,
        "marks": marks,
        "known": {(b"A" * 32, None): True},
        "records": [],
        "offsets": [],
        "total": 0,
        "limits": limits,
    }


def choice(units: bytes) -> dict[str, Any]:
    """The arguments of `choose`."""
    return {
        "units": units,
        "offset": 7,
        "codes": None,
        "oldest": 0,
        "largest": 9999,
        "fresh_from": 0,
        "fresh_count": 9,
        "fresh_bytes": 9999,
        "old_count": 9,
        "old_bytes": 9999,
        "address_max": ADDRESS_MAX,
    }


RECORD_PARTS: dict[str, Any] = {
    "size": 99,
    "queue_id": 2,
    "flag": 3,
    "queue_offset": 4,
    "physical_offset": 5,
    "sys_flag": 6,
    "born_timestamp": 7,
    "born_host": bytes(8),
    "store_timestamp": 8,
    "store_host": bytes(8),
    "reconsume_times": 9,
    "prepared": 10,
    "body": b"body",
    "topic": (MAGIC, b"\1t"),
    "properties": b"abc",
}
"""The arguments of `record`."""

FAR = 2**61
"""More than any size or offset there is. Callers of our own give no numbers near the end of 64 bits."""
ODD: Sequence[Any] = (
    *(None, True, 0, -1, 2**31, -(2**31) - 1, FAR, -FAR, 2**63, 2**70, 0.5),
    *(
        "",
        "text",
        "ü",
        "\ud800",
        b"",
        b"\xff" * 3,
        bytes(200),
        b"\xff" * 200,
        bytearray(3),
        memoryview(b"abc"),
    ),
    *((), (1, 2, 3), (None,) * 8, (FAR,) * 8, (-FAR,) * 8, [], [None], [(0, FAR, 1)], [(0, -FAR, FAR)]),
    *({}, {"a": None}, {"a": "ü"}, frozenset({FAR}), object(), int, GeneratorType),
)
"""Replacements of an argument."""


def damaged(call: Call) -> Iterator[Call]:
    """The call with each argument replaced by others, one after the other, and bytes cut and changed."""
    for place, argument in enumerate(call.arguments):
        for other in others(argument):
            changed = (*call.arguments[:place], other, *call.arguments[place + 1 :])
            yield call._replace(arguments=changed)
    for name, argument in call.named.items():
        for other in others(argument):
            yield call._replace(named={**call.named, name: other})


def others(argument: Any) -> Iterator[Any]:
    """Odd replacements of an argument; for bytes also truncated and changed ones."""
    yield from ODD
    if isinstance(argument, bytes):
        for place in range(len(argument)):
            yield argument[:place]
            for byte in (0x00, 0x7F, 0x80, 0xFF):
                yield argument[:place] + bytes((byte,)) + argument[place + 1 :]
