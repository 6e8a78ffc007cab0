"""Headers and batches as few clients write them: what Apache's server answers, ours answers with that code.

Every member of a JSON header in every form of JSON, binary headers with odd lengths, and elements of a batch
whose size, magic or checksum is wrong. Where Apache's server closes the connection or stays silent, ours may
answer or close.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

import pytest

from compat_tests.support.peers import Peers
from compat_tests.support.raw import RawConnection
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import decode_command

pytestmark = [pytest.mark.both_servers, pytest.mark.timeout(600)]

JSON, ROCKETMQ = 0, 1
SILENT_SECONDS = 1.0
STORED_SECONDS, STORED_TRIES = 0.2, 50
TOPIC = "TBW102"

GOOD = {
    "code": "105",
    "language": '"JAVA"',
    "version": "401",
    "opaque": "7",
    "flag": "0",
    "remark": "null",
    "extFields": json.dumps({"topic": TOPIC}),
    "serializeTypeCurrentRPC": '"JSON"',
    "unknown": "1",
}
FORMS = (
    *("null", "true", "false", "0", "1", "3", "13", "14", "-1", "105", "1.0", "1.5", "105.0", "1e2", "3e9"),
    *("2147483648", "-2147483649", '""', '"0"', '"105"', '"abc"', '" 105 "', '"1.5"', '"null"', '"true"'),
    *('"JAVA"', '"java"', '"GO"', '"NODE_JS"', "{}", '{"a":1}', "[]", "[1]", '["JAVA"]', '["105"]'),
)

Outcome = tuple[int, int, int] | None
"""Code, opaque and flag of the answer; None where none came."""


def outcome(address: str, header: bytes, form: int, body: bytes = b"") -> Outcome:
    """Return the answer of the server at this address to a request with this header."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), SILENT_SECONDS) as connection:
        frame = struct.pack(">II", 4 + len(header) + len(body), form << 24 | len(header)) + header + body
        connection.sendall(frame)
        file = connection.makefile("rb")
        try:
            length = file.read(4)
            payload = file.read(int.from_bytes(length, "big")) if length else b""
        except OSError:
            return None
    if not payload:
        return None
    answer = decode_command(payload)
    return answer.code, answer.opaque, answer.flag


def written(members: dict[str, str]) -> bytes:
    """A JSON header of members that are JSON already."""
    return ("{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}").encode()


def json_headers() -> dict[str, bytes]:
    """Headers by what is odd about them."""
    headers = {"good": written(GOOD)}
    for name in GOOD:
        if name != "opaque":  # then Apache's server makes up a number, by which nobody finds the answer
            headers[f"no {name}"] = written({key: GOOD[key] for key in GOOD if key != name})
        headers |= {f"{name}={form}": written({**GOOD, name: form}) for form in FORMS}
    for form in FORMS:
        headers[f"field={form}"] = written({**GOOD, "extFields": f'{{"topic":{form}}}'})
    return headers


def field(name: bytes, value: bytes) -> bytes:
    """A field of a binary header."""
    return struct.pack(">h", len(name)) + name + struct.pack(">i", len(value)) + value


def binary_headers() -> dict[str, bytes]:
    """Headers by what is odd about them."""
    topic = field(b"topic", TOPIC.encode())

    def header(
        language: int = 0,
        remark: bytes = b"",
        remark_length: int | None = None,
        fields: bytes = topic,
        fields_length: int | None = None,
        version: int = 401,
    ) -> bytes:
        length = len(remark) if remark_length is None else remark_length
        start = struct.pack(">hbhiii", 105, language, version, 7, 0, length)
        return (
            start
            + remark
            + struct.pack(">i", len(fields) if fields_length is None else fields_length)
            + fields
        )

    odd: dict[str, Any] = {
        "good": {},
        "an unknown language": {"language": 14},
        "a negative language": {"language": -1},
        "a negative version": {"version": -1},
        "a remark": {"remark": b"hello"},
        "a negative length of the remark": {"remark_length": -1},
        "a remark that leads out": {"remark_length": 500},
        "no fields": {"fields": b""},
        "a length of 0 before fields": {"fields_length": 0},
        "a negative length of fields": {"fields_length": -1},
        "a very negative length of fields": {"fields_length": -(2**31)},
        "fields that lead out": {"fields_length": 500},
        "fields shorter than the last": {"fields_length": len(topic) - 1},
        "an empty name": {"fields": field(b"", b"x") + topic},
        "an empty value": {"fields": topic + field(b"topic", b"")},
        "a field twice": {"fields": field(b"topic", b"none") + topic},
        "no UTF-8": {"fields": field(b"\xff", b"\xff") + topic},
    }
    headers = {name: header(**parts) for name, parts in odd.items()}
    return headers | {"bytes behind the fields": header() + b"more", "a short header": header()[:13]}


def different(peers: Peers, title: str, headers: dict[str, bytes], form: int) -> dict[str, tuple[Any, Any]]:
    """Headers that Apache's server answers, and ours otherwise."""

    def outcomes(kind: str) -> dict[str, Outcome]:
        address = peers.server(kind).namesrv_address
        return {name: outcome(address, header, form) for name, header in headers.items()}

    apaches, ours = peers.transcripts.both(__name__, title, outcomes)
    assert apaches["good"] == [ResponseCode.SUCCESS, 7, 1]
    return {name: (one, ours[name]) for name, one in apaches.items() if one and one != ours[name]}


def test_json_headers_of_any_form_are_answered_as_apaches_server_answers_them(peers: Peers) -> None:
    assert not different(peers, "JSON headers", json_headers(), JSON)


def test_binary_headers_of_any_form_are_answered_as_apaches_server_answers_them(peers: Peers) -> None:
    assert not different(peers, "binary headers", binary_headers(), ROCKETMQ)


def element(
    size: int | None = None, magic: int = 0, crc: int = 0, flag: int = 0, body: bytes = b"body"
) -> bytes:
    """A message of a batch, with the right size if none is given."""
    length = 22 + len(body) if size is None else size
    return struct.pack(">5i", length, magic, crc, flag, len(body)) + body + bytes(2)


BATCHES = {
    "right": (element() * 3, 3),
    "size without the length of the properties": (element(18 + 4) * 3, 3),
    "no size": (element(0) * 3, 3),
    "negative size": (element(-1) * 3, 3),
    "huge size": (element(2**31 - 1) * 3, 3),
    "sizes of other elements": (element(26, body=b"longer") + element(28), 2),
    "magic": (element(magic=-5) * 2, 2),
    "checksum": (element(crc=77) * 2, 2),
    "empty bodies": (element(0, body=b"") * 2, 2),
    "a byte too few": ((element() * 2)[:-1], 0),
    "bytes behind": (element() + b"xx", 0),
    "a body that leads out": (element() + struct.pack(">5i", 26, 0, 0, 0, 1000) + b"body", 0),
    "a negative body": (element() + struct.pack(">5i", 26, 0, 0, 0, -1) + b"body", 0),
    "negative properties": (element()[:-2] + b"\xff\xff", 0),
}
"""Bodies of batches by what is odd about them, and how many messages are stored."""


def stored(address: str) -> dict[str, int]:
    """Count the stored messages of each batch; Apache's broker reports them a little later."""
    counts = {}
    with RawConnection(address) as connection:
        for number, (name, (body, expected)) in enumerate(BATCHES.items()):
            topic = f"OddBatch{number}"
            create = {"topic": topic, "readQueueNums": "1", "writeQueueNums": "1", "perm": "6"}
            create["topicFilterType"] = "SINGLE_TAG"
            connection.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create)
            send = {"a": "OddSenders", "b": topic, "c": "TBW102", "d": "1", "e": "0", "f": "0", "m": "true"}
            sent = connection.ask(RequestCode.SEND_BATCH_MESSAGE, {**send, "g": "1", "h": "0"}, body)
            assert sent is not None and (sent.code == ResponseCode.SUCCESS) == (expected > 0), (name, sent)
            for _ in range(STORED_TRIES):
                answer = connection.ask(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": "0"})
                assert answer is not None
                counts[name] = int(answer.ext_fields["offset"])
                if counts[name] == expected:
                    break
                time.sleep(STORED_SECONDS)
    return counts


def test_batches_are_split_by_their_lengths(peers: Peers) -> None:
    """Apache's broker looks at no size: an Erlang client writes wrong ones."""
    expected = {name: count for name, (_, count) in BATCHES.items()}
    found = peers.transcripts.both(
        __name__, "batches", lambda kind: stored(peers.server(kind).broker_address)
    )
    assert found == (expected, expected)
