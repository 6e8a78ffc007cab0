"""Questions to brokers about users and policies: what is asked, and how answers are read."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client import admin_access as access
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec.bodies import AclInfo, UserInfo
from mqgateway.gateway.codec.command import RemotingCommand


def answer(body: bytes) -> RemotingCommand:
    return RemotingCommand.response(0, body=body)


def test_users_are_reported_by_name_and_body() -> None:
    alice = UserInfo(username="alice", password="secret", user_type="Normal")
    for question in (access.create_user(alice), access.update_user(alice)):
        assert question.header is not None and question.header.encode() == {"username": "alice"}
        assert UserInfo.decode(question.body) == alice
    deleted = access.delete_user("alice").header
    assert deleted is not None and deleted.encode() == {"username": "alice"}


def test_users_are_read() -> None:
    assert access.user("alice").read(answer(b'{"username":"alice"}')) == UserInfo(username="alice")
    assert access.user("alice").read(answer(b"")) is None
    assert access.user("alice").read(answer(b"null")) is None
    assert access.users("a").read(answer(b'[{"username":"alice"}]')) == [UserInfo(username="alice")]
    assert access.users().read(answer(b"")) == []


def test_policies_are_reported_and_read() -> None:
    acl = AclInfo(subject="User:alice")
    for question in (access.create_acl(acl), access.update_acl(acl)):
        assert question.header is not None and question.header.encode() == {"subject": "User:alice"}
        assert AclInfo.decode(question.body) == acl
    deleted = access.delete_acl("User:alice", "Topic:x", "Custom").header
    assert deleted is not None and deleted.encode() == {
        "subject": "User:alice",
        "policyType": "Custom",
        "resource": "Topic:x",
    }
    assert access.acl("User:alice").read(answer(b'{"subject":"User:alice","policies":[]}')) == acl
    assert access.acls("alice", "Topic").read(answer(b"[]")) == []


def test_an_answer_that_cannot_be_read_is_an_error_of_the_client() -> None:
    with pytest.raises(ClientError, match="cannot be read"):
        access.users().read(answer(b"[7]"))
