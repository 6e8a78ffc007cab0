"""The requests of the line protocol, over `Operations` only."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.python.failure import Failure

from mqgateway.engine.meters import LATENCY_BOUNDS, Histogram
from mqgateway.engine.pop import Receipt, kind_of
from mqgateway.engine.store.record import StoredMessage, decode
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.callers import FrontEndCaller
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.policies import Action, group, topic
from mqgateway.gateway.broker.operations import (
    Delivery,
    NewMessage,
    NotAdmitted,
    OperationError,
    Operations,
    Permit,
    PopOutcome,
    Principal,
    PullOutcome,
    PullRequest,
    Receive,
    SendOutcome,
    Use,
)
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.runtime.outcomes import then

if TYPE_CHECKING:
    from mqgateway.gateway.testing.faults import Faults
    from tests.support.gateway.line_protocol.connection import LineConnection

Answer = str | Deferred[str]
INVISIBLE_MILLIS = 60_000


class Request(NamedTuple):
    """A kind of request: its use, the actions that it needs on its topic and group, its function.

    `like` is the remoting request whose faults strike it too.
    """

    use: Use
    on_topic: Action
    on_group: Action | None
    answer: Callable[[Requests, Permit, Sequence[str]], Answer]
    like: RequestCode


class Requests:
    """Requests of one broker. A line is a word, the topic and further words; so is `OK` or `ERR` answered."""

    def __init__(self, operations: Operations, latency: Histogram | None, faults: Faults | None) -> None:
        self._operations = operations
        self._latency = latency
        self._faults = faults

    def answer(self, line: str, connection: LineConnection) -> Answer:
        """Answer a line."""
        word, *words = line.split()
        if word == "LINE":
            connection.user, connection.password = (*words, "", "")[:2]
            return "OK"
        began = self._operations.clock.monotonic()
        answer: Deferred[str] = maybeDeferred(self._carry_out, word, words, connection)
        return answer.addErrback(_error).addCallback(self._measured, word, began)

    def _carry_out(self, word: str, words: Sequence[str], connection: LineConnection) -> Answer:
        request = REQUESTS[word]
        fault = self._faults.striking((request.like,), words[:1]) if self._faults is not None else None
        if fault is not None and fault.what == "refuse":
            return f"ERR {fault.code} {fault.remark}"

        def rights() -> list[Need]:
            needs = [Need(topic(words[0]), (request.on_topic,))]
            return needs if request.on_group is None else [*needs, Need(group(words[1]), (request.on_group,))]

        def credentials() -> FrontEndCaller:
            return FrontEndCaller(connection.user, connection.password.__eq__, connection.address, word)

        permit = self._operations.gate.admit(Principal(connection, credentials), request.use, rights)
        return request.answer(self, permit, words)

    def _measured(self, text: str, word: str, began: float) -> str:
        if self._latency is not None:
            millis = int((self._operations.clock.monotonic() - began) * 1000)
            labels = word.lower(), text.partition(" ")[0].lower(), "false", "success"
            distribution = self._latency.of(labels)
            distribution.counts[bisect_left(LATENCY_BOUNDS, millis)] += 1
            distribution.sum += millis
        return text

    def create(self, permit: Permit, words: Sequence[str]) -> Answer:
        """CREATE topic queues."""
        queues = int(words[1])
        config = TopicConfig(words[0], read_queue_nums=queues, write_queue_nums=queues)
        return then(self._operations.administration.put_topic(permit, config), lambda _: "OK")

    def send(self, permit: Permit, words: Sequence[str]) -> Answer:
        """SEND topic body."""
        message = NewMessage(words[0], words[1].encode(), permit.now, queue_id=0)
        return then(self._operations.produce.send(permit, message), _sent)

    def pull(self, permit: Permit, words: Sequence[str]) -> Answer:
        """PULL topic group offset."""
        request = PullRequest(words[1], words[0], 0, int(words[2]), 32, 1000, "*", "TAG")
        return then(self._operations.consume.pull(permit, request), _pulled)

    def pop(self, permit: Permit, words: Sequence[str]) -> Answer:
        """POP topic group: bodies with their offsets and receipts."""
        wanted = Receive(words[1], words[0], 32, INVISIBLE_MILLIS, 1000, "*", "TAG", False, None)
        return then(self._operations.pop.receive(permit, wanted), self._popped)

    def acknowledge(self, permit: Permit, words: Sequence[str]) -> Answer:
        """ACK topic group queue offset receipt."""
        name, group_name, queue_id, offset, receipt = words
        text = receipt.replace(",", " ")
        delivery = Delivery(group_name, name, int(queue_id), text, int(offset), None)
        return then(self._operations.pop.acknowledge(permit, delivery), lambda _: "OK")

    def commit(self, permit: Permit, words: Sequence[str]) -> Answer:
        """COMMIT topic group offset."""
        done = self._operations.offsets.commit(permit, words[1], words[0], 0, int(words[2]))
        return then(done, lambda _: "OK")

    def committed(self, permit: Permit, words: Sequence[str]) -> Answer:
        """COMMITTED topic group."""
        offset = self._operations.offsets.committed(permit, words[1], words[0], 0)
        return then(offset, lambda value: f"OK {value}")

    def _popped(self, outcome: PopOutcome) -> str:
        broker_name, words = self._operations.options.broker_name, ["OK"]
        times = outcome.pop_time, outcome.invisible_time
        for find in outcome.finds:
            receipt = Receipt(
                find.start_offset, *times, outcome.revive_queue_id, kind_of(find.topic), broker_name
            )
            for stored in records_in(find.body):
                text = receipt.of_message(find.queue_id, stored.queue_offset).replace(" ", ",")
                words.append(f"{stored.body.decode()} {find.queue_id} {stored.queue_offset} {text}")
        return " ".join(words)


def records_in(body: bytes) -> Iterator[StoredMessage]:
    """Yield the records that are stored back to back in a body."""
    at = 0
    while at < len(body):
        size = int.from_bytes(body[at : at + 4], "big")
        yield decode(body[at : at + size])
        at += size


def _sent(outcome: SendOutcome) -> str:
    return f"OK {outcome.queue_offset}"


def _pulled(outcome: PullOutcome) -> str:
    return " ".join(["OK", *(stored.body.decode() for stored in records_in(outcome.body))])


def _error(failure: Failure) -> str:
    error = failure.value
    if isinstance(error, NotAdmitted):
        return f"ERR denied {error}"
    if isinstance(error, OperationError):
        return f"ERR {error.reason.name} {error.message}"
    return f"ERR {error!r}"


SUB = Action.SUB
REQUESTS = {
    "CREATE": Request(
        Use.ADMINISTER, Action.CREATE, None, Requests.create, RequestCode.UPDATE_AND_CREATE_TOPIC
    ),
    "SEND": Request(Use.SEND, Action.PUB, None, Requests.send, RequestCode.SEND_MESSAGE),
    "PULL": Request(Use.PULL, SUB, SUB, Requests.pull, RequestCode.PULL_MESSAGE),
    "POP": Request(Use.RECEIVE, SUB, SUB, Requests.pop, RequestCode.POP_MESSAGE),
    "ACK": Request(Use.ACKNOWLEDGE, SUB, SUB, Requests.acknowledge, RequestCode.ACK_MESSAGE),
    "COMMIT": Request(Use.COMMIT_OFFSET, SUB, SUB, Requests.commit, RequestCode.UPDATE_CONSUMER_OFFSET),
    "COMMITTED": Request(Use.QUERY, SUB, SUB, Requests.committed, RequestCode.QUERY_CONSUMER_OFFSET),
}
