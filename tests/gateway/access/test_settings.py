"""What the options of access control are taken for, and what is refused at the start."""

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
from tests.gateway.access.test_sealing import KEY

PACKAGE = "org.apache.rocketmq.auth.authentication"


def settings(disk: CrashDisk | None = None, **options: Any) -> AccessSettings:
    return AccessSettings.of(BrokerOptions(**options), disk or CrashDisk(), "c")


def test_nothing_is_looked_at_unless_it_is_asked_for() -> None:
    plain = settings()
    assert not plain.is_on and not plain.has_tables and plain.is_strict and plain.credentials is None
    assert plain.first_users == () and plain.authentication_memory is None and plain.seal is None


def test_both_switches() -> None:
    both = settings(authentication_enabled=True, authorization_enabled=True)
    assert both.is_on and both.authenticates and both.authorizes and both.has_tables


def test_users_may_be_made_before_the_switches_are_on() -> None:
    provider = f"{PACKAGE}.provider.LocalAuthenticationMetadataProvider"
    named = settings(authentication_metadata_provider=provider)
    assert named.has_tables and not named.is_on


def test_authorization_alone_believes_names_and_so_has_to_be_asked_for() -> None:
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
def test_a_first_user_that_cannot_be_meant(text: str) -> None:
    with pytest.raises(ConfigError, match="initAuthenticationUser must be") as raised:
        settings(init_authentication_user=text)
    assert "hidden" not in str(raised.value)


def test_white_lists_are_request_codes() -> None:
    found = settings(authentication_whitelist=" 26, 28 ,", authorization_whitelist="105")
    assert found.unsigned_codes == {26, 28} and found.unchecked_codes == {105}
    with pytest.raises(ConfigError, match="x is not a request code"):
        settings(authorization_whitelist="105,x")


def test_strategies() -> None:
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
def test_a_class_that_is_not_here_is_refused(option: str) -> None:
    with pytest.raises(ConfigError, match="unknown class; supported: "):
        settings(**{option: "com.example.Mine"})


def test_the_key_that_encrypts_passwords() -> None:
    disk = CrashDisk()
    assert settings(authentication_enabled=True, auth_key=KEY).seal is not None
    with pytest.raises(ConfigError, match="cannot be read"):
        settings(disk, authentication_enabled=True, auth_key_file="/key")
    disk.open("/key", create=True).write(0, KEY.encode() + b"\n")
    assert settings(disk, authentication_enabled=True, auth_key_file="/key").seal is not None
    with pytest.raises(ConfigError, match="both"):
        settings(disk, authentication_enabled=True, auth_key_file="/key", auth_key=KEY)
    disk.open("/empty", create=True)
    with pytest.raises(ConfigError, match="openssl"):
        settings(disk, authentication_enabled=True, auth_key_file="/empty")
