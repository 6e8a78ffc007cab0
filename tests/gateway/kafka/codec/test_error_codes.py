"""Error codes of 4.4.0."""

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode


def test_codes_have_no_gap() -> None:
    assert sorted(ErrorCode) == list(range(-1, len(ErrorCode) - 1))


@pytest.mark.parametrize(
    ("code", "name", "is_retriable"),
    [
        (-1, "UNKNOWN_SERVER_ERROR", False),
        (2, "CORRUPT_MESSAGE", True),
        (6, "NOT_LEADER_OR_FOLLOWER", True),
        (16, "NOT_COORDINATOR", True),
        (35, "UNSUPPORTED_VERSION", False),
        (87, "INVALID_RECORD", False),
        (129, "REBOOTSTRAP_REQUIRED", False),
    ],
)
def test_code_has_the_name_and_retries_of_the_java_client(code: int, name: str, is_retriable: bool) -> None:
    assert ErrorCode(code).name == name
    assert ErrorCode(code).is_retriable is is_retriable


def test_kio_has_the_same_codes() -> None:
    theirs = pytest.importorskip("kio.schema.errors").ErrorCode
    names = {code.value: code.name.upper() for code in theirs}
    assert {int(code): code.name for code in ErrorCode if code in names} == names
