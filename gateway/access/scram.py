"""SCRAM credentials: keys that are derived from a password, with which a client's knowledge of it is checked.

Standard: RFC 5802, RFC 7677, `ScramCredential`, `ScramFormatter` of Apache Kafka.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from mqgateway.engine.errors import ConfigError

ITERATIONS_MIN: Final = 4096
"""Fewest iterations of a key derivation, of both mechanisms."""


@dataclass(frozen=True, slots=True)
class ScramMechanism:
    """A mechanism: its name, its hash function as `hashlib` names it, its number in Kafka's protocol."""

    name: str
    digest: str
    number: int

    def hmac(self, key: bytes, text: bytes) -> bytes:
        """Return the keyed hash of a text."""
        return hmac.digest(key, text, self.digest)

    def hash(self, text: bytes) -> bytes:
        """Return the hash of a text."""
        return hashlib.new(self.digest, text).digest()

    def salted(self, password: str, salt: bytes, iterations: int) -> bytes:
        """Return the salted password; takes milliseconds."""
        return hashlib.pbkdf2_hmac(self.digest, password.encode("utf-8", "surrogatepass"), salt, iterations)

    def credential(self, salted_password: bytes, salt: bytes, iterations: int) -> ScramCredential:
        """Return the credential of a salted password."""
        stored_key = self.hash(self.hmac(salted_password, b"Client Key"))
        return ScramCredential(
            self.name, salt, iterations, stored_key, self.hmac(salted_password, b"Server Key")
        )


SCRAM_MECHANISMS: Final = {
    one.name: one
    for one in (ScramMechanism("SCRAM-SHA-256", "sha256", 1), ScramMechanism("SCRAM-SHA-512", "sha512", 2))
}
"""The mechanisms by name."""


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """The keys that a server keeps of a password, for one mechanism."""

    mechanism: str
    salt: bytes
    iterations: int
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return the credential as files have it."""
        return {
            "mechanism": self.mechanism,
            "salt": _text(self.salt),
            "iterations": self.iterations,
            "storedKey": _text(self.stored_key),
            "serverKey": _text(self.server_key),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Parse a credential of a file. Raises `ConfigError`."""
        try:
            if value["mechanism"] not in SCRAM_MECHANISMS:
                raise ConfigError(f"unknown SCRAM mechanism {value['mechanism']!r}")
            salt, stored_key, server_key = (
                base64.b64decode(value[name], validate=True) for name in ("salt", "storedKey", "serverKey")
            )
            return cls(value["mechanism"], salt, int(value["iterations"]), stored_key, server_key)
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError("a SCRAM credential cannot be read") from error


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
