"""Access-control errors have RocketMQ's texts."""

from mqgateway.gateway.access.errors import AccessError


def test_error_text_is_unchanged() -> None:
    assert str(AccessError("User:zed is not found.")) == "User:zed is not found."
