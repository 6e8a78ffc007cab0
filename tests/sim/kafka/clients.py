"""Common part of simulated Kafka clients: a machine without faults, a connection, and turns.

A client looks for the master among all brokers; consumers also follow the epochs of the master.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.schema import Message
from tests.sim.kafka.broker import PORT
from tests.sim.kafka.connection import KafkaConnection, Unanswered, connect
from tests.sim.kafka.observations import Observations
from tests.sim.world import Process, World

SECONDS = 3.0
"""Time for which a client waits for an answer."""
PAUSE = 0.3
"""Time after which a refused request is tried again, in seconds."""
AGAIN = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    )
)
"""Codes at which clients repeat a request."""
ELSEWHERE = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    )
)
"""Those after which they look for another broker."""


class KafkaClient:
    """A client that takes a turn every `every` seconds on average, each when the last one has ended.

    With `closes` it closes a connection that it gives up; otherwise what it has sent may arrive later.
    """

    def __init__(
        self,
        world: World,
        observations: Observations,
        number: int,
        brokers: Sequence[str],
        every: float,
        *,
        closes: bool = False,
    ) -> None:
        self.world, self.random, self.seen = world, world.random, observations
        self.every = every
        self.process = Process(world, f"192.168.2.{number}")
        self.is_over = self.has_ended = False
        self._closes = closes
        self._brokers = brokers
        self._broker = 0
        self._connection: KafkaConnection | None = None
        self.process.callLater(self.random.uniform(0, every), self._begin)

    def __repr__(self) -> str:
        return self.process.address.rpartition(".")[2]

    def _begin(self) -> None:
        Deferred.fromCoroutine(self._turn()).addErrback(self._failed).addBoth(self._again)

    def _failed(self, failure: Any) -> None:
        if failure.check(Unanswered) is None:
            self.seen.report(f"client {self}: {failure.getTraceback()}")

    def _again(self, _: Any) -> None:
        if self.is_over:
            Deferred.fromCoroutine(self._end()).addErrback(self._failed).addBoth(self._ended)
        else:
            self.process.callLater(self.random.expovariate(1 / self.every), self._begin)

    def _ended(self, _: Any) -> None:
        self.has_ended = True

    async def _turn(self) -> None:
        raise NotImplementedError

    async def _end(self) -> None:
        """Do what is to be done last."""

    async def _pause(self, seconds: float = PAUSE) -> None:
        passed: Deferred[None] = Deferred()
        self.process.callLater(seconds * self.random.uniform(0.5, 1.5), passed.callback, None)
        await passed

    async def connection(self) -> KafkaConnection:
        """Return the connection, a new one if there is none. Raises `Unanswered`."""
        if self._connection is None or self._connection.is_lost:
            self._connection = None
            try:
                self._connection = await connect(self.process, self._brokers[self._broker], PORT, SECONDS)
            except Unanswered:
                self.leave()
                raise
        return self._connection

    def leave(self) -> None:
        """Give the connection up, and use the next broker."""
        if self._connection is not None:
            self._connection.leave(is_closed=self._closes or self.random.random() < 0.5)
            self._connection = None
        self._broker = (self._broker + 1) % len(self._brokers)

    async def ask(self, request: Message, version: int | None = None) -> Any:
        """Return the answer to a request. Raises `Unanswered`."""
        connection = await self.connection()
        try:
            return await connection.ask(request, version, SECONDS)
        except Unanswered:
            self.leave()
            raise

    async def retry(self, code: ErrorCode) -> bool:
        """Return True after a pause if a request that was refused with a code is to be repeated."""
        if code not in AGAIN:
            return False
        if code in ELSEWHERE:
            self.leave()
        await self._pause()
        return True
