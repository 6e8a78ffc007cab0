"""The faults of `testing.faults` for Kafka: a fault for requests strikes APIs like them.

A fault for `SEND` strikes Produce too, one for `PULL` Fetch. A lost request or answer delays all later
answers of its connection, since they leave in order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.steps import Steps, run
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.kafka.api import Answer, Handler, Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.apis import FETCH, PRODUCE
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import fetch_response, produce_response
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.topics import Topics
from mqgateway.gateway.testing.faults import PULL, SEND, Fault, Faults

LIKE: dict[int, tuple[int, ...]] = {
    PRODUCE: SEND,
    FETCH: PULL,
    2: (RequestCode.GET_MAX_OFFSET, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP),
    3: (RequestCode.GET_ROUTEINFO_BY_TOPIC,),
    8: (RequestCode.UPDATE_CONSUMER_OFFSET,),
    9: (RequestCode.QUERY_CONSUMER_OFFSET,),
    12: (RequestCode.HEART_BEAT,),
    13: (RequestCode.UNREGISTER_CLIENT,),
    19: (RequestCode.UPDATE_AND_CREATE_TOPIC,),
    20: (RequestCode.DELETE_TOPIC_IN_BROKER,),
}
"""The requests of the remoting protocol that APIs are like."""
CODES = {
    ResponseCode.SYSTEM_BUSY: ErrorCode.REQUEST_TIMED_OUT,
    ResponseCode.TOPIC_NOT_EXIST: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ResponseCode.NO_PERMISSION: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResponseCode.MESSAGE_ILLEGAL: ErrorCode.INVALID_RECORD,
}
"""Kafka's codes for a refusal; others are unknown errors of the server."""


class KafkaFaults:
    """The faults of one server, before the handlers. A refusal of an API other than Produce and Fetch closes
    the connection, as does `cut`."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def before(self, handlers: Handlers, topics: Topics) -> Handlers:
        """Return the same handlers, with the faults before them."""
        return {key: self._struck(key, handler, topics) for key, handler in handlers.items()}

    def _struck(self, key: int, handler: Handler, topics: Topics) -> Handler:
        codes = LIKE.get(key)
        if codes is None:
            return handler

        def answer(call: KafkaCall, request: Any) -> Answer | Steps[Any]:
            fault = self._faults.striking(codes, names_in(request, topics))
            return handler(call, request) if fault is None else self._strike(fault, handler, call, request)

        return answer

    def _strike(self, fault: Fault, handler: Handler, call: KafkaCall, request: Any) -> Answer | Steps[Any]:
        if fault.what == "delay":

            def carry_out(_: None) -> Answer:
                answer = _carried_out(handler, call, request)
                self._faults.served()
                return answer

            late: Deferred[Any] = self._faults.pause(fault.seconds).addCallback(carry_out)
            return late
        if fault.what == "refuse" and call.header.key in _REFUSALS:
            code = CODES.get(ResponseCode(fault.code), ErrorCode.UNKNOWN_SERVER_ERROR)
            refusal: Message = _REFUSALS[call.header.key](request, code)
            return refusal
        if fault.what == "drop_answer":
            _carried_out(handler, call, request)
        elif fault.what != "drop":
            call.connection.close("a fault of the test closes it")
        return Deferred()  # which is cancelled when the connection ends


def _carried_out(handler: Handler, call: KafkaCall, request: Any) -> Answer:
    """Carry out a request, whatever time it takes."""
    answer = handler(call, request)
    return run(answer) if isinstance(answer, Generator) else answer


def names_in(request: Any, topics: Topics) -> tuple[str | None, ...]:
    """Return the topics that a request names, by RocketMQ's names."""
    named = getattr(request, "topic_data", None) or getattr(request, "topics", None) or ()
    return tuple(_store_name(each, topics) for each in named)


def _store_name(named: Any, topics: Topics) -> str | None:
    name = getattr(named, "name", None) or getattr(named, "topic", None)
    topic = topics.find(name) if name else topics.by_id(named.topic_id)
    return name if topic is None else topic.store_name


def _refuse_produce(request: Any, code: ErrorCode) -> produce_response.ProduceResponse:
    return produce_response.ProduceResponse(
        [
            produce_response.TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [
                    produce_response.PartitionProduceResponse(partition.index, code, -1)
                    for partition in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def _refuse_fetch(request: Any, code: ErrorCode) -> fetch_response.FetchResponse:
    return fetch_response.FetchResponse(
        responses=[
            fetch_response.FetchableTopicResponse(
                topic.topic,
                topic.topic_id,
                [
                    fetch_response.PartitionData(partition.partition, code, -1, records=b"")
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


_REFUSALS: dict[int, Callable[[Any, ErrorCode], Any]] = {PRODUCE: _refuse_produce, FETCH: _refuse_fetch}
