"""Requests that are as much work as a peer can make them, and how long each holds the loop.

    python -m tests.fuzz.holds                    the table of this checkout
    python -m tests.fuzz.holds --json FILE        the same, to be set beside another one
    python -m tests.fuzz.holds --before FILE      with a column of an earlier checkout's figures

A hold is what one turn of the loop does without giving way: all that one delivered frame sets off at once, or
one delayed call. It is measured in CPU time of the process, and divided by how slow the machine is at the
moment, as a loop of known length tells (`Gauge`).
"""

from __future__ import annotations

import gc
import json
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mqgateway.gateway.broker.requests import REQUESTS as BROKER_REQUESTS
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.namesrv.service import REQUESTS as NAMESRV_REQUESTS
from tests.fuzz.test_hostile_requests import GOOD_BODIES, good_fields
from tests.fuzz.world import BROKER_PORT, NAMESRV_PORT, Speaker, World

CALIBRATION_LOOPS = 100_000
CALIBRATION_SECONDS = 0.0025
"""What the loop below takes on the machine that the bound is meant for."""

BOUND_MILLIS = 50.0
"""No request may hold the loop for longer."""

FULL_PASS = 2
"""The generation of Python's collector that goes through all there is."""

BIG = 15_900_000
"""Bytes of the largest bodies: a little less than a frame may have."""


class Gauge:
    """How slow the machine is just now: 1 where the loop takes as long as it should, never less."""

    def __call__(self) -> float:
        best = min(self._loop() for _ in range(3))
        return max(1.0, best / CALIBRATION_SECONDS)

    @staticmethod
    def _loop() -> float:
        began = time.process_time()
        total = 0
        for number in range(CALIBRATION_LOOPS):
            total += number
        return time.process_time() - began


@dataclass
class Hold:
    """The longest hold of one kind of request, in ms, and which request that was."""

    code: str
    millis: float
    what: str


class Stopwatch:
    """Times every turn: deliveries to connections, and calls of the net."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.longest = 0.0
        self._collected = 0.0

    def timed(self, work: Callable[[], Any]) -> None:
        """One turn of the loop, without full passes of Python's collector: they go through all tables."""
        gc.callbacks.append(self._collecting)
        self._collected = 0.0
        began = time.process_time()
        work()
        self.longest = max(self.longest, time.process_time() - began - self._collected)
        gc.callbacks.remove(self._collecting)

    def _collecting(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] == FULL_PASS:
            self._collected += time.process_time() * (1 if phase == "stop" else -1)

    def deliver(self, speaker: Speaker, data: bytes, piece: int = 1 << 16) -> None:
        """Bring bytes as a socket does, in pieces, each a turn, and go on until nothing is left to do."""
        assert speaker.pair is not None
        server = speaker.pair.server
        for start in range(0, len(data), piece):
            if server.gone or speaker.pair.client.aborted or server.aborted:
                break
            self.timed(partial(server.protocol.dataReceived, data[start : start + piece]))
        for _ in range(100_000):
            due = [
                call
                for call in self.world.net.getDelayedCalls()
                if call.getTime() <= self.world.net.seconds()
            ]
            if not due:
                break
            self.timed(lambda call=due[0]: _run(self.world, call))  # type: ignore[misc]


def _run(world: World, call: Any) -> None:
    """One call that is due, and none of those it asks for."""
    world.net.calls.remove(call)
    call.called = 1
    call.func(*call.args, **call.kw)


# Bodies


def _json_bodies(size: int) -> Iterator[tuple[str, bytes]]:
    yield "a list of numbers", b"[" + b"1," * (size // 2) + b"1]"
    yield "a list of numbers, lenient", b"{0:[" + b"1," * (size // 2) + b"1]}"
    yield "nested lists", b"[" * (size // 2) + b"]" * (size // 2)
    yield "nested objects, lenient", b"{0:" * (size // 4) + b"1" + b"}" * (size // 4)
    yield "empty lists", b"[" + b"[]," * (size // 3) + b"1]"
    yield "empty objects, lenient", b"{0:[" + b"{}," * (size // 3) + b"1]}"
    yield "many keys", b"{" + b",".join(b'"%x":1' % n for n in range(size // 10)) + b"}"
    yield "many bare keys", b"{" + b",".join(b"%d:1" % n for n in range(size // 10)) + b"}"
    yield "objects as keys", b"{" + b",".join(b'{"a":%d}:1' % n for n in range(size // 15)) + b"}"
    yield "a long string", b'{"a":"' + b"x" * size + b'"}'
    yield "a string of escapes, lenient", b'{0:"' + b"\\n" * (size // 2) + b'"}'
    yield "blanks", b" " * size
    yield "lines", b"a=b\n" * (size // 4)
    yield "brackets that lead nowhere", b'{"a":[{' * (size // 7)


def _own_bodies(code: int, size: int) -> Iterator[tuple[str, bytes]]:
    """A sound body of the code, in which each list and map has as many entries as there is room for."""
    good = GOOD_BODIES.get(RequestCode(code))
    if not isinstance(good, dict):
        return
    for path, entries in _collections(good, ()):
        many = _filled(entries, size)
        if many is None:
            continue
        strict = json.dumps(_with(good, path, many), separators=(",", ":")).encode()
        name = ".".join(map(str, path))
        yield f"many {name}", strict
        yield f"many {name}, lenient", strict[:-1] + b",0:1}"


def _collections(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, list | dict) and value:
        if path:
            yield path, value
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _collections(inner, (*path, key))


def _filled(value: Any, size: int) -> Any:
    if isinstance(value, list):
        one = value[0]
        count = size // (len(json.dumps(one)) + 12)
        return [_numbered(one, number) for number in range(count)]
    key, one = next(iter(value.items()))
    if not isinstance(one, dict):
        return None
    count = size // (len(json.dumps(one)) + len(str(key)) + 20)
    return {f"{key}{number}": _numbered(one, number) for number in range(count)}


def _numbered(value: Any, number: int) -> Any:
    """An entry that is not quite like the others."""
    if not isinstance(value, dict):
        return f"{value}{number}" if isinstance(value, str) else value
    named = [
        key for key in ("topic", "topicName", "groupName", "clientId") if isinstance(value.get(key), str)
    ]
    return value | {key: f"{value[key]}{number}" for key in named[:1]}


def _with(value: Any, path: tuple[Any, ...], put: Any) -> Any:
    if not path:
        return put
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = _with(value[path[0]], path[1:], put)
    return copied


def registration(topics: int, *, compressed: bool) -> bytes:
    """The body of a broker with so many topics."""
    if not compressed:
        config = (
            '"T%d":{"attributes":{},"order":false,"perm":6,"readQueueNums":8,"topicFilterType":"SINGLE_TAG",'
        )
        config += '"topicName":"T%d","topicSysFlag":0,"writeQueueNums":8}'
        table = ",".join(config % (number, number) for number in range(topics))
        version = '{"counter":1,"stateVersion":0,"timestamp":1}'
        text = (
            '{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":%s,"topicConfigTable":{%s}}}'
        )
        return (text % (version, table)).encode()
    parts = [_part(b'{"counter":1,"stateVersion":0,"timestamp":1}'), struct.pack(">i", topics)]
    parts += [_part(b"Topic%d 8 8 6 SINGLE_TAG {}" % number) for number in range(topics)]
    return zlib.compress(b"".join((*parts, _part(b"[]"), bytes(4))), 6)


def _part(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


# Headers


def headers() -> Iterator[tuple[str, bytes]]:
    """Frames whose headers are the work."""
    start = b'{"code":105,"opaque":7,"flag":0,"extFields":{'
    end = b"}}"
    for size in (250_000, BIG):
        yield (
            f"many fields, {size:,} bytes",
            _json_frame(start + b",".join(b'"%x":""' % n for n in range(size // 12)) + end),
        )
        yield (
            f"many numbers, {size:,} bytes",
            _json_frame(start + b",".join(b'"%x":1' % n for n in range(size // 11)) + end),
        )
        yield f"lists, {size:,} bytes", _json_frame(start + b'"a":[' + b"[]," * (size // 3) + b"1]" + end)
        yield f"nested, {size:,} bytes", _json_frame(start + b'"a":' + b"[" * (size - 100) + end)
        yield f"a long text, {size:,} bytes", _json_frame(start + b'"a":"' + b"x" * (size - 100) + b'"' + end)
        yield (
            f"control characters, {size:,} bytes",
            _json_frame(start + b'"a":"' + b"\1" * (size - 100) + b'"' + end),
        )
        binary = struct.pack(">hbhiii", 105, 0, 1, 7, 0, 0) + struct.pack(">i", size // 6 * 6)
        yield f"empty binary fields, {size:,} bytes", _frame(1, binary + bytes(size // 6 * 6))


def _json_frame(header: bytes) -> bytes:
    return _frame(0, header)


def _frame(form: int, header: bytes) -> bytes:
    return struct.pack(">iI", 4 + len(header), form << 24 | len(header)) + header


# Measuring


SIZES = (15_000, 100_000, 1_000_000)
"""Bytes of bodies: below the limit of parts whatever they hold, around it, and around that of bytes."""
LONG_SIZES = (400_000, 2_000_000)
"""The same of those requests that may be longer."""
LONG = (
    RequestCode.HEART_BEAT,
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
    RequestCode.REGISTER_BROKER,
)
NO_JSON = (
    RequestCode.SEND_BATCH_MESSAGE,
    RequestCode.UPDATE_BROKER_CONFIG,
    RequestCode.UPDATE_NAMESRV_CONFIG,
)


def bodies(code: int) -> Iterator[tuple[str, bytes]]:
    """What a request of this code is asked with: of all kinds where it reads its body, else of one."""
    yield f"a list of numbers, {BIG:,} bytes", b"[" + b"1," * (BIG // 2) + b"1]"
    if code not in GOOD_BODIES and code not in NO_JSON:
        return
    for size in LONG_SIZES if code in LONG else SIZES:
        for name, body in (*_json_bodies(size), *_own_bodies(code, size)):
            yield f"{name}, {len(body):,} bytes", body
    if code == RequestCode.REGISTER_BROKER:
        yield "100,000 topics, compressed", registration(100_000, compressed=True)
        yield "400,000 topics, compressed", registration(400_000, compressed=True)
        yield "80,000 topics", registration(80_000, compressed=False)
        yield "a compressed bomb", zlib.compress(bytes(100_000_000), 1)


def request(code: int, body: bytes) -> bytes:
    """A request that is sound but for its body."""
    fields = good_fields(code)
    if code == RequestCode.REGISTER_BROKER:
        fields |= {"compressed": "false", "bodyCrc32": "0"}
    command = RemotingCommand.request(code, None, body, ext=fields)
    command.version, command.opaque = CURRENT_VERSION, 7
    return encode_command(command)


def longest(title: str, port: int, frames: Iterator[tuple[str, bytes]], limit: float) -> Hold:
    """The longest hold of some requests to one server, each on a connection of its own.

    What is above the limit is measured again, up to three times: others use this machine too.
    """
    gauge = Gauge()
    worst = Hold(title, 0.0, "")
    with World() as world:
        for name, frame in frames:
            best = float("inf")
            for _ in range(3):
                watch = Stopwatch(world)
                speaker = world.meet(port)
                slow = gauge()
                watch.deliver(speaker, frame)
                best = min(best, watch.longest * 1000 / max(slow, gauge()))
                speaker.leave()
                world.settle()
                if best <= limit:
                    break
            if best > worst.millis:
                worst = Hold(title, best, name)
        world.watch.complaints.clear()
    return worst


def of_headers(limit: float) -> Hold:
    """The longest hold of a frame whose header is the work."""
    return longest("any code, its header", NAMESRV_PORT, headers(), limit)


def of_code(server: str, code: int, limit: float) -> Hold:
    """The longest hold of requests of one code."""
    port = NAMESRV_PORT if server == "namesrv" else BROKER_PORT
    frames = ((name, request(code, body)) for name, body in bodies(code))
    return longest(f"{server} {code} {RequestCode(code).name}", port, frames, limit)


def all_codes() -> Iterator[tuple[str, int]]:
    """Every request that is served; containers read settings as brokers do, and nothing else."""
    yield from (("namesrv", int(code)) for code in NAMESRV_REQUESTS)
    yield from (("broker", int(code)) for code in BROKER_REQUESTS)


def main(arguments: list[str]) -> None:
    """Print the table; `--json FILE` keeps the figures, `--before FILE` adds a column of others."""
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    only = given.get("--only", "").split(",") if "--only" in given else []
    before = json.loads(Path(given["--before"]).read_text()) if "--before" in given else {}
    holds = [] if only else [of_headers(0)]
    for server, code in all_codes():
        if not only or str(code) in only:
            holds.append(of_code(server, code, BOUND_MILLIS))
            print(holds[-1], file=sys.stderr, flush=True)
    if "--json" in given:
        Path(given["--json"]).write_text(json.dumps({hold.code: hold.millis for hold in holds}))
    print("| request | before, ms | after, ms | the longest is that of |\n| --- | ---: | ---: | --- |")
    for hold in holds:
        earlier = f"{before[hold.code]:,.0f}" if hold.code in before else ""
        print(f"| {hold.code} | {earlier} | {hold.millis:.1f} | {hold.what} |")


if __name__ == "__main__":
    main(sys.argv[1:])
