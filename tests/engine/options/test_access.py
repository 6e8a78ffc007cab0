"""Settings of access control: secrets are not shown, words are checked."""

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions, OptionSet
from mqgateway.engine.options.access import AuditFormat, AuthorizationProfile


def test_everything_is_off_and_strict() -> None:
    options = BrokerOptions()
    assert not options.authentication_enabled and not options.authorization_enabled
    assert options.authorization_profile is AuthorizationProfile.STRICT
    assert options.audit_log_format is AuditFormat.TEXT


def test_words() -> None:
    options = OptionSet(BrokerOptions())
    assert options.set("authorizationProfile", "standard") is AuthorizationProfile.STANDARD
    assert options.set("auditLogFormat", "json") is AuditFormat.JSON
    with pytest.raises(ConfigError, match="authorizationProfile"):
        options.set("authorizationProfile", "lenient")


def test_secrets_are_hidden_where_settings_are_shown() -> None:
    options = OptionSet(BrokerOptions())
    for name in ("initAuthenticationUser", "innerClientAuthenticationCredentials", "authKey"):
        options.set(name, "hidden")
    assert "hidden" not in options.as_properties()
    assert not [one for one in options.effective() if one.value == "hidden"]
