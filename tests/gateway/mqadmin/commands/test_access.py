"""Users and policies, as a server answers that has them."""

from __future__ import annotations

import json

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from tests.support.gateway.mqadmin.answers import answering, body

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


def test_what_is_changed_of_a_user_is_one_thing() -> None:
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


def test_users_are_copied_where_they_are_not_yet() -> None:
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
