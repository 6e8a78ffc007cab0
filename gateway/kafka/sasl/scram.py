"""Messages of SCRAM, pure.

A client proves that it knows a password, which is not sent, and the server that it has keys which are derived
from it. Standard: RFC 5802, RFC 7677, `ScramMessages`, `ScramFormatter`.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from typing import Final, NamedTuple

from mqgateway.gateway.access.scram import ScramCredential, ScramMechanism

_CLIENT_FIRST: Final = re.compile(
    r"n,(?:a=(?P<authorization_id>[^,]+))?,(?:m=[^,]*,)?n=(?P<user>(?:[^,=]|=2C|=3D)+),"
    r"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)(?P<extensions>(?:,[A-Za-z]+=[^,]+)*)"
)
_CLIENT_FINAL: Final = re.compile(
    r"c=(?P<binding>[A-Za-z0-9+/]+={0,2}),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)(?:,[A-Za-z]+=[^,]+)*"
    r",p=(?P<proof>[A-Za-z0-9+/]+={0,2})"
)


class ClientFirst(NamedTuple):
    """The first message of a client. `bare` is the part that is signed, `binding` the part before it.

    `has_token` is True if the user is the id of a delegation token.
    """

    user: str
    authorization_id: str
    nonce: str
    binding: bytes
    bare: str
    has_token: bool


def read_client_first(token: bytes) -> ClientFirst | None:
    """Parse the first message of a client; None if it cannot be parsed or wants channel binding."""
    text = _text(token)
    found = _CLIENT_FIRST.fullmatch(text)
    if found is None:
        return None
    begin = text.index(",", 2) + 1
    authorization_id = _name(found["authorization_id"] or "")
    binding = text[:begin].encode("utf-8", "surrogateescape")
    has_token = ",tokenauth=true," in f"{found['extensions'].lower()},"
    return ClientFirst(
        _name(found["user"]), authorization_id, found["nonce"], binding, text[begin:], has_token
    )


def server_first(nonce: str, credential: ScramCredential) -> str:
    """Return the first message of a server."""
    salt = base64.b64encode(credential.salt).decode("ascii")
    return f"r={nonce},s={salt},i={credential.iterations}"


class ClientFinal(NamedTuple):
    """The final message of a client. `unproved` is all of it but the proof."""

    binding: bytes
    nonce: str
    proof: bytes
    unproved: str


def read_client_final(token: bytes) -> ClientFinal | None:
    """Parse the final message of a client; None if it cannot be parsed."""
    text = _text(token)
    found = _CLIENT_FINAL.fullmatch(text)
    if found is None:
        return None
    try:
        binding, proof = base64.b64decode(found["binding"]), base64.b64decode(found["proof"])
    except binascii.Error:
        return None
    return ClientFinal(binding, found["nonce"], proof, text[: found.start("proof") - len(",p=")])


def is_proved(mechanism: ScramMechanism, credential: ScramCredential, signed: str, proof: bytes) -> bool:
    """Return True if the proof of a client is one of the password for the signed messages."""
    signature = mechanism.hmac(credential.stored_key, signed.encode("utf-8", "surrogateescape"))
    if len(proof) != len(signature):
        return False
    client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
    return hmac.compare_digest(mechanism.hash(client_key), credential.stored_key)


def server_final(mechanism: ScramMechanism, credential: ScramCredential, signed: str) -> bytes:
    """Return the final message of a server, with its own proof."""
    signature = mechanism.hmac(credential.server_key, signed.encode("utf-8", "surrogateescape"))
    return b"v=" + base64.b64encode(signature)


def _text(token: bytes) -> str:
    return token.decode("utf-8", "surrogateescape")


def _name(text: str) -> str:
    """Return a name of a message: commas and equals signs are escaped there."""
    return text.replace("=2C", ",").replace("=3D", "=")
