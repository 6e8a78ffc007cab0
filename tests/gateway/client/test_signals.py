"""Waiting for the end, and SIGTERM as what asks for it; as a process with a server too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from mqgateway.gateway.client.blocking import Producer
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.client.signals import OneTimeEvent, on_sigterm
from mqgateway.gateway.testing import Server
from tests.house.source import ROOT

BLOCKING = """
from mqgateway.gateway.client import PushConsumer

def listener(messages, context):
    print("got", messages[0].body.decode(), flush=True)

consumer = PushConsumer(
    "G", listener, NAMESRV,
    consume_from_where="CONSUME_FROM_FIRST_OFFSET", await_termination_millis_when_shutdown=10_000,
)
consumer.subscribe(TOPIC)
with consumer:
    consumer.wait()
print("closed", flush=True)
"""

ASYNC = """
import asyncio
from mqgateway.gateway.client.aio import PushConsumer

async def listener(messages, context):
    print("got", messages[0].body.decode(), flush=True)

async def main():
    consumer = PushConsumer(
        "G", listener, NAMESRV,
        consume_from_where="CONSUME_FROM_FIRST_OFFSET", await_termination_millis_when_shutdown=10_000,
    )
    await consumer.subscribe(TOPIC)
    async with consumer:
        await consumer.wait()
    print("closed", flush=True)

asyncio.run(main())
"""


LOOPS = {
    "blocking": """
from mqgateway import CLASS

consumer = CLASS("G", NAMESRV, consume_from_where="CONSUME_FROM_FIRST_OFFSET")
consumer.subscribe([TOPIC])
with consumer:
    for message in consumer:
        print("got", message.text(), flush=True)
        if hasattr(consumer, "ack"):
            consumer.ack(message)
print("closed", flush=True)
""",
    "aio": """
import asyncio
from mqgateway.aio import CLASS

async def main():
    consumer = CLASS("G", NAMESRV, consume_from_where="CONSUME_FROM_FIRST_OFFSET")
    await consumer.subscribe([TOPIC])
    async with consumer:
        async for message in consumer:
            print("got", message.text(), flush=True)
            if hasattr(consumer, "ack"):
                await consumer.ack(message)
    print("closed", flush=True)

asyncio.run(main())
""",
}
PROGRAMS = {
    "blocking": BLOCKING,
    "aio": ASYNC,
    **{
        f"{api} loop over {kind}": program.replace("CLASS", kind)
        for api, program in LOOPS.items()
        for kind in ("LitePullConsumer", "SimpleConsumer")
    },
}


@pytest.fixture
def default_sigterm() -> Iterator[None]:
    """SIGTERM as a program finds it; what the test runner does then comes back afterwards."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def test_gate_stays_open() -> None:
    gate = OneTimeEvent()
    assert not gate.wait(0) and not gate.wait(-1)
    gate.open()
    gate.open()
    assert gate.wait() and gate.wait(0)


@pytest.mark.usefixtures("default_sigterm")
def test_sigterm_ends_the_waiting_and_nothing_else() -> None:
    gate = OneTimeEvent()
    with on_sigterm(gate.open):
        os.kill(os.getpid(), signal.SIGTERM)
        assert gate.wait(10)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.usefixtures("default_sigterm")
def test_a_program_that_handles_sigterm_is_left_alone() -> None:
    got: list[int] = []
    handler: Callable[..., None] = lambda number, _: got.append(number)  # noqa: E731
    signal.signal(signal.SIGTERM, handler)
    with on_sigterm(lambda: got.append(0)):
        assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.usefixtures("default_sigterm")
def test_other_threads_have_no_signals() -> None:
    def work() -> None:
        with on_sigterm(lambda: None):
            found.append(signal.getsignal(signal.SIGTERM))

    found: list[object] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.SIG_DFL]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_service_ends_in_order_and_quietly(program: str) -> None:
    """Consumed messages are committed, the group is left, and standard error is empty.

    The signal may come before the listener has returned, so the program waits for its listeners.
    """
    with Server() as server, Producer("P", server.namesrv) as producer:
        topic = server.create_topic()
        setting = f"NAMESRV, TOPIC = {server.namesrv!r}, {topic!r}\n"
        service = subprocess.Popen(
            [sys.executable, "-c", "import logging; logging.basicConfig()\n" + setting + program],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            producer.send(Message(topic, "book"))
            assert service.stdout is not None and service.stdout.readline() == "got book\n"
            service.send_signal(signal.SIGTERM)
            said, complained = service.communicate(timeout=20)
        finally:
            service.kill()
            service.wait()
        assert (said, complained, service.returncode) == ("closed\n", "", 0)
        assert server.behind("G", topic) == 0
