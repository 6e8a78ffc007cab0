"""Remoting requests turned into operations about queues, and outcomes into answers."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import succeed
from twisted.python.failure import Failure

from mqgateway.engine.store.results import GetStatus
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.operations import QueueOperations
from mqgateway.gateway.broker.consume.pull_request import (
    ForbiddenType,
    PullForbidden,
    PullOutcome,
    PullOutcomeStatus,
)
from mqgateway.gateway.broker.consume.requests import forbidden, forbidden_later, pulled
from mqgateway.gateway.broker.operations import offsets
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    GetEarliestMsgStoretimeRequestHeader,
    GetMaxOffsetRequestHeader,
    GetMinOffsetRequestHeader,
    QueryConsumerOffsetRequestHeader,
    SearchOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from tests.support.gateway.broker.helpers import MemoryBroker, pull_header

OF_T: dict[str, Any] = {"topic": "T", "queue_id": 1}
OF_G = OF_T | {"consumer_group": "G"}


class Elsewhere:
    """Operations that note what they are asked for, and give `outcome`."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.outcome: Any = None
        named: list[Any] = [self._named(name) for name in QueueOperations._fields[1:]]
        patch.setattr(offsets, "OF_ANY_TOPIC", QueueOperations(self._named("pull"), *named))
        self.memory = MemoryBroker()

    def _named(self, name: str) -> Any:
        def operation(_: Broker, *args: object, **more: object) -> Any:
            self.asked.append((name, *args, *more.values()))
            return self._given()

        return operation

    def _given(self) -> Any:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Elsewhere:
    return Elsewhere(monkeypatch)


def test_an_outcome_of_a_pull_becomes_fields() -> None:
    too_small = GetStatus.OFFSET_TOO_SMALL
    reply = pulled(PullOutcome(PullOutcomeStatus.OFFSET_MOVED, too_small, b"", 5, 4, 9, 1, 2, 3, 100))
    assert (reply.code, reply.remark) == (21, "OFFSET_TOO_SMALL")
    assert reply.ext == {
        "suggestWhichBrokerId": "1",
        "nextBeginOffset": "5",
        "minOffset": "4",
        "maxOffset": "9",
        "topicSysFlag": "2",
        "groupSysFlag": "3",
        "offsetDelta": "100",
    }
    nowhere = pulled(PullOutcome(PullOutcomeStatus.RETRY_IMMEDIATELY, None, b"", 5, 4, 9, 1, 2, 3))
    assert (nowhere.code, nowhere.remark, "offsetDelta" in (nowhere.ext or {})) == (20, None, False)


def test_lite_pull_consumer_is_refused_where_only_others_may_pull() -> None:
    memory = MemoryBroker(options={"lite_pull_message_enable": False})
    memory.add_topic("T")
    memory.subscribe("G", "T")
    assert memory.ask(RequestCode.LITE_PULL_MESSAGE, pull_header()).code == 16
    assert memory.ask(RequestCode.PULL_MESSAGE, pull_header()).code == 19


@pytest.mark.parametrize("is_late", [False, True])
def test_forbidden_pull_has_its_cause_as_a_field(is_late: bool) -> None:
    error = PullForbidden(ForbiddenType.TOPIC_FORBIDDEN, "no")
    reply = forbidden_later(Failure(error)) if is_late else forbidden(error)
    assert (reply.code, reply.remark, reply.ext) == (16, "no", {"forbiddenType": "3"})


@pytest.mark.parametrize("is_late", [False, True])
def test_offset_requests_of_a_queue_become_arguments(elsewhere: Elsewhere, is_late: bool) -> None:
    elsewhere.outcome = succeed(41) if is_late else 41
    search = SearchOffsetRequestHeader(timestamp=8, **OF_T)
    asked = [
        (RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, search, {"offset": "41"}),
        (RequestCode.GET_MAX_OFFSET, GetMaxOffsetRequestHeader(**OF_T), {"offset": "41"}),
        (RequestCode.GET_MIN_OFFSET, GetMinOffsetRequestHeader(**OF_T), {"offset": "41"}),
        (
            RequestCode.GET_EARLIEST_MSG_STORETIME,
            GetEarliestMsgStoretimeRequestHeader(**OF_T),
            {"timestamp": "41"},
        ),
        (RequestCode.QUERY_CONSUMER_OFFSET, QueryConsumerOffsetRequestHeader(**OF_G), {"offset": "41"}),
    ]
    for code, header, fields in asked:
        elsewhere.outcome = succeed(41) if is_late else 41
        answer = elsewhere.memory.ask(code, header)
        assert (answer.code, answer.ext) == (0, fields)
    assert elsewhere.asked == [
        ("search_offset", "T", 1, 8, False),
        ("max_offset", "T", 1),
        ("min_offset", "T", 1),
        ("earliest_store_time", "T", 1),
        ("query_offset", "G", "T", 1, True),
    ]


def test_offset_that_is_not_taken_is_reported(elsewhere: Elsewhere) -> None:
    header = UpdateConsumerOffsetRequestHeader(commit_offset=6, **OF_G)
    for is_taken, remark in ((True, None), (False, "Offset has been previously reset")):
        elsewhere.outcome = succeed(is_taken)
        answer = elsewhere.memory.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header)
        assert (answer.code, answer.remark) == (0, remark)
    assert elsewhere.asked == [("update_offset", "G", "T", 1, 6)] * 2


def test_a_request_about_a_queue_as_it_lies_here_is_not_for_those_who_stand_between(
    elsewhere: Elsewhere,
) -> None:
    memory = elsewhere.memory
    memory.add_topic("T")
    memory.subscribe("G", "T")
    memory.send(queue_id=1)
    assert len(memory.pull(queue_id=1, lo=False).messages) == 1
    header = GetMaxOffsetRequestHeader(lo=False, **OF_T)
    assert memory.ask(RequestCode.GET_MAX_OFFSET, header).ext == {"offset": "1"}
    assert elsewhere.asked == []
