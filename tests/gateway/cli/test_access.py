"""`mqgateway access check`, with a whole broker in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.access.bindings import ANY_HOST, EVERYONE, Binding
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.policies import (
    Action,
    Decision,
    Policy,
    PolicyEntry,
    PolicyType,
    ResourcePattern,
    parse_resource,
    topic,
)
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.access.users import UserStatus, UserType
from mqgateway.gateway.cli.main import main
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import NAMESRV
from tests.support.gateway.client.facing import faced

BROKER = f"10.0.0.1:{BROKER_PORT}"
PUB, ALLOW, DENY = (Action.PUB,), Decision.ALLOW, Decision.DENY


def entry(resource: str, decision: Decision, *ips: str) -> PolicyEntry:
    parsed = parse_resource(resource)
    assert parsed is not None
    return PolicyEntry(parsed, PUB, decision, ips)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A broker with the super user root, alice with policies, bob with none, and the disabled user dis."""
    with faced(monkeypatch) as cluster:
        tables = AccessTables(cluster.disk, "/access", cluster.clock, None)
        tables.load()
        users = AccessAdministration(tables, cluster.broker_options)
        users.create_user("", "root", "r", UserType.SUPER, None)
        users.create_user("", "alice", "a", None, None)
        users.create_user("", "bob", "b", None, None)
        users.create_user("", "dis", "d", None, UserStatus.DISABLE)
        entries = [entry("Topic:t*", ALLOW, "127.0.0.1", "10.0.0.0/8"), entry("Topic:tx", DENY)]
        users.update_acl("alice", {PolicyType.CUSTOM: Policy(entries)})
        prefix = topic("k")._replace(pattern=ResourcePattern.PREFIXED)
        users.add_bindings("bob", [Binding("bob", prefix, ANY_HOST, AclOperation.WRITE, ALLOW)])
        users.add_bindings(EVERYONE, [Binding(EVERYONE, topic("ka"), ANY_HOST, AclOperation.WRITE, DENY)])
        cluster.broker.access = users
        yield


def check(user: str, action: str, resource: str, *more: str) -> Result:
    arguments = ["access", "check", user, action, resource, "-b", BROKER, "-n", NAMESRV, *more]
    return CliRunner().invoke(main, arguments)


@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize(
    ("user", "resource", "code", "text"),
    [
        ("root", "Topic:any", 0, "allowed: super users have all permissions"),
        (
            "alice",
            "Topic:ta",
            0,
            "allowed (Custom policy: Allow Pub on Topic:t* from 127.0.0.1, 10.0.0.0/8)",
        ),
        (
            "alice",
            "Topic:tx",
            3,
            "User:alice has no permission to access Topic:tx from 127.0.0.1, the decision is deny. "
            "(Custom policy: Deny Pub on Topic:tx)",
        ),
        ("bob", "Topic:kb", 0, "allowed (Kafka policy: Allow Write on Topic:k*)"),
        (
            "bob",
            "Topic:ka",
            3,
            "User:bob has no permission to access Topic:ka from 127.0.0.1, the decision is deny. "
            "(Kafka policy: Deny Write on Topic:ka)",
        ),
        (
            "bob",
            "Topic:ta",
            3,
            "User:bob has no permission to access Topic:ta from 127.0.0.1, no matched policies.",
        ),
        ("dis", "Topic:ta", 3, "User:dis is disabled."),
        ("zed", "Topic:ta", 3, "User:zed not found."),
    ],
)
def test_access_check_prints_the_decision_and_its_policy(
    user: str, resource: str, code: int, text: str
) -> None:
    result = check(user, "pub", resource)
    assert (result.exit_code, result.output) == (code, f"{text}\n")


@pytest.mark.usefixtures("broker")
def test_from_elsewhere_and_as_json() -> None:
    assert check("alice", "Pub", "Topic:ta", "--from", "11.0.0.1").exit_code == 3
    result = check("alice", "Pub", "Topic:ta", "--from", "10.9.9.9", "--json")
    assert json.loads(result.output) == {
        "allowed": True,
        "policyType": "Custom",
        "entry": {
            "resource": "Topic:t*",
            "actions": ["Pub"],
            "sourceIps": ["127.0.0.1", "10.0.0.0/8"],
            "decision": "Allow",
        },
    }
    refused = json.loads(check("bob", "Pub", "Topic:ta", "--json").output)
    assert not refused["allowed"] and refused["reason"].endswith("no matched policies.")


def test_unknown_action_or_resource_is_a_usage_error() -> None:
    assert check("alice", "Fly", "Topic:ta").exit_code == 2
    assert "Topic:NAME" in check("alice", "Pub", "ta").output


def test_a_broker_without_users_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch, authentication_metadata_provider=""):
        result = check("alice", "Pub", "Topic:ta")
    assert result.exit_code == 1 and "An system error occurred" in result.output


def test_access_check_of_a_broker_without_a_port_is_wrong_usage() -> None:
    ended = CliRunner().invoke(main, ["access", "check", "u", "Pub", "Topic:a", "-b", "vm"])
    assert (ended.exit_code, "'vm' has no port" in ended.stderr) == (2, True)
