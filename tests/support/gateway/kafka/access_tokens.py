"""An identity provider: a key, the document that publishes it, and tokens that it signs."""

from __future__ import annotations

import json
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm


class IdentityProvider:
    """A provider with a key of the curve P-256."""

    def __init__(self, key_id: str = "first") -> None:
        self.key_id = key_id
        self._key = ec.generate_private_key(ec.SECP256R1())

    def entry(self, **changes: Any) -> dict[str, Any]:
        """Return the public key as an entry of a key set."""
        published: dict[str, Any] = ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return {"kid": self.key_id, **published, **changes}

    def document(self) -> bytes:
        """Return the key set."""
        return json.dumps({"keys": [self.entry()]}).encode()

    def token(self, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """Return a token with these claims."""
        headers = {"kid": self.key_id} if header is None else header
        return jwt.encode(claims, self._key, algorithm="ES256", headers=headers)


def response(token: str, authorization_id: str = "") -> bytes:
    """Return the first message of a client."""
    named = f"a={authorization_id}" if authorization_id else ""
    return f"n,{named},\x01auth=Bearer {token}\x01\x01".encode()
