"""Delegation tokens: requests about them, and logins with them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mqgateway.gateway.access.bindings import ANY_HOST, Binding
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.policies import (
    EVERYTHING,
    Action,
    Decision,
    Policy,
    PolicyEntry,
    PolicyType,
    ResourceType,
    literal,
)
from mqgateway.gateway.access.users import User, UserType
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.create_delegation_token_request import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from mqgateway.gateway.kafka.codec.messages.describe_delegation_token_request import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from mqgateway.gateway.kafka.codec.messages.expire_delegation_token_request import (
    ExpireDelegationTokenRequest,
)
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.codec.messages.renew_delegation_token_request import RenewDelegationTokenRequest
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_request import SaslAuthenticateRequest
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_request import SaslHandshakeRequest
from mqgateway.gateway.kafka.group_names import store_group
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.client import PASSWORD, KafkaClient, KafkaScene, kafka_scene
from tests.support.gateway.kafka.scram import ScramClient

TOKENS: dict[str, Any] = {**ACCESS, "kafka_delegation_token_secret_key": "key"}
EVERY = (
    CreateDelegationTokenRequest(),
    RenewDelegationTokenRequest(b"x"),
    ExpireDelegationTokenRequest(b"x"),
    DescribeDelegationTokenRequest(None),
)


def owned(owner: str, *renewers: str, kind: str = "User") -> CreateDelegationTokenRequest:
    """Return the request for a token of an owner."""
    return CreateDelegationTokenRequest(
        "User", owner, [CreatableRenewers(kind, name) for name in renewers], -1
    )


def token_ids(client: KafkaClient, *owners: str) -> list[str]:
    """Return the ids of the tokens that are described."""
    named = [DescribeDelegationTokenOwner("User", owner) for owner in owners] or None
    answer = client.ask(DescribeDelegationTokenRequest(named))
    assert answer.error_code == E.NONE
    return [one.token_id for one in answer.tokens]


def log_in(scene: KafkaScene, token: Any, mechanism: str = "SCRAM-SHA-256") -> tuple[KafkaClient, Any]:
    """Authenticate a client by a token; return it with the last answer."""
    client = scene.stranger()
    client.ask(SaslHandshakeRequest(mechanism))
    password = base64.b64encode(token.hmac).decode()
    digest = "sha512" if "512" in mechanism else "sha256"
    scram = ScramClient(digest, token.token_id, password, extensions=",tokenauth=true")
    answer = client.ask(SaslAuthenticateRequest(scram.first()))
    return client, client.ask(SaslAuthenticateRequest(scram.final(answer.auth_bytes)))


def allow(scene: KafkaScene, user: str, kind: ResourceType, name: str, operation: AclOperation) -> None:
    """Give a user a right."""
    access = scene.operations.access
    assert access is not None
    binding = Binding(user, literal(kind, store_group(name)), ANY_HOST, operation, Decision.ALLOW)
    access.add_bindings(user, [binding])


@pytest.mark.parametrize("version", [1, 2, 3])
def test_token_is_created_with_its_times(version: int) -> None:
    with kafka_scene(**TOKENS, kafka_delegation_token_max_lifetime_millis=9000) as scene:
        client, now = scene.client(user="alice"), scene.operations.clock.millis()
        made = client.ask(CreateDelegationTokenRequest(renewers=[CreatableRenewers("User", "bob")]), version)
        assert (made.error_code, made.principal_type, made.principal_name) == (E.NONE, "User", "alice")
        assert made.issue_timestamp_ms >= now and len(made.hmac) == 64
        assert made.max_timestamp_ms == made.expiry_timestamp_ms == made.issue_timestamp_ms + 9000
        [shown] = client.ask(DescribeDelegationTokenRequest(None), version).tokens
        assert (shown.token_id, shown.hmac, shown.principal_name) == (made.token_id, made.hmac, "alice")
        assert shown.token_requester_principal_name == ("alice" if version >= 3 else "")
        assert shown.max_timestamp == made.max_timestamp_ms
        assert [(one.principal_type, one.principal_name) for one in shown.renewers] == [("User", "bob")]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_client_with_a_token_is_its_owner_until_it_expires(mechanism: str) -> None:
    with kafka_scene(**TOKENS, kafka_delegation_token_expiry_time_millis=5000) as scene:
        made = scene.client(user="alice").ask(CreateDelegationTokenRequest())
        client, answer = log_in(scene, made, mechanism)
        assert answer.error_code == E.NONE and 0 < answer.session_lifetime_ms <= 5000
        assert {one._session.user for one in scene.connections() if one._session} == {"alice"}
        assert client.ask(MetadataRequest(topics=[])).brokers
        scene.settle(6)
        client.write(client.frame(MetadataRequest(topics=[])))
        assert client.frames(1, 1) == [] and client.lost
        assert log_in(scene, made, mechanism)[1].error_code == E.SASL_AUTHENTICATION_FAILED


def test_wrong_secret_unknown_token_and_another_key_are_refused() -> None:
    with kafka_scene(**TOKENS) as scene:
        made = scene.client(user="alice").ask(CreateDelegationTokenRequest())
        good, made.hmac = made.hmac, b"wrong"
        assert log_in(scene, made)[1].error_code == E.SASL_AUTHENTICATION_FAILED
        made.hmac, made.token_id = good, "unknown"
        assert log_in(scene, made)[1].error_code == E.SASL_AUTHENTICATION_FAILED
        made.token_id = "alice"
        assert log_in(scene, made)[1].error_code == E.SASL_AUTHENTICATION_FAILED


def test_refused_tokens_are_in_the_audit_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "mqgateway.audit")
    with kafka_scene(**TOKENS) as scene:
        made = scene.client(user="alice").ask(CreateDelegationTokenRequest())
        caplog.clear()
        known, made.hmac = made.token_id, b"wrong"
        log_in(scene, made)
        made.token_id = "unknown"
        log_in(scene, made)
    wrong, unknown = (one.getMessage() for one in caplog.records if one.name == "mqgateway.audit")
    assert f"user=alice token={known} " in wrong and 'reason="check signature failed."' in wrong
    assert "event=authentication token=unknown " in unknown
    assert 'reason="the delegation token is unknown or has expired."' in unknown


def test_client_with_a_token_may_ask_nothing_about_tokens() -> None:
    with kafka_scene(**TOKENS) as scene:
        client, _ = log_in(scene, scene.client(user="alice").ask(CreateDelegationTokenRequest()))
        codes = [client.ask(request).error_code for request in EVERY]
        assert codes == [E.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED] * 4
        refused = client.ask(CreateDelegationTokenRequest())
        assert (refused.issue_timestamp_ms, refused.token_id, refused.hmac) == (-1, "", b"")


def test_without_authentication_or_a_key_there_are_no_tokens() -> None:
    with kafka_scene() as scene:
        codes = [scene.client().ask(request).error_code for request in EVERY]
        assert codes == [E.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED] * 4
    with kafka_scene(**ACCESS) as scene:
        client = scene.client()
        codes = [client.ask(request).error_code for request in EVERY]
        assert codes == [E.DELEGATION_TOKEN_AUTH_DISABLED] * 4


def test_token_for_another_user_needs_a_right_on_it() -> None:
    with kafka_scene(**TOKENS) as scene:
        scene.users.put(User("root", PASSWORD, UserType.SUPER), User("alice", PASSWORD))
        bob = scene.client(user="bob")
        failed = E.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        assert bob.ask(owned("alice")).error_code == failed
        allow(scene, "bob", ResourceType.USER, "User:alice", AclOperation.CREATE_TOKENS)
        made = bob.ask(owned("alice"))
        assert (made.error_code, made.principal_name) == (E.NONE, "alice")
        assert made.token_requester_principal_name == "bob"
        assert log_in(scene, made)[1].error_code == E.NONE
        allow(scene, "bob", ResourceType.USER, "User:root", AclOperation.CREATE_TOKENS)
        assert bob.ask(owned("root")).error_code == failed
        root = scene.client(user="root")
        assert root.ask(owned("nobody")).error_code == E.RESOURCE_NOT_FOUND
        assert root.ask(CreateDelegationTokenRequest("Group", "alice")).error_code == E.INVALID_PRINCIPAL_TYPE
        assert root.ask(owned("alice", "carol", kind="Group")).error_code == E.INVALID_PRINCIPAL_TYPE


def test_tokens_are_seen_by_owner_renewers_and_users_with_a_right() -> None:
    with kafka_scene(**TOKENS) as scene:
        alice, bob, carol = (scene.client(user=name) for name in ("alice", "bob", "carol"))
        first = alice.ask(owned("", "bob")).token_id
        second = alice.ask(owned("")).token_id
        assert token_ids(alice) == [first, second] and token_ids(bob) == [first] and token_ids(carol) == []
        assert token_ids(bob, "alice") == [first] == token_ids(bob, "bob") == token_ids(alice, "bob")
        assert alice.ask(DescribeDelegationTokenRequest([])).tokens == ()
        allow(scene, "bob", ResourceType.DELEGATION_TOKEN, second, AclOperation.DESCRIBE)
        allow(scene, "carol", ResourceType.USER, "User:alice", AclOperation.DESCRIBE_TOKENS)
        assert token_ids(bob) == [first, second] == token_ids(carol)


def test_secret_is_shown_to_owner_renewers_and_super_users_only() -> None:
    with kafka_scene(**TOKENS) as scene:
        scene.users.put(User("root", PASSWORD, UserType.SUPER))
        clients = {name: scene.client(user=name) for name in ("alice", "bob", "carol", "root")}
        secret = clients["alice"].ask(owned("", "bob")).hmac
        entry = PolicyEntry(EVERYTHING, (Action.GET,), Decision.ALLOW)
        access = scene.operations.access
        assert access is not None
        access.update_acl("carol", {PolicyType.CUSTOM: Policy([entry])})
        shown = {
            name: [one.hmac for one in client.ask(DescribeDelegationTokenRequest(None)).tokens]
            for name, client in clients.items()
        }
        assert shown == {"alice": [secret], "bob": [secret], "carol": [b""], "root": [secret]}


def test_requester_sees_a_token_for_another_user() -> None:
    with kafka_scene(**TOKENS) as scene:
        bob, carol = scene.client(user="bob"), scene.client(user="carol")
        scene.users.put(User("alice", PASSWORD))
        allow(scene, "bob", ResourceType.USER, "User:alice", AclOperation.CREATE_TOKENS)
        made = bob.ask(owned("alice")).token_id
        assert token_ids(bob) == [made] == token_ids(bob, "bob") and token_ids(carol) == []


def test_tokens_of_super_users_are_not_seen_by_a_right() -> None:
    with kafka_scene(**TOKENS) as scene:
        scene.users.put(User("root", PASSWORD, UserType.SUPER), User("chief", PASSWORD, UserType.SUPER))
        made = scene.client(user="root").ask(owned("", "carol")).token_id
        allow(scene, "bob", ResourceType.DELEGATION_TOKEN, made, AclOperation.DESCRIBE)
        allow(scene, "bob", ResourceType.USER, "User:root", AclOperation.DESCRIBE_TOKENS)
        assert token_ids(scene.client(user="bob")) == []
        assert token_ids(scene.client(user="chief")) == [made] == token_ids(scene.client(user="carol"))


def test_token_is_renewed_and_ended_and_both_are_in_the_audit_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "mqgateway.audit.administration")
    with kafka_scene(**TOKENS) as scene:
        alice, bob = scene.client(user="alice"), scene.client(user="bob")
        made = alice.ask(CreateDelegationTokenRequest())
        scene.settle(1)
        renewed = alice.ask(RenewDelegationTokenRequest(made.hmac, 1000))
        assert (renewed.error_code, renewed.expiry_timestamp_ms < made.expiry_timestamp_ms) == (E.NONE, True)
        assert (
            bob.ask(RenewDelegationTokenRequest(made.hmac, 1)).error_code == E.DELEGATION_TOKEN_OWNER_MISMATCH
        )
        assert bob.ask(ExpireDelegationTokenRequest(b"x", -1)).error_code == E.DELEGATION_TOKEN_NOT_FOUND
        assert alice.ask(ExpireDelegationTokenRequest(made.hmac, -1)).error_code == E.NONE
        assert token_ids(alice) == []
    lines = [one.getMessage() for one in caplog.records if "DelegationToken" in one.getMessage()]
    assert [line.partition("result=")[2].split()[0] for line in lines] == ["0", "0", "63", "62", "0"]
    assert f"what=token:{made.token_id}" in lines[1] and "user=bob" in lines[2]
    assert not any(base64.b64encode(made.hmac).decode() in line for line in lines)


def test_user_that_was_deleted_is_refused() -> None:
    with kafka_scene(**TOKENS) as scene:
        client = scene.client(user="alice")
        scene.users.delete("alice")
        assert (
            client.ask(CreateDelegationTokenRequest()).error_code == E.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        )
