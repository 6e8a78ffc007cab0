"""Users and policies are changed as in RocketMQ, with its texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.options.access import AuthorizationProfile
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.access.bindings import ANY_HOST, Binding
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.policies import (
    Action,
    Decision,
    Policy,
    PolicyEntry,
    PolicyType,
    ResourceType,
    literal,
    parse_resource,
    read_policies,
    topic,
)
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.access.users import User, UserStatus, UserType

CUSTOM, DEFAULT, _ = PolicyType
NOBODY = ""


def administration(**options: Any) -> AccessAdministration:
    tables = AccessTables(CrashDisk(), "/config", ManualClock(), None)
    tables.load()
    made = AccessAdministration(tables, BrokerOptions(**options))
    made.create_user(NOBODY, "root", "r", UserType.SUPER, None)
    made.create_user(NOBODY, "alice", "a", None, None)
    return made


def policies(
    *resources: str, kind: PolicyType = CUSTOM, action: Action = Action.SUB
) -> dict[PolicyType, Policy]:
    parsed = [parse_resource(text) for text in resources]
    return {kind: Policy(PolicyEntry(one, (action,), Decision.ALLOW) for one in parsed if one is not None)}


def test_user_is_created_updated_and_deleted() -> None:
    made = administration()
    assert made.user("alice") == User("alice", "a")
    made.update_user(NOBODY, "alice", " ", UserType.SUPER, UserStatus.DISABLE)
    assert made.user("alice") == User("alice", "a", UserType.SUPER, UserStatus.DISABLE)
    made.update_user(NOBODY, "alice", "new", None, None)
    assert made.user("alice") == User("alice", "new", UserType.SUPER, UserStatus.DISABLE)
    made.update_acl("alice", policies("*"))
    made.delete_user(NOBODY, "alice")
    made.delete_user(NOBODY, "alice")
    assert made.user("alice") is None and made.acls() == []


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda one: one.create_user("", "bob", " ", None, None), "password can not be blank"),
        (lambda one: one.create_user("", "bob", None, None, None), "password can not be blank"),
        (lambda one: one.create_user("", " ", "x", None, None), "username can not be blank"),
        (lambda one: one.create_user("", "alice", "x", None, None), "The user is existed"),
        (
            lambda one: one.create_user("alice", "bob", "x", UserType.SUPER, None),
            "The super user can only be create by super user",
        ),
        (lambda one: one.create_user("zed", "bob", "x", UserType.SUPER, None), "User:zed is not found"),
        (lambda one: one.update_user("", "bob", "x", None, None), "The user is not exist"),
        (
            lambda one: one.update_user("alice", "alice", None, UserType.SUPER, None),
            "The super user can only be update by super user",
        ),
        (
            lambda one: one.update_user("alice", "root", "x", None, None),
            "The super user can only be update by super user",
        ),
        (
            lambda one: one.delete_user("alice", "root"),
            "The super user can only be update by super user",
        ),
        (lambda one: one.delete_user("root", ""), "username can not be blank"),
        (lambda one: one.update_acl("bob", policies("*")), "The subject of User:bob is not exist."),
        (lambda one: one.delete_acl("bob", CUSTOM, None), "The subject is not exist."),
        (lambda one: one.delete_acl("alice", CUSTOM, None), "The acl is not exist."),
        (lambda one: one.acl("bob"), "The subject is not exist."),
    ],
)
def test_invalid_operation_is_refused_without_change(
    act: Callable[[AccessAdministration], object], sentence: str
) -> None:
    made = administration()
    users = made.users()
    with pytest.raises(AccessError) as raised:
        act(made)
    assert str(raised.value) == sentence
    assert made.users() == users


def test_policies_are_merged_and_deleted() -> None:
    made = administration()
    made.update_acl("alice", policies("Topic:a", "Topic:b"))
    made.update_acl("alice", policies("Topic:b", "Group:g", action=Action.PUB))
    made.update_acl("alice", policies("*", kind=DEFAULT))
    acl = made.acl("alice")
    assert acl is not None
    entries = acl.policies[CUSTOM].entries
    assert [str(one) for one in entries] == ["Topic:a", "Topic:b", "Group:g"]
    assert entries[topic("b")].actions == (Action.PUB,)
    made.delete_acl("alice", CUSTOM, topic("a"))
    made.delete_acl("alice", CUSTOM, topic("unknown"))
    made.delete_acl("alice", CUSTOM, topic("b"))
    made.delete_acl("alice", CUSTOM, literal(ResourceType.GROUP, "g"))
    left = made.acl("alice")
    assert left is not None and list(left.policies) == [DEFAULT]
    made.delete_acl("alice", CUSTOM, None)
    assert made.acl("alice") is None


def test_lists_are_sorted_by_name_and_filtered() -> None:
    made = administration()
    made.create_user("root", "Zoe", "z", None, None)
    assert [user.username for user in made.users()] == ["Zoe", "alice", "root"]
    assert [user.username for user in made.users("o")] == ["Zoe", "root"]
    assert len(made.users(" ")) == 3
    for name in ("root", "Zoe"):
        made.update_acl(name, policies("*"))
    assert [acl.username for acl in made.acls()] == ["Zoe", "root"]
    assert [acl.username for acl in made.acls("User:r")] == ["root"]


def test_tables_are_limited() -> None:
    made = administration(max_users=3, max_policy_entries_per_user=2)
    made.create_user(NOBODY, "bob", "b", None, None)
    with pytest.raises(AccessError, match="maxUsers"):
        made.create_user(NOBODY, "carol", "c", None, None)
    made.update_acl("bob", policies("Topic:a", "Topic:b"))
    made.update_acl("bob", policies("Topic:a", "Topic:b"))
    with pytest.raises(AccessError, match="maxPolicyEntriesPerUser"):
        made.update_acl("bob", policies("Topic:c"))
    assert made.is_super(NOBODY) and made.is_super("root") and not made.is_super("bob")


def test_passwords_are_visible_by_profile_and_user_type() -> None:
    strict = administration()
    assert [strict.shows_passwords(name) for name in ("", "root", "alice", "zed")] == [
        True,
        True,
        False,
        False,
    ]
    standard = administration(authorization_profile=AuthorizationProfile.STANDARD)
    assert standard.shows_passwords("alice")


def binding(name: str, operation: AclOperation = AclOperation.READ, username: str = "alice") -> Binding:
    return Binding(username, topic(name), ANY_HOST, operation, Decision.ALLOW)


def shown(made: AccessAdministration) -> set[Binding]:
    return {one for found in made.bindings() for one in found}


def test_bindings_are_added_shown_and_removed() -> None:
    made = administration()
    made.add_bindings("alice", [binding("a"), binding("a", AclOperation.WRITE)])
    made.add_bindings("alice", [binding("a"), binding("b")])
    made.add_bindings("nobody", [binding("a", username="nobody")])
    of_alice = {binding("a"), binding("a", AclOperation.WRITE), binding("b")}
    assert shown(made) == of_alice | {binding("a", username="nobody")}
    version = made.tables.acls.data_version.counter
    made.add_bindings("alice", [binding("a")])
    assert made.remove_bindings("unknown", [binding("a")]) == set()
    assert made.tables.acls.data_version.counter == version
    assert made.remove_bindings("alice", of_alice - {binding("b")}) == set()
    assert shown(made) == {binding("b"), binding("a", username="nobody")}
    made.remove_bindings("nobody", [binding("a", username="nobody")])
    assert [acl.username for acl in made.acls()] == ["alice"]


def test_bindings_are_copied_and_shown_without_their_user() -> None:
    made = administration()
    made.add_bindings("*", [binding("a", username="*")])
    acl = made.acl("*")
    assert acl is not None
    made.update_acl("other", read_policies(acl.info().policies))
    assert shown(made) == {binding("a", username="*"), binding("a", username="other")}
    made.delete_acl("other", CUSTOM, topic("a"))
    assert [acl.username for acl in made.acls()] == ["*"]


def test_entries_of_acl_2_are_removed_as_a_whole() -> None:
    made = administration()
    made.update_acl("alice", policies("Topic:a"))
    made.update_acl("alice", policies("Topic:b", kind=DEFAULT, action=Action.UPDATE))
    updates = {binding("b", AclOperation.ALTER), binding("b", AclOperation.ALTER_CONFIGS)}
    assert shown(made) == {binding("a"), *updates}
    assert made.remove_bindings("alice", [binding("a"), binding("b", AclOperation.ALTER)]) == {
        binding("b", AclOperation.ALTER)
    }
    assert shown(made) == updates
    assert made.remove_bindings("alice", updates) == set() and made.acls() == []
