"""Commands for users and policies, against fixed answers and against brokers that have them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.steps import run
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.control import AccessControl
from mqgateway.gateway.access.requests import REQUESTS
from mqgateway.gateway.access.settings import AccessSettings
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command
from mqgateway.gateway.remoting.dispatch import Dispatcher
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.gateway.mqadmin.answers import answering, body
from tests.support.gateway.mqadmin.tool import ScriptedTool

ALICE = {"username": "alice", "password": "p", "userType": "Super", "userStatus": "enable"}
ACL = {
    "subject": "User:alice",
    "policies": [
        {
            "policyType": "CUSTOM",
            "entries": [{"resource": "Topic:a", "actions": ["Pub", "Sub"], "decision": "Allow"}],
        }
    ],
}
_USER_WIDTHS = "{:<16}  {:<22}  {:<22}  {:<22}\n"
_ACL_WIDTHS = "{:<16}  {:<10}  {:<22}  {:<20}  {:<24}  {:<10}\n"
USER_TABLE = _USER_WIDTHS.format("#UserName", "#Password", "#UserType", "#UserStatus")
USER_TABLE += _USER_WIDTHS.format("alice", "p", "Super", "enable")
ACL_TABLE = _ACL_WIDTHS.format("#Subject", "#PolicyType", "#Resource", "#Actions", "#SourceIp", "#Decision")
ACL_TABLE += _ACL_WIDTHS.format("User:alice", "CUSTOM", "Topic:a", "[Pub, Sub]", "null", "Allow")


def test_a_user_is_created_at_slaves_too() -> None:
    tool = answering({})
    assert tool.run("createUser -c C -u alice -p secret -t Super") == 0
    assert tool.out == "create user to a:1 success.\ncreate user to a:2 success.\n"
    address, request = tool.asked[1]
    assert (address, request.code, request.ext_fields["username"]) == ("a:1", 3001, "alice")
    assert json.loads(request.body) == {"username": "alice", "password": "secret", "userType": "Super"}


def test_update_of_a_user_changes_one_field() -> None:
    tool = answering({})
    assert tool.run("updateUser -b a:1 -u alice -s disable") == 0
    assert json.loads(tool.asked[0][1].body) == {"username": "alice", "userStatus": "disable"}
    assert tool.out == "update user to a:1 success.\n"
    assert tool.run("updateUser -b a:1 -u alice -s disable -p x") == 2
    assert tool.run("deleteUser -b a:1 -u alice") == 0 and tool.out == "delete user to a:1 success.\n"


def test_users_are_shown_in_a_table() -> None:
    tool = answering({RequestCode.AUTH_GET_USER: body(ALICE), RequestCode.AUTH_LIST_USER: body([ALICE])})
    assert tool.run("getUser -b a:1 -u alice") == 0 and tool.out == USER_TABLE
    assert tool.run("listUser -c C") == 0 and tool.out == USER_TABLE + "get user from a:1 success.\n"
    assert answering({RequestCode.AUTH_LIST_USER: body([])}).json("listUser -b a:1")["rows"] == []
    assert tool.run("getUser -b a:1") == 2


def test_copied_users_are_updated_or_created() -> None:
    def user(request: RemotingCommand) -> RemotingCommand:
        return body(ALICE) if request.ext_fields["username"] == "alice" else RemotingCommand.response(0)

    bob = {**ALICE, "username": "bob"}
    tool = answering({RequestCode.AUTH_LIST_USER: body([ALICE, bob]), RequestCode.AUTH_GET_USER: user})
    assert tool.run("copyUser -f a:1 -t a:2") == 0
    assert (
        tool.out == "copy user of alice from a:1 to a:2 success.\ncopy user of bob from a:1 to a:2 success.\n"
    )
    changed = [(request.code, request.ext_fields.get("username")) for _, request in tool.asked]
    assert (RequestCode.AUTH_UPDATE_USER, "alice") in changed
    assert (RequestCode.AUTH_CREATE_USER, "bob") in changed


def test_a_policy_is_an_entry_for_each_resource() -> None:
    tool = answering({})
    line = "-b a:1 -s User:alice -r Topic:a,Group:b -a Pub,Sub -d Allow -i 10.0.0.1"
    assert tool.run(f"createAcl {line}") == 0 and tool.out == "create acl to a:1 success.\n"
    (policy,) = json.loads(tool.asked[0][1].body)["policies"]
    assert [one["resource"] for one in policy["entries"]] == ["Topic:a", "Group:b"]
    assert policy["entries"][0]["actions"] == ["Pub", "Sub"]
    assert policy["entries"][0]["sourceIps"] == ["10.0.0.1"]
    assert tool.run(f"updateAcl {line}") == 0 and tool.out == "update acl to a:1 success.\n"
    assert tool.run("deleteAcl -b a:1 -s User:alice -r Topic:a") == 0
    assert tool.out == "delete acl to a:1 success.\n"


def test_policies_are_shown_in_a_table() -> None:
    tool = answering({RequestCode.AUTH_GET_ACL: body(ACL), RequestCode.AUTH_LIST_ACL: body([ACL])})
    assert tool.run("getAcl -b a:1 -s User:alice") == 0 and tool.out == ACL_TABLE
    assert tool.run("listAcl -c C") == 0 and tool.out == ACL_TABLE
    assert tool.run("copyAcl -f a:1 -t a:2") == 0
    assert tool.out == "copy acl of User:alice from a:1 to a:2 success.\n"
    assert tool.asked[-1][1].code == RequestCode.AUTH_UPDATE_ACL


class Secured:
    """Broker that authenticates every request, with its requests about users and policies."""

    def __init__(self) -> None:
        options = BrokerOptions(
            authentication_enabled=True,
            authorization_enabled=True,
            init_authentication_user='{"username":"root","password":"a-secret"}',
        )
        clock, disk = ManualClock(), CrashDisk()
        settings = AccessSettings.of(options, disk, "C")
        tables = AccessTables(disk, "/config", clock, None)
        control = AccessControl(settings, tables, options, clock, lambda seconds: Deferred())
        control.load()
        self.users = control.administration
        context = SimpleNamespace(access=self.users)
        self._port = Dispatcher(context, control.guarded(REQUESTS, options), {}, clock=clock, hooks=[control])

    def answer(self, request: RemotingCommand) -> RemotingCommand:
        """Return the answer; both commands pass through their encoding."""
        command = decode_command(encode_command(request)[4:])
        answer: Any = self._port.dispatch(command, FakePeer("10.0.0.7:5"))
        return decode_command((answer if isinstance(answer, bytes) else run(answer))[4:])

    def rows(self) -> list[Any]:
        """Return all users and policies."""
        return [*self.users.users(), *(acl.info() for acl in self.users.acls())]


def between(brokers: dict[str, Secured], secret: str = "a-secret") -> ScriptedTool:
    tool = ScriptedTool(ManualClock(), lambda address, request: brokers[address].answer(request))
    tool.environment = {"ROCKETMQ_HOME": "/rmq"}
    tool.files = {"/rmq/conf/tools.yml": f"accessKey: root\nsecretKey: {secret}\n"}
    return tool


def test_users_and_policies_are_copied_between_brokers() -> None:
    here, there = Secured(), Secured()
    brokers = {"here:1": here, "there:2": there}
    tool = between(brokers)
    assert tool.run("createUser -b here:1 -u alice -p alice-secret") == 0
    assert tool.run("createUser -b here:1 -u bob -p bob-secret -t Super") == 0
    assert tool.run("updateUser -b here:1 -u bob -s disable") == 0
    grant = "-s User:alice -r Topic:a*,Group:g -a Pub,Sub -d Allow -i 10.0.0.0/8"
    assert tool.run(f"createAcl -b here:1 {grant}") == 0
    assert tool.run("createAcl -b here:1 -s User:alice -r * -a Get -d Deny") == 0
    assert tool.run("copyUser -f here:1 -t there:2") == 0 and tool.out.count("success.") == 3
    assert tool.run("copyAcl -f here:1 -t there:2") == 0
    assert tool.out == "copy acl of User:alice from here:1 to there:2 success.\n"
    assert there.rows() == here.rows()
    again = Secured()
    brokers["again:3"] = again
    assert tool.run("copyUser -f there:2 -t again:3 -u alice,nobody") == 0
    assert tool.out == "copy user of alice from there:2 to again:3 success.\n"
    assert tool.run("copyAcl -f there:2 -t again:3 -s User:alice") == 0
    assert again.users.acl("alice") == here.users.acl("alice")
    assert tool.run("updateUser -b here:1 -u alice -p new-secret") == 0
    assert tool.run("copyUser -f here:1 -t there:2 -u alice") == 0
    copied = there.users.user("alice")
    assert copied is not None and copied.password == "new-secret"


def test_copy_with_a_wrong_secret_copies_no_user() -> None:
    here, there = Secured(), Secured()
    tool = between({"here:1": here, "there:2": there}, "wrong-secret")
    assert tool.run("copyUser -f here:1 -t there:2") != 0
    assert "check signature failed" in tool.err and len(there.users.users()) == 1
