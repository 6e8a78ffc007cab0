"""`serve --secure`: generated secrets, stored and printed, and settings that contradict it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import TlsMode
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.secure import CERTIFICATE, KEY, SETTINGS, TOOLS, Secured, close_both, secure
from mqgateway.gateway.cli.settings import BrokerSettings, NamesrvSettings, from_flags
from mqgateway.gateway.remoting.server_tls import ServerTls
from mqgateway.gateway.remoting.tls import ClientTls


def settings(**flags: object) -> tuple[NamesrvSettings, BrokerSettings]:
    namesrv, broker = NamesrvSettings(), BrokerSettings()
    broker.options.apply(from_flags({"brokerIP1": "10.0.0.1", **flags}))
    return namesrv, broker


def closed(folder: Path, **flags: object) -> tuple[Secured, NamesrvSettings, BrokerSettings]:
    namesrv, broker = settings(**flags)
    secured = secure(str(folder), namesrv, broker, RealDisk())
    namesrv.ask_as(broker)
    return secured, namesrv, broker


def test_secrets_are_generated_once_and_private(tmp_path: Path) -> None:
    first, namesrv, broker = closed(tmp_path)
    assert first.user == "root" and len(first.password) >= 24
    for name in (SETTINGS, TOOLS, KEY, CERTIFICATE):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    for kind in (namesrv.namesrv, broker.broker):
        assert kind.authentication_enabled and kind.authorization_enabled
        assert json.loads(kind.init_authentication_user)["password"] == first.password
        assert (
            kind.inner_client_authentication_credentials
            == broker.broker.inner_client_authentication_credentials
        )
    again, _, later = closed(tmp_path)
    assert again.password == ""
    assert later.broker.init_authentication_user == broker.broker.init_authentication_user
    assert (
        later.broker.inner_client_authentication_credentials
        == broker.broker.inner_client_authentication_credentials
    )


def test_stored_credentials_are_printed_when_generated_only(tmp_path: Path) -> None:
    first, _, _ = closed(tmp_path)
    tools = dict(line.split(": ") for line in (tmp_path / TOOLS).read_text().splitlines())
    expected = "\n".join(first.lines())
    assert json.loads(tools["secretKey"]) == first.password and json.loads(tools["accessKey"]) == "root"
    assert (
        first.password in expected
        and "tls.client.trustCertPath" in expected
        and "AclClientRPCHook" in expected
    )
    assert first.as_json()["password"] == first.password
    again, _, _ = closed(tmp_path)
    assert first.password not in "\n".join(again.lines()) and "password" not in again.as_json()


def test_connections_require_tls_and_verify_the_certificate(tmp_path: Path) -> None:
    secured, namesrv, broker = closed(tmp_path)
    for kind in (namesrv, broker):
        assert kind.tls.tls_server_mode is TlsMode.ENFORCING and kind.remoting.use_tls
        assert kind.tls.tls_client_auth_server and not kind.tls.tls_test_mode_enable
        assert kind.tls.tls_client_trust_cert_path == secured.certificate
        assert ServerTls(kind.tls, RealDisk()).is_ready
        ClientTls(kind.tls, RealDisk())


def test_configured_certificate_is_used(tmp_path: Path) -> None:
    namesrv, broker = settings()
    for options in (namesrv.options, broker.options):
        options.apply(from_flags({"tls.server.certPath": "/own.pem", "tls.server.keyPath": "/own.key"}))
    secured = secure(str(tmp_path), namesrv, broker, RealDisk())
    assert secured.certificate == "/own.pem"
    assert not (tmp_path / CERTIFICATE).exists()


def test_configured_user_is_used_and_its_password_not_printed(tmp_path: Path) -> None:
    user = '{"username":"boss","password":"mine"}'
    secured, _, broker = closed(tmp_path, initAuthenticationUser=user)
    assert (secured.user, secured.password) == ("boss", "")
    assert broker.broker.init_authentication_user == user
    assert '"mine"' in (tmp_path / TOOLS).read_text()


@pytest.mark.parametrize(
    "flag",
    [{"authenticationEnabled": "false"}, {"tls.server.mode": "permissive"}, {"tls.test.mode.enable": "true"}],
)
def test_contradictory_setting_is_refused_before_any_write(tmp_path: Path, flag: dict[str, str]) -> None:
    namesrv, broker = settings(**flag)
    with pytest.raises(ConfigError, match=next(iter(flag)).replace(".", r"\.")):
        secure(str(tmp_path), namesrv, broker, RealDisk())
    assert not list(tmp_path.iterdir())


def test_unusable_or_incomplete_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be used"):
        secure(str(tmp_path / "file" / "folder"), *settings(), RealDisk())
    (tmp_path / SETTINGS).write_text("initAuthenticationUser=x\n")
    with pytest.raises(ConfigError, match="innerClientAuthenticationCredentials"):
        secure(str(tmp_path), *settings(), RealDisk())


def test_printing_settings_creates_no_credentials(tmp_path: Path) -> None:
    namesrv, broker = settings()
    close_both(namesrv, broker)
    assert broker.broker.authorization_enabled
    assert broker.broker.init_authentication_user == ""
