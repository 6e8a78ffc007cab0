"""Changes of a file by requests."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.access.plain.changes import with_account, with_addresses, without_account
from mqgateway.gateway.codec.version_4 import PlainAccessConfig

TREE: dict[str, Any] = {
    "globalWhiteRemoteAddresses": ["10.0.0.1"],
    "accounts": [
        {
            "accessKey": "account-1",
            "secretKey": "secret-1",
            "admin": True,
            "topicPerms": ["a=PUB"],
            "mine": "x",
        },
        {"accessKey": "account-2", "secretKey": "secret-2"},
    ],
    "mine": "y",
}


def test_an_account_that_is_there_keeps_what_is_not_given_but_admin() -> None:
    changed = with_account(TREE, PlainAccessConfig("account-1", "secret-9", group_perms=["g=SUB"]))
    assert changed["accounts"] == [
        {"accessKey": "account-2", "secretKey": "secret-2"},
        {
            "accessKey": "account-1",
            "secretKey": "secret-9",
            "admin": False,
            "topicPerms": ["a=PUB"],
            "mine": "x",
            "groupPerms": ["g=SUB"],
        },
    ]
    assert changed["mine"] == "y" and TREE["accounts"][0]["secretKey"] == "secret-1"


def test_a_new_account_comes_last_with_its_members_in_order() -> None:
    config = PlainAccessConfig("account-3", "secret-3", "", False, "", "SUB", ["a=PUB"], [])
    (account,) = with_account({}, config)["accounts"]
    assert list(account.items()) == [
        ("accessKey", "account-3"),
        ("secretKey", "secret-3"),
        ("whiteRemoteAddress", ""),
        ("admin", False),
        ("defaultGroupPerm", "SUB"),
        ("topicPerms", ["a=PUB"]),
        ("groupPerms", []),
    ]
    assert len(with_account(TREE, config)["accounts"]) == 3


def test_an_account_goes_and_others_stay() -> None:
    assert [one["accessKey"] for one in without_account(TREE, "account-1")["accounts"]] == ["account-2"]
    assert without_account({"accounts": None}, "x")["accounts"] == []


def test_addresses_take_the_place_of_those_before() -> None:
    assert with_addresses(TREE, ["*"]) == {**TREE, "globalWhiteRemoteAddresses": ["*"]}
