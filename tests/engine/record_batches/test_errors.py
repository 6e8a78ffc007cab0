"""The error names field and position."""

from mqgateway.engine.record_batches.errors import CodecError


def test_error_names_path_and_position() -> None:
    error = CodecError("too short", 17)
    for name in ("name", "[3]", "topics", "MetadataRequest v9"):
        error.within(name)
    assert str(error) == "MetadataRequest v9.topics[3].name at byte 17: too short"


def test_error_without_path_and_position_has_the_reason() -> None:
    assert str(CodecError("too long")) == "kafka: too long"
