"""Options of a query, checked as a whole."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client.subscriptions import Sql
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline import columns
from mqgateway.pipeline.errors import BadOption
from mqgateway.pipeline.offsets import EARLIEST_POSITION, LATEST_POSITION, PositionKind, parse_position
from mqgateway.pipeline.request import ReadRequest, needs_all_queues, read_request


def request(is_stream: bool = False, **given: str) -> ReadRequest:
    return read_request({"nameServer": "a:1", "topic": "t", **given}, is_stream=is_stream)


def test_batches_begin_at_the_begin_and_streams_at_the_end() -> None:
    assert request().start == EARLIEST_POSITION and request().end == LATEST_POSITION
    assert request(True).start == LATEST_POSITION
    assert request(True, startingOffsets="earliest").start == EARLIEST_POSITION
    assert request(startingTimestamp="5").start.kind is PositionKind.TIME


def test_topics_and_patterns() -> None:
    assert request(topic="a, b").topics == ("a", "b")
    pattern = request(topic="", topicPattern="or.*")
    assert pattern.has("orders") and not pattern.has("xorders")
    assert request(topic="a,b").has("b") and not request().has("b")


def test_request_has_subscription_and_columns() -> None:
    assert request().wanted == "*" and not request().is_filtered
    assert request(subExpression="a || b").wanted == "a || b"
    assert request(subExpression="a > 3", expressionType="sql92").wanted == Sql("a > 3")
    assert request().columns == columns.SOURCE
    assert request(includeColumns="BODY, tags").columns == ("body", "tags")


@pytest.mark.parametrize(
    ("is_stream", "given", "said"),
    [
        (False, {"nameServer": ""}, "option nameServer='': is needed"),
        (False, {"topic": ""}, "name a topic, or give topicPattern"),
        (False, {"topicPattern": "x"}, "topic is given as well"),
        (False, {"topic": "", "topicPattern": "("}, "is not a regular expression"),
        (False, {"startingOffsets": "latest"}, "a batch cannot begin at the end"),
        (False, {"startingOffsets": '{"t":{"b":{"0":-1}}}'}, "a batch cannot begin at the end"),
        (False, {"endingOffsets": "earliest"}, "a batch cannot end at the begin"),
        (False, {"endingOffsets": '{"t":{"b":{"0":-2}}}'}, "a batch cannot end at the begin"),
        (
            False,
            {"startingOffsets": "earliest", "startingTimestamp": "3"},
            "startingOffsets is given as well",
        ),
        (False, {"maxOffsetsPerTrigger": "1", "maxMessagesPerTrigger": "1"}, "the same"),
        (False, {"expressionType": "XPATH"}, "not one of TAG, SQL92"),
        (False, {"includeColumns": "body,bodi"}, "no column bodi; valid columns are topic"),
        (False, {"nameServer": "a"}, "'a' is not an address; write host:port"),
        (False, {"nameServer": "a:1;http://b:2"}, "'http://b:2' is not an address"),
        (False, {"topic": "a,b c"}, "option topic='a,b c': The specified topic: b c, contains illegal"),
        (False, {"consumerGroup": "a/b"}, "option consumerGroup='a/b': The specified group"),
        (False, {"startingTimestamp": "9", "endingTimestamp": "8"}, "lies before startingTimestamp 9"),
        (
            False,
            {"startingOffsets": '{"t":{"b":{"0":5}}}', "endingOffsets": '{"t":{"b":{"0":4}}}'},
            "queue 0 of t on b is to end at 4, before it begins at 5",
        ),
        (False, {"expressionType": "SQL92", "subExpression": "a >"}, "is not an SQL92 expression"),
        (False, {"expressionType": "SQL92"}, "is not an SQL92 expression"),
        (True, {"endingOffsets": "latest"}, "option endingOffsets='latest': a stream has no end"),
        (True, {"endingTimestamp": "3"}, "option endingTimestamp='3': a stream has no end"),
        (True, {"pushDownFilters": "true"}, "into batches only"),
    ],
)
def test_refusals(is_stream: bool, given: dict[str, str], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        request(is_stream, **given)


def test_offsets_by_queue_name_all_queues() -> None:
    """As the stock connector asks for."""
    one, two = MessageQueue("t", "b", 0), MessageQueue("t", "b", 1)
    position = parse_position("startingOffsets", '{"t":{"b":{"0":1}}}')
    needs_all_queues(position, "startingOffsets", [one])
    needs_all_queues(EARLIEST_POSITION, "startingOffsets", [one, two])
    with pytest.raises(BadOption, match="queues are not named: t/b/1"):
        needs_all_queues(position, "startingOffsets", [one, two])
    with pytest.raises(BadOption, match="queues do not exist: t/b/0"):
        needs_all_queues(position, "startingOffsets", [])
