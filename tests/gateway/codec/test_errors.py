"""Errors have the fields of the answer."""

from mqgateway.gateway.codec.errors import BodyError, HeaderError


def test_a_header_error_has_field_and_remark() -> None:
    error = HeaderError("topic", "the custom field <topic> is null")
    assert (error.field, error.remark, str(error)) == (
        "topic",
        "the custom field <topic> is null",
        error.remark,
    )


def test_a_body_error_is_answered_like_a_header_error() -> None:
    assert isinstance(BodyError("mqSet", "wrong"), HeaderError)
