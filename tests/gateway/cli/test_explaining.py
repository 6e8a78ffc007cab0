"""Errors with what to do about them."""

import pytest

from mqgateway.gateway.cli.explaining import explained, is_final
from mqgateway.gateway.client.errors import BrokerError, ClientError, NoRoute, TimedOut, Unreachable


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (NoRoute("T"), "mqgateway topic create T"),
        (Unreachable("cannot connect to a:1 (connection refused)"), "check that the server runs"),
        (Unreachable("a:1 closed the connection"), "--tls"),
        (TimedOut("a:1 did not answer"), "more time"),
        (BrokerError(16, "username cannot be null.", "a:1"), "--access-key"),
        (BrokerError(16, "check signature failed.", "a:1"), "secret key"),
        (BrokerError(16, "alice has no permission.", "a:1"), "mqgateway access policies"),
        (BrokerError(1, "... filter message by SQL92", "a:1"), "enablePropertyFilter"),
        (BrokerError(2, "too many requests", "a:1"), "try again later"),
    ],
)
def test_error_says_what_to_do(error: ClientError, remedy: str) -> None:
    text = explained(error)
    assert remedy in text.partition("; ")[2] and "\n" not in text


def test_remedy_is_that_of_the_reason() -> None:
    error = NoRoute("T", "the name server answered 16: check signature failed.")
    error.__cause__ = BrokerError(16, "check signature failed.", "the name server")
    assert explained(error).endswith("check signature failed; check the secret key")


def test_refusal_for_good_is_final() -> None:
    assert is_final(BrokerError(16, "", "a:1")) and not is_final(BrokerError(2, "", "a:1"))
    assert not is_final(Unreachable("a:1"))
