"""Records that a caller names by their position in the log.

A request names a topic, and its caller was authorized for that topic. The offset, id or handle beside it may
belong to a record of another topic. So every operation that follows such a reference reads the record here,
and `may_use` decides on the topic that the record itself belongs to. None stands for a caller that may use
every record: callers are not authenticated, or the broker acts for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mqgateway.engine.message import (
    PROPERTY_REAL_TOPIC,
    ROCKSDB_TRANS_HALF_TOPIC,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    StoredMessage,
)
from mqgateway.engine.store.older_messages import NothingYet
from mqgateway.engine.store.record import decode, properties_of, topic_of
from mqgateway.engine.transactions import HalfMessage
from mqgateway.gateway.broker.cold import busy
from mqgateway.gateway.broker.connection import MayUse
from mqgateway.gateway.broker.errors import OperationError, Reason

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker

WAITING_TOPICS = frozenset(
    {
        SCHEDULE_TOPIC,
        TIMER_TOPIC,
        TRANS_HALF_TOPIC,
        ROCKSDB_TRANS_HALF_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
    }
)
"""Topics in which the broker keeps messages of other topics; a user of those may not send to them."""


def record_at(
    broker: Broker, offset: int, may_use: MayUse | None, key: str | None = None, *, may_wait: bool = True
) -> bytes | None:
    """Return the record at a log offset, None where there is none.

    The messages in a batch of Kafka have one offset: the unique key tells which is meant, and without a key
    it is the first. Raises `OperationError` if the caller may not use it, or if it is an older one that
    cannot be read now; `ColdRead` if it may not wait and would have to.
    """
    try:
        record = broker.store.message_record_at(offset, key, may_wait=may_wait)
    except NothingYet as missing:
        raise busy(missing) from None
    if record is not None and may_use is not None:
        topic = topic_of(record).decode("utf-8", "replace")
        check_topic(offset, home_topic(topic, properties_of(record)), may_use)
    return record


def look_up(
    broker: Broker, offset: int, may_use: MayUse | None, key: str | None = None, *, may_wait: bool = True
) -> StoredMessage | None:
    """Return the message at a log offset, None where there is none; see `record_at`."""
    record = record_at(broker, offset, may_use, key, may_wait=may_wait)
    return None if record is None else decode(record)


def half_at(broker: Broker, offset: int, may_use: MayUse | None) -> HalfMessage | None:
    """Return the half message at a log offset, None where there is none. Raises `OperationError`."""
    half = broker.transactions.find(offset)
    if half is not None:
        check_topic(offset, half.topic, may_use)
    return half


def home_topic(topic: str, properties: Mapping[str, str]) -> str:
    """Return the topic that a record belongs to, which of a waiting message is the one it waits for."""
    return properties.get(PROPERTY_REAL_TOPIC, topic) if topic in WAITING_TOPICS else topic


def check_topic(offset: int, topic: str, may_use: MayUse | None) -> None:
    """Refuse a record of a topic that the caller may not use. Raises `OperationError`."""
    if may_use is not None and not may_use(topic):
        raise OperationError(
            Reason.NO_PERMISSION,
            f"no permission for the message at offset {offset}: it belongs to a topic or group "
            "that the policies of this user do not allow",
        )
