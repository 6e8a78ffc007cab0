"""Requests to brokers of other mapping items, and the handling of their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.engine.store.results import GetStatus
from mqgateway.gateway.broker.cluster.broker_directory import BrokerDirectory
from mqgateway.gateway.broker.cluster.name_servers import NameServers
from mqgateway.gateway.broker.consume.pull_request import PullOutcome, PullOutcomeStatus
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.static_topics import outgoing_requests
from mqgateway.gateway.codec.bodies import BrokerData, ClusterInfo
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import PullMessageRequestHeader
from mqgateway.gateway.remoting.exchange import PeerGone
from tests.support.gateway.broker.pulls import pull_request

ITEM = MappingItem(1, 6, "b", 100)
OFFSETS = {"suggestWhichBrokerId": "1", "nextBeginOffset": "5", "minOffset": "0", "maxOffset": "9"}


class World:
    """Broker b, which gives `answer` to everything; `asked` is what it was asked."""

    def __init__(self) -> None:
        self.asked: list[RemotingCommand] = []
        self.answer: RemotingCommand | Exception = RemotingCommand.response(0)
        options = BrokerOptions(namesrv_addr="names")
        name_servers = NameServers(options, self._ask)
        self.directory = BrokerDirectory(options, ManualClock(), self._ask, name_servers)

    def _ask(self, address: str, command: RemotingCommand, _: float) -> Deferred[RemotingCommand]:
        if address == "names":
            body = ClusterInfo({"b": BrokerData("c", "b", {0: "b:1"})}).encode()
            return succeed(RemotingCommand.response(0, body=body))
        self.asked.append(command)
        return fail(self.answer) if isinstance(self.answer, Exception) else succeed(self.answer)

    def outcome(self, ask: Callable[..., Deferred[Any]], *args: object) -> Any:
        """Return the outcome of a request, or the error."""
        seen: list[Any] = []
        ask(self.directory, *args).addBoth(seen.append)
        (outcome,) = seen
        return outcome.value if isinstance(outcome, Failure) else outcome


def answer(code: int = 0, remark: str | None = None, **fields: object) -> RemotingCommand:
    return RemotingCommand.response(code, remark=remark, ext={k: str(v) for k, v in fields.items()})


@pytest.fixture
def world() -> World:
    return World()


def test_pull_reads_the_brokers_own_queue(world: World) -> None:
    world.answer = RemotingCommand.response(0, body=b"x", remark="FOUND", ext=OFFSETS)
    request = pull_request(queue_id=6, offset=3, expression="a")
    outcome = world.outcome(outgoing_requests.pull, ITEM, request)
    assert isinstance(outcome, PullOutcome)
    assert (outcome.status, outcome.found, outcome.body) == (PullOutcomeStatus.FOUND, GetStatus.FOUND, b"x")
    assert (outcome.offsets, outcome.suggested_broker) == ((5, 0, 9), 1)
    (command,) = world.asked
    asked = command.ext_fields
    assert (command.code, asked["lo"], asked["bname"]) == (RequestCode.PULL_MESSAGE, "false", "b")
    assert (asked["queueId"], asked["queueOffset"], asked["subscription"]) == ("6", "3", "a")


@pytest.mark.parametrize("sys_flag", [0, 4 | 8, 1 | 2 | 4, 1 | 2 | 16])
def test_forwarded_pull_has_the_fields_of_the_client_but_waits_and_commits_not(
    world: World, sys_flag: int
) -> None:
    world.answer = RemotingCommand.response(0, body=b"x", remark="FOUND", ext=OFFSETS)
    header = PullMessageRequestHeader(
        lo=True,
        bname="a",
        consumer_group="G",
        topic="T",
        queue_id=0,
        queue_offset=107,
        max_msg_nums=32,
        sys_flag=sys_flag,
        commit_offset=103,
        suspend_timeout_millis=15_000,
        subscription="*",
        sub_version=9,
        max_msg_bytes=99,
        request_source=2,
        proxy_froward_client_id="p",
    )
    request = pull_request(queue_id=6, offset=7, subscription_version=9, header=header)
    world.outcome(outgoing_requests.pull, ITEM, request)
    (command,) = world.asked
    assert command.ext_fields == {
        "lo": "false",
        "bname": "b",
        "consumerGroup": "G",
        "topic": "T",
        "queueId": "6",
        "queueOffset": "7",
        "maxMsgNums": "32",
        "sysFlag": str(sys_flag & ~3),
        "commitOffset": "3",
        "suspendTimeoutMillis": "15000",
        "subscription": "*",
        "subVersion": "9",
        "maxMsgBytes": "99",
        "requestSource": "2",
        "proxyFrowardClientId": "p",
    }


@pytest.mark.parametrize(("is_subscribed", "sys_flag"), [(False, "4"), (True, "0")])
def test_forwarded_pull_of_another_protocol_waits_and_commits_not(
    world: World, is_subscribed: bool, sys_flag: str
) -> None:
    world.answer = RemotingCommand.response(0, body=b"x", remark="FOUND", ext=OFFSETS)
    request = pull_request(queue_id=6, offset=7, max_wait=50, is_subscribed=is_subscribed)
    world.outcome(outgoing_requests.pull, ITEM, request)
    (command,) = world.asked
    asked = command.ext_fields
    assert (asked["sysFlag"], asked["commitOffset"], asked["suspendTimeoutMillis"]) == (
        sys_flag,
        str(ITEM.physical(0)),
        "50",
    )
    assert "requestSource" not in asked


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (answer(24, "who"), "broker b answers 24, who"),
        (answer(0, **{**OFFSETS, "maxOffset": "many"}), "maxOffset"),
        (PeerGone("refused"), "broker b does not answer: refused"),
    ],
)
def test_refusing_broker_is_named(world: World, reply: RemotingCommand | Exception, message: str) -> None:
    world.answer = reply
    error = world.outcome(outgoing_requests.pull, ITEM, pull_request())
    assert isinstance(error, OperationError)
    assert (error.reason, message in error.message) == (Reason.SYSTEM_ERROR, True)


def test_each_query_returns_its_number(world: World) -> None:
    world.answer = answer(0, offset=41, timestamp=42)
    assert world.outcome(outgoing_requests.max_offset, "T", ITEM) == 41
    assert world.outcome(outgoing_requests.min_offset, "T", ITEM) == 41
    assert world.outcome(outgoing_requests.earliest_store_time, "T", ITEM) == 42
    assert world.outcome(outgoing_requests.search_offset, "T", ITEM, 8, True) == 41
    assert world.outcome(outgoing_requests.query_offset, "G", "T", ITEM) == 41
    assert [command.code for command in world.asked] == [30, 31, 32, 29, 14]
    assert {command.ext_fields["queueId"] for command in world.asked} == {"6"}
    assert (world.asked[3].ext_fields["boundaryType"], world.asked[4].ext_fields["setZeroIfNotFound"]) == (
        "UPPER",
        "false",
    )


def test_refusal_of_an_offset_request_keeps_its_reason(world: World) -> None:
    world.answer = answer(22, "nothing")
    error = world.outcome(outgoing_requests.query_offset, "G", "T", ITEM)
    assert (error.reason, error.message) == (Reason.QUERY_NOT_FOUND, "nothing")
    for code, reason in ((26, Reason.SUBSCRIPTION_GROUP_NOT_EXIST), (9999, Reason.SYSTEM_ERROR)):
        world.answer = answer(code, "no")
        error = world.outcome(outgoing_requests.update_offset, "G", "T", ITEM, 3)
        assert (error.reason, error.message) == (reason, "no")
    for remark, is_taken in ((None, True), ("Offset has been previously reset", False)):
        world.answer = answer(0, remark)
        assert world.outcome(outgoing_requests.update_offset, "G", "T", ITEM, 3) is is_taken


def test_refusals_of_queries_are_reported(world: World) -> None:
    world.answer = answer(17, "no such topic")
    for ask in (outgoing_requests.queue_ends, outgoing_requests.mapping_of):
        error = world.outcome(ask, "T", "b")
        assert (error.reason, error.message) == (Reason.SYSTEM_ERROR, "it is answered 17, no such topic")
