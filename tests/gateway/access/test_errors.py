"""The error of access control says what the standard says."""

from mqgateway.gateway.access.errors import AccessError


def test_the_sentence_is_shown_as_it_is() -> None:
    assert str(AccessError("User:zed is not found.")) == "User:zed is not found."
