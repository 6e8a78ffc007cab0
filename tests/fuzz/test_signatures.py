"""Every request code of every server, with access control on, from those who may not send it.

Unsigned, signed with a wrong secret, signed by somebody else, sent again with a field changed: all of it is
refused before anything else is looked at. A user without policies is refused what is not everybody's. Nothing
is remembered of any of this but for how many there were, and who may is served all the while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from mqgateway.engine.options import RemotingOptions, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.needs import needs_in
from mqgateway.gateway.access.resources import BY_HEADER
from mqgateway.gateway.access.server_needs import OF_CONTAINER, OF_CONTROLLER, OF_NAME_SERVER
from mqgateway.gateway.access.signature import ACCESS_KEY, SIGNATURE, Credentials
from mqgateway.gateway.broker.requests import NOT_ON_FAST_PORT
from mqgateway.gateway.broker.requests import REQUESTS as OF_BROKER
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.container.service import ContainerService
from tests.fuzz.world import BROKER_PORT, NAMESRV_PORT, World
from tests.support.gateway.container.fakes import FakeLaunch
from tests.support.gateway.controller.world import PORT as CONTROLLER_PORT
from tests.support.gateway.controller.world import ControllerWorld
from tests.support.gateway.namesrv.world import NetClock
from tests.support.gateway.remoting.pair import Net, Talker

CONTAINER_PORT = 10811
ROOT = Credentials("root", "secret")
ACCESS: dict[str, Any] = {
    "authentication_enabled": True,
    "authorization_enabled": True,
    "init_authentication_user": '{"username":"root","password":"secret"}',
    "inner_client_authentication_credentials": '{"accessKey":"inner","secretKey":"hidden"}',
}


class Container:
    """A container without brokers."""

    def __init__(self) -> None:
        self.net = Net()
        self.service = ContainerService(
            ContainerOptions(**ACCESS),
            RemotingOptions(listen_port=CONTAINER_PORT),
            TlsOptions(),
            reactor=self.net,
            clock=NetClock(self.net),
            disk=CrashDisk(),
            launch=FakeLaunch(),
            default_name="host",
        )
        self.service.start()


@dataclass
class Port:
    """A port of a server, and the codes it serves."""

    codes: tuple[int, ...]
    ask: Callable[[RemotingCommand], RemotingCommand]

    def give(self, user: Credentials) -> None:
        """Create a normal user."""
        command = RemotingCommand(
            RequestCode.AUTH_CREATE_USER,
            ext_fields={"username": user.access_key},
            body=f'{{"password":"{user.secret_key}"}}'.encode(),
        )
        ROOT.sign(command)
        assert self.ask(command).code == 0


def asking(
    net: Net, port: int, settle: Callable[[float], None]
) -> Callable[[RemotingCommand], RemotingCommand]:
    """Asks on one connection and waits for the answer, which may take its time after many refusals."""
    talker = Talker()
    net.meet(port, talker, ("192.168.6.6", 20_000))

    def ask(command: RemotingCommand) -> RemotingCommand:
        talker.transport.write(encode_command(command))
        settle(0.0)
        for _ in range(20):
            if answers := talker.take():
                (answer,) = answers
                return answer
            settle(0.5)
        raise AssertionError(f"no answer to {command.code}")

    return ask


def codes(table: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(table))


@pytest.fixture
def world() -> Iterator[World]:
    with World(**ACCESS) as world:
        yield world


@pytest.fixture(params=["name server", "broker", "fast port", "controller", "container"])
def port(request: pytest.FixtureRequest) -> Iterator[Port]:
    kind = request.param
    if kind == "controller":
        controller = ControllerWorld(**ACCESS)
        yield Port(codes(OF_CONTROLLER), asking(controller.net, CONTROLLER_PORT, controller.net.settle))
    elif kind == "container":
        container = Container()
        yield Port(codes(OF_CONTAINER), asking(container.net, CONTAINER_PORT, container.net.settle))
    else:
        world = request.getfixturevalue("world")
        ports = {"name server": NAMESRV_PORT, "broker": BROKER_PORT, "fast port": BROKER_PORT - 2}
        served = {
            "name server": codes(OF_NAME_SERVER),
            "broker": codes(OF_BROKER),
            "fast port": codes(set(OF_BROKER) - NOT_ON_FAST_PORT),
        }
        yield Port(served[kind], asking(world.net, ports[kind], world.settle))


def signed(code: int, who: Credentials) -> RemotingCommand:
    """A request with a field that every reader passes over, so that there is one to change."""
    command = RemotingCommand(code, ext_fields={"other": "1"})
    who.sign(command)
    return command


def refused(answer: RemotingCommand, sentence: str) -> bool:
    return (answer.code, answer.remark) == (16, sentence)


NOBODY, FAILED = "username cannot be null.", "check signature failed."


def test_nobody_gets_further_who_has_not_signed(port: Port) -> None:
    for code in port.codes:
        assert refused(port.ask(RemotingCommand(code)), NOBODY), code
        without = RemotingCommand(code, ext_fields={"other": "1", ACCESS_KEY: ""})
        assert refused(port.ask(without), NOBODY), code


def test_nobody_gets_further_with_a_signature_that_is_not_theirs(port: Port) -> None:
    alice = Credentials("alice", "alice's")
    port.give(alice)
    for code in port.codes:
        wrong = signed(code, Credentials("root", "guess"))
        assert refused(port.ask(wrong), FAILED), code
        borrowed = signed(code, alice)
        borrowed.ext_fields[ACCESS_KEY] = "root"
        assert refused(port.ask(borrowed), FAILED), code
        unknown = signed(code, Credentials("zed", "secret"))
        assert refused(port.ask(unknown), "User:zed is not found."), code
        for change in ({"other": "2"}, {"another": "1"}, {SIGNATURE: ""}):
            changed = signed(code, ROOT)
            changed.ext_fields |= change
            assert refused(port.ask(changed), FAILED), code
        longer = signed(code, ROOT)
        longer.body = b"{}"
        assert refused(port.ask(longer), FAILED), code


def test_a_user_without_policies_is_refused_what_is_not_everybodys(port: Port) -> None:
    alice = Credentials("alice", "alice's")
    port.give(alice)
    for code in port.codes:
        answer = port.ask(signed(code, alice))
        if answer.code != 16:
            assert code in EVERYBODYS, (code, answer)
    assert port.ask(signed(port.codes[0], ROOT)).code != 16


EVERYBODYS = {
    RequestCode.CHECK_CLIENT_CONFIG,
    # Nothing is named in these, so there is nothing to refuse.
    *(code for code in BY_HEADER if not needs_in(BY_HEADER, code, {"other": "1"}, "c")),
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
}


def test_brokers_and_name_servers_believe_one_another(world: World) -> None:
    ask = asking(world.net, NAMESRV_PORT, world.settle)
    answer = ask(signed(RequestCode.GET_BROKER_CLUSTER_INFO, ROOT))
    assert b"broker-a" in answer.body
