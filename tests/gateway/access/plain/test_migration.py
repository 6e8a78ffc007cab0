"""Accounts as users and policies, with the same permissions."""

from __future__ import annotations

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.access.decisions import decide
from mqgateway.gateway.access.plain.accounts import Permission, account_of
from mqgateway.gateway.access.plain.documents import read_document
from mqgateway.gateway.access.plain.folder import KnownFile
from mqgateway.gateway.access.plain.migration import migrate, policies_of
from mqgateway.gateway.access.plain.rules import AclRules
from mqgateway.gateway.access.policies import Acl, Action, group, topic
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.access.users import User, UserType
from mqgateway.gateway.codec.version_4 import PlainAccessConfig


def rules(text: str) -> AclRules:
    return AclRules({"f.yml": KnownFile((0, 0), read_document("f.yml", text.encode(), 1, BrokerOptions()))})


def tables() -> tuple[AccessTables, AccessAdministration]:
    made = AccessTables(CrashDisk(), "/config", ManualClock(), None)
    made.load()
    return made, AccessAdministration(made, BrokerOptions(max_users=3))


ACCOUNTS = """
globalWhiteRemoteAddresses: [10.0.0.1]
accounts:
- {accessKey: the-admin, secretKey: admin-secret, admin: true, whiteRemoteAddress: 10.0.0.2}
- {accessKey: the-user, secretKey: user-secret, topicPerms: [t=PUB], defaultGroupPerm: SUB}
- {accessKey: the-nobody, secretKey: nobody-secret}
"""


def test_accounts_become_users_and_those_who_are_users_stay(caplog: pytest.LogCaptureFixture) -> None:
    _, users = tables()
    users.create_user("", "the-nobody", "its own", UserType.SUPER, None)
    assert migrate(rules(ACCOUNTS), users) == 2
    known = {user.username: (user.password, user.user_type) for user in users.users()}
    assert known == {
        "the-admin": ("admin-secret", UserType.SUPER),
        "the-user": ("user-secret", UserType.NORMAL),
        "the-nobody": ("its own", UserType.SUPER),
    }
    acl = users.acl("the-user")
    assert acl is not None
    assert [
        (policy.policy_type, entry.resource, entry.actions, entry.decision)
        for policy in acl.info().policies
        for entry in policy.entries
    ] == [("Custom", "Topic:t", ["Pub"], "Allow"), ("Default", "Group:*", ["Sub"], "Allow")]
    assert users.acl("the-admin") is None
    assert "the whitelisted address of the-admin is not migrated" in caplog.text
    assert "globalWhiteRemoteAddresses are not migrated" in caplog.text
    assert migrate(rules(ACCOUNTS), users) == 0


def test_one_that_cannot_be_made_keeps_no_other(caplog: pytest.LogCaptureFixture) -> None:
    _, users = tables()
    text = ACCOUNTS + "- {accessKey: one-too-many, secretKey: its-secret}\n"
    assert migrate(rules(text), users) == 3
    assert "the account one-too-many is migrated only in part: there are 3 users already" in caplog.text


@pytest.mark.parametrize("listed", ["PUB", "SUB", "PUB|SUB", "SUB|PUB", "DENY", "what"])
@pytest.mark.parametrize("default", ["PUB", "SUB", "PUB|SUB", "DENY", "what", "", None])
def test_a_user_may_what_the_account_might(listed: str, default: str | None) -> None:
    config = PlainAccessConfig("the-user", "user-secret", None, False, default, default, [f"t={listed}"])
    config.group_perms = [f"g={listed}"]
    account, user = account_of(config), User("the-user", "user-secret")
    acl = Acl("the-user", policies_of(config))
    for resource in (topic("t"), topic("other"), group("g"), group("other")):
        for permission, action in ((Permission.PUB, Action.PUB), (Permission.SUB, Action.SUB)):
            is_listed = resource.name != "other"
            if (
                is_listed
                and permission not in account.permissions[resource]
                and listed not in ("DENY", "what")
            ):
                continue  # what is listed with another action falls back on the default in ACL 2.0
            verdict = decide("the-user", user, acl, resource, (action,), "10.0.0.7")
            assert verdict.is_allowed == account.may(resource, permission), (resource, action)
