"""Blocking requests to name servers and brokers: the queues that exist, and their offsets.

Built on the lower layers of `gateway.client`: no group is joined and no heartbeat is sent, so a query leaves
no state at the broker. A request to a server that cannot be reached is retried. If no server has answered
yet, the address may be wrong: retries end after `connectTimeoutMs`. Later the server may be restarting:
retries end when both `fetchOffset.numRetries` and `unreachableTimeoutMs` are used up.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any, Self, TypeVar

from twisted.internet.defer import Deferred, DeferredList

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.names import is_system_topic
from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client.answers import decode_body
from mqgateway.gateway.client.calls import Calls
from mqgateway.gateway.client.client import Client
from mqgateway.gateway.client.errors import BrokerError, ClientError, NoBroker, TooBusy, Unreachable
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.namespaces import with_namespace
from mqgateway.gateway.client.options import ClientOptions, ProducerOptions, made
from mqgateway.gateway.client.routes import queues_to_read
from mqgateway.gateway.codec.bodies import MessageQueue, TopicList
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.pipeline.errors import PipelineError
from mqgateway.pipeline.offsets import Offsets
from mqgateway.pipeline.options import ServerOptions
from mqgateway.pipeline.planning import Bounds
from mqgateway.pipeline.static_topics import QueueDirectory, static_queues

log = logging.getLogger(__name__)

T = TypeVar("T")

NAME_SERVER = "start it, or correct the option nameServer"
BROKER = "start it, or let it advertise an address that can be reached from here (brokerIP1)"
"""Advice about a server that never answered."""
QUESTIONS_MAX = 256
"""Maximum number of requests in flight."""
_PASSING = frozenset(
    {
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.GO_AWAY,
        ResponseCode.NOT_LEADER_FOR_QUEUE,
    }
)
"""Transient error codes: the same request may succeed later."""


def client_settings(options: ServerOptions) -> dict[str, Any]:
    """Return the client settings given by the options."""
    return {
        "namesrv_addr": options.name_server,
        "access_key": options.access_key,
        "secret_key": options.secret_key,
        "security_token": options.security_token,
        "credentials_file": options.credentials_file,
        "use_tls": options.use_tls,
        "namespace": options.namespace,
    }


def new_client(options: ServerOptions, tls: TlsOptions, kind: type[ClientOptions] = ClientOptions) -> Client:
    """Return a client in the shared loop; it does no work of its own until it is started."""
    loop = Loop.shared()
    settings = made(kind, client_settings(options))
    return loop.do(lambda: Client(settings, loop, tls=tls))


def new_producer_client(options: ServerOptions, tls: TlsOptions) -> Client:
    """Return a client for a producer, otherwise as `new_client`."""
    return new_client(options, tls, ProducerOptions)


def is_passing(error: Exception) -> bool:
    """Return True if the error is transient: the same request may succeed later."""
    if isinstance(error, BrokerError):
        return error.code in _PASSING
    return isinstance(error, (Unreachable, NoBroker, TooBusy))


class Patience:
    """Retry policy: number of retries, time, and delay between them; `is_first`: no server has answered
    yet."""

    def __init__(self, options: ServerOptions, *, is_first: bool = False) -> None:
        self._tries = 0 if is_first else options.num_retries
        self._rest = options.retry_interval_ms / 1000
        self._seconds = (options.connect_timeout_ms if is_first else options.unreachable_timeout_ms) / 1000
        self._clock = SystemClock()
        self._end = self._clock.monotonic() + self._seconds
        self._pause = threading.Event()

    def renew(self) -> None:
        """Restart the time after a success."""
        self._end = self._clock.monotonic() + self._seconds

    def wait(self, error: Exception) -> None:
        """Wait before the next retry; raise the error if it is permanent or the retries are used up."""
        self._tries -= 1
        if not is_passing(error) or (self._tries < 0 and self._clock.monotonic() > self._end):
            raise error
        log.warning("%s; trying again", error)
        self._pause.wait(self._rest)


class Brokers:
    """Requests about queues, from any thread. Raises the client's errors and `PipelineError`."""

    def __init__(self, options: ServerOptions, tls: TlsOptions) -> None:
        self._options = options
        self._loop = Loop.shared()
        self.client = new_client(options, tls)
        self.places = QueueDirectory(self.client)
        self._calls = Calls(self.client.asking, self.places, self.client.client_id)
        self._have_answered: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._loop.call(self.client.close)

    def topics(self, has: Callable[[str], bool]) -> list[str]:
        """Return the topics that satisfy `has`, in order, without system topics."""

        async def ask() -> list[str]:
            answer = await self.client.name_servers.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
            if answer.code != ResponseCode.SUCCESS:
                raise BrokerError(answer.code, answer.remark, "the name server")
            return sorted(decode_body(TopicList, answer).topic_list)

        return [name for name in self._patiently(ask, NAME_SERVER) if has(name) and not is_system_topic(name)]

    def queues(self, topics: Iterable[str]) -> list[MessageQueue]:
        """Return the readable queues, in order; none for a topic without a route."""
        found: list[MessageQueue] = []
        for topic in topics:
            found += self._patiently(partial(self._queues, topic), NAME_SERVER)
        return sorted(found)

    def bounds(self, queues: Iterable[MessageQueue]) -> dict[MessageQueue, Bounds]:
        """Return the first and the next offset of each queue."""
        queues = list(queues)
        lows = self._each(queues, self._calls.min_offset)
        highs = self.max_offsets(queues)
        return {queue: Bounds(lows[queue], max(lows[queue], highs[queue])) for queue in queues}

    def max_offsets(self, queues: Iterable[MessageQueue]) -> Offsets:
        """Return the offset that the next message of each queue will have."""
        return self._each(list(queues), self._calls.max_offset)

    def offsets_by_time(self, times: Mapping[MessageQueue, int]) -> Offsets:
        """Return each queue's first offset stored at a time (ms) or later; its end if there is none."""
        by_full = {self.full(queue): time for queue, time in times.items()}
        return self._each(list(times), lambda full: self._calls.search_offset(full, by_full[full]))

    def refresh(self, topic: str) -> None:
        """Update the route of a topic; a failure is logged."""

        async def ask() -> None:
            try:
                await self.client.update_route(with_namespace(self._options.namespace, topic))
            except ClientError as error:
                log.warning("the route of %s is not known: %s", topic, error)

        self._loop.call(lambda: Deferred.fromCoroutine(ask()))

    def full(self, queue: MessageQueue) -> MessageQueue:
        """Return a queue under its name at the brokers: within the namespace."""
        topic = with_namespace(self._options.namespace, queue.topic)
        return MessageQueue(topic, queue.broker_name, queue.queue_id)

    def _each(
        self, queues: list[MessageQueue], ask: Callable[[MessageQueue], Coroutine[Any, Any, int]]
    ) -> Offsets:
        found: Offsets = {}
        for at in range(0, len(queues), QUESTIONS_MAX):
            part = queues[at : at + QUESTIONS_MAX]
            answers = self._patiently(partial(_query_concurrently, partial(self._query, ask), part), BROKER)
            found.update(zip(part, answers, strict=True))
        return found

    async def _query(
        self, ask: Callable[[MessageQueue], Coroutine[Any, Any, int]], queue: MessageQueue
    ) -> int:
        """Return the answer about a queue. If another broker leads it now, update the route before raising,
        for the next attempt."""
        full = self.full(queue)
        try:
            return await ask(full)
        except BrokerError as error:
            if error.code == ResponseCode.NOT_LEADER_FOR_QUEUE:
                await self.client.update_route(full.topic)
            raise

    def _patiently(self, ask: Callable[[], Coroutine[Any, Any, T]], advice: str) -> T:
        """Return the answer of the servers that `advice` is about, with retries. Raises `PipelineError` with
        the advice if these servers have never answered."""
        is_first = advice not in self._have_answered
        patience = Patience(self._options, is_first=is_first)
        while True:
            try:
                answer = self._loop.call(lambda: Deferred.fromCoroutine(ask()))
            except ClientError as error:
                try:
                    patience.wait(error)
                except Unreachable as last:
                    if is_first:
                        raise PipelineError(f"{last}; {advice}") from last
                    raise
            else:
                self._have_answered.add(advice)
                return answer

    async def _queues(self, topic: str) -> list[MessageQueue]:
        full = with_namespace(self._options.namespace, topic)
        if not await self.client.update_route(full):
            return []
        route = self.client.routes.route(full)
        if route is None:
            raise PipelineError(f"the route of {topic} is gone")
        found = static_queues(full, route) or queues_to_read(full, route)
        return [MessageQueue(topic, one.broker_name, one.queue_id) for one in found]


async def _query_concurrently(
    ask: Callable[[MessageQueue], Coroutine[Any, Any, int]], queues: list[MessageQueue]
) -> list[int]:
    """Return the answers for all queues; the first failure is raised after all have ended."""
    outcomes: Any = await DeferredList(
        [Deferred.fromCoroutine(ask(queue)) for queue in queues], consumeErrors=True
    )
    for succeeded, outcome in outcomes:
        if not succeeded:
            outcome.raiseException()
    return [offset for _, offset in outcomes]
