"""Declared bodies are read and written, and no declaration changes unseen.

`pinned.txt` lists the members of all bodies. After an intended change write it again with
`python -m tests.gateway.codec.bodies.test_body` and read the diff.
"""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

import pytest

from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.bodies import Body, MessageQueue
from mqgateway.gateway.codec.bodies.body import Int, Names, body, wired
from mqgateway.gateway.codec.errors import BodyError, HeaderError
from mqgateway.gateway.codec.fields import camel_case

PINNED = Path(__file__).parent / "pinned.txt"

CLASSES: list[type[Body]] = [
    value
    for value in (getattr(bodies, name) for name in bodies.__all__)
    if isinstance(value, type) and value is not Body
]


@body
class Inner(Body):
    name: str


@body
class Example(Body):
    """One member of every kind."""

    text: str
    number: int = 0
    rate: float = 0.0
    flag: bool = False
    small: Int = 0
    kind: Annotated[str, Names(("ONE", "TWO"))] | None = None
    odd_name: str | None = field(default=None, metadata=wired("ODDName"))
    inner: Inner | None = None
    names: list[str] = field(default_factory=list)
    inners: list[Inner] = field(default_factory=list)
    ids: set[int] = field(default_factory=set)
    queues: set[MessageQueue] = field(default_factory=set)
    by_name: dict[str, Inner] = field(default_factory=dict)
    by_id: dict[int, str] = field(default_factory=dict)
    by_queue: dict[MessageQueue, int] = field(default_factory=dict)
    plain: Any = None


QUEUE = MessageQueue("T", "b", 1)
FULL = Example(
    text="x",
    number=-5,
    rate=0.5,
    flag=True,
    small=7,
    kind="TWO",
    odd_name="o",
    inner=Inner("i"),
    names=["b", "a"],
    inners=[Inner("j")],
    ids={3, 1, 2},
    queues={MessageQueue("T", "b", 2), QUEUE},
    by_name={"k": Inner("v")},
    by_id={10: "ten", 2: "two"},
    by_queue={QUEUE: 12},
    plain={"any": [1, None]},
)


def pinned_text() -> str:
    paragraphs = []
    for one in CLASSES:
        hints = get_type_hints(one)
        lines = [one.__name__]
        for member in dataclasses.fields(one):  # type: ignore[arg-type]
            hint = hints[member.name]
            kind = hint.__name__ if isinstance(hint, type) and not hasattr(hint, "__args__") else str(hint)
            kind = kind.replace("typing.", "")
            for path in {cls.__module__ for cls in CLASSES}:
                kind = kind.replace(path + ".", "")
            required = member.default is member.default_factory is dataclasses.MISSING
            name = member.metadata.get("wire", camel_case(member.name))
            lines.append(f"    {name}: {kind}{' required' if required else ''} ({member.name})")
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs) + "\n"


def test_no_body_changed_unseen() -> None:
    assert pinned_text() == PINNED.read_text(encoding="utf-8")


def test_every_kind_of_member_is_written() -> None:
    assert FULL.encode() == (
        b'{"ODDName":"o","byId":{2:"two",10:"ten"},"byName":{"k":{"name":"v"}},'
        b'"byQueue":{{"brokerName":"b","queueId":1,"topic":"T"}:12},"flag":true,"ids":[1,2,3],'
        b'"inner":{"name":"i"},"inners":[{"name":"j"}],"kind":"TWO","names":["b","a"],"number":-5,'
        b'"plain":{"any":[1,null]},'
        b'"queues":[{"brokerName":"b","queueId":1,"topic":"T"},{"brokerName":"b","queueId":2,"topic":"T"}],'
        b'"rate":0.5,"small":7,"text":"x"}'
    )


def test_every_kind_of_member_is_read() -> None:
    assert Example.decode(FULL.encode()) == FULL


def test_the_least_is_what_has_no_default() -> None:
    assert Example.decode(b'{"text":"x"}') == Example("x")
    assert Example("x").to_json() == {
        "text": "x",
        "number": 0,
        "rate": 0.0,
        "flag": False,
        "small": 0,
        "names": [],
        "inners": [],
        "ids": [],
        "queues": [],
        "byName": {},
        "byId": {},
        "byQueue": {},
    }


def test_null_members_have_their_default_and_unknown_ones_go() -> None:
    assert Example.decode(b'{"text":"x","number":null,"names":null,"more":{"x":1}}') == Example("x")


def test_quoted_keys_are_read_like_bare_ones() -> None:
    key = b'"{\\"brokerName\\":\\"b\\",\\"queueId\\":1,\\"topic\\":\\"T\\"}"'
    quoted = b'{"text":"x","byId":{"7":"v"},"byQueue":{' + key + b":3}}"
    assert Example.decode(quoted) == Example("x", by_id={7: "v"}, by_queue={QUEUE: 3})


def test_the_standard_form_quotes_and_escapes() -> None:
    body = Example("ü", by_id={10: "ten", 2: "two"})
    assert b'"byId":{"2":"two","10":"ten"}' in body.encode_standard()
    assert b'"text":"\\u00fc"' in body.encode_standard()


@pytest.mark.parametrize(
    ("text", "member"),
    [
        (b"{}", "text"),
        (b'{"text":null}', "text"),
        (b'{"text":"x","number":"no"}', "number"),
        (b'{"text":"x","number":9223372036854775808}', "number"),
        (b'{"text":"x","rate":"fast"}', "rate"),
        (b'{"text":"x","flag":"yes"}', "flag"),
        (b'{"text":"x","kind":2}', "kind"),
        (b'{"text":"x","small":2147483648}', "small"),
        (b'{"text":"x","names":5}', "names"),
        (b'{"text":"x","ids":["a"]}', "ids"),
        (b'{"text":"x","inner":[]}', "Inner"),
        (b'{"text":"x","inner":{}}', "name"),
        (b'{"text":"x","byName":[]}', "byName"),
        (b'{"text":"x","byId":{"a":"b"}}', "byId"),
        (b'{"text":"x","byQueue":{"a":1}}', "byQueue"),
        (b'{"text":"x","byQueue":{7:1}}', "byQueue"),
        (b"[]", "Example"),
        (b"", ""),
        (b"{", ""),
        (b"\xff", ""),
        (b"[" * 100_000, ""),
    ],
)
def test_wrong_bodies_are_named(text: bytes, member: str) -> None:
    with pytest.raises(BodyError) as caught:
        Example.decode(text)
    assert caught.value.field == member
    assert isinstance(caught.value, HeaderError)


def test_a_null_number_is_zero_and_no_default() -> None:
    @dataclass
    class Counted(Body):
        needed: Int
        wanted: int = 7
        open: bool = True
        boxed: int | None = 7

    assert Counted.decode(b"{}") == Counted(0)
    assert Counted.decode(b'{"needed":null,"wanted":null,"open":null,"boxed":null}') == Counted(
        0, 0, False, None
    )


def test_nulls_in_arrays_and_maps_are_left_out() -> None:
    read = Example.decode(b'{"text":"x","names":["a",null],"ids":[null,3],"byId":{1:null,2:"b"}}')
    assert (read.names, read.ids, read.by_id) == (["a"], {3}, {2: "b"})


def test_a_type_that_json_does_not_have_is_a_mistake() -> None:
    @dataclass
    class Wrong(Body):
        stamp: complex = 0j

    with pytest.raises(TypeError, match="not a type of a body's member"):
        Wrong().to_json()


def test_body_is_a_dataclass_before_and_after_its_methods_are_compiled() -> None:
    @body
    class Late(Body):
        """A body of which none was made."""

        name: str
        numbers: list[int] = dataclasses.field(default_factory=list)

    stub = Late.__init__
    assert [one.name for one in dataclasses.fields(Late)] == ["name", "numbers"]
    first = Late("a")
    assert Late.__init__ is not stub
    assert first == Late(name="a", numbers=[])
    assert first != Late("b")
    assert repr(first).endswith("Late(name='a', numbers=[])")
    assert dataclasses.replace(first, numbers=[1]) == Late("a", [1])
    assert first.numbers is not Late("a").numbers
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)
    with pytest.raises(AttributeError):
        first.other = 1  # type: ignore[attr-defined]


def test_body_with_missing_or_unknown_members_is_not_made() -> None:
    @body
    class Wanting(Body):
        name: str

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        Wanting()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        Wanting(name="a", size=1)  # type: ignore[call-arg]


def test_body_that_extends_another_has_the_members_of_both() -> None:
    @body
    class Base(Body):
        name: str = "a"

    @body
    class Extended(Base):
        size: int = 1

    assert Base() == Base("a")
    assert Extended("b", 2).to_json() == {"name": "b", "size": 2}
    assert Extended("a", 1) != Base("a")


@pytest.mark.parametrize("body_class", CLASSES, ids=lambda one: one.__name__)
def test_every_body_comes_back_from_its_json(body_class: type[Body]) -> None:
    one = sample(body_class)
    assert body_class.decode(one.encode()) == one


def sample(body_class: type[Body]) -> Body:
    """A body with every member set to something that is not its default."""
    hints = get_type_hints(body_class, include_extras=True)
    return body_class(**{one.name: _value(hints[one.name]) for one in dataclasses.fields(body_class)})  # type: ignore[arg-type]


def _value(hint: Any) -> Any:
    arguments = [one for one in getattr(hint, "__args__", ()) if one is not type(None)]
    origin = getattr(hint, "__origin__", None)
    if get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], Names):
        return hint.__metadata__[0].names[-1]
    if isinstance(hint, type) and issubclass(hint, Body) and origin is None:
        return sample(hint)
    if origin is list:
        return [_value(arguments[0])]
    if origin is set:
        return {_value(arguments[0])}
    if origin is dict:
        return {_value(arguments[0]): _value(arguments[1])}
    if arguments:
        return _value(arguments[0])
    return {str: "text", int: 7, float: 1.5, bool: True, Any: {"any": 1}}[hint]


if __name__ == "__main__":
    PINNED.write_text(pinned_text(), encoding="utf-8")
