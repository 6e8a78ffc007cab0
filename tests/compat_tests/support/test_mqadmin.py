"""Commands that time out are run again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.support.mqadmin import ATTEMPTS, Mqadmin, Output

DONE = Output("done", "", 0)
BUSY = Output("", "org.apache.rocketmq.remoting.exception.RemotingTimeoutException: wait response", 1)


class Scripted(Mqadmin):
    """A tool with these outputs, one a run."""

    def __init__(self, *outputs: Output) -> None:
        self.outputs: Iterator[Output] = iter(outputs)

    def run_once(self, *command: str) -> Output:
        """Return the next output."""
        return next(self.outputs)


@pytest.mark.parametrize(
    ("outputs", "expected", "left"),
    [((DONE, BUSY), DONE, [BUSY]), ((BUSY, DONE), DONE, []), ((BUSY,) * ATTEMPTS + (DONE,), BUSY, [DONE])],
    ids=["an answer", "a timeout", "only timeouts"],
)
def test_a_command_that_times_out_is_run_again(
    outputs: tuple[Output, ...], expected: Output, left: list[Output]
) -> None:
    """The first answer counts, or the last timeout."""
    tool = Scripted(*outputs)
    assert tool.run("topicList") == expected
    assert list(tool.outputs) == left


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (Output("create topic to 127.0.0.1:10911 success.", "", 0), True),
        (Output("", "DESC: attempt to update an unchangeable attribute. key: queue.type", 0), True),
        (Output("", "CODE: 1  DESC: no such broker", 0), False),
    ],
)
def test_topic_that_an_earlier_run_created_is_made(output: Output, expected: bool) -> None:
    """The second run of a command that timed out finds the topic that the first one created."""
    assert output.has_made_topic is expected
