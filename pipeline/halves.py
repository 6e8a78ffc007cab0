"""Sends the rows of a task as half messages: stored, but invisible before the batch is committed.

Brokers take no half messages in batches: each is sent by itself, many in flight. Their positions go to the
driver, which commits or rolls back the whole batch (`transactions`). A task that fails rolls back its own.

Some remain: the task was killed, the driver died, an answer was lost and the message was sent again. Brokers
later check them with the producer group, and a connected member answers from the last committed batch
(`is_left_over`). The answer is never a commit: only the driver commits, position by position. So a copy that
a broker made of a half message for a check does not become visible beside the first one.
"""

from __future__ import annotations

import logging
from array import array
from typing import Any

from mqgateway.engine.message import (
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_TRANSACTION_PREPARED,
    parse_offset_message_id,
)
from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.message import Message, ReceivedMessage, SendResult, TransactionState
from mqgateway.gateway.client.producer import Producer
from mqgateway.gateway.client.transactions import TransactionProducer
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.ending import Ending
from mqgateway.pipeline.options import SinkOptions
from mqgateway.pipeline.outgoing import SPARK_TRANSACTION
from mqgateway.pipeline.sending import TaskSender, Under
from mqgateway.pipeline.verdicts import Places, Transaction, Verdict, places

log = logging.getLogger(__name__)

IN_FLIGHT_MAX = 512
"""Maximum number of half messages in flight."""


def is_left_over(mark: str, born_at: int, last: Verdict | None) -> bool:
    """Return True if a pending half message of the transaction `mark`, sent at `born_at` (ms), is obsolete.

    It is if its batch, or a later one, was committed after it was sent. `last` is the last committed verdict;
    only one whose messages are all acknowledged by the brokers (`is_done`) counts.
    """
    if last is None:
        return False
    query, _, batch = mark.rpartition("/")
    known = last.transaction
    return (
        query == known.query
        and batch.isdigit()
        and int(batch) <= known.batch
        and last.is_done
        and born_at < last.decided_at
    )


class Answers:
    """Answers of a group member to the brokers' transaction checks; a `TransactionListener`."""

    def __init__(self, last: Verdict | None) -> None:
        self._last = last

    def execute(self, message: Message, argument: Any) -> TransactionState:
        """Return UNKNOWN: there is no local work, the driver decides."""
        return TransactionState.UNKNOWN

    def check(self, message: ReceivedMessage) -> TransactionState:
        """Roll back an obsolete half message; the outcome of any other is unknown here."""
        mark = message.properties.get(SPARK_TRANSACTION, "")
        if is_left_over(mark, message.born_timestamp, self._last):
            log.info("a remaining half message of %s is rolled back", mark)
            return TransactionState.ROLLBACK
        return TransactionState.UNKNOWN


class HalfSender(TaskSender):
    """Sends the rows of one task of a transaction. `last` is the last committed verdict."""

    def __init__(
        self,
        options: SinkOptions,
        tls: TlsOptions,
        transaction: Transaction,
        last: Verdict | None,
        key: str | None = None,
    ) -> None:
        self._transaction = transaction
        self._answers = Answers(last)
        self._found: dict[MessageQueue, tuple[array[int], array[int]]] = {}
        super().__init__(options, tls, key)
        self._in_flight = min(IN_FLIGHT_MAX, options.sends_in_flight * options.send_batch_size)

    def places(self) -> tuple[Places, ...]:
        """Return the positions of the acknowledged half messages."""
        return tuple(places(queue, *offsets) for queue, offsets in self._found.items())

    def take_back(self) -> None:
        """Roll back the sent messages. Those that cannot be rolled back now remain for the brokers'
        checks."""
        for under in self._under:
            try:
                self._stored([under.outcome.result()])
            except ClientError as error:
                log.info("a half message of %s may remain: %s", self._transaction.mark, error)
        self._under.clear()
        ending = Ending(self._options, self._client)
        ending.roll_back(self.places(), self._producer.group, self._transaction.mark)

    def _new_producer(self, settings: dict[str, Any]) -> Producer:
        group = self._options.producer_group
        return TransactionProducer(group, self._loop, self._answers, client=self._client, **settings)

    def _begin(self, messages: list[Message], queue: MessageQueue | None) -> None:
        for message in messages:
            message.put(PROPERTY_TRANSACTION_PREPARED, "true")
            message.put(PROPERTY_PRODUCER_GROUP, self._producer.group)
            message.put(SPARK_TRANSACTION, self._transaction.mark)
            while len(self._under) >= self._in_flight:
                self._settle(self._under.popleft())
            self._under.append(Under([message], queue, self._submit([message], queue)))

    def _stored(self, results: list[SendResult]) -> None:
        for one in results:
            offsets = self._found.setdefault(one.queue, (array("q"), array("q")))
            offsets[0].append(one.queue_offset)
            offsets[1].append(parse_offset_message_id(one.offset_message_id)[2])
