"""Requests of a broker to its name servers."""

from __future__ import annotations

from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.cluster.name_servers import LOOKUP_SECONDS, NameServers
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.exchange import PeerGone, RemotingError


class World:
    """Name servers that answer with a code, or not at all."""

    def __init__(self, **answers: int | None) -> None:
        self.answers = answers
        self.options = BrokerOptions(namesrv_addr=";".join(answers))
        self.servers = NameServers(self.options, self.request)
        self.asked: list[tuple[str, float]] = []

    def request(
        self, address: str, command: RemotingCommand, timeout: float = 0
    ) -> Deferred[RemotingCommand]:
        self.asked.append((address, timeout))
        code = self.answers[address]
        if code is None:
            return fail(PeerGone(f"{address} is gone"))
        return succeed(RemotingCommand.response(code, remark=address))

    def ask(self) -> str:
        """Return the server that answered, or the reason why none did."""
        found: list[RemotingCommand | Failure] = []
        self.servers.ask(RemotingCommand.request(1)).addBoth(found.append)
        [one] = found
        if isinstance(one, Failure):
            assert one.check(RemotingError)
            return one.getErrorMessage()
        return one.remark or ""


def test_first_successful_answer_is_returned() -> None:
    world = World(a=None, b=1, c=0, d=0)
    assert world.ask() == "c"
    assert world.asked == [(name, LOOKUP_SECONDS) for name in "abc"]


def test_last_error_is_reported() -> None:
    assert World(a=None, b=17).ask() == "the name server answers 17, b"
    assert World(a=17, b=None).ask() == "b is gone"


def test_missing_name_servers_fail() -> None:
    assert "namesrvAddr" in World().ask()


def test_setting_can_change_at_run_time() -> None:
    world = World(a=0)
    world.answers["z"] = 0
    world.options.namesrv_addr = "z"
    assert (world.servers.addresses, world.ask()) == (["z"], "z")


def test_malformed_answer_is_skipped() -> None:
    """Another name server may be a better one."""
    world, found = World(a=0, b=0), list[str]()

    def read(answer: RemotingCommand) -> str:
        if answer.remark == "a":
            raise ValueError("no JSON")
        return "read"

    world.servers.read(RemotingCommand.request(1), read).addCallback(found.append)
    assert found == ["read"]


def test_failed_request_is_skipped() -> None:
    world, found = World(a=0, b=0), list[RemotingCommand]()

    def refuse(address: str, command: RemotingCommand, timeout: float = 0) -> Deferred[RemotingCommand]:
        if address == "a":
            raise PeerGone("not an address")
        return world.request(address, command, timeout)

    NameServers(world.options, refuse).ask(RemotingCommand.request(1)).addCallback(found.append)
    assert [answer.remark for answer in found] == ["b"]
