"""DescribeUserScramCredentials and AlterUserScramCredentials."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from mqgateway.gateway.access.policies import Action, Decision, Policy, PolicyEntry, PolicyType, cluster
from mqgateway.gateway.access.users import User, UserType
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from mqgateway.gateway.kafka.codec.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_request import SaslAuthenticateRequest
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_request import SaslHandshakeRequest
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.client import PASSWORD, KafkaClient, KafkaScene, kafka_scene
from tests.support.gateway.kafka.scram import ScramClient


def upsertion(
    name: str, password: str, iterations: int = 4096, mechanism: int = 1
) -> ScramCredentialUpsertion:
    """Return a new credential, as a client derives it."""
    digest = "sha512" if mechanism == 2 else "sha256"
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), b"salt", max(1, iterations))
    return ScramCredentialUpsertion(name, mechanism, iterations, b"salt", salted)


def admin(scene: KafkaScene) -> KafkaClient:
    """Return a client of a super user."""
    scene.users.put(User("root", PASSWORD, UserType.SUPER))
    return scene.client(user="root")


def altered(client: KafkaClient, *alterations: Any) -> list[tuple[str, int, str | None]]:
    """Return user, error code and text of alterations."""
    deletions = [each for each in alterations if isinstance(each, ScramCredentialDeletion)]
    upsertions = [each for each in alterations if isinstance(each, ScramCredentialUpsertion)]
    results = client.ask(AlterUserScramCredentialsRequest(deletions, upsertions)).results
    return [(one.user, one.error_code, one.error_message) for one in results]


def described(client: KafkaClient, *names: str) -> list[tuple[str, int, list[tuple[int, int]]]]:
    """Return user, error code, and mechanisms with iterations."""
    users = [UserName(name) for name in names] or None
    answer = client.ask(DescribeUserScramCredentialsRequest(users))
    assert answer.error_code == 0
    return [
        (one.user, one.error_code, [(info.mechanism, info.iterations) for info in one.credential_infos])
        for one in answer.results
    ]


def logs_in(scene: KafkaScene, user: str, password: str, mechanism: str = "SCRAM-SHA-256") -> bool:
    """Return True if a user can authenticate itself by SCRAM."""
    client = scene.stranger()
    client.ask(SaslHandshakeRequest(mechanism))
    scram = ScramClient("sha512" if "512" in mechanism else "sha256", user, password)
    answer = client.ask(SaslAuthenticateRequest(scram.first()))
    code: int = client.ask(SaslAuthenticateRequest(scram.final(answer.auth_bytes))).error_code
    return code == 0


def test_credential_makes_a_user_that_logs_in_and_is_described() -> None:
    with kafka_scene(**ACCESS) as scene:
        client = admin(scene)
        assert altered(client, upsertion("carol", "one"), upsertion("dave", "two", 8192, 2)) == [
            ("carol", 0, None),
            ("dave", 0, None),
        ]
        assert described(client) == [("carol", 0, [(1, 4096)]), ("dave", 0, [(2, 8192)])]
        assert described(client, "dave") == [("dave", 0, [(2, 8192)])]
        assert logs_in(scene, "carol", "one") and not logs_in(scene, "carol", "two")
        assert logs_in(scene, "dave", "two", "SCRAM-SHA-512")
        assert not logs_in(scene, "dave", "two", "SCRAM-SHA-256")


def test_credential_of_a_user_counts_in_place_of_the_password_until_either_changes() -> None:
    with kafka_scene(**ACCESS) as scene:
        client, access = admin(scene), scene.operations.access
        assert access is not None
        access.create_user("root", "alice", "old", None, None)
        assert logs_in(scene, "alice", "old")
        altered(client, upsertion("alice", "new"))
        assert logs_in(scene, "alice", "new") and not logs_in(scene, "alice", "old")
        altered(client, ScramCredentialDeletion("alice", 1))
        assert logs_in(scene, "alice", "old")
        altered(client, upsertion("alice", "new"))
        access.update_user("root", "alice", "newest", None, None)
        assert logs_in(scene, "alice", "newest") and not logs_in(scene, "alice", "new")


@pytest.mark.parametrize(
    ("alteration", "code", "text"),
    [
        (upsertion("", "x"), 93, "Username must not be empty"),
        (upsertion("carol", "x", mechanism=3), 33, "Unknown SCRAM mechanism"),
        (upsertion("carol", "x", 4095), 93, "Too few iterations"),
        (upsertion("carol", "x", 16385), 93, "Too many iterations"),
        (
            ScramCredentialDeletion("carol", 1),
            91,
            "Attempt to delete a user credential that does not exist",
        ),
    ],
)
def test_wrong_alterations_have_the_errors_of_kafka(alteration: Any, code: int, text: str) -> None:
    with kafka_scene(**ACCESS) as scene:
        assert altered(admin(scene), alteration) == [(alteration.name, code, text)]
        assert "carol" not in scene.users


def test_user_is_changed_and_described_once_in_a_request() -> None:
    with kafka_scene(**ACCESS) as scene:
        client = admin(scene)
        twice = "A user credential cannot be altered twice in the same request"
        assert altered(client, upsertion("carol", "a"), upsertion("carol", "b", mechanism=2)) == [
            ("carol", ErrorCode.DUPLICATE_RESOURCE, twice)
        ]
        assert described(client, "carol") == [("carol", ErrorCode.RESOURCE_NOT_FOUND, [])]
        assert described(client, "carol", "carol") == [("carol", ErrorCode.DUPLICATE_RESOURCE, [])]


def test_users_without_rights_on_the_cluster_change_and_see_nothing() -> None:
    with kafka_scene(**ACCESS) as scene:
        client = scene.client()
        refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert altered(client, upsertion("carol", "a"))[0][:2] == ("carol", refused)
        assert client.ask(DescribeUserScramCredentialsRequest()).error_code == refused


def test_there_are_no_users_without_access_control() -> None:
    """Kafka's commands describe credentials together with quotas."""
    with kafka_scene() as scene:
        client = scene.client()
        assert described(client, "carol") == [("carol", ErrorCode.RESOURCE_NOT_FOUND, [])]
        assert client.ask(DescribeUserScramCredentialsRequest()).results == ()
        [(name, code, _)] = altered(client, upsertion("carol", "a"))
        assert (name, code) == ("carol", ErrorCode.SECURITY_DISABLED)


def test_only_super_users_change_super_users() -> None:
    with kafka_scene(**ACCESS) as scene:
        admin(scene)
        client, access = scene.client(user="operator"), scene.operations.access
        assert access is not None
        entry = PolicyEntry(cluster("DefaultCluster"), (Action.UPDATE,), Decision.ALLOW)
        access.update_acl("operator", {PolicyType.CUSTOM: Policy([entry])})
        assert altered(client, upsertion("carol", "a")) == [("carol", 0, None)]
        refusal = altered(client, upsertion("root", "a"))
        assert refusal[0][:2] == ("root", ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def test_alterations_are_in_the_audit_log_with_their_result(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "mqgateway.audit.administration")
    with kafka_scene(**ACCESS) as scene:
        altered(admin(scene), upsertion("carol", "one"), ScramCredentialDeletion("dave", 1))
        altered(scene.client(user="mallory"), upsertion("root", "mine"))
    lines = [one.getMessage() for one in caplog.records if "AlterUserScramCredentials" in one.getMessage()]
    missing, done, refused = (line.partition("request=AlterUserScramCredentials ")[2] for line in lines)
    assert done == "what=username:carol result=0"
    assert missing.startswith("what=username:dave result=91 reason=")
    assert refused.startswith("what=username:root result=31 reason=") and "user=mallory" in lines[2]
