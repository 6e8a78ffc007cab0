"""Requests about users and policies are answered as by RocketMQ."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mqgateway.engine.options.access import AuthorizationProfile
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.access.delegation_token import DelegationToken
from mqgateway.gateway.access.requests import REQUESTS
from mqgateway.gateway.access.scram import SCRAM_MECHANISMS
from mqgateway.gateway.access.tables import AccessTables, take_over
from mqgateway.gateway.access.users import UserType
from mqgateway.gateway.codec.codes import RequestCode
from tests.support.gateway.broker.helpers import Answer, MemoryBroker

TRY_LATER = (1, "An system error occurred, please try again later.")
DONE = (0, "not set any response code")
CREATE, UPDATE, DELETE, GET, LIST = 3001, 3002, 3003, 3004, 3005
CREATE_ACL, UPDATE_ACL, DELETE_ACL, GET_ACL, LIST_ACL = 3006, 3007, 3008, 3009, 3010


class Access(MemoryBroker):
    """Broker with the super user root and the normal user alice."""

    def __init__(self, profile: AuthorizationProfile = AuthorizationProfile.STRICT) -> None:
        super().__init__(options={"authorization_profile": profile})
        tables = AccessTables(self.disk, "/store/config", self.clock, None)
        tables.load()
        users = AccessAdministration(tables, self.options)
        users.create_user("", "root", "r", UserType.SUPER, None)
        users.create_user("", "alice", "a", None, None)
        self.broker.access = users

    def request(self, code: int, body: Any = None, by: str = "root", **ext: str) -> Answer:
        """Send a request of a user whose signature was verified."""
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask(code, body=data, ext={"AccessKey": by, **ext})

    def said(self, code: int, body: Any = None, by: str = "root", **ext: str) -> tuple[int, str | None]:
        answer = self.request(code, body, by, **ext)
        return answer.code, answer.remark


@pytest.fixture
def access() -> Access:
    return Access()


def test_user_is_created_updated_returned_and_deleted(access: Access) -> None:
    assert access.said(CREATE, {"password": "p", "userType": "nonsense"}, username="bob") == DONE
    shown = access.request(GET, username="bob").arrived.body
    assert shown == b'{"password":"p","userStatus":"enable","userType":"Normal","username":"bob"}'
    assert access.said(UPDATE, {"userStatus": "disable", "password": ""}, username="bob") == DONE
    assert json.loads(access.request(GET, username="bob").arrived.body) == {
        "username": "bob",
        "password": "p",
        "userType": "Normal",
        "userStatus": "disable",
    }
    assert access.said(DELETE, username="bob") == DONE
    answer = access.request(GET, username="bob")
    assert (answer.code, answer.arrived.body) == (0, b"")


def test_users_are_listed_with_filter(access: Access) -> None:
    users = json.loads(access.request(LIST).arrived.body)
    assert [user["username"] for user in users] == ["alice", "root"]
    assert [user["username"] for user in json.loads(access.request(LIST, filter="li").arrived.body)] == [
        "alice"
    ]
    assert access.request(LIST, filter="zed").arrived.body == b""


@pytest.mark.parametrize(
    ("code", "body", "by", "ext", "answer"),
    [
        (CREATE, {}, "root", {}, (29, "The username is blank")),
        (CREATE, {"password": "p"}, "root", {"username": ""}, (29, "The username is blank")),
        (CREATE, {"password": "p"}, "root", {"username": " "}, (16, "username can not be blank")),
        (CREATE, {"password": " "}, "root", {"username": "bob"}, (16, "password can not be blank")),
        (CREATE, {"password": "p"}, "root", {"username": "alice"}, (16, "The user is existed")),
        (
            CREATE,
            {"password": "p", "userType": "super"},
            "alice",
            {"username": "bob"},
            (1, "The super user can only be create by super user"),
        ),
        (UPDATE, {}, "root", {}, (29, "The username is blank")),
        (UPDATE, {"password": "p"}, "root", {"username": "bob"}, (16, "The user is not exist")),
        (
            UPDATE,
            {"userType": "Super"},
            "alice",
            {"username": "alice"},
            (1, "The super user can only be update by super user"),
        ),
        (
            UPDATE,
            {"password": "x"},
            "alice",
            {"username": "root"},
            (16, "The super user can only be update by super user"),
        ),
        (DELETE, None, "root", {}, (16, "username can not be blank")),
        (DELETE, None, "root", {"username": "zed"}, DONE),
        (
            DELETE,
            None,
            "alice",
            {"username": "root"},
            (16, "The super user can only be update by super user"),
        ),
        (GET, None, "root", {}, (29, "The username is blank")),
        (GET, None, "root", {"username": " "}, (29, "The username is blank")),
    ],
)
def test_invalid_user_request_is_refused(
    access: Access, code: int, body: Any, by: str, ext: dict[str, str], answer: tuple[int, str]
) -> None:
    assert access.said(code, body, by, **ext) == answer


def test_missing_or_malformed_body_is_refused(access: Access) -> None:
    for code in (CREATE, UPDATE):
        assert access.request(code, username="bob").code == 1
        assert access.request(code, b"{", username="bob").code == 1
    for code in (CREATE_ACL, UPDATE_ACL):
        for body in (None, {}, {"policies": []}):
            answer = access.said(code, body, subject="User:alice")
            assert answer[0] == 1 and str(answer[1]).endswith("The body of acl is null")
        assert access.request(code, b"[", subject="User:alice").code == 1


def entry(resource: str = "Topic:ta", **change: Any) -> dict[str, Any]:
    return {"resource": resource, "actions": ["Pub", "Sub"], "decision": "Allow"} | change


def policies(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"policies": [{"policyType": "Custom", "entries": list(entries)}], **more}


def test_policies_are_created_merged_returned_and_deleted(access: Access) -> None:
    ips = {"sourceIps": ["127.0.0.1"]}
    assert access.said(CREATE_ACL, policies(entry(**ips)), subject="User:alice") == DONE
    assert access.said(UPDATE_ACL, policies(entry("Group:g")), subject="User:alice") == DONE
    assert access.request(GET_ACL, subject="User:alice").arrived.body == (
        b'{"policies":[{"entries":['
        b'{"actions":["Pub","Sub"],"decision":"Allow","resource":"Topic:ta","sourceIps":["127.0.0.1"]},'
        b'{"actions":["Pub","Sub"],"decision":"Allow","resource":"Group:g"}],"policyType":"Custom"}],'
        b'"subject":"User:alice"}'
    )
    assert access.said(DELETE_ACL, subject="User:alice", resource="Topic:ta") == DONE
    assert b"ta" not in access.request(GET_ACL, subject="User:alice").arrived.body
    assert access.said(DELETE_ACL, subject="User:alice") == DONE
    answer = access.request(GET_ACL, subject="User:alice")
    assert (answer.code, answer.arrived.body) == (0, b"")


def test_subject_in_body_takes_precedence(access: Access) -> None:
    assert access.said(CREATE_ACL, policies(entry(), subject="User:root"), subject="User:alice") == DONE
    assert access.request(GET_ACL, subject="User:alice").arrived.body == b""
    assert access.request(GET_ACL, subject="User:root").arrived.body


def test_policies_are_listed_by_subject_and_resource(access: Access) -> None:
    for subject, resource in (("User:alice", "Topic:ta"), ("User:root", "Group:g")):
        access.request(CREATE_ACL, policies(entry(resource), entry("Topic:x")), subject=subject)

    def subjects(**filters: str) -> list[str]:
        body = access.request(LIST_ACL, **filters).arrived.body
        return [acl["subject"] for acl in json.loads(body)] if body else []

    assert subjects() == ["User:alice", "User:root"]
    assert subjects(subjectFilter="li") == ["User:alice"]
    assert subjects(resourceFilter="Group") == ["User:root"]
    assert subjects(resourceFilter="zed") == []
    (acl,) = json.loads(access.request(LIST_ACL, resourceFilter="ta").arrived.body)
    assert len(acl["policies"][0]["entries"]) == 1


@pytest.mark.parametrize(
    ("code", "body", "ext", "answer"),
    [
        (CREATE_ACL, policies(entry()), {"subject": "Role:x"}, TRY_LATER),
        (CREATE_ACL, policies(entry()), {}, TRY_LATER),
        (
            CREATE_ACL,
            policies(entry()),
            {"subject": "User:zed"},
            (16, "The subject of User:zed is not exist."),
        ),
        (CREATE_ACL, policies(), {"subject": "User:alice"}, (16, "The policy entries is empty.")),
        (CREATE_ACL, policies(entry("Queue:x")), {"subject": "User:alice"}, (16, "The resource is null.")),
        (
            UPDATE_ACL,
            policies(entry(sourceIps=["x"])),
            {"subject": "User:alice"},
            (16, "The source ip is invalid."),
        ),
        (DELETE_ACL, None, {"subject": "x"}, (16, "The subject is null.")),
        (DELETE_ACL, None, {"subject": "User:zed"}, (16, "The subject is not exist.")),
        (DELETE_ACL, None, {"subject": "User:alice"}, (16, "The acl is not exist.")),
        (DELETE_ACL, None, {"subject": "User:alice", "resource": "Que:x"}, (16, "The resource is null.")),
        (GET_ACL, None, {"subject": "User:zed"}, (16, "The subject is not exist.")),
        (GET_ACL, None, {}, TRY_LATER),
    ],
)
def test_invalid_policy_request_is_refused(
    access: Access, code: int, body: Any, ext: dict[str, str], answer: tuple[int, str]
) -> None:
    assert access.said(code, body, **ext) == answer


def test_passwords_are_shown_to_super_users_only() -> None:
    strict, standard = (Access(profile) for profile in AuthorizationProfile)
    for code, ext in ((GET, {"username": "root"}), (LIST, {})):
        assert b'"r"' in strict.request(code, by="root", **ext).arrived.body
        assert b"password" not in strict.request(code, by="alice", **ext).arrived.body
        assert b'"r"' in standard.request(code, by="alice", **ext).arrived.body


@pytest.mark.parametrize("code", sorted(REQUESTS), ids=lambda code: RequestCode(code).name)
def test_requests_fail_without_access_control(code: int) -> None:
    broker = MemoryBroker()
    body = json.dumps(policies(entry(), password="p")).encode()
    answer = broker.ask(code, body=body, ext={"username": "alice", "subject": "User:alice"})
    assert (answer.code, answer.remark) == TRY_LATER


def test_long_lists_yield_to_event_loop(access: Access) -> None:
    for number in range(100):
        access.request(CREATE, {"password": "p"}, username=f"user{number:03}")
        access.request(CREATE_ACL, policies(entry()), subject=f"User:user{number:03}")
    turns = 0
    in_turns = access.in_turns

    def counted(steps: Any) -> Any:
        nonlocal turns
        turns += 1
        return in_turns(steps)

    access.in_turns = counted  # type: ignore[method-assign]
    assert len(json.loads(access.request(LIST).arrived.body)) == 102
    assert len(json.loads(access.request(LIST_ACL).arrived.body)) == 100
    assert turns == 2


def test_slave_gets_whole_table_unless_current(access: Access) -> None:
    policy = {"entries": [{"resource": "Topic:t", "actions": ["Pub"], "decision": "Allow"}]}
    assert (
        access.said(CREATE_ACL, {"subject": "User:alice", "policies": [policy]}, subject="User:alice") == DONE
    )
    assert access.broker.access is not None
    tables, users = access.broker.access.tables, access.broker.access.tables.users
    credential = SCRAM_MECHANISMS["SCRAM-SHA-256"].credential(b"salted", b"salt", 4096)
    token = DelegationToken("id", "root", ("carol",), 1, 2, 3)
    alice = users.get("alice")
    assert alice is not None
    users.put(replace(alice, scram=(credential,), tokens=(token,)))
    for code in (LIST, LIST_ACL):
        answer = access.request(code, asTable="")
        slave = AccessTables(CrashDisk(), "/slave", access.clock, None)
        table = slave.users if code == LIST else slave.acls
        take_over(table, answer.arrived.body)
        assert list(table.all()) == list((tables.users if code == LIST else tables.acls).all())
        assert access.request(code, asTable=table.data_version.encode().decode()).arrived.body == b""
        assert access.request(code, by="alice", asTable="").arrived.body.startswith(b"["), (
            "it has the passwords"
        )
