"""Every header of RocketMQ is declared with its fields, and no declaration changes unseen.

`headers_of_the_standard.tsv` lists the header classes of version 5.5.0: wire name, Java type, `!` for
required. `headers_pinned.txt` lists what our classes make of them, with attribute names, defaults and request
codes. After an intended change write it again: `python -m tests.gateway.codec.test_headers`; read the diff.
"""

import csv
from pathlib import Path

import pytest

from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Header, request_header, request_headers

HERE = Path(__file__).parent
PINNED = HERE / "headers_pinned.txt"

CLASSES: dict[str, type[Header]] = {name: getattr(headers, name) for name in headers.__all__}

JAVA_TYPES = {"Integer": "int", "Long": "long", "Boolean": "boolean"}


def standard() -> dict[str, set[tuple[str, str, bool]]]:
    """Fields (wire name, primitive type, required) by header."""
    with (HERE / "headers_of_the_standard.tsv").open(encoding="utf-8", newline="") as lines:
        rows = {row["header"]: row["fields"].split() for row in csv.DictReader(lines, delimiter="\t")}
    return {header: {_standard_field(text) for text in texts} for header, texts in rows.items()}


def _standard_field(text: str) -> tuple[str, str, bool]:
    name, java_type = text.split(":")
    required = java_type.endswith("!")
    java_type = java_type.rstrip("!")
    return name, JAVA_TYPES.get(java_type, java_type), required


def ours(header: type[Header]) -> set[tuple[str, str, bool]]:
    return {(field.wire_name, field.type.name, field.required) for field in header.__fields__}


def names_and_types(fields: set[tuple[str, str, bool]]) -> set[tuple[str, str]]:
    return {(name, java_type) for name, java_type, _ in fields}


def required(fields: set[tuple[str, str, bool]]) -> set[str]:
    return {name for name, _, is_required in fields if is_required}


def pinned_text() -> str:
    """All schemas as text, one header a paragraph."""
    codes: dict[type[Header], list[int]] = {}
    for code, header in sorted(request_headers().items()):
        codes.setdefault(header, []).append(code)
    paragraphs = []
    for name, header in sorted(CLASSES.items()):
        lines = [" ".join([name, *map(str, codes.get(header, []))])]
        for field in header.__fields__:
            rest = "required" if field.required else f"= {field.default}"
            lines.append(f"    {field.wire_name}: {field.type.name} {rest} ({field.name})")
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs) + "\n"


def test_no_schema_changed_unseen() -> None:
    assert pinned_text() == PINNED.read_text(encoding="utf-8")


def test_all_headers_of_the_standard_are_there_and_no_others() -> None:
    assert set(CLASSES) == set(standard())


@pytest.mark.parametrize("name", sorted(set(CLASSES) - {"SendMessageRequestHeaderV2"}))
def test_fields_are_the_standards(name: str) -> None:
    assert names_and_types(ours(CLASSES[name])) == names_and_types(standard()[name])


@pytest.mark.parametrize("name", sorted(set(CLASSES) - {"SendMessageRequestHeaderV2"}))
def test_required_fields_are_required_in_rocketmq(name: str) -> None:
    """RocketMQ does not enforce the fields it calls required; our server requires a part of them."""
    assert required(ours(CLASSES[name])) <= required(standard()[name])


def test_the_one_letter_header_has_the_standards_letters() -> None:
    """Ours has `n` in the place of `bname`, which no client sends beside it."""
    wanted = standard()["SendMessageRequestHeaderV2"] - {("bname", "String", False)}
    given = ours(CLASSES["SendMessageRequestHeaderV2"])
    assert names_and_types(given) == names_and_types(wanted)
    assert required(given) <= required(wanted)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_header_comes_back_from_its_text(name: str) -> None:
    """Encode and decode agree for all fields set, and for the required ones alone."""
    header_class = CLASSES[name]
    samples = {"String": "text", "int": "7", "long": "8589934592", "boolean": "true", "BoundaryType": "UPPER"}
    full = {field.wire_name: samples[field.type.name] for field in header_class.__fields__}
    assert header_class.decode(full).encode() == full
    least = {field.wire_name: full[field.wire_name] for field in header_class.__fields__ if field.required}
    header = header_class.decode(least)
    assert header_class.decode(header.encode()) == header


def test_send_headers_are_one_class_in_two_spellings() -> None:
    long, short = request_header(RequestCode.SEND_MESSAGE), request_header(RequestCode.SEND_MESSAGE_V2)
    assert long is headers.SendMessageRequestHeader
    assert short is request_header(RequestCode.SEND_BATCH_MESSAGE) is headers.SendMessageRequestHeaderV2
    assert issubclass(short, long)


def test_both_pulls_have_one_header() -> None:
    assert request_header(RequestCode.LITE_PULL_MESSAGE) is request_header(RequestCode.PULL_MESSAGE)


def test_java_initial_values_stand_for_missing_fields() -> None:
    """For fields whose initial value in RocketMQ's class is not 0, false or null."""
    assert headers.ResetOffsetRequestHeader.decode(
        {"topic": "T", "group": "G", "timestamp": "-1", "isForce": "true"}
    ) == headers.ResetOffsetRequestHeader(topic="T", group="G", queue_id=-1, timestamp=-1, is_force=True)
    assert headers.GetMaxOffsetRequestHeader.decode({"topic": "T", "queueId": "0"}).committed is True
    assert headers.GetLiteClientInfoRequestHeader.decode({}).max_count == 1000


if __name__ == "__main__":
    PINNED.write_text(pinned_text(), encoding="utf-8")
