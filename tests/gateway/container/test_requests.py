"""Requests that a container serves, and its answers to all others."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.options import load_properties
from mqgateway.gateway.codec.bodies import KVTable
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import AddBrokerRequestHeader, RemoveBrokerRequestHeader
from mqgateway.gateway.container import requests
from mqgateway.gateway.remoting.call import Call, RequestError
from tests.gateway.container.test_container import World
from tests.gateway.container.test_container import world as world  # the fixture
from tests.support.gateway.remoting.pair import StillPeer


def ask(world: World, code: int, header: Any = None, body: bytes = b"") -> list[Any]:
    """Return a list that receives the reply, or the code and remark of an error."""
    found: list[Any] = []

    def answered(reply: Any) -> None:
        found.append(reply if reply.code == 0 else (reply.code, reply.remark))

    def refused(error: Any) -> None:
        assert isinstance(error, RequestError)
        found.append((error.code, str(error)))

    call = Call(RemotingCommand.request(code), header, body, StillPeer(), 0)
    try:
        reply = requests.REQUESTS[code](world.container, call)
    except RequestError as error:
        refused(error)
        return found
    if isinstance(reply, Deferred):
        reply.addCallbacks(answered, lambda failure: refused(failure.value))
    else:
        answered(reply)
    return found


def test_every_request_code_is_served_or_unsupported() -> None:
    served, refused = set(requests.REQUESTS), set(requests.UNSUPPORTED)
    assert not served & refused
    assert served | refused == set(RequestCode)


def test_adding_is_answered_when_the_broker_is_up(world: World) -> None:
    header = AddBrokerRequestHeader(config_path=world.file("a"))
    answer = ask(world, RequestCode.ADD_BROKER, header)
    assert answer == []
    world.launch.children[0].say({"up": "10.0.0.1:20911"})
    assert answer[0].code == 0
    assert ask(world, RequestCode.ADD_BROKER, header) == [
        (1, "DefaultCluster_a_0 has already been added to current broker container")
    ]


def test_adding_without_a_path_is_refused(world: World) -> None:
    assert ask(world, RequestCode.ADD_BROKER, AddBrokerRequestHeader()) == [
        (ResponseCode.SYSTEM_ERROR, "addBroker config path is empty")
    ]


def test_removing_is_answered_when_the_broker_has_stopped(world: World) -> None:
    header = RemoveBrokerRequestHeader(broker_cluster_name="DefaultCluster", broker_name="a", broker_id=0)
    missing = [(ResponseCode.BROKER_NOT_EXIST, "Broker not exist")]
    assert ask(world, RequestCode.REMOVE_BROKER, header) == missing
    world.up()
    answer = ask(world, RequestCode.REMOVE_BROKER, header)
    assert answer == []
    world.launch.children[0].end("exit code 0")
    assert answer[0].code == 0
    assert ask(world, RequestCode.REMOVE_BROKER, header) == missing


def test_the_settings_are_the_containers(world: World) -> None:
    (reply,) = ask(world, RequestCode.GET_BROKER_CONFIG)
    found = {setting.key: setting.value for setting in load_properties(reply.body.decode(), "")}
    assert (found["namesrvAddr"], found["listenPort"]) == ("ns:9876", "10811")
    assert '"counter":0' in reply.header.version.replace(" ", "")


def test_name_servers_may_be_changed(world: World) -> None:
    world.up()
    (reply,) = ask(world, RequestCode.UPDATE_BROKER_CONFIG, body=b"namesrvAddr=other:1\n")
    assert reply.code == 0
    assert world.options.namesrv_addr == "other:1"
    assert world.launch.children[0].sent[-1] == {"namesrvAddr": "other:1"}


@pytest.mark.parametrize("name", ["brokerConfigPaths", "rocketmqHome", "configBlackList", "maxBrokers"])
def test_setting_of_the_built_in_black_list_cannot_be_changed(world: World, name: str) -> None:
    world.options.config_black_list = ""
    assert ask(world, RequestCode.UPDATE_BROKER_CONFIG, body=f"{name}=1\n".encode()) == [
        (ResponseCode.NO_PERMISSION, "Can not update config in black list.")
    ]


def test_invalid_change_is_refused(world: World) -> None:
    (refusal,) = ask(world, RequestCode.UPDATE_BROKER_CONFIG, body=b"brokerRestartDelay=soon\n")
    assert refusal[0] == ResponseCode.INVALID_PARAMETER
    assert (
        ask(world, RequestCode.UPDATE_BROKER_CONFIG, body=b"x=\\u12")[0][0] == ResponseCode.INVALID_PARAMETER
    )


def test_runtime_info_describes_each_broker(world: World) -> None:
    world.up()
    (reply,) = ask(world, RequestCode.GET_BROKER_RUNTIME_INFO)
    table = KVTable.decode(reply.body).table
    assert table["brokers"] == "1"
    assert table["DefaultCluster_a_0"] == "up, process 100, 10.0.0.1:20911, restarts 0"
