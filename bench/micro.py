"""`python -m bench.micro`: what the single steps of a send and a pull cost in this process.

Codec, append, dispatch and read, and whole sends and pulls from bytes to bytes without sockets, of a broker
and of a client. For each the least time of all repeats, and the number of Python instructions, which no other
work on the machine changes (what is compiled has none).
"""

import datetime
import json
import logging
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import click
from rich.console import Console
from twisted.internet.task import Clock as Time
from twisted.internet.testing import StringTransport

from bench.access import ACCESS, LOAD, making_the_load
from bench.measure import is_compiled, machine
from bench.pages import json_option, page_option, write_section
from bench.results import commit
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.message import Message, format_properties, pack_host
from mqgateway.engine.meters import Meters
from mqgateway.engine.options import BrokerOptions, OptionSet, RemotingOptions, StoreOptions, TlsOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.codec.codes import CURRENT_VERSION, LanguageCode, RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command, encode_response
from mqgateway.gateway.codec.fields import request_header
from mqgateway.gateway.codec.frame import FrameCutter
from mqgateway.gateway.metrics.observed import ObservedBroker
from mqgateway.gateway.runtime.service import Runtime

TOPIC = "bench"
HOST = pack_host("127.0.0.1", 10911)
BODY = b"x" * 1024
SMALL_BODY = b"x" * 128
TOGETHER = 32
"""Requests in a read, messages in a pull or a batch."""
BATCHES = 4
"""Batches in a read."""
HOSTS = {"": "7F000001", " of a client with IPv6": f"FD{1:030X}"}
"""What unique keys begin with."""
PROPERTIES = {"UNIQ_KEY": "7F00000100002A139F5545CA0EDB0000", "WAIT": "true", "TAGS": "a", "CLUSTER": "C"}
SENT = {"msgId": "7F00000100002A9F0000000000A3C1F0", "queueId": "3", "queueOffset": "123456"}
MAIN_PORT = 10911


@dataclass
class Step:
    """Microseconds and Python instructions for one message, or one request."""

    name: str
    microseconds: float
    instructions: float


@dataclass
class Work:
    """What is measured: `do` treats `count` messages, after `prepare` has made things ready for it."""

    name: str
    count: int
    do: Callable[[], object]
    prepare: Callable[[], object] = lambda: None


def measured(work: Work, repeats: int) -> Step:
    """The least time of all repeats, and the instructions of one more."""
    best = float("inf")
    for _ in range(repeats):
        work.prepare()
        began = time.perf_counter()
        work.do()
        best = min(best, time.perf_counter() - began)
    work.prepare()
    return Step(work.name, best / work.count * 1e6, instructions(work.do) / work.count)


def instructions(do: Callable[[], object]) -> int:
    """How many instructions Python's interpreter executes in a call."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        do()
    finally:
        sys.settrace(before)
    return count


def send_request(opaque: int, *, signs: bool = False, key: str = PROPERTIES["UNIQ_KEY"]) -> bytes:
    """A send as the official client writes it, as a frame."""
    fields = {"a": "bench_producer", "b": TOPIC, "c": "TBW102", "d": "4", "e": "0", "f": "0"}
    fields |= {
        "g": str(SystemClock().millis()),
        "h": "0",
        "i": format_properties(PROPERTIES | {"UNIQ_KEY": key}),
    }
    fields |= {"j": "0", "k": "false", "m": "false", "n": "broker-a"}
    return request(RequestCode.SEND_MESSAGE_V2, opaque, fields, BODY, signs=signs)


def batch_request(opaque: int, host: str) -> bytes:
    """A batch of small messages as the official client writes it, as a frame; unique keys begin with the
    client's address."""
    elements = []
    for number in range(TOGETHER):
        properties = f"UNIQ_KEY\1{host}2A139F5545CA0EDB{opaque:04X}{number:04X}\2WAIT\1true\2".encode()
        lengths = 22 + len(SMALL_BODY) + len(properties), 0, 0, 0, len(SMALL_BODY)
        elements += [struct.pack(">5i", *lengths), SMALL_BODY, struct.pack(">h", len(properties)), properties]
    fields = {"a": "bench_producer", "b": TOPIC, "c": "TBW102", "d": "4", "e": "0", "f": "0"}
    fields |= {"g": str(SystemClock().millis()), "h": "0", "i": format_properties({"WAIT": "true"})}
    fields |= {"j": "0", "k": "false", "m": "true", "n": "broker-a"}
    return request(RequestCode.SEND_BATCH_MESSAGE, opaque, fields, b"".join(elements))


def pull_request(opaque: int, offset: int) -> bytes:
    """A pull of as many messages as there are together, which does not wait."""
    fields = {"consumerGroup": "bench_group", "topic": TOPIC, "queueId": "0", "queueOffset": str(offset)}
    fields |= {"maxMsgNums": str(TOGETHER), "sysFlag": "4", "commitOffset": "0", "subscription": "*"}
    fields |= {"suspendTimeoutMillis": "0", "subVersion": "1", "expressionType": "TAG"}
    return request(RequestCode.PULL_MESSAGE, opaque, fields, b"")


def request(code: int, opaque: int, fields: dict[str, str], body: bytes, *, signs: bool = False) -> bytes:
    """A request of the official Java client, as a frame."""
    command = RemotingCommand(code, ext_fields=fields, body=body, opaque=opaque)
    command.language, command.version = LanguageCode.JAVA, CURRENT_VERSION
    if signs:
        LOAD.sign(command)
    return encode_command(command)


def codec_work() -> list[Work]:
    """Frames, commands, headers."""
    frames = b"".join(map(send_request, range(TOGETHER)))
    payloads = FrameCutter().feed(frames)
    commands = [decode_command(payload) for payload in payloads]
    header = request_header(RequestCode.SEND_MESSAGE_V2)
    assert header is not None
    return [
        Work("cut a frame", TOGETHER, lambda: FrameCutter().feed(frames)),
        Work("decode a send", TOGETHER, lambda: [decode_command(payload) for payload in payloads]),
        Work("type its header", TOGETHER, lambda: [header.decode(c.ext_fields) for c in commands]),
        Work(
            "encode its answer", TOGETHER, lambda: [encode_response(c, 0, SENT, b"", None) for c in commands]
        ),
    ]


def store_work(folder: Path) -> list[Work]:
    """The log and the queues, on a real disk."""
    options = StoreOptions(store_path_root_dir=str(folder / "store"))
    store = MessageStore(
        options, disk=RealDisk(), clock=SystemClock(), worker=InlineWorker(), store_host=HOST
    )
    store.start()

    def put(count: int = TOGETHER) -> None:
        for _ in range(count):
            store.put(Message(TOPIC, 0, BODY, dict(PROPERTIES), 0, HOST, HOST))

    put()
    store.dispatch()
    return [
        Work("append", TOGETHER, put, store.dispatch),
        Work("dispatch", TOGETHER, store.dispatch, put),
        Work("read", TOGETHER, lambda: store.get(TOPIC, 0, 0, TOGETHER), store.dispatch),
    ]


class Loop(Time):
    """A reactor without sockets whose time stands still; what listens is kept by its port."""

    def __init__(self) -> None:
        super().__init__()
        self.listening: dict[int, Any] = {}

    def listenTCP(self, port: int, factory: Any, *_: object, **__: object) -> "Listening":
        """Keep what makes connections of a port."""
        self.listening[port] = factory
        return Listening(port)


@dataclass
class Listening:
    """A port that is listened on, and its address."""

    port: int

    def getHost(self) -> "Listening":
        """The address."""
        return self


class Server:
    """A broker in this process, and one connection to it; nothing but bytes goes in and out. With `asks` it
    asks who somebody is, and knows the user of the loads; with `counts` it counts what metrics show."""

    def __init__(self, folder: Path, *, asks: bool = False, counts: bool = False) -> None:
        clock = SystemClock()
        options = BrokerOptions(
            broker_ip1="127.0.0.1",
            broker_ip2="127.0.0.1",
            broker_name="broker-a",
            listen_port=MAIN_PORT,
            auto_create_topic_enable=True,
            metrics_exporter_type="PROM" if counts else "DISABLE",
        )
        meters = Meters(options.metrics_otel_cardinality_limit)
        settings = OptionSet(options)
        for name, text in ACCESS if asks else ():
            settings.set(name, text)
        store_options = StoreOptions(store_path_root_dir=str(folder))
        reactor: Any = Loop()
        self.reactor = reactor
        self.service = BrokerService(
            OptionSet(options, RemotingOptions(), store_options, TlsOptions()),
            Runtime(reactor, clock, RealDisk(), InlineWorker()),
        )
        ObservedBroker(self.service, options, meters, RealDisk())
        self.service.start()
        while not self.reactor.listening:  # the store is opened in steps
            self.reactor.advance(0)
        self._connection, self._transport = self.connect(MAIN_PORT)
        for command in making_the_load() if asks else ():
            self.say(encode_command(command))
            check(self.heard(), 1)

    def connect(self, port: int) -> tuple[Any, Any]:
        """A connection to a port, and its transport."""
        make_transport: Any = StringTransport
        transport = make_transport()
        connection = self.reactor.listening[port].buildProtocol(transport.getPeer())
        connection.makeConnection(transport)
        return connection, transport

    def say(self, data: bytes) -> None:
        """One read of the connection."""
        self._transport.clear()
        self._connection.dataReceived(data)

    def heard(self) -> list[RemotingCommand]:
        """The answers to the last read."""
        return [decode_command(payload) for payload in FrameCutter().feed(self._transport.value())]


def whole_work(folder: Path) -> list[Work]:
    """Sends and pulls from bytes to bytes: on a broker as it is, one that asks who somebody is, and one that
    exports metrics."""
    server, asking = Server(folder / "open"), Server(folder / "guarded", asks=True)
    counting = Server(folder / "counting", counts=True)
    sends = b"".join(map(send_request, range(TOGETHER)))
    signed = b"".join(send_request(opaque, signs=True) for opaque in range(TOGETHER))
    pulls = b"".join(pull_request(opaque, 0) for opaque in range(TOGETHER))
    batches = {
        whose: b"".join(batch_request(opaque, host) for opaque in range(BATCHES))
        for whose, host in HOSTS.items()
    }
    loads = (
        ("a whole send", server, sends, TOGETHER),
        ("a whole send, ACL 2.0", asking, signed, TOGETHER),
        ("a whole send, counted", counting, sends, TOGETHER),
        *(
            (f"a whole batch of {TOGETHER} x {len(SMALL_BODY)} B{whose}", server, data, BATCHES)
            for whose, data in batches.items()
        ),
        (f"a whole pull of {TOGETHER} messages", server, pulls, TOGETHER),
        (f"a whole pull of {TOGETHER} messages, counted", counting, pulls, TOGETHER),
    )
    for _, whom, data, requests in loads:
        whom.say(data)
        check(whom.heard(), requests)
    return [Work(name, requests, partial(whom.say, data)) for name, whom, data, requests in loads]


def check(answers: Sequence[RemotingCommand], count: int) -> None:
    """Raise `RuntimeError` unless there are so many answers, all good."""
    failed = next((answer for answer in answers if answer.code), None)
    if failed is not None or len(answers) != count:
        raise RuntimeError(f"{len(answers)} answers of {count}, {failed}")


def section(steps: Sequence[Step], repeats: int) -> list[str]:
    """The section of the page."""
    form = "compiled" if is_compiled() else "plain Python"
    lines = [
        "## Single steps",
        "",
        f"Measured on {datetime.date.today().isoformat()}, {commit()} ({form}): {machine()}.",
        f"One process, no sockets, messages of 1 KB, {TOGETHER} together; times are the least of {repeats}",
        "repeats. Instructions are those of Python's interpreter: what C or compiled modules do counts as",
        "none; counted is what a broker does that exports metrics. `python -m bench.micro` repeats it.",
        "",
        "| step | µs | Python instructions |",
        "| --- | ---: | ---: |",
    ]
    return lines + [f"| {step.name} | {step.microseconds:.2f} | {step.instructions:,.0f} |" for step in steps]


@click.command()
@click.option("--repeats", default=300, show_default=True, help="Repeats of each step.")
@json_option()
@page_option()
def main(repeats: int, json_path: str | None, page_path: str | None) -> None:
    """Measure single steps in this process."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="mqgateway-micro-") as folder:
        # Here, as it is made of what is here.
        from bench.micro_client import client_work
        from bench.micro_grpc import grpc_work
        from bench.micro_kafka import kafka_work
        from bench.micro_looks import looks_work
        from bench.micro_reads import reads_work

        below = Path(folder)
        work = [*codec_work(), *store_work(below), *whole_work(below), *reads_work(below)]
        work += [*grpc_work(below), *kafka_work(below), *looks_work(below), *client_work()]
        steps = [measured(one, repeats) for one in work]
    lines = section(steps, repeats)
    Console(width=160).print("\n".join(lines), highlight=False, markup=False)
    if json_path:
        told = {"machine": machine(), "date": datetime.date.today().isoformat(), "commit": commit()}
        given = {**told, "compiled": is_compiled(), "steps": [asdict(step) for step in steps]}
        Path(json_path).write_text(json.dumps(given, indent=1) + "\n")
    if page_path:
        write_section(Path(page_path), "single steps", lines)


if __name__ == "__main__":
    main()
