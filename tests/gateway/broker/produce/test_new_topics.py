"""Topics made for a message are at the name servers when its sender hears of it; see `test_service` too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.store.large_batch import LARGE
from mqgateway.gateway.broker.new_message import NewMessage
from mqgateway.gateway.broker.produce.new_topics import LONGEST_WAIT_SECONDS, once_registered
from mqgateway.gateway.broker.produce.send import send
from mqgateway.gateway.broker.produce.send_back import SendBack, send_back
from tests.support.gateway.broker.helpers import MemoryBroker, batch_body
from tests.support.gateway.broker.producing import later, new_message, outcome_of, with_properties


class Waiting(MemoryBroker):
    """A broker whose name servers hear what is new when the test says so."""

    def __init__(self, **store_options: Any) -> None:
        super().__init__(options={"auto_create_topic_enable": True}, store_options=store_options)
        self.asked: list[float | None] = []
        self.known: Deferred[None] = Deferred()
        self.broker.cluster.registration.heard = self._when_registered

    def _when_registered(self, within: float | None = None) -> Deferred[None]:
        self.asked.append(within)
        return self.known

    def put(self, message: NewMessage, *, is_batch: bool = False) -> Any:
        """A send without a command."""
        return send(self.broker, message, self.producer, self.clock.millis(), is_batch=is_batch)


def test_send_that_creates_its_topic_waits_for_the_name_servers() -> None:
    memory = Waiting()
    arrived = later(memory.put(new_message("new")))
    assert (arrived, memory.asked) == ([], [LONGEST_WAIT_SECONDS])
    memory.broker.store.dispatch()
    assert len(memory.stored("new")) == 1, "it is stored at once"
    memory.known.callback(None)
    assert [outcome.queue_offset for outcome in arrived] == [0]


def test_large_batch_that_creates_its_topic_waits_for_the_name_servers() -> None:
    memory = Waiting()
    steps = memory.put(new_message("new", batch_body((bytes(LARGE), {}), (b"", {}))), is_batch=True)
    arrived = later(memory.in_turns(steps))
    assert (arrived, len(memory.stored("new"))) == ([], 2)
    memory.known.callback(None)
    assert [outcome.queue_offset for outcome in arrived] == [0]


def test_send_to_an_existing_topic_does_not_wait() -> None:
    memory = Waiting()
    memory.put(new_message("new"))
    assert outcome_of(memory.put(new_message("new"))).queue_offset == 1
    assert len(memory.asked) == 1


def test_a_send_that_waits_for_the_disk_waits_for_both() -> None:
    memory = Waiting(flush_disk_type=FlushDiskType.SYNC_FLUSH)
    arrived = later(memory.put(with_properties("new", WAIT="true")))
    memory.known.callback(None)
    assert arrived == [], "the disk is not asked yet"
    memory.wait(20)
    assert len(arrived) == 1


def _send_dead_letter(memory: Waiting) -> object:
    return memory.put(new_message("%RETRY%G", reconsume_times=99))


def _send_back(memory: Waiting) -> object:
    return send_back(memory.broker, SendBack("G", 0), None)


def _send_back_dead_letter(memory: Waiting) -> object:
    return send_back(memory.broker, SendBack("G", 0, delay_level=-1), None)


@pytest.mark.parametrize(
    ("do", "exists", "made"),
    [
        (_send_dead_letter, "%RETRY%G", "%DLQ%G"),
        (_send_back, "", "%RETRY%G"),
        (_send_back_dead_letter, "%RETRY%G", "%DLQ%G"),
    ],
)
def test_retry_and_dlq_topics_are_waited_for(do: Callable[[Waiting], object], exists: str, made: str) -> None:
    memory = Waiting()
    for topic in ("T", exists):
        if topic:
            memory.add_topic(topic)
    memory.broker.tables.groups.find("G")
    memory.put(new_message("T"))
    memory.broker.store.dispatch()
    assert made not in memory.broker.tables.topics
    first, second = do(memory), do(memory)
    assert made in memory.broker.tables.topics
    assert isinstance(first, Deferred) and not first.called
    assert not isinstance(second, Deferred), "the topic is there"
    memory.known.callback(None)
    assert first.called


def test_topic_known_to_name_servers_is_not_waited_for() -> None:
    memory = Waiting()
    memory.broker.cluster.registration.heard = lambda within=None: succeed(None)
    assert once_registered(memory.broker, 7) == 7
