"""Evidence from a member's own report."""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.gateway.codec.bodies import ConsumerRunningInfo, MessageQueue
from mqgateway.gateway.doctor.evidence import ConnectedMember, Held, QueueKey, Rates


def place(queue: MessageQueue) -> QueueKey:
    """Return the key of a queue."""
    return QueueKey(queue.topic, queue.broker_name, queue.queue_id)


def consumes_in_order(info: ConsumerRunningInfo) -> bool:
    """Return True if a member reports that it consumes each queue in order."""
    return info.properties.get("PROP_CONSUMEORDERLY", "").lower() == "true"


def member(client_id: str, language: str, info: ConsumerRunningInfo) -> ConnectedMember:
    """Return a member by its answer to `GET_CONSUMER_RUNNING_INFO`."""
    is_ordered = consumes_in_order(info)
    wants = {one.topic: one.sub_string or "*" for one in info.subscription_set}
    return ConnectedMember(
        client_id,
        language,
        is_ordered,
        {topic: wanted for topic, wanted in wants.items() if not topic.startswith(RETRY_PREFIX)},
        {place(queue): one for queue, one in _holds(info, is_ordered)},
        {
            topic: Rates(one.consume_ok_tps, one.consume_failed_tps, one.consume_rt)
            for topic, one in info.status_table.items()
        },
    )


def _holds(info: ConsumerRunningInfo, is_ordered: bool) -> Iterator[tuple[MessageQueue, Held]]:
    for queue, one in info.mq_table.items():
        yield (
            queue,
            Held(
                one.cached_msg_count,
                one.cached_msg_size_in_mib,
                is_ordered and not one.locked,
                one.last_pull_timestamp,
                one.last_consume_timestamp,
                one.last_lock_timestamp,
            ),
        )
    for queue, popped in info.mq_pop_table.items():
        yield queue, Held(popped.wait_ack_count, last_pull=popped.last_pop_timestamp)
