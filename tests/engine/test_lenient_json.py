"""JSON with bare integer keys and object keys."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.lenient_json import (
    DEPTH_MAX,
    PARTS_MAX,
    STRING_MAX,
    JsonError,
    ObjectKey,
    PreparedText,
    dumps,
    loads,
    loads_in_steps,
)


def test_bare_integer_keys_are_integers() -> None:
    assert loads('{"brokerAddrs":{0:"a:1", -1 :"b:2"},"x":{"0":1}}') == {
        "brokerAddrs": {0: "a:1", -1: "b:2"},
        "x": {"0": 1},
    }


def test_object_keys_are_mappings_that_can_be_looked_up() -> None:
    queue = {"brokerName": "b", "queueId": 0, "topic": "t"}
    read = loads('{"offsetTable":{{"topic":"t","brokerName":"b","queueId":0}:{"offset":7}}}')
    assert read["offsetTable"][ObjectKey(queue)] == {"offset": 7}
    (key,) = read["offsetTable"]
    assert dict(key) == queue
    assert (key["topic"], len(key)) == ("t", 3)


def test_standard_json_is_read_whatever_the_type_of_text() -> None:
    assert loads(b'{"a":[1,2.5,true,null,"\\u00e9"]}') == {"a": [1, 2.5, True, None, "é"]}
    assert loads(" [] ") == []


def test_everything_json_has_may_stand_beside_a_bare_key() -> None:
    text = ' { 1 : [ 1 , -2.5e3 , true , false , null , "a\\n\\u4e2d\\"" , { } , [ ] ] , "k" : 90071992547 } '
    assert loads(text) == {1: [1, -2500.0, True, False, None, 'a\n中"', {}, []], "k": 90071992547}


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("{0:1", 4),
        ("{0:}", 3),
        ("{0 1}", 3),
        ("{0:1}x", 5),
        ("{0:1,}", 5),
        ("{1.5:1}", 1),
        ("{[1]:1}", 1),
        ("{true:1}", 1),
        ('{0:"a}', 3),
        ("{0:nul}", 3),
        ("[1 2]", 3),
        ("{0:NaN}", 3),
        ("'a'", 0),
    ],
)
def test_an_error_says_where(text: str, position: int) -> None:
    with pytest.raises(JsonError) as caught:
        loads(text)
    assert caught.value.position == position


def test_bytes_that_are_no_text_are_an_error() -> None:
    with pytest.raises(JsonError) as caught:
        loads(b'{"a":"\xff"}')
    assert caught.value.position == 6


@pytest.mark.parametrize("opening", ["[", "{0:", '{"a":', "{", "[{0:"])
def test_depth_is_limited(opening: str) -> None:
    with pytest.raises(JsonError, match="deep"):
        loads(opening * 100_000)


def test_a_long_number_is_no_way_to_keep_the_server_busy() -> None:
    assert loads("{0:" + "9" * 100_000 + "}") == {0: float("inf")}


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert loads('{0:"\\ud800"}') == {0: "\ufffd"}
    assert dumps("\ud800") == b'"?"'


def test_the_writer_sorts_leaves_out_nulls_and_keeps_keys_bare() -> None:
    value = {"b": {10: "x", 9: None, 2: "y"}, "a": [None, True, 1.0, float("nan")]}
    assert dumps(value) == b'{"a":[null,true,1.0,null],"b":{2:"y",10:"x"}}'
    assert dumps(value, sort=False) == b'{"b":{10:"x",2:"y"},"a":[null,true,1.0,null]}'
    assert dumps(value, bare_keys=False) == b'{"a":[null,true,1.0,null],"b":{"2":"y","10":"x"}}'


def test_object_keys_are_written_as_objects() -> None:
    table = {ObjectKey({"topic": "t", "queueId": 1}): {"offset": 3}}
    assert dumps(table) == b'{{"queueId":1,"topic":"t"}:{"offset":3}}'
    assert json.loads(dumps(table, bare_keys=False)) == {'{"queueId":1,"topic":"t"}': {"offset": 3}}


def test_tables_are_written_one_member_a_line() -> None:
    """The layout of 5.5.0's files."""
    table = {"offsetTable": {"t@g": {1: 20, 0: 17}}, "dataVersion": {}, "list": [1, []]}
    assert dumps(table, indent=True).decode() == (
        '{\n\t"dataVersion":{},\n\t"list":[\n\t\t1,\n\t\t[]\n\t],\n'
        '\t"offsetTable":{\n\t\t"t@g":{\n\t\t\t0:17,\n\t\t\t1:20\n\t\t}\n\t}\n}'
    )


def test_values_without_json_are_refused() -> None:
    with pytest.raises(TypeError, match="bytes"):
        dumps({"a": b""})
    with pytest.raises(TypeError, match="float cannot be a key"):
        dumps({1.5: 1})
    deep: Any = []
    for _ in range(DEPTH_MAX):
        deep = [deep]
    with pytest.raises(ValueError, match="deep"):
        dumps(deep)


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PLAIN_OBJECTS = st.dictionaries(TEXT, NUMBERS | TEXT | st.booleans(), max_size=3)
KEYS = TEXT | st.integers(-(2**63), 2**63 - 1) | PLAIN_OBJECTS.map(ObjectKey)
VALUES = st.recursive(
    NUMBERS | TEXT | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.booleans())
def test_loads_inverts_dumps(value: Any, sort: bool, indent: bool) -> None:
    assert loads(dumps(value, sort=sort, indent=indent)) == value


@given(VALUES)
def test_without_bare_keys_it_is_plain_json(value: Any) -> None:
    json.loads(dumps(value, bare_keys=False))


@given(st.text(st.sampled_from('{}[]:,"0-1.e\\ unltrefas'), max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Text accepted by JSON's own reader is accepted by the lenient one with the same meaning."""
    try:
        expected = json.loads(text, parse_constant=lambda name: 1 / 0)
    except (ValueError, ZeroDivisionError):
        try:
            loads(text)
        except JsonError:
            return
    else:
        assert loads(text) == expected


@given(VALUES, st.booleans())
def test_prepared_text_is_written_as_the_value_would_be(value: Any, indent: bool) -> None:
    prepared = PreparedText(dumps(value, indent=indent))
    assert dumps({"a": {"b": prepared}}, indent=indent) == dumps({"a": {"b": value}}, indent=indent)


# In steps


def steps_of(text: str | bytes, **more: Any) -> tuple[Any, int]:
    """Return the value, and the number of steps."""
    steps, count = loads_in_steps(text, **more), 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, count
        count += 1


@given(VALUES, st.booleans())
def test_in_steps_the_same_is_read(value: Any, indent: bool) -> None:
    assert steps_of(dumps(value, indent=indent))[0] == value


def test_the_longer_the_text_the_more_steps() -> None:
    """A hundred thousand entries of each kind: steps of some hundred tokens, or of some kilobytes."""
    bare = "{" + ",".join(f"{number}:1" for number in range(100_000)) + "}"
    plain = "[" + ",".join(f'{{"topic":"T{number}"}}' for number in range(100_000)) + "]"
    for text in (bare, plain):
        read, count = steps_of(text)
        assert (len(read), read) == (100_000, loads(text))
        assert count >= 300


def test_values_at_a_depth_are_handed_over_and_not_kept() -> None:
    taken: list[tuple[Any, Any]] = []
    text = '{"a":{"x":{"y":[1,{0:2}]},"z":null},"b":[7,"s"],"c":3}'
    rest, _ = steps_of(text, depth=2, take=lambda path, value: taken.append((path, value)))
    assert taken == [
        (("a", "x"), {"y": [1, {0: 2}]}),
        (("a", "z"), None),
        (("b", 0), 7),
        (("b", 1), "s"),
    ]
    assert rest == {"a": {}, "b": [None, None], "c": 3}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("[" + "1," * PARTS_MAX + "1]", "parts"),
        ("[" + '{"a":1},' * PARTS_MAX + "1]", "parts"),
        ('"' + "\\n" * STRING_MAX + '"', "characters"),
        ('"' + "x" * STRING_MAX + '"', "characters"),
    ],
)
def test_one_value_that_is_handed_over_has_an_end(value: str, words: str) -> None:
    with pytest.raises(JsonError, match=words):
        steps_of(f'{{"a":{value}}}', depth=1, take=lambda path, value: None)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "[" + '{"a":[{' * 100_000,
        '["' + '\\"' * 100_000,
        "[" + "[1]," * 100_000 + "}",
        "[" + '{"a":1}' * 100_000,
        " " * 1_000_000,
        "{{" + '"a":1,' * 10_000 + '"b":{{"c":1}:1}}:1}',
    ],
)
def test_invalid_text_is_refused_in_linear_time(text: str) -> None:
    with pytest.raises(JsonError):
        steps_of(text)


def test_values_that_are_taken_are_more_steps_the_more_is_in_them() -> None:
    """The consumer of a value reads all of it, so a step passes few large ones on."""
    taken: list[Any] = []
    most, before = 0, 0
    entry = {f"member{number}": number for number in range(20)}
    for _ in loads_in_steps(dumps([entry] * 1000), depth=1, take=lambda path, value: taken.append(value)):
        most, before = max(most, len(taken) - before), len(taken)
    assert len(taken) == 1000
    assert most <= 12
