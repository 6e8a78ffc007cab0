"""The programs of docs/client.md, each run as it stands there, as a process, against a server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mqgateway.gateway.client.blocking import Producer
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.testing import Server
from tests.house.source import ROOT

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "client.md").read_text(), re.S)
WAITS = [block for block in BLOCKS if "consumer.wait()" in block]
POLLS = [block for block in BLOCKS if "consumer.messages()" in block]
ENDS = [block for block in BLOCKS if block not in (*WAITS, *POLLS)]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        server.create_topic("TopicTest")
        server.create_topic("Orders")
        server.create_group("billing")
        with Producer("P", server.namesrv) as producer:
            producer.send(Message("TopicTest", "first", tags="TagA"))
            yield server


def begun(block: str, server: Server) -> subprocess.Popen[str]:
    """A program that a newcomer copies, with the server's address."""
    assert "127.0.0.1:9876" in block
    return subprocess.Popen(
        [sys.executable, "-u", "-c", block.replace("127.0.0.1:9876", server.namesrv)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_every_kind_of_program_is_there() -> None:
    assert len(WAITS) == 2 and len(POLLS) == 1 and len(ENDS) >= 4


def test_programs_that_end_by_themselves(server: Server) -> None:
    programs = [begun(block, server) for block in ENDS]
    try:
        for program, block in zip(programs, ENDS, strict=True):
            complaints = program.communicate(timeout=30)[1]
            assert (complaints, program.returncode) == ("", 0), block
    finally:
        end(programs)
    assert [message.body for message in server.messages("Orders")] == [b"a book"]


def test_consumers_end_in_order_with_sigterm(server: Server) -> None:
    programs = [begun(block.replace("my-group", f"group-{n}"), server) for n, block in enumerate(WAITS)]
    try:
        for number, (program, block) in enumerate(zip(programs, WAITS, strict=True)):
            assert program.stdout is not None and "first" in program.stdout.readline()
            program.send_signal(signal.SIGTERM)
            complaints = program.communicate(timeout=20)[1]
            assert (complaints, program.returncode) == ("", 0), block
            assert server.behind(f"group-{number}", "TopicTest") == 0
    finally:
        end(programs)


def test_a_polling_consumer_gets_what_is_there(server: Server) -> None:
    block = POLLS[0].replace("        ...", "        print(message); break")
    block = block.replace('9876")', '9876", consume_from_where="CONSUME_FROM_FIRST_OFFSET")')
    program = begun(block, server)
    try:
        said, complaints = program.communicate(timeout=30)
        assert (complaints, program.returncode) == ("", 0) and "TopicTest" in said
    finally:
        end([program])


def end(programs: list[subprocess.Popen[str]]) -> None:
    """Whatever came of them."""
    for program in programs:
        program.kill()
        program.wait()
