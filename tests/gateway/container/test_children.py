"""Messages between a container and its children, with small real processes."""

from __future__ import annotations

import logging
import queue
import sys
from collections.abc import Callable
from typing import Any

import pytest

from mqgateway.gateway.container.children import LINE_MAX, Lines, Message, cause_of, launcher, line_of

CHILD = """
import json, os, signal, sys
first = json.loads(sys.stdin.readline())
print("a library says something", flush=True)
leads = os.getsid(0) == os.getpid()
print(json.dumps({"up": first["name"], "file": sys.argv[-1], "session": leads}), flush=True)
for line in sys.stdin:
    print(line, end="", flush=True)
print(json.dumps({"alone": True}), flush=True)
"""
"""Echoes each line; at the end of its input it reports that it is alone and exits."""


class Loop:
    """Event loop whose turns the test takes."""

    def __init__(self) -> None:
        self.calls: queue.Queue[Callable[[], Any]] = queue.Queue()

    def callFromThread(self, callable: Callable[..., Any], /, *args: Any, **kw: Any) -> None:
        self.calls.put(lambda: callable(*args, **kw))

    def until(self, condition: Callable[[], object]) -> None:
        while not condition():
            self.calls.get(timeout=20)()


class SentMessages:
    """Child process; records its messages and its ends."""

    def __init__(self, program: str = CHILD) -> None:
        self.loop = Loop()
        self.said: list[Message] = []
        self.ends: list[str] = []
        launch = launcher(self.loop, [sys.executable, "-I", "-S", "-c", program], {})
        self.child = launch("/a.conf", {"name": "b"}, self.said.append, self.ends.append)

    def __enter__(self) -> SentMessages:
        return self

    def __exit__(self, *failure: object) -> None:
        self.child.kill()
        self.loop.until(lambda: self.ends)


def test_child_exchanges_messages_and_stops_by_sigterm() -> None:
    with SentMessages() as sent:
        sent.loop.until(lambda: sent.said)
        assert sent.said == [{"up": "b", "file": "/a.conf", "session": True}]
        sent.child.send({"namesrvAddr": "x"})
        sent.loop.until(lambda: len(sent.said) == 2)
        assert sent.said[1] == {"namesrvAddr": "x"}
        sent.child.stop()
        sent.loop.until(lambda: sent.ends)
        assert sent.ends == ["killed by SIGTERM"]


def test_ended_child_is_not_notified(caplog: pytest.LogCaptureFixture) -> None:
    with SentMessages("import sys; sys.exit(3)") as sent:
        sent.loop.until(lambda: sent.ends)
        assert sent.ends == ["exit code 3"]
        sent.child.send({"namesrvAddr": "x"})
        assert "cannot be notified" in caplog.text


def test_child_that_does_not_read_does_not_block_the_container(caplog: pytest.LogCaptureFixture) -> None:
    with SentMessages("import time; time.sleep(60)") as sent:
        sent.child.send({"namesrvAddr": "x" * 200_000})
        assert "does not listen" in caplog.text


def test_child_detects_the_end_of_its_parent() -> None:
    """The pipe to the child ends with the process that holds it."""
    parent = f"""
import sys, subprocess
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", {CHILD!r}], stdin=subprocess.PIPE)
child.stdin.write(b'{{"name": "orphan"}}\\n'); child.stdin.flush()
input()
"""
    with SentMessages(parent) as sent:
        sent.loop.until(lambda: {"up": "orphan"}.items() <= sent.said[-1].items() if sent.said else False)
        sent.child.kill()
        sent.loop.until(lambda: sent.ends)
        assert sent.said[-1] == {"alone": True}, "it was heard until the end"


def test_json_objects_are_messages_and_other_lines_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    lines = Lines()
    with caplog.at_level(logging.INFO):
        assert lines.feed(b'{"up": 1}\nhel') == [{"up": 1}]
        assert lines.feed(b'lo\n[1]\n{"fai') == []
        assert lines.feed(b'led": "x"}\n') == [{"failed": "x"}]
    assert caplog.messages == ["hello", "[1]"]


def test_a_line_without_end_is_dropped() -> None:
    lines = Lines()
    assert lines.feed(b"x" * (LINE_MAX + 1)) == []
    assert lines.feed(b'\n{"up": 1}\n') == [{"up": 1}]


def test_a_message_is_one_line() -> None:
    line = line_of({"failed": "a\nb"})
    assert line.count(b"\n") == 1
    assert Lines().feed(line) == [{"failed": "a\nb"}]


@pytest.mark.parametrize(
    ("code", "cause"),
    [(0, "exit code 0"), (2, "exit code 2"), (-9, "killed by SIGKILL"), (-200, "killed by signal 200")],
)
def test_exit_code_determines_the_cause(code: int, cause: str) -> None:
    assert cause_of(code) == cause
