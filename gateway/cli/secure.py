"""`mqgateway serve --secure`: enables access control and TLS with generated users, secrets and certificate.

The generated files are in one folder, readable by this user only, and are used again by later starts:

    secure.properties   the super user and the credentials with which the servers sign to one another
    tools.yml           the super user, as mqadmin reads it
    server.key, .pem    the key and the certificate, which clients must trust

Given settings take precedence, unless they would leave the server open.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import OptionSet, TlsMode, Value, format_value, load_properties
from mqgateway.engine.options.properties import format_properties_text
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.gateway.cli.settings import BrokerSettings, NamesrvSettings

SETTINGS, TOOLS, KEY, CERTIFICATE = "secure.properties", "tools.yml", "server.key", "server.pem"
FIRST_USER, INNER_USER = "initAuthenticationUser", "innerClientAuthenticationCredentials"
ORIGIN = "--secure"
USER = "root"

MUST_BE: dict[str, Value] = {
    "authenticationEnabled": True,
    "authorizationEnabled": True,
    "tls.server.mode": TlsMode.ENFORCING,
    "tls.test.mode.enable": False,
}
"""Settings that secure a server; another value of one of them contradicts `--secure`."""


@dataclass(frozen=True)
class Secured:
    """Credentials and files to print at the start; `password` is empty after the first start."""

    user: str
    password: str
    folder: str
    certificate: str

    def lines(self) -> list[str]:
        """Return the lines to print."""
        shown = f"password {self.password}   (shown only once)" if self.password else "with the password"
        trust = f"-Dtls.client.authServer=true -Dtls.client.trustCertPath={self.certificate}"
        return [
            f"super user   {self.user}, {shown}, kept in {os.path.join(self.folder, TOOLS)}",
            f"java client  -Dtls.enable=true -Dtls.test.mode.enable=false {trust}",
            f'             new AclClientRPCHook(new SessionCredentials("{self.user}", PASSWORD)), '
            "or another user: mqadmin createUser, createAcl",
        ]

    def as_json(self) -> dict[str, str]:
        """Return user, password if shown, and paths for JSON."""
        shown = {"password": self.password} if self.password else {}
        return {
            "user": self.user,
            **shown,
            "toolsYml": os.path.join(self.folder, TOOLS),
            "trustCertPath": self.certificate,
        }


def close_both(namesrv: NamesrvSettings, broker: BrokerSettings) -> None:
    """Apply `MUST_BE` to both servers. Raises `ConfigError` for settings that contradict it."""
    for options in (broker.options, namesrv.options):
        _close(options)


def secure(folder: str, namesrv: NamesrvSettings, broker: BrokerSettings, disk: Disk) -> Secured:
    """Secure both servers with the users and the certificate in `folder`; generate them if missing.

    Raises `ConfigError` for settings that contradict `--secure`, and for a folder that cannot be used.
    """
    close_both(namesrv, broker)
    try:
        made, is_new = _secrets(folder, broker.options, disk)
        certificate = _certificate(folder, (namesrv.options, broker.options), broker.broker.broker_ip1, disk)
    except OSError as error:
        raise ConfigError(f"--secure: {folder} cannot be used: {error}") from None
    for name in (FIRST_USER, INNER_USER):
        broker.options.assume(name, made[name], ORIGIN)
    for options in (namesrv.options, broker.options):
        options.assume("tls.enable", True, ORIGIN)
        options.assume("useTLS", True, ORIGIN)
        options.assume("tls.client.authServer", True, ORIGIN)
        options.assume("tls.client.trustCertPath", certificate, ORIGIN)
    user, is_ours = _user(broker.options), broker.options.origin(FIRST_USER) == ORIGIN
    return Secured(user["username"], user["password"] if is_new and is_ours else "", folder, certificate)


def _close(options: OptionSet) -> None:
    for name, value in MUST_BE.items():
        if name not in options:
            continue
        options.assume(name, value, ORIGIN)
        if options.get(name) != value:
            given = f"{name}={format_value(options.get(name))} ({options.origin(name)})"
            raise ConfigError(
                f"--secure needs {name}={format_value(value)}, but {given} is set; remove one of them"
            )


def _user(options: OptionSet) -> dict[str, str]:
    try:
        value = json.loads(str(options.get(FIRST_USER)))
        return {"username": str(value["username"]), "password": str(value["password"])}
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f'{FIRST_USER} must be {{"username":"...","password":"..."}}') from None


def _secrets(folder: str, options: OptionSet, disk: Disk) -> tuple[dict[str, str], bool]:
    """Return the two users as settings, and True if they were generated now because the file is missing."""
    path = os.path.join(folder, SETTINGS)
    if disk.exists(path):
        read = load_properties(disk.read_bytes(path), path)
        made = {setting.key: setting.value for setting in read}
        if missing := {FIRST_USER, INNER_USER} - made.keys():
            raise ConfigError(
                f"{path} lacks {', '.join(sorted(missing))}; delete it and it is generated again"
            )
        return made, False
    password = secrets.token_urlsafe(18)
    made = {
        FIRST_USER: json.dumps({"username": USER, "password": password}),
        INNER_USER: json.dumps({"accessKey": "inner", "secretKey": secrets.token_urlsafe(32)}),
    }
    options.assume(FIRST_USER, made[FIRST_USER], ORIGIN)
    user = _user(options)
    tools = f"accessKey: {json.dumps(user['username'])}\nsecretKey: {json.dumps(user['password'])}\n"
    write_table(disk, os.path.join(folder, TOOLS), tools.encode())
    write_table(disk, path, format_properties_text(made).encode())
    return made, True


def _certificate(folder: str, sets: Iterable[OptionSet], advertised: str, disk: Disk) -> str:
    """Return the path of the certificate that clients must trust: of the settings, or a generated one."""
    key, certificate = os.path.join(folder, KEY), os.path.join(folder, CERTIFICATE)
    sets = list(sets)
    for options in sets:
        options.assume("tls.server.keyPath", key, ORIGIN)
        options.assume("tls.server.certPath", certificate, ORIGIN)
    is_ours = certificate in {str(options.get("tls.server.certPath")) for options in sets}
    if is_ours and not disk.exists(certificate):
        from mqgateway.gateway.remoting.tls import pem_of, self_signed

        names = dict.fromkeys((advertised, socket.gethostname(), "localhost", "127.0.0.1"))
        key_text, certificate_text = pem_of(*self_signed(*filter(None, names)))
        write_table(disk, key, key_text)
        write_table(disk, certificate, certificate_text)
    return str(sets[-1].get("tls.server.certPath"))
