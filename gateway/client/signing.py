"""The signature that says who asks: every request carries it when the client has an access key.

Signed are the values of all header fields, in the order of their names, followed by the body; the algorithm
is HMAC-SHA1, written in base64. Standard: `AclClientRPCHook`, `AclUtils.combineRequestContent`, `AclSigner`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, field

from mqgateway.gateway.codec.command import RemotingCommand

ACCESS_KEY = "AccessKey"
SECURITY_TOKEN = "SecurityToken"
SIGNATURE = "Signature"


@dataclass(frozen=True)
class Credentials:
    """Who we are; the secret key is not shown in logs."""

    access_key: str
    secret_key: str = field(repr=False)
    security_token: str = field(default="", repr=False)

    def sign(self, command: RemotingCommand) -> None:
        """Add our name and the signature to the command's fields; nothing may be changed afterwards."""
        fields = command.ext_fields
        fields[ACCESS_KEY] = self.access_key
        if self.security_token:
            fields[SECURITY_TOKEN] = self.security_token
        fields[SIGNATURE] = signature(fields, command.body, self.secret_key)


def signature(fields: dict[str, str], body: bytes, secret_key: str) -> str:
    """The signature of header fields and a body."""
    values = "".join([value for name, value in sorted(fields.items()) if name != SIGNATURE])
    digest = hmac.new(secret_key.encode(), values.encode() + body, hashlib.sha1).digest()
    return base64.b64encode(digest).decode("ascii")
