"""Permissions of accounts, and invalid accounts."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.plain.accounts import (
    Account,
    Permission,
    account_of,
    check_given,
    parse_permission,
    unknown_permissions,
)
from mqgateway.gateway.access.policies import group, topic
from mqgateway.gateway.codec.version_4 import PlainAccessConfig

PUB, SUB, DENY = Permission.PUB, Permission.SUB, Permission.DENY


def config(**members: Any) -> PlainAccessConfig:
    return PlainAccessConfig(**{"access_key": "account", "secret_key": "a-secret", **members})


def account(**members: Any) -> Account:
    return account_of(config(**members))


@pytest.mark.parametrize(
    ("text", "permission"),
    [
        ("PUB", PUB),
        (" SUB ", SUB),
        ("PUB|SUB", PUB | SUB),
        ("SUB|PUB", PUB | SUB),
        ("DENY", DENY),
        ("PUB | SUB", DENY),
        ("pub", DENY),
        ("", DENY),
        (None, DENY),
    ],
)
def test_permissions_as_they_are_written(text: str | None, permission: Permission) -> None:
    assert parse_permission(text) == permission


def test_listed_permissions_override_the_defaults() -> None:
    one = account(
        default_topic_perm="PUB",
        default_group_perm="SUB",
        topic_perms=["ta=DENY", "tb=PUB|SUB", " tc = SUB "],
        group_perms=["ga=DENY"],
    )
    assert [one.may(topic(name), PUB) for name in ("ta", "tb", "tc", "td")] == [False, True, False, True]
    assert [one.may(topic(name), SUB) for name in ("ta", "tb", "tc", "td")] == [False, True, True, False]
    assert [one.may(group(name), SUB) for name in ("ga", "gb")] == [False, True]
    assert not one.may(topic("%RETRY%ga"), SUB)


def test_without_a_word_everything_is_denied() -> None:
    assert not account().may(topic("t"), PUB) and not account().may(group("g"), SUB)


def test_an_admin_may_all_unless_permissions_are_listed() -> None:
    assert account(admin=True).may(topic("t"), PUB)
    assert account(admin=True, topic_perms=[]).may(group("g"), SUB)
    assert not account(admin=True, topic_perms=["ta=PUB"]).may(topic("tb"), PUB)


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"access_key": "abcdef"}, "The accessKey=abcdef and secretKey=****** cannot be null and length "),
        ({"access_key": None}, "The accessKey=null and secretKey=****** "),
        ({"secret_key": None}, "The accessKey=account and secretKey=null "),
        ({"topic_perms": ["ta"]}, "Parse resource permission failed for topic:ta"),
        ({"group_perms": ["=SUB"]}, "Parse resource permission failed for group:=SUB"),
        ({"topic_perms": ["a=b=c"]}, "Parse resource permission failed for topic:a=b=c"),
        ({"white_remote_address": "1.2.3"}, "Netaddress examine Exception netaddress is 1.2.3"),
    ],
)
def test_invalid_account_is_refused(members: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AccessError) as refusal:
        account(**members)
    assert str(refusal.value).startswith(sentence)


def test_a_request_must_spell_permissions() -> None:
    check_given(config(topic_perms=["ta=DENY", "tb=SUB|PUB"], group_perms=["g=SUB"]))
    with pytest.raises(AccessError, match=r"error for x=FOO\.\nThe expected permissions are 'SUB' or 'PUB'"):
        check_given(config(topic_perms=["x=FOO"]))
    with pytest.raises(AccessError, match=r"format error for \.\nThe expected resource format is 'Res=Perm'"):
        check_given(config(group_perms=[""]))


def test_words_that_are_no_permissions_are_reported() -> None:
    one = config(topic_perms=["a=PUB", "b=pub"], group_perms=["g=ALL"], default_topic_perm="no")
    assert unknown_permissions(one) == ["no", "pub", "ALL"]


def test_the_secret_is_not_shown() -> None:
    assert "a-secret" not in repr(account()) and "a-secret" not in repr(config())
