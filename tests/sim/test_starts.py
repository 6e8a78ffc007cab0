"""A queue whose start is moved while members of the set fail: every member keeps what was acknowledged."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import maybeDeferred

from mqgateway.gateway.broker.operations import Operations, Use
from mqgateway.gateway.codec.codes import RequestCode
from tests.sim.clients import Client
from tests.sim.history import PROFILES, History
from tests.sim.world import World
from tests.support.gateway.broker.helpers import send_header
from tests.support.topics import topic_header

MOVED = "moved"
"""The topic whose queue is moved; the other one keeps its messages."""
QUEUE = 0
STEPS = 25


class Mover(Client):
    """Sends messages to a queue of its own and deletes the oldest of them; `starts` are acknowledged."""

    def __init__(self, world: World, history: History) -> None:
        self._history = history
        self.starts: list[int] = []
        self.end = 0
        names = history.brokers[0].cluster.name_server_list
        super().__init__(world, 9, names, [one.place for one in history.brokers], 0.5)

    async def _turn(self) -> None:
        address = await self._choose()
        body = b"%d" % self.world.random.randrange(1 << 30)
        answer = await self._ask(
            address, RequestCode.SEND_MESSAGE_V2, send_header(MOVED, queue_id=QUEUE), body
        )
        if answer.code:
            self._master = ""
            return
        self.end = int(answer.ext_fields["queueOffset"]) + 1
        for broker in self._history.brokers:
            if broker.place == address and broker.leads:
                self._move(broker.service.operations)

    def _move(self, operations: Operations) -> None:
        """Delete as an administrator on the machine would, who may never hear of the outcome."""
        permit = operations.gate.internal(Use.DELETE_RECORDS)
        offset = self.world.random.randrange(self.end + 1)
        moved: Any = maybeDeferred(operations.batches.delete_before, permit, MOVED, QUEUE, offset)
        moved.addCallbacks(self.starts.append, lambda _: None)


@pytest.mark.parametrize("profile", ["processes die", "machines lose power"])
@pytest.mark.parametrize("seed", [3, 4])
def test_moved_starts_are_kept_by_every_member(seed: int, profile: str) -> None:
    history = History(seed, PROFILES[profile])
    leading = next(one for one in history.brokers if one.leads)
    history.ask(leading.place, RequestCode.UPDATE_AND_CREATE_TOPIC, topic_header(MOVED))
    mover = Mover(history.world, history)
    history.clients.append(mover)
    history.producers.append(mover)  # type: ignore[arg-type]  # it ends with them
    mover.acknowledged = {}  # type: ignore[attr-defined]
    history.play(STEPS)
    assert mover.starts, history.events
    found = {one.store.min_offset(MOVED, QUEUE) for one in history.brokers}
    assert len(found) == 1 and found.pop() >= max(mover.starts)
    for one in history.brokers:
        one.die()
        one.start()
    history.run(5)
    for one in history.brokers:
        assert one.store.min_offset(MOVED, QUEUE) >= max(mover.starts)
