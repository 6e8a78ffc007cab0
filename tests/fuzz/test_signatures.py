"""Every request code of every server, with access control on, from callers that may not send it.

Requests that are unsigned, signed with a wrong secret or by another user, or changed after signing are
refused before anything else is read, in either form of the header, and one-way. A user without policies is
refused the requests that need one. The servers keep only the number of refusals by address, and authorized
callers are served all the while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from mqgateway.engine.options import OptionSet, RemotingOptions, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access import throttling
from mqgateway.gateway.access.control import AccessControl
from mqgateway.gateway.access.needs import needs_in
from mqgateway.gateway.access.resources import BY_HEADER
from mqgateway.gateway.access.server_access import ServerAccess
from mqgateway.gateway.access.server_needs import OF_CONTAINER, OF_CONTROLLER, OF_NAME_SERVER
from mqgateway.gateway.access.signature import ACCESS_KEY, SIGNATURE, Credentials
from mqgateway.gateway.broker.requests import NOT_ON_FAST_PORT
from mqgateway.gateway.broker.requests import REQUESTS as OF_BROKER
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode, SerializeType
from mqgateway.gateway.codec.command import ONEWAY_FLAG, RemotingCommand, encode_command
from mqgateway.gateway.codec.version_4 import AclRequestCode
from mqgateway.gateway.container.service import ContainerService
from mqgateway.gateway.remoting.call import Reply
from mqgateway.gateway.runtime.service import Runtime
from tests.fuzz.sizes import check_sizes, table_sizes
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
            OptionSet(ContainerOptions(**ACCESS), RemotingOptions(listen_port=CONTAINER_PORT), TlsOptions()),
            Runtime(self.net, NetClock(self.net), CrashDisk()),
            launch=FakeLaunch(),
            default_name="host",
        )
        self.service.start()


@dataclass
class Port:
    """A port of a server, the codes it serves, its access control, and how large its tables are."""

    codes: tuple[int, ...]
    ask: Ask
    control: AccessControl
    sizes: Callable[[], dict[str, int]] = dict

    def give(self, user: Credentials) -> None:
        """Create a normal user."""
        command = RemotingCommand(
            RequestCode.AUTH_CREATE_USER,
            ext_fields={"username": user.access_key},
            body=f'{{"password":"{user.secret_key}"}}'.encode(),
        )
        ROOT.sign(command)
        assert self.ask(command).code == 0


Ask = Callable[[RemotingCommand], RemotingCommand]


def asking(net: Net, port: int, settle: Callable[[float], None], ip: str = "192.168.6.6") -> Ask:
    """Return a function that sends a request on one connection and waits for the answer.

    The answer is delayed after many refusals. For a one-way request the function returns the request itself,
    once time for an answer has passed.
    """
    talker = Talker()
    net.meet(port, talker, (ip, 20_000))

    def ask(command: RemotingCommand) -> RemotingCommand:
        talker.transport.write(encode_command(command))
        settle(0.0)
        if command.is_oneway:
            settle(0.5)
            assert not talker.take(), command.code
            return command
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
    # The name server of several brokers serves their addition, removal and state besides.
    more = (RequestCode.ADD_BROKER, RequestCode.REMOVE_BROKER, RequestCode.GET_BROKER_RUNTIME_INFO)
    with World(dict.fromkeys(more, lambda context, call: Reply()), **ACCESS) as world:
        yield world


@pytest.fixture(params=["name server", "broker", "fast port", "controller", "container"])
def port(request: pytest.FixtureRequest) -> Iterator[Port]:
    kind = request.param
    if kind == "controller":
        controller = ControllerWorld(**ACCESS)
        ask = asking(controller.net, CONTROLLER_PORT, controller.net.settle)
        yield Port(codes(OF_CONTROLLER), ask, guard(controller.service._access))
    elif kind == "container":
        container = Container()
        ask = asking(container.net, CONTAINER_PORT, container.net.settle)
        yield Port(codes(OF_CONTAINER), ask, guard(container.service._access))
    else:
        world = request.getfixturevalue("world")
        services = {"name server": world.namesrv, "broker": world.service, "fast port": world.service}
        ports = {"name server": NAMESRV_PORT, "broker": BROKER_PORT, "fast port": BROKER_PORT - 2}
        served = {
            "name server": codes(OF_NAME_SERVER),
            "broker": codes(OF_BROKER),
            "fast port": codes(set(OF_BROKER) - NOT_ON_FAST_PORT),
        }
        ask = asking(world.net, ports[kind], world.settle)
        yield Port(served[kind], ask, guard(services[kind]._access), lambda: table_sizes(world))


def guard(access: AccessControl | ServerAccess | None) -> AccessControl:
    """Return the checks of requests, which are turned on."""
    control = access.control if isinstance(access, ServerAccess) else access
    assert control is not None
    return control


def signed(
    code: int, who: Credentials, flag: int = 0, form: SerializeType = SerializeType.JSON
) -> RemotingCommand:
    """Return a signed request with a field that every reader ignores, so that there is one to change."""
    command = RemotingCommand(code, flag=flag, ext_fields={"other": "1"}, serialize_type=form)
    who.sign(command)
    return command


def refused(answer: RemotingCommand, sentence: str) -> bool:
    return (answer.code, answer.remark) == (16, sentence)


NOBODY, FAILED = "username cannot be null.", "check signature failed."
UNKNOWN = "User:zed is not found."
ADDRESSES = {"addresses that a broker refused", "addresses that a name server refused"}


def test_unsigned_requests_are_refused(port: Port) -> None:
    before = port.sizes()
    for code in port.codes:
        assert refused(port.ask(RemotingCommand(code)), NOBODY), code
        without = RemotingCommand(code, ext_fields={"other": "1", ACCESS_KEY: ""})
        assert refused(port.ask(without), NOBODY), code
    assert port.sizes() == before and not len(port.control.late_refusals)


def test_the_codes_are_all_that_are_served(port: Port) -> None:
    """Other codes are only answered as not supported."""
    for code in sorted({*RequestCode, 4711} - {*port.codes}):
        for command in (RemotingCommand(code), signed(code, ROOT)):
            assert port.ask(command).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED, code


def test_wrong_signatures_are_refused(port: Port) -> None:
    alice = Credentials("alice", "alice's")
    port.give(alice)
    before = port.sizes()
    for code in port.codes:
        # The binary form has 16 bits for a code.
        for form in SerializeType if code < 1 << 15 else [SerializeType.JSON]:
            wrong = signed(code, Credentials("root", "guess"), form=form)
            assert refused(port.ask(wrong), FAILED), code
        borrowed = signed(code, alice)
        borrowed.ext_fields[ACCESS_KEY] = "root"
        assert refused(port.ask(borrowed), FAILED), code
        unknown = signed(code, Credentials("zed", "secret"))
        assert refused(port.ask(unknown), UNKNOWN), code
        for change in ({"other": "2"}, {"another": "1"}, {SIGNATURE: ""}, {SIGNATURE: "é" * 1000}):
            changed = signed(code, ROOT)
            changed.ext_fields |= change
            assert refused(port.ask(changed), FAILED), code
        longer = signed(code, ROOT)
        longer.body = b"{}"
        assert refused(port.ask(longer), FAILED), code
    assert len(port.control.late_refusals) == 1
    assert grown(before, port.sizes()) <= ADDRESSES


def test_oneway_requests_are_refused_without_an_answer(port: Port) -> None:
    before = port.sizes()
    for code in port.codes:
        port.ask(RemotingCommand(code, flag=ONEWAY_FLAG))
        port.ask(signed(code, Credentials("root", "guess"), ONEWAY_FLAG))
    create = RemotingCommand(
        RequestCode.AUTH_CREATE_USER,
        flag=ONEWAY_FLAG,
        ext_fields={"username": "eve"},
        body=b'{"password":"eve\'s"}',
    )
    for who in (Credentials("root", "guess"), ROOT):
        assert port.control.tables.users.get("eve") is None
        assert grown(before, port.sizes()) <= ADDRESSES
        who.sign(create)
        port.ask(create)
    assert port.control.tables.users.get("eve") is not None, "who may is obeyed"


def grown(before: dict[str, int], after: dict[str, int]) -> set[str]:
    """Return the names of the tables that have another size now."""
    return {name for name in before if after[name] != before[name]}


def test_addresses_that_were_refused_are_a_bounded_table(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttling, "ADDRESSES_MAX", 30)
    for number in range(40):
        for port in (NAMESRV_PORT, BROKER_PORT, BROKER_PORT - 2):
            ask = asking(world.net, port, world.settle, f"192.168.7.{number}")
            assert refused(ask(signed(RequestCode.AUTH_LIST_USER, Credentials("zed", "x"))), UNKNOWN)
    check_sizes(world)
    assert len(guard(world.service._access).late_refusals) == 30


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
    # These name no resource, so there is nothing to refuse.
    *(code for code in BY_HEADER if not needs_in(BY_HEADER, code, {"other": "1"}, "c")),
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
}


ACCOUNTS = b"""
accounts:
- {accessKey: the-admin, secretKey: the-admin-secret, admin: true}
- {accessKey: the-user, secretKey: the-user-secret}
"""


@pytest.mark.parametrize("port", [BROKER_PORT, BROKER_PORT - 2])
def test_accounts_in_files_are_asked_for_every_code(port: int) -> None:
    """ACL 1.0: its refusals have the code 1 and name an exception."""
    world = World(acl_enable=True, rocketmq_home="/rmq", authentication_metadata_provider="")
    write_table(world.disk, "/rmq/conf/plain_acl.yml", ACCOUNTS)
    admin, user = (Credentials(name, f"{name}-secret") for name in ("the-admin", "the-user"))
    with world:
        ask = asking(world.net, port, world.settle)
        served = {*OF_BROKER, *AclRequestCode}
        before = table_sizes(world)
        for code in codes(served if port == BROKER_PORT else served - NOT_ON_FAST_PORT):
            borrowed, changed = signed(code, user), signed(code, admin)
            borrowed.ext_fields[ACCESS_KEY] = admin.access_key
            changed.ext_fields["other"] = "2"
            for wrong, sentence in (
                (RemotingCommand(code), "No accessKey is configured"),
                (signed(code, Credentials("zed", "secret")), "No acl config for zed"),
                (signed(code, Credentials("the-admin", "guess")), "Check signature failed"),
                (borrowed, "Check signature failed"),
                (changed, "Check signature failed"),
            ):
                answer = ask(wrong)
                assert answer.code == 1 and f"AclException: {sentence}" in (answer.remark or ""), code
        assert grown(before, table_sizes(world)) == {"addresses that a broker refused"}
        assert ask(signed(AclRequestCode.GET_BROKER_CLUSTER_ACL_CONFIG, admin)).code == 0


def test_brokers_and_name_servers_believe_one_another(world: World) -> None:
    ask = asking(world.net, NAMESRV_PORT, world.settle)
    answer = ask(signed(RequestCode.GET_BROKER_CLUSTER_INFO, ROOT))
    assert b"broker-a" in answer.body
