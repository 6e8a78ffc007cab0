"""Request signatures, by which callers are authenticated.

The signed content is the values of all header fields, sorted by name, followed by the body. The algorithm is
HMAC-SHA1, encoded in base64. The serialization of the header does not matter. RocketMQ: `AclClientRPCHook`,
`AclUtils.combineRequestContent`, `AclSigner`, `DefaultAuthenticationContextBuilder`.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Final

from mqgateway.gateway.codec.codes import V4_9_3
from mqgateway.gateway.codec.command import RemotingCommand

ACCESS_KEY: Final = "AccessKey"
SECURITY_TOKEN: Final = "SecurityToken"
SIGNATURE: Final = "Signature"
_QUERY_BY_UNIQUE_KEY: Final = "_UNIQUE_KEY_QUERY"

_UNSIGNED: Final = (SIGNATURE,)
# Clients up to this version add the mark to a query after signing it.
_UNSIGNED_BEFORE: Final = (SIGNATURE, _QUERY_BY_UNIQUE_KEY)

ORDERS_MAX = 1024
"""Maximum number of cached field orders."""
NAMES_MAX: Final = 1024
"""Maximum total length of the field names of a cached order, in characters."""

Pick = Callable[[Mapping[str, str]], Iterable[str]]
_known_orders: Final[dict[tuple[tuple[str, ...], tuple[str, ...]], Pick]] = {}

_BLOCK_SIZE: Final = 64  # bytes, of SHA-1


@dataclass(frozen=True)
class Credentials:
    """Access key, secret key and security token; the secrets are not shown in logs."""

    access_key: str
    secret_key: str = field(repr=False)
    security_token: str = field(default="", repr=False)

    @classmethod
    def made_up(cls, owner: str) -> Credentials:
        """Return random credentials whose name starts with `owner`."""
        return cls(f"{owner}-{secrets.token_hex(4)}", secrets.token_urlsafe(32))

    def sign(self, command: RemotingCommand) -> None:
        """Add access key and signature to the command's fields; nothing may be changed afterwards."""
        fields = command.ext_fields
        fields[ACCESS_KEY] = self.access_key
        if self.security_token:
            fields[SECURITY_TOKEN] = self.security_token
        fields[SIGNATURE] = _signature(command, self.secret_key, _UNSIGNED).decode()


def credentials_in(text: str | bytes, path: str = "tools.yml") -> Credentials | None:
    """Return the credentials in a YAML file in the form of `tools.yml`; None unless it has both keys.

    Raises `ConfigError` for invalid YAML; `path` is named in errors.
    """
    # Imported late: credentials usually come from settings, so YAML is rarely needed.
    from mqgateway.gateway.access.plain.yaml_text import parse_yaml

    members = parse_yaml(
        path, text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    ).value
    if not isinstance(members, dict):
        return None
    access, secret, token = (members.get(name) for name in ("accessKey", "secretKey", "securityToken"))
    return Credentials(str(access), str(secret), str(token or "")) if access and secret else None


def signed_values(fields: Mapping[str, str], left_out: tuple[str, ...] = _UNSIGNED) -> bytes:
    """Return the signed content of header fields: all values except `left_out`, sorted by name."""
    names = tuple(fields)
    pick = _known_orders.get((left_out, names))
    if pick is None:
        pick = _learn_order(left_out, names)
    return "".join(pick(fields)).encode("utf-8", "replace")


def is_signed(command: RemotingCommand, secret_key: str, *, as_version_4: bool = False) -> bool:
    """Return True if the request has the signature of this secret key; takes constant time.

    Brokers of version 4 exclude the mark of a query, whatever the client's version.
    """
    given = command.ext_fields.get(SIGNATURE)
    if given is None:
        return False
    left_out = _UNSIGNED_BEFORE if as_version_4 or command.version <= V4_9_3 else _UNSIGNED
    return hmac.compare_digest(_signature(command, secret_key, left_out), given.encode("utf-8", "replace"))


def _signature(command: RemotingCommand, secret_key: str, left_out: tuple[str, ...]) -> bytes:
    """Return the HMAC-SHA1 in base64, without `hmac` objects, whose updates run Python code."""
    inner, outer = _keyed(secret_key)
    inner, outer = inner.copy(), outer.copy()
    inner.update(signed_values(command.ext_fields, left_out))
    inner.update(command.body)
    outer.update(inner.digest())
    return binascii.b2a_base64(outer.digest(), newline=False)


@lru_cache(maxsize=1024)
def _keyed(secret_key: str) -> tuple[hashlib._Hash, hashlib._Hash]:
    """Return the inner and outer hash of an HMAC after the key, to be copied for each message.

    Hashing the key takes as long as half a kilobyte. Source: RFC 2104.
    """
    key = secret_key.encode("utf-8", "replace")
    block = (key if len(key) <= _BLOCK_SIZE else hashlib.sha1(key).digest()).ljust(_BLOCK_SIZE, b"\0")
    inner, outer = (bytes(byte ^ mask for byte in block) for mask in (0x36, 0x5C))
    return hashlib.sha1(inner), hashlib.sha1(outer)


def _learn_order(left_out: tuple[str, ...], names: tuple[str, ...]) -> Pick:
    """Return a function that picks the values of these fields in signing order.

    A client's requests of one code have the same field order, so it is cached, unless the names are longer
    than those of any client. When the cache is full, it is cleared.
    """
    signed = [name for name in names if name not in left_out]
    text = "".join(signed)
    signed.sort(key=None if text.isascii() else _java_order)
    pick = itemgetter(*signed) if signed else _nothing
    if len(text) <= NAMES_MAX:
        if len(_known_orders) >= ORDERS_MAX:
            _known_orders.clear()
        _known_orders[left_out, names] = pick
    return pick


def _nothing(fields: Mapping[str, str]) -> tuple[str, ...]:
    return ()


def _java_order(name: str) -> bytes:
    """Sort key as in Java, which compares UTF-16 code units."""
    return name.encode("utf-16-be", "surrogatepass")
