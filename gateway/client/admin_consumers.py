"""Requests to brokers about connected clients; the broker forwards some of them to the client.

RocketMQ: `DefaultMQAdminExtImpl`, `MQClientAPIImpl`.
"""

from __future__ import annotations

from mqgateway.gateway.client.admin_question import Question, asks, body_of, field_of
from mqgateway.gateway.client.answers import decode_body
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetAllProducerInfoRequestHeader,
    GetConsumerConnectionListRequestHeader,
    GetConsumerListByGroupRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    GetProducerConnectionListRequestHeader,
    PollingInfoRequestHeader,
    PollingInfoResponseHeader,
)


@asks(RequestCode.GET_CONSUMER_LIST_BY_GROUP)
def members(group: str) -> Question[list[str]]:
    """Return the client ids of a consumer group."""

    def read(answer: RemotingCommand) -> list[str]:
        return decode_body(bodies.GetConsumerListByGroupResponseBody, answer).consumer_id_list

    header = GetConsumerListByGroupRequestHeader(consumer_group=group)
    return Question(RequestCode.GET_CONSUMER_LIST_BY_GROUP, read, header)


@asks(RequestCode.GET_CONSUMER_CONNECTION_LIST)
def connections(group: str) -> Question[bodies.ConsumerConnection]:
    """Return the connections and subscriptions of a consumer group.

    The broker refuses if the group has no connection.
    """
    header = GetConsumerConnectionListRequestHeader(consumer_group=group)
    return Question(RequestCode.GET_CONSUMER_CONNECTION_LIST, body_of(bodies.ConsumerConnection), header)


@asks(RequestCode.GET_PRODUCER_CONNECTION_LIST)
def producer_connections(group: str) -> Question[bodies.ProducerConnection]:
    """Return the connections of a producer group; the broker refuses if it has none."""
    header = GetProducerConnectionListRequestHeader(producer_group=group)
    return Question(RequestCode.GET_PRODUCER_CONNECTION_LIST, body_of(bodies.ProducerConnection), header)


@asks(RequestCode.GET_ALL_PRODUCER_INFO)
def producers() -> Question[dict[str, list[bodies.ProducerInfo]]]:
    """Return all producers by group."""

    def read(answer: RemotingCommand) -> dict[str, list[bodies.ProducerInfo]]:
        return decode_body(bodies.ProducerTableInfo, answer).data

    return Question(RequestCode.GET_ALL_PRODUCER_INFO, read, GetAllProducerInfoRequestHeader())


@asks(RequestCode.GET_CONSUMER_RUNNING_INFO)
def running_info(
    group: str, client_id: str, *, with_stacks: bool = False
) -> Question[bodies.ConsumerRunningInfo]:
    """Return a consumer's own report of its state, optionally with stack traces."""
    header = GetConsumerRunningInfoRequestHeader(
        consumer_group=group, client_id=client_id, jstack_enable=with_stacks
    )
    return Question(RequestCode.GET_CONSUMER_RUNNING_INFO, body_of(bodies.ConsumerRunningInfo), header)


@asks(RequestCode.CONSUME_MESSAGE_DIRECTLY)
def consume_directly(
    group: str, client_id: str, offset_message_id: str, topic: str = ""
) -> Question[bodies.ConsumeMessageDirectlyResult]:
    """Make a consumer consume one stored message now and return the outcome."""
    header = ConsumeMessageDirectlyResultRequestHeader(
        consumer_group=group, client_id=client_id, msg_id=offset_message_id, topic=topic or None
    )
    return Question(
        RequestCode.CONSUME_MESSAGE_DIRECTLY, body_of(bodies.ConsumeMessageDirectlyResult), header
    )


@asks(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS)
def status(
    group: str, topic: str, client_id: str | None = None
) -> Question[dict[str, dict[bodies.MessageQueue, int]]]:
    """Return the consumed offsets of a topic by client id.

    They are reported by every member, or by `client_id` only.
    """

    def read(answer: RemotingCommand) -> dict[str, dict[bodies.MessageQueue, int]]:
        return decode_body(bodies.GetConsumerStatusBody, answer).consumer_table

    header = GetConsumerStatusRequestHeader(topic=topic, group=group, client_addr=client_id)
    return Question(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, read, header)


@asks(RequestCode.POLLING_INFO)
def waiting_pops(group: str, topic: str, queue_id: int = -1) -> Question[int]:
    """Return the number of POP requests parked at the broker."""
    header = PollingInfoRequestHeader(consumer_group=group, topic=topic, queue_id=queue_id)
    return Question(RequestCode.POLLING_INFO, field_of(PollingInfoResponseHeader, "polling_num"), header)
