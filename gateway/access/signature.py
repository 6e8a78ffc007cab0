"""The signature that says who asks.

Signed are the values of all header fields, in the order of their names, followed by the body; the algorithm
is HMAC-SHA1, written in base64. The form of the header on the wire does not matter. Standard:
`AclClientRPCHook`, `AclUtils.combineRequestContent`, `AclSigner`, `DefaultAuthenticationContextBuilder`.
"""

from __future__ import annotations

import binascii
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from mqgateway.gateway.codec.codes import V4_9_3
from mqgateway.gateway.codec.command import RemotingCommand

ACCESS_KEY = "AccessKey"
SECURITY_TOKEN = "SecurityToken"
SIGNATURE = "Signature"
_QUERY_BY_UNIQUE_KEY = "_UNIQUE_KEY_QUERY"

_UNSIGNED = (SIGNATURE,)
# Clients up to this version add the mark to a query after they have signed it.
_UNSIGNED_BEFORE = (SIGNATURE, _QUERY_BY_UNIQUE_KEY)


@dataclass(frozen=True)
class Credentials:
    """Who we are; the secret key is not shown in logs."""

    access_key: str
    secret_key: str = field(repr=False)
    security_token: str = field(default="", repr=False)

    @classmethod
    def made_up(cls, of_whom: str) -> Credentials:
        """A name that nobody has, and a secret that nobody knows."""
        return cls(f"{of_whom}-{secrets.token_hex(4)}", secrets.token_urlsafe(32))

    def sign(self, command: RemotingCommand) -> None:
        """Add our name and the signature to the command's fields; nothing may be changed afterwards."""
        fields = command.ext_fields
        fields[ACCESS_KEY] = self.access_key
        if self.security_token:
            fields[SECURITY_TOKEN] = self.security_token
        fields[SIGNATURE] = _signature(command, self.secret_key, _UNSIGNED).decode()


def credentials_in(text: str) -> Credentials | None:
    """Those in a file of the form of the standard's `tools.yml`, `name: value` a line; None without both."""
    lines = (line.partition(":") for line in text.splitlines() if not line.lstrip().startswith("#"))
    found = {name.strip(): value.strip().strip("\"'") for name, _, value in lines}
    access, secret = found.get("accessKey"), found.get("secretKey")
    return Credentials(access, secret, found.get("securityToken", "")) if access and secret else None


def signed_values(fields: Mapping[str, str], left_out: tuple[str, ...] = _UNSIGNED) -> bytes:
    """The values of all fields but those that are left out, in the order of the names, as they are signed."""
    names = sorted(fields)
    if not "".join(names).isascii():
        names.sort(key=_java_order)
    for name in left_out:
        if name in fields:
            names.remove(name)
    return "".join(map(fields.__getitem__, names)).encode("utf-8", "replace")


def is_signed(command: RemotingCommand, secret_key: str, *, as_version_4: bool = False) -> bool:
    """Whether the request has the signature that this secret key gives; takes as long for any other.

    Brokers of version 4 leave the mark of a query out, whatever the client's version.
    """
    given = command.ext_fields.get(SIGNATURE)
    if given is None:
        return False
    left_out = _UNSIGNED_BEFORE if as_version_4 or command.version <= V4_9_3 else _UNSIGNED
    return hmac.compare_digest(_signature(command, secret_key, left_out), given.encode("utf-8", "replace"))


def _signature(command: RemotingCommand, secret_key: str, left_out: tuple[str, ...]) -> bytes:
    signing = _keyed(secret_key).copy()
    signing.update(signed_values(command.ext_fields, left_out))
    signing.update(command.body)
    return binascii.b2a_base64(signing.digest(), newline=False)


@lru_cache(maxsize=1024)
def _keyed(secret_key: str) -> hmac.HMAC:
    """What has taken in the key, to be copied for each message: the key takes as long as half a kilobyte."""
    return hmac.new(secret_key.encode("utf-8", "replace"), digestmod="sha1")


def _java_order(name: str) -> bytes:
    """Java compares names by the 16-bit units of UTF-16."""
    return name.encode("utf-16-be", "surrogatepass")
