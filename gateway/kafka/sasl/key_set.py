"""Public keys of an identity provider, from a JSON Web Key Set; pure.

Only keys that can verify a signature are kept: no shared secrets, no private keys, no keys for encryption
and no RSA keys below 2,048 bits. A key verifies the algorithms of its type only, so a token cannot choose
`none`, or a keyed hash with a public key as its secret. Standard: RFC 7517, RFC 7518.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.exceptions import PyJWTError

RSA_BITS_MIN: Final = 2048
KEYS_MAX: Final = 1000
"""Keys of a set that are read; later ones are ignored."""
_RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_BY_CURVE: Final[Mapping[object, tuple[str, ...]]] = {
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA",),
}
_READERS: Final[Mapping[object, Callable[[dict[str, Any]], Any]]] = {
    "RSA": RSAAlgorithm.from_jwk,
    "EC": ECAlgorithm.from_jwk,
    "OKP": OKPAlgorithm.from_jwk,
}


class InvalidKeySet(Exception):
    """A document that is not a key set."""


class SigningKey(NamedTuple):
    """A public key, its id (None without one), and the algorithms that it verifies."""

    key_id: str | None
    algorithms: tuple[str, ...]
    key: Any


class KeySet:
    """The keys of one document."""

    def __init__(self, keys: Sequence[SigningKey] = ()) -> None:
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys)

    @classmethod
    def parse(cls, document: bytes) -> KeySet:
        """Read a document; keys that cannot be used are left out. Raises `InvalidKeySet`."""
        try:
            given = json.loads(document)
        except (ValueError, RecursionError) as error:
            raise InvalidKeySet(f"it is not JSON: {error}") from None
        keys = given.get("keys") if isinstance(given, dict) else None
        if not isinstance(keys, list):
            raise InvalidKeySet("it has no list of keys")
        return cls([key for key in map(_signing_key, keys[:KEYS_MAX]) if key is not None])

    def find(self, key_id: str | None, algorithm: str) -> SigningKey | None:
        """Return the key of an id for an algorithm; without an id, the only key for the algorithm."""
        fitting = [key for key in self._keys if algorithm in key.algorithms]
        if key_id is None:
            return fitting[0] if len(fitting) == 1 else None
        return next((key for key in fitting if key.key_id == key_id), None)


def _signing_key(value: object) -> SigningKey | None:
    """Return the key of an entry; None if it cannot verify signatures."""
    if not isinstance(value, dict) or not _is_for_signatures(value):
        return None
    key_id, algorithms = value.get("kid"), _algorithms(value)
    if not algorithms or not (key_id is None or isinstance(key_id, str)):
        return None
    try:
        key = _READERS[value["kty"]](value)
    except (PyJWTError, UnsupportedAlgorithm, KeyError, TypeError, ValueError):
        return None
    if value["kty"] == "RSA" and key.key_size < RSA_BITS_MIN:
        return None
    return SigningKey(key_id, algorithms, key)


def _is_for_signatures(value: Mapping[str, Any]) -> bool:
    """Return True for a public key that is not restricted to another use."""
    operations = value.get("key_ops", ["verify"])
    may_verify = isinstance(operations, list) and "verify" in operations
    return "d" not in value and value.get("use", "sig") == "sig" and may_verify


def _algorithms(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the algorithms of a key: those of its type, or the one among them that it names."""
    kind, curve, named = value.get("kty"), value.get("crv"), value.get("alg")
    algorithms: tuple[str, ...] = _RSA if kind == "RSA" else ()
    if kind in ("EC", "OKP") and isinstance(curve, str):
        algorithms = _BY_CURVE.get(curve, ())
    return algorithms if named is None else tuple(one for one in algorithms if one == named)
