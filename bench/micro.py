"""`python -m bench micro`: the cost of single steps of a send and a pull in this process.

The steps are codec, append, dispatch and read, and whole sends and pulls from bytes to bytes without sockets,
of a broker and of a client. Reported are the least time of all repeats and the number of Python instructions,
which other work on the machine does not change (compiled code has none).
"""

import logging
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from bench.frame import Invocation, benchmark
from bench.in_process import Server, check
from bench.measure import measured_on
from bench.micro_client import client_work
from bench.micro_grpc import grpc_work
from bench.micro_kafka import kafka_work
from bench.micro_looks import looks_work
from bench.micro_reads import reads_work
from bench.requests import (
    BODY,
    HOST,
    PROPERTIES,
    SENT,
    SMALL_BODY,
    TOGETHER,
    TOPIC,
    batch_request,
    pull_request,
    send_request,
)
from bench.steps import Step, Work, measured
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.message import Message
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import decode_command, encode_response
from mqgateway.gateway.codec.fields import request_header
from mqgateway.gateway.codec.frame import FrameCutter

BATCHES = 4
"""Batches in a read."""
HOSTS = {"": "7F000001", " of a client with IPv6": f"FD{1:030X}"}
"""First part of unique keys, the client's address, by the suffix of the step's name."""


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
    """Steps of the log and the queues, on a real disk."""
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


def whole_work(folder: Path) -> list[Work]:
    """Sends and pulls from bytes to bytes, on three brokers: with defaults, with ACL 2.0, with metrics."""
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
        ("a whole send alone", server, send_request(0), 1),
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


def section(steps: Sequence[Step], repeats: int) -> list[str]:
    """The section of the page."""
    lines = [
        "## Single steps",
        "",
        measured_on(),
        f"One process, no sockets, messages of 1 KB, {TOGETHER} together; times are the least of {repeats}",
        "repeats. Instructions are those of Python's interpreter: what C or compiled modules do counts as",
        "none; counted is what a broker does that exports metrics. `python -m bench micro` repeats it.",
        "",
        "| step | µs | Python instructions |",
        "| --- | ---: | ---: |",
    ]
    return lines + [f"| {step.name} | {step.microseconds:.2f} | {step.instructions:,.0f} |" for step in steps]


@benchmark("micro --repeats 1000")
@click.option("--repeats", default=300, show_default=True, help="Repeats of each step.")
def main(given: Invocation, repeats: int) -> None:
    """Time the codec, the store, whole sends and pulls and other single steps in one process."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="mqgateway-micro-") as folder:
        below = Path(folder)
        work = [*codec_work(), *store_work(below), *whole_work(below), *reads_work(below)]
        work += [*grpc_work(below), *kafka_work(below), *looks_work(below), *client_work()]
        steps = [measured(one, repeats) for one in work]
    given.save(steps=[asdict(step) for step in steps])
    given.write("single steps", section(steps, repeats))
