"""Remoting requests turned into operations about queues, and outcomes into answers."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.engine.store.results import GetStatus
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume.operations import QueueOperations
from mqgateway.gateway.broker.consume.pull_request import (
    ForbiddenType,
    PullForbidden,
    PullOutcome,
    PullRequest,
    PullStatus,
)
from mqgateway.gateway.broker.consume.requests import requests
from mqgateway.gateway.broker.replication.role_requests import of_all_roles
from mqgateway.gateway.broker.requests import REQUESTS
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

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.outcome: Any = None
        named: list[Any] = [self._named(name) for name in QueueOperations._fields[1:]]
        self.operations = QueueOperations(self._pull, *named)
        self.memory = MemoryBroker(requests=REQUESTS | of_all_roles(requests(self.operations)))

    def _pull(
        self, _: Broker, request: PullRequest, connection: ClientConnection, *, is_lite: bool = False
    ) -> PullOutcome | Deferred[PullOutcome]:
        self.asked.append(("pull", request.queue_offset, connection.address, is_lite))
        given: PullOutcome | Deferred[PullOutcome] = self._given()
        return given

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
def elsewhere() -> Elsewhere:
    return Elsewhere()


def test_an_outcome_of_a_pull_becomes_fields(elsewhere: Elsewhere) -> None:
    too_small = GetStatus.OFFSET_TOO_SMALL
    elsewhere.outcome = PullOutcome(PullStatus.OFFSET_MOVED, too_small, b"", 5, 4, 9, 1, 2, 3, 100)
    answer = elsewhere.memory.pull(offset=7)
    assert (answer.code, answer.remark) == (21, "OFFSET_TOO_SMALL")
    assert answer.ext == {
        "suggestWhichBrokerId": "1",
        "nextBeginOffset": "5",
        "minOffset": "4",
        "maxOffset": "9",
        "topicSysFlag": "2",
        "groupSysFlag": "3",
        "offsetDelta": "100",
    }
    nowhere = PullOutcome(PullStatus.RETRY_IMMEDIATELY, None, b"", 5, 4, 9, 1, 2, 3)
    elsewhere.outcome = succeed(nowhere)
    later = elsewhere.memory.pull(offset=7)
    assert (later.code, later.remark, "offsetDelta" in later.ext) == (20, None, False)
    assert elsewhere.asked == [("pull", 7, elsewhere.memory.consumer.address, False)] * 2


def test_a_lite_pull_consumer_is_told_from_others(elsewhere: Elsewhere) -> None:
    elsewhere.outcome = PullOutcome(PullStatus.FOUND, GetStatus.FOUND, b"", 5, 4, 9, 0, 0, 0)
    assert elsewhere.memory.ask(RequestCode.LITE_PULL_MESSAGE, pull_header()).code == 0
    assert elsewhere.asked[0][-1] is True


@pytest.mark.parametrize("is_late", [False, True])
def test_what_forbids_a_pull_is_a_field(elsewhere: Elsewhere, is_late: bool) -> None:
    error = PullForbidden(ForbiddenType.TOPIC_FORBIDDEN, "no")
    elsewhere.outcome = fail(error) if is_late else error
    answer = elsewhere.memory.pull()
    assert (answer.code, answer.remark, answer.ext) == (16, "no", {"forbiddenType": "3"})


@pytest.mark.parametrize("is_late", [False, True])
def test_what_is_asked_about_a_queue_becomes_arguments(elsewhere: Elsewhere, is_late: bool) -> None:
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


def test_an_offset_that_is_not_taken_is_told_so(elsewhere: Elsewhere) -> None:
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
