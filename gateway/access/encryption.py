"""Secrets that are encrypted where they lie in files."""

from __future__ import annotations

import base64

from mqgateway.engine.errors import ConfigError

KEY_BYTES = 32
HOW_TO_MAKE_A_KEY = "a key is 32 random bytes in base64, as `openssl rand -base64 32` prints them"


class SecretCipher:
    """Encrypts and reads secrets with one key. Raises `ConfigError` for a text that is no key."""

    def __init__(self, key: str) -> None:
        from cryptography.fernet import Fernet  # most servers need none of it

        try:
            raw = base64.b64decode(key.strip().replace("-", "+").replace("_", "/"), validate=True)
        except ValueError:
            raw = b""
        if len(raw) != KEY_BYTES:
            raise ConfigError(f"the key that encrypts passwords cannot be used: {HOW_TO_MAKE_A_KEY}")
        self._fernet = Fernet(base64.urlsafe_b64encode(raw))

    def encrypt(self, secret: str) -> str:
        """Return the encrypted secret."""
        return self._fernet.encrypt(secret.encode("utf-8", "surrogatepass")).decode("ascii")

    def decrypt(self, encrypted: str) -> str:
        """Return the secret that `encrypt` encrypted. Raises `ConfigError` if it was another key's."""
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet.decrypt(encrypted).decode("utf-8", "surrogatepass")
        except (InvalidToken, ValueError):
            raise ConfigError("a password is encrypted with another key than is given") from None
