"""Interpretation of the access-control options, and invalid ones."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.options.access import AuthorizationProfile
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.settings import AccessSettings, Memory
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.access.users import User, UserType
from tests.gateway.access.test_encryption import KEY

PACKAGE = "org.apache.rocketmq.auth.authentication"


def settings(disk: CrashDisk | None = None, **options: Any) -> AccessSettings:
    return AccessSettings.of(BrokerOptions(**options), disk or CrashDisk(), "c")


def test_access_control_is_off_by_default() -> None:
    plain = settings()
    assert not plain.is_on and not plain.has_tables and plain.is_strict and plain.credentials is None
    assert plain.first_users == () and plain.authentication_memory is None and plain.cipher is None


def test_both_switches_enable_access_control() -> None:
    both = settings(authentication_enabled=True, authorization_enabled=True)
    assert both.is_on and both.authenticates and both.authorizes and both.has_tables


def test_metadata_provider_enables_tables_without_checks() -> None:
    provider = f"{PACKAGE}.provider.LocalAuthenticationMetadataProvider"
    named = settings(authentication_metadata_provider=provider)
    assert named.has_tables and not named.is_on


def test_authorization_alone_requires_standard_profile() -> None:
    with pytest.raises(ConfigError, match="authorizationProfile=standard"):
        settings(authorization_enabled=True)
    profile = AuthorizationProfile.STANDARD
    assert not settings(authorization_enabled=True, authorization_profile=profile).is_strict


def test_first_users_are_super_users() -> None:
    found = settings(
        init_authentication_user='{"username":"root","password":"first"}',
        inner_client_authentication_credentials='{"accessKey":"inner","secretKey":"second"}',
    )
    assert found.first_users == (
        User("root", "first", UserType.SUPER),
        User("inner", "second", UserType.SUPER),
    )
    assert found.credentials == Credentials("inner", "second")


@pytest.mark.parametrize(
    "text",
    [
        '{"username":"root"}',
        '{"username":" ","password":"hidden"}',
        "hidden",
        "[1]",
        '"hidden"',
        '{"password":',
    ],
)
def test_invalid_first_user_is_refused_without_revealing_it(text: str) -> None:
    with pytest.raises(ConfigError, match="initAuthenticationUser must be") as raised:
        settings(init_authentication_user=text)
    assert "hidden" not in str(raised.value)


def test_whitelists_must_be_request_codes() -> None:
    found = settings(authentication_whitelist=" 26, 28 ,", authorization_whitelist="105")
    assert found.unsigned_codes == {26, 28} and found.unchecked_codes == {105}
    with pytest.raises(ConfigError, match="x is not a request code"):
        settings(authorization_whitelist="105,x")


def test_stateful_strategy_sets_cache_size_and_lifetime() -> None:
    found = settings(
        authentication_strategy=f"{PACKAGE}.strategy.StatefulAuthenticationStrategy",
        authorization_strategy="StatelessAuthorizationStrategy",
        stateful_authentication_cache_max_num=5,
        stateful_authentication_cache_expired_second=7,
    )
    assert found.authentication_memory == Memory(5, 7) and found.authorization_memory is None


@pytest.mark.parametrize(
    "option",
    [
        "authentication_provider",
        "authentication_metadata_provider",
        "authentication_strategy",
        "authorization_provider",
        "authorization_metadata_provider",
        "authorization_strategy",
    ],
)
def test_unknown_class_is_refused(option: str) -> None:
    with pytest.raises(ConfigError, match="unknown class; supported: "):
        settings(**{option: "com.example.Mine"})


def test_encryption_key_comes_from_option_or_file() -> None:
    disk = CrashDisk()
    assert settings(authentication_enabled=True, auth_key=KEY).cipher is not None
    with pytest.raises(ConfigError, match="cannot be read"):
        settings(disk, authentication_enabled=True, auth_key_file="/key")
    disk.open("/key", create=True).write(0, KEY.encode() + b"\n")
    assert settings(disk, authentication_enabled=True, auth_key_file="/key").cipher is not None
    with pytest.raises(ConfigError, match="both"):
        settings(disk, authentication_enabled=True, auth_key_file="/key", auth_key=KEY)
    disk.open("/empty", create=True)
    with pytest.raises(ConfigError, match="openssl"):
        settings(disk, authentication_enabled=True, auth_key_file="/empty")
