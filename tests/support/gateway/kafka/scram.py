"""The client's side of SCRAM, by its RFC, independent of the server's."""

from __future__ import annotations

import base64
import hashlib
import hmac


class ScramClient:
    """One authentication: `first`, then `final` with the server's answer, then `is_server_proved`."""

    def __init__(
        self,
        digest: str,
        user: str,
        password: str,
        nonce: str = "fyko",
        header: str = "n,,",
        extensions: str = "",
    ) -> None:
        self._digest = digest
        self._password = password.encode()
        self._header = header
        escaped = user.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={escaped},r={nonce}{extensions}"
        self._signed = b""
        self._salted = b""

    def first(self) -> bytes:
        """Return the first message."""
        return (self._header + self._bare).encode()

    def final(self, answer: bytes) -> bytes:
        """Return the final message."""
        fields = dict(part.split("=", 1) for part in answer.decode().split(","))
        salt = base64.b64decode(fields["s"])
        self._salted = hashlib.pbkdf2_hmac(self._digest, self._password, salt, int(fields["i"]))
        client_key = self._hmac(self._salted, b"Client Key")
        unproved = f"c={base64.b64encode(self._header.encode()).decode()},r={fields['r']}".encode()
        self._signed = b",".join([self._bare.encode(), answer, unproved])
        signature = self._hmac(hashlib.new(self._digest, client_key).digest(), self._signed)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        return unproved + b",p=" + base64.b64encode(proof)

    def is_server_proved(self, answer: bytes) -> bool:
        """Return True if the server has the keys of the password."""
        expected = self._hmac(self._hmac(self._salted, b"Server Key"), self._signed)
        return answer == b"v=" + base64.b64encode(expected)

    def _hmac(self, key: bytes, text: bytes) -> bytes:
        return hmac.digest(key, text, self._digest)
