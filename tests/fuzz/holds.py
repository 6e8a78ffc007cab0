"""Requests that are as much work as a peer can make them, and how long each holds the loop.

    python -m tests.fuzz.holds                    the table of this checkout
    python -m tests.fuzz.holds --json FILE        the table, and its figures in a file for a comparison
    python -m tests.fuzz.holds --before FILE      with a column of an earlier checkout's figures

A hold is the work of one turn of the event loop: all that one delivered frame causes at once, or one delayed
call. It is measured in CPU time of the process and divided by the slowness of the machine at the moment,
which a loop of known length measures (`Gauge`).

`test_holds` sends every code too, but only with the bodies that are the most work for each kind of reader
(`WORST`).
"""

from __future__ import annotations

import json
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from mqgateway.engine.options import OptionSet, RemotingOptions, StoreOptions, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.broker.requests import REQUESTS as BROKER_REQUESTS
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.fields import request_header
from mqgateway.gateway.container.requests import REQUESTS as CONTAINER_REQUESTS
from mqgateway.gateway.container.service import ContainerService
from mqgateway.gateway.namesrv.service import REQUESTS as NAMESRV_REQUESTS
from mqgateway.gateway.runtime.service import Runtime
from tests.fuzz.honest import HonestClient
from tests.fuzz.test_hostile_requests import GOOD_BODIES, good_fields, meet_victim
from tests.fuzz.world import BROKER_PORT, KAFKA_PORT, NAMESRV_PORT, LogWatch, Speaker, World
from tests.support.cpu_time import CpuTime
from tests.support.gateway.broker.helpers import batch_body
from tests.support.gateway.container.fakes import FakeLaunch
from tests.support.gateway.namesrv.world import NetClock
from tests.support.gateway.remoting.pair import Net

CALIBRATION_LOOPS = 100_000
CALIBRATION_SECONDS = 0.0025
"""Duration of the loop below on the machine that the bound is meant for."""

BOUND_MILLIS = 50.0
"""No request may hold the loop for longer."""

BIG = 15_900_000
"""Bytes of the largest bodies: a little less than the limit of a frame."""


class Gauge:
    """Slowness of the machine at the moment: 1 if the loop takes as long as it should, never less."""

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
    """The longest hold of one kind of request, in ms, and the name of that request."""

    code: str
    millis: float
    what: str


CONTAINER_PORT = 10811


class ContainerWorld:
    """A container without brokers, run in memory as `World` runs the other two servers."""

    def __init__(self) -> None:
        self.net = Net()
        self.watch = LogWatch()
        clock = NetClock(self.net)
        self.service = ContainerService(
            OptionSet(ContainerOptions(), RemotingOptions(listen_port=CONTAINER_PORT), TlsOptions()),
            Runtime(self.net, clock, CrashDisk(millis=clock.millis)),
            launch=FakeLaunch(),
            default_name="host",
        )

    def __enter__(self) -> ContainerWorld:
        self.service.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.service.stop()

    def settle(self) -> None:
        """Move bytes until there are no more."""
        self.net.settle()

    def meet(self, port: int) -> Speaker:
        """Return a new connection."""
        return Speaker(self, port, "192.168.6.6", 20_000)  # type: ignore[arg-type]


class Stopwatch:
    """A timer of every turn: deliveries to connections, and calls of the net."""

    def __init__(self, world: World | ContainerWorld) -> None:
        self.world = world
        self.longest = 0.0
        self._cpu_time = CpuTime()

    def timed(self, work: Callable[[], Any]) -> None:
        """Run one turn of the loop and time it."""
        with self._cpu_time as turn:
            work()
        self.longest = max(self.longest, turn.seconds)

    def deliver(self, speaker: Speaker, data: bytes, chunk: int = 1 << 16) -> None:
        """Deliver bytes as a socket does, in chunks, each a turn, then run all calls that are due."""
        assert speaker.pair is not None
        server = speaker.pair.server
        for start in range(0, len(data), chunk):
            if server.gone or speaker.pair.client.aborted or server.aborted:
                break
            self.timed(partial(server.protocol.dataReceived, data[start : start + chunk]))
        for _ in range(100_000):
            due = [
                call
                for call in self.world.net.getDelayedCalls()
                if call.getTime() <= self.world.net.seconds()
            ]
            if not due:
                break
            self.timed(lambda call=due[0]: _run(self.world, call))  # type: ignore[misc]


def _run(world: World | ContainerWorld, call: Any) -> None:
    """Run one call that is due, and none of those that it schedules."""
    world.net.calls.remove(call)
    call.called = 1
    call.func(*call.args, **call.kw)


# Bodies


KINDS: dict[str, Callable[[int], bytes]] = {
    "a list of numbers": lambda size: b"[" + b"1," * (size // 2) + b"1]",
    "a list of numbers, lenient": lambda size: b"{0:[" + b"1," * (size // 2) + b"1]}",
    "nested lists": lambda size: b"[" * (size // 2) + b"]" * (size // 2),
    "nested objects, lenient": lambda size: b"{0:" * (size // 4) + b"1" + b"}" * (size // 4),
    "empty lists": lambda size: b"[" + b"[]," * (size // 3) + b"1]",
    "empty objects, lenient": lambda size: b"{0:[" + b"{}," * (size // 3) + b"1]}",
    "many keys": lambda size: b"{" + b",".join(b'"%x":1' % n for n in range(size // 10)) + b"}",
    "many bare keys": lambda size: b"{" + b",".join(b"%d:1" % n for n in range(size // 10)) + b"}",
    "objects as keys": lambda size: b"{" + b",".join(b'{"a":%d}:1' % n for n in range(size // 15)) + b"}",
    "a long string": lambda size: b'{"a":"' + b"x" * size + b'"}',
    "a string of escapes, lenient": lambda size: b'{0:"' + b"\\n" * (size // 2) + b'"}',
    "blanks": lambda size: b" " * size,
    "lines": lambda size: b"a=b\n" * (size // 4),
    "brackets that lead nowhere": lambda size: b'{"a":[{' * (size // 7),
}
"""Bodies of about the given number of bytes, valid or not."""

WORST = ("many bare keys", "lines")
"""Kinds of body that are the most work for the reader of lenient JSON, which visits each key in Python, and
for that of properties. Besides, each code has a long valid body, which is read, checked and applied."""


def _json_bodies(size: int, kinds: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for name in kinds:
        yield name, KINDS[name](size)


def _own_bodies(code: int, size: int) -> Iterator[tuple[str, bytes]]:
    """Yield valid bodies of the code, in each of which one list or map fills the size."""
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
    """Return a copy of an entry that differs from the others."""
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
    """Return the registration body of a broker with the given number of topics."""
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
    """Yield frames whose work is in the header."""
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
"""Bytes of bodies: always below the limit of parts, around it, and around the limit of bytes."""
LONG_SIZES = (400_000, 2_000_000)
"""Bytes of the bodies of requests with a higher limit (`LONG`)."""
WORST_SIZE = 100_000
"""Bytes of a body that reaches the usual limit of parts with a key in every ten bytes."""
LONG = (
    RequestCode.HEART_BEAT,
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
    RequestCode.REGISTER_BROKER,
)
NO_JSON = (
    RequestCode.UPDATE_BROKER_CONFIG,
    RequestCode.UPDATE_NAMESRV_CONFIG,
)


def bodies(code: int, *, worst: bool) -> Iterator[tuple[str, bytes]]:
    """Yield names and bodies for a code: all kinds if it reads its body, else one."""
    if code == RequestCode.SEND_BATCH_MESSAGE:
        yield from _batches(worst)
        return
    size = BIG // 10 if worst else BIG
    yield f"a list of numbers, {size:,} bytes", KINDS["a list of numbers"](size)
    if code not in GOOD_BODIES and code not in NO_JSON:
        return
    sizes = LONG_SIZES if code in LONG else SIZES
    for size in (WORST_SIZE,) if worst else sizes:
        for name, body in (*_json_bodies(size, WORST if worst else KINDS), *_own_bodies(code, size)):
            yield f"{name}, {len(body):,} bytes", body
    if code == RequestCode.REGISTER_BROKER:
        for topics in (20_000,) if worst else (100_000, 400_000):
            yield f"{topics:,} topics, compressed", registration(topics, compressed=True)
        if not worst:
            yield "80,000 topics", registration(80_000, compressed=False)
            yield "a compressed bomb", zlib.compress(bytes(100_000_000), 1)


def _batches(worst: bool) -> Iterator[tuple[str, bytes]]:
    """Yield batches of many small messages, and of few with thousands of keys each.

    The numbers of messages: below the length from which batches are prepared incrementally, the maximum of a
    batch, and more.
    """
    bare = batch_body((b"", {}))
    keyed = batch_body((b"0123456789", {"UNIQ_KEY": "0" * 32, "KEYS": "a b", "TAGS": "t", "WAIT": "true"}))
    most = StoreOptions().max_batch_messages
    yield "the most messages, with keys", keyed * most
    yield "190,000 messages, too many", bare * 190_000
    for count in () if worst else (1400, 5000, 12_500, most):
        yield f"{count:,} messages", bare * count
    if not worst:
        yield "60 messages of 16,000 keys", batch_body((b"", {"KEYS": "a " * 16_000})) * 60


TEXTS = {
    "plain text": "x",
    "digits": "9",
    "properties": "a\1b\2",
    "tags": "a||",
    "commas": "a,",
    "brackets": "(",
    "an expression": "a=1 OR ",
    "lines": "a=b\n",
    "places": "a;0;1 ",
}
"""The units that the long text of a field repeats."""
WORST_TEXTS = ("properties", "tags")
TEXT_SIZE = 240_000
"""Bytes of such a text in the header: nearly the limit of a header."""


def fields(code: int, *, worst: bool) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield headers of the code that are valid except for one very long field."""
    declared = request_header(code)
    good = good_fields(code)
    for field in () if declared is None else declared.__fields__:
        for name in WORST_TEXTS if worst else TEXTS:
            unit = TEXTS[name]
            text = unit * (TEXT_SIZE // len(json.dumps(unit).strip('"')))
            yield f"{name} as {field.wire_name}", good | {field.wire_name: text}


def request(code: int, body: bytes, given: dict[str, str] | None = None) -> bytes:
    """Return a frame that is valid except for its body, or for the fields `given`."""
    fields = good_fields(code) if given is None else given
    if code == RequestCode.REGISTER_BROKER:
        fields = {"compressed": "false", "bodyCrc32": "0"} | fields
    if code == RequestCode.SEND_BATCH_MESSAGE and given is None:
        fields |= {"m": "true"}
    command = RemotingCommand.request(code, None, body, ext=fields)
    command.version, command.opaque = CURRENT_VERSION, 7
    return encode_command(command)


def longest(
    title: str, server: str, frames: Iterator[tuple[str, bytes]], limit: float, enough: float = 0
) -> Hold:
    """Return the longest hold of some requests to one server, each on a connection of its own.

    A hold above the limit is measured up to three times, as other processes use the machine too. The slowness
    of the machine is not measured for holds that are below `enough` without it.
    """
    worst = Hold(title, 0.0, "")
    with ContainerWorld() if server == "container" else World() as world:
        if isinstance(world, World):
            meet_victim(world, HonestClient(world))
        for name, frame in frames:
            best = float("inf")
            for _ in range(3):
                best = min(best, _hold(world, PORTS[server], frame, enough))
                world.watch.complaints.clear()
                if best <= limit:
                    break
            if best > worst.millis:
                worst = Hold(title, best, name)
    return worst


def _hold(world: World | ContainerWorld, port: int, frame: bytes, enough: float) -> float:
    """Return the longest hold of one request, in ms of a machine that is as fast as it should be."""
    watch = Stopwatch(world)
    speaker = world.meet(port)
    speaker.dataReceived = lambda data: None  # type: ignore[method-assign]  # whatever the answer is
    watch.deliver(speaker, frame)
    millis = watch.longest * 1000
    if millis > enough:
        millis /= Gauge()()
    speaker.leave()
    return millis


PORTS = {"namesrv": NAMESRV_PORT, "broker": BROKER_PORT, "container": CONTAINER_PORT, "kafka": KAFKA_PORT}


def of_headers(limit: float) -> Hold:
    """Return the longest hold of a frame whose work is in the header."""
    return longest("any code, its header", "namesrv", headers(), limit)


def of_code(server: str, code: int, limit: float, *, worst: bool = False) -> Hold:
    """Return the longest hold of requests of one code; with `worst` only of those that are the most work."""
    frames = chain(
        ((name, request(code, body)) for name, body in bodies(code, worst=worst)),
        ((name, request(code, b"", given)) for name, given in fields(code, worst=worst)),
    )
    title = f"{server} {code} {RequestCode(code).name}"
    return longest(title, server, frames, limit, enough=limit if worst else 0)


def all_codes() -> Iterator[tuple[str, int]]:
    """Yield the server and code of every request that is served."""
    yield from (("namesrv", int(code)) for code in NAMESRV_REQUESTS)
    yield from (("broker", int(code)) for code in BROKER_REQUESTS)
    yield from (("container", int(code)) for code in CONTAINER_REQUESTS)


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
