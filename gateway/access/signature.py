"""The signature that says who asks.

Signed are the values of all header fields, in the order of their names, followed by the body; the algorithm
is HMAC-SHA1, written in base64. The form of the header on the wire does not matter. Standard:
`AclClientRPCHook`, `AclUtils.combineRequestContent`, `AclSigner`, `DefaultAuthenticationContextBuilder`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from mqgateway.gateway.codec.codes import V4_9_3
from mqgateway.gateway.codec.command import RemotingCommand

ACCESS_KEY = "AccessKey"
SECURITY_TOKEN = "SecurityToken"
SIGNATURE = "Signature"
_QUERY_BY_UNIQUE_KEY = "_UNIQUE_KEY_QUERY"

_SIGNED = frozenset({SIGNATURE})
# Clients up to this version add the mark to a query after they have signed it.
_SIGNED_LATE = frozenset({SIGNATURE, _QUERY_BY_UNIQUE_KEY})


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
        fields[SIGNATURE] = _signature(signed_content(fields, command.body), self.secret_key)


def credentials_in(text: str) -> Credentials | None:
    """Those in a file of the form of the standard's `tools.yml`, `name: value` a line; None without both."""
    lines = (line.partition(":") for line in text.splitlines() if not line.lstrip().startswith("#"))
    found = {name.strip(): value.strip().strip("\"'") for name, _, value in lines}
    access, secret = found.get("accessKey"), found.get("secretKey")
    return Credentials(access, secret, found.get("securityToken", "")) if access and secret else None


def signed_content(fields: Mapping[str, str], body: bytes, left_out: Collection[str] = _SIGNED) -> bytes:
    """The bytes that are signed: the values of the fields that are not left out, and the body."""
    names = sorted(fields)
    if not "".join(names).isascii():
        names.sort(key=_java_order)
    values = "".join([fields[name] for name in names if name not in left_out])
    return values.encode("utf-8", "replace") + body


def is_signed(command: RemotingCommand, secret_key: str, *, as_version_4: bool = False) -> bool:
    """Whether the request has the signature that this secret key gives; takes as long for any other.

    Brokers of version 4 leave the mark of a query out, whatever the client's version.
    """
    fields = command.ext_fields
    given = fields.get(SIGNATURE)
    if given is None:
        return False
    left_out = _SIGNED_LATE if as_version_4 or command.version <= V4_9_3 else _SIGNED
    expected = _signature(signed_content(fields, command.body, left_out), secret_key)
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace"))


def _signature(content: bytes, secret_key: str) -> str:
    digest = hmac.digest(secret_key.encode("utf-8", "replace"), content, hashlib.sha1)
    return base64.b64encode(digest).decode("ascii")


def _java_order(name: str) -> bytes:
    """Java compares names by the 16-bit units of UTF-16."""
    return name.encode("utf-16-be", "surrogatepass")
