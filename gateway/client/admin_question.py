"""What administrators ask: a question is a request that knows how its answer is read; pure.

    question = topics.stats("Orders")          # a Question[TopicStatsTable]
    table = admin.ask(question, "broker-a")    # a TopicStatsTable, on whichever face

Every request that a broker or name server serves for administrators has a function that makes its question,
in the modules `admin_*` beside this one; `ASKED` knows it by its code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar

from mqgateway.engine import lenient_json
from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.client.answers import decode_body, decode_header
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.bodies.body import Body
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header

T = TypeVar("T")
B = TypeVar("B", bound=Body)
P = ParamSpec("P")

ASKED: dict[RequestCode, Callable[..., Question[Any]]] = {}
"""The function of each request."""


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A request of administrators. `nothing_codes` are refusals that are answers too; `read` sees them."""

    code: RequestCode
    read: Callable[[RemotingCommand], T]
    header: Header | None = None
    body: bytes = b""
    fields: Mapping[str, str] = field(default_factory=dict)
    nothing_codes: tuple[int, ...] = ()


def asks(code: RequestCode) -> Callable[[Callable[P, Question[T]]], Callable[P, Question[T]]]:
    """This function makes the questions of a code."""

    def note(function: Callable[P, Question[T]]) -> Callable[P, Question[T]]:
        ASKED[code] = function
        return function

    return note


def nothing(answer: RemotingCommand) -> None:
    """Of an answer that says no more than that it was done."""


def note_of(answer: RemotingCommand) -> str:
    """Return what a server remarks on something that it has done."""
    return answer.remark or ""


def body_of(kind: type[B]) -> Callable[[RemotingCommand], B]:
    """Of an answer whose body is declared."""
    return lambda answer: decode_body(kind, answer)


def field_of(kind: type[Header], name: str) -> Callable[[RemotingCommand], Any]:
    """Of an answer that is one field of its header."""
    return lambda answer: getattr(decode_header(kind, answer), name)


def json_of(answer: RemotingCommand) -> Any:
    """Of an answer that is a table as it is on the disk; broker ids and the like are ints as keys."""
    try:
        return lenient_json.loads(answer.body) if answer.body else {}
    except ValueError as error:
        raise ClientError(f"an answer that cannot be read: {error}") from None


def settings_of(answer: RemotingCommand) -> dict[str, str]:
    """Of an answer that is properties text."""
    # Settings are slow to load, and few questions are answered by some.
    from mqgateway.engine.options import load_properties

    try:
        found = load_properties(answer.body, "the answer")
    except ConfigError as error:
        raise ClientError(f"an answer that cannot be read: {error}") from None
    return {setting.key: setting.value for setting in found}


def topics_of(answer: RemotingCommand) -> set[str]:
    """Of an answer that names topics."""
    return decode_body(bodies.TopicList, answer).topic_list if answer.body else set()


def as_properties(settings: Mapping[str, str]) -> bytes:
    """Return settings as properties text."""
    # Settings are slow to load, and few questions carry some.
    from mqgateway.engine.options import format_properties_text

    return format_properties_text({name: str(value) for name, value in settings.items()}).encode()
