"""Asking other brokers by their names."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.cluster.broker_directory import BrokerDirectory
from mqgateway.gateway.broker.cluster.name_servers import NameServers
from mqgateway.gateway.codec.bodies import BrokerData, ClusterInfo
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.call import RequestError
from mqgateway.gateway.remoting.exchange import PeerGone

QUESTION = RequestCode.GET_MAX_OFFSET
TABLE = ClusterInfo(
    {"b": BrokerData("c", "b", {0: "b:1", 1: "b:2"}), "slaves": BrokerData("c", "slaves", {1: "s:1"})}
)


class World:
    """Servers that answer by hand; `found` are the outcomes of what was asked."""

    def __init__(self, servers: str = "n1:1;n2:1") -> None:
        self.clock = ManualClock()
        self.waiting: list[tuple[str, int, Deferred[RemotingCommand]]] = []
        options = BrokerOptions(namesrv_addr=servers, forward_timeout=1500)
        self.broker_directory = BrokerDirectory(
            options, self.clock, self._ask, NameServers(options, self._ask)
        )
        self.timeouts: list[float] = []
        self.found: list[RemotingCommand] = []
        self.failed: list[str] = []

    def _ask(self, address: str, command: RemotingCommand, timeout: float) -> Deferred[RemotingCommand]:
        answer: Deferred[RemotingCommand] = Deferred()
        self.waiting.append((address, command.code, answer))
        self.timeouts.append(timeout)
        return answer

    def ask(self, name: str) -> None:
        def failed(failure: Failure) -> None:
            assert isinstance(failure.value, RequestError) and failure.value.code == 1
            self.failed.append(failure.value.remark)

        command = RemotingCommand.request(QUESTION)
        self.broker_directory.ask(name, command).addCallbacks(self.found.append, failed)

    def answer(self, *expected: tuple[str, int], code: int = 0) -> None:
        """Answer what was asked; it must have been this."""
        waiting, self.waiting = self.waiting, []
        assert [(address, asked) for address, asked, _ in waiting] == list(expected)
        for _, asked, answer in waiting:
            body = TABLE.encode() if asked == RequestCode.GET_BROKER_CLUSTER_INFO else b""
            answer.callback(RemotingCommand.response(code, body=body))

    def refuse(self) -> None:
        waiting, self.waiting = self.waiting, []
        for _, _, answer in waiting:
            answer.errback(PeerGone("refused"))


LOOK_UP = ("n1:1", int(RequestCode.GET_BROKER_CLUSTER_INFO))
AGAIN = ("n2:1", int(RequestCode.GET_BROKER_CLUSTER_INFO))
ASK = ("b:1", int(QUESTION))


def test_concurrent_callers_share_one_lookup() -> None:
    world = World()
    for _ in range(3):
        world.ask("b")
    world.answer(LOOK_UP)
    world.answer(ASK, ASK, ASK)
    world.ask("b")
    world.answer(ASK)
    assert len(world.found) == 4
    assert len(world.broker_directory) == 1
    assert set(world.timeouts) == {3.0, 1.5}


def test_address_expires() -> None:
    world = World()
    world.ask("b")
    world.answer(LOOK_UP)
    world.answer(ASK)
    world.clock.advance(30_000)
    world.ask("b")
    world.answer(LOOK_UP)
    world.answer(ASK)


def test_stale_address_is_used_if_the_lookup_fails() -> None:
    world = World()
    world.ask("b")
    world.answer(LOOK_UP)
    world.answer(ASK)
    world.clock.advance(30_000)
    world.ask("b")
    world.refuse()
    world.answer(AGAIN, code=1)
    world.answer(ASK)
    assert len(world.found) == 2


def test_unreachable_name_server_is_skipped() -> None:
    world = World()
    world.ask("b")
    world.refuse()
    world.answer(AGAIN)
    world.answer(ASK)
    assert len(world.found) == 1


def test_malformed_answer_is_skipped() -> None:
    world = World()
    world.ask("b")
    [(_, _, answer)] = world.waiting
    world.waiting.clear()
    answer.callback(RemotingCommand.response(0, body=b"no JSON"))
    world.answer(AGAIN)
    world.answer(ASK)
    assert len(world.found) == 1


def test_unreachable_broker_is_named() -> None:
    world = World()
    world.ask("nobody")
    world.answer(LOOK_UP)
    world.ask("slaves")
    world.ask("b")
    world.refuse()
    assert world.failed == [
        "cannot find addr for broker nobody",
        "cannot find addr for broker slaves",
        "broker b does not answer: refused",
    ]


def test_no_broker_is_found_without_name_servers() -> None:
    world = World("")
    world.ask("b")
    assert world.failed == ["cannot find addr for broker b"]


def test_groups_are_those_of_the_first_name_server_that_answers() -> None:
    world = World()
    found: list[list[BrokerData]] = []
    world.broker_directory.groups().addCallback(found.append)
    world.answer(("n1:1", RequestCode.GET_BROKER_CLUSTER_INFO), code=1)
    world.answer(("n2:1", RequestCode.GET_BROKER_CLUSTER_INFO))
    assert [[(group.broker_name, group.broker_addrs) for group in groups] for groups in found] == [
        [("b", {0: "b:1", 1: "b:2"}), ("slaves", {1: "s:1"})]
    ]


def test_without_an_answer_there_are_no_groups() -> None:
    found: list[list[BrokerData]] = []
    World("").broker_directory.groups().addCallback(found.append)
    assert found == [[]]
