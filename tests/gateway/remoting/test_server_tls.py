"""TLS of a server is loaded when it is needed; `test_tls` has its contexts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mqgateway.engine.options import ClientAuthentication, TlsMode, TlsOptions
from mqgateway.gateway.remoting.server_tls import ServerTls
from tests.gateway.remoting.test_tls import FileShelf, identity
from tests.house.source import ROOT


def test_test_mode_loads_nothing_before_the_first_connection() -> None:
    program = """
import sys
from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.remoting.server_tls import ServerTls
tls = ServerTls(TlsOptions(), None)
tls.reload()
assert not tls.verifies_clients
assert "mqgateway.gateway.remoting.tls" not in sys.modules
assert tls.is_ready
assert "mqgateway.gateway.remoting.tls" in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


def test_errors_in_protocols_and_ciphers_are_known_at_the_start() -> None:
    with pytest.raises(ValueError, match="unknown TLS protocols"):
        ServerTls(TlsOptions(tls_protocols="TLSv9"), FileShelf())
    disabled = ServerTls(TlsOptions(tls_protocols="TLSv9", tls_server_mode=TlsMode.DISABLED), FileShelf())
    assert not disabled.is_ready


def test_files_are_read_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    options = TlsOptions(tls_test_mode_enable=False, tls_server_key_path="key", tls_server_cert_path="cert")
    assert not ServerTls(options, FileShelf()).is_ready
    assert "the TLS files of the server cannot be used" in caplog.text
    key, certificate = identity("localhost")
    assert ServerTls(options, FileShelf(key=key, cert=certificate)).is_ready


def test_clients_are_verified_by_the_authorities_of_the_settings() -> None:
    options = TlsOptions(
        tls_server_need_client_auth=ClientAuthentication.REQUIRE, tls_server_trust_cert_path="trusted"
    )
    assert not ServerTls(options, FileShelf()).verifies_clients, "not in test mode"
