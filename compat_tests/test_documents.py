"""docs/client.md and docs/testing.md, program by program, with the wheel in a fresh environment."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.support.documents import begin, programs
from compat_tests.support.installed import Installed
from mqgateway import Message, Producer
from mqgateway.testing import Server

CLIENT = programs("docs/client.md")
SERVES = [program for program in CLIENT if "consumer.wait()" in program or "in consumer:" in program]
ENDS = [program for program in CLIENT if program not in SERVES]
TESTS = programs("docs/testing.md")

STAND_IN = """\
#!{python}
import sys
from mqgateway import Message, Producer, PushConsumer

namesrv = sys.argv[1].removeprefix("-Drocketmq.namesrv.addr=")
assert sys.argv[2:] == ["-jar", "target/order-service.jar"]
producer = Producer("order-service", namesrv)
producer.start()


def announce(messages, context):
    producer.send(Message("Announced", messages[0].body))


consumer = PushConsumer("order-service", announce, namesrv, consume_from_where="CONSUME_FROM_FIRST_OFFSET")
consumer.subscribe("Orders")
with consumer:
    consumer.wait()
"""
"""What takes the place of the JVM in the page's test; `test_testing` has a real one."""


@pytest.fixture
def server() -> Iterator[Server]:
    """A server with the topics of the guide, and a message in one."""
    with Server() as server:
        server.create_topic("TopicTest")
        server.create_topic("Orders")
        server.create_group("billing")
        with Producer("P", server.namesrv) as producer:
            producer.send(Message("TopicTest", "first", tags="TagA"))
            yield server


@pytest.fixture
def with_tracing(installed: Installed) -> Installed:
    """The environment with what the guide has traced programs install."""
    pip = [str(installed.python), "-m", "pip", "install", "-q", "opentelemetry-api"]
    subprocess.run(pip, check=True, timeout=300)
    return installed


def end(running: list[subprocess.Popen[str]]) -> None:
    """Whatever came of them."""
    for program in running:
        program.kill()
        program.wait(30)


def test_every_kind_of_program_is_there() -> None:
    assert len(SERVES) == 5 and len(ENDS) >= 6 and len(TESTS) == 4


def test_programs_that_end_by_themselves(with_tracing: Installed, server: Server, tmp_path: Path) -> None:
    running = [begin(with_tracing, tmp_path, program, server.namesrv) for program in ENDS]
    try:
        for one, program in zip(running, ENDS, strict=True):
            complaints = one.communicate(timeout=60)[1]
            assert (complaints, one.returncode) == ("", 0), program
    finally:
        end(running)
    assert [message.body for message in server.messages("Orders")] == [b"a book"]


def test_consumers_end_in_order_with_sigterm(installed: Installed, server: Server, tmp_path: Path) -> None:
    """All of them get the first message: those that begin with new messages get other settings."""
    first = '9876", consume_from_where="CONSUME_FROM_FIRST_OFFSET")'
    named = [
        program.replace("my-group", f"group-{number}").replace('9876")', first)
        for number, program in enumerate(SERVES)
    ]
    running = [begin(installed, tmp_path, program, server.namesrv) for program in named]
    try:
        for number, one in enumerate(running):
            assert one.stdout is not None and "first" in one.stdout.readline()
            one.send_signal(signal.SIGTERM)
            complaints = one.communicate(timeout=60)[1]
            assert (complaints, one.returncode) == ("", 0), named[number]
            assert server.behind(f"group-{number}", "TopicTest") == 0
    finally:
        end(running)


@pytest.mark.parametrize("number", range(len(TESTS)))
def test_the_tests_of_the_page_pass(installed: Installed, tmp_path: Path, number: int) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(STAND_IN.format(python=installed.python))
    java.chmod(0o755)
    (tmp_path / "test_page.py").write_text(TESTS[number])
    variables = installed.variables()
    done = subprocess.run(
        [installed.python, "-m", "pytest", "-q"],
        cwd=tmp_path,
        env={**variables, "PATH": f"{java.parent}:{variables['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout
