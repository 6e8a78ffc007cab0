"""Administration requests: a question pairs a request with the decoder of its answer; no I/O.

    question = topics.stats("Orders")          # a Question[TopicStatsTable]
    table = admin.ask(question, "broker-a")    # a TopicStatsTable, with each API

Every administration request that a broker or name server supports has a function that builds its question, in
the modules `admin_*` of this package. `QUESTIONS` maps request codes to these functions.
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

QUESTIONS: dict[RequestCode, Callable[..., Question[Any]]] = {}
"""Functions that build questions, by request code."""


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """Administration request with the decoder of its answer.

    Response codes in `nothing_codes` are answers too, although they are refusals; `read` decodes them.
    """

    code: RequestCode
    read: Callable[[RemotingCommand], T]
    header: Header | None = None
    body: bytes = b""
    fields: Mapping[str, str] = field(default_factory=dict)
    nothing_codes: tuple[int, ...] = ()


def asks(code: RequestCode) -> Callable[[Callable[P, Question[T]]], Callable[P, Question[T]]]:
    """Register a function as the builder of a request code's questions."""

    def note(function: Callable[P, Question[T]]) -> Callable[P, Question[T]]:
        QUESTIONS[code] = function
        return function

    return note


def nothing(answer: RemotingCommand) -> None:
    """Decode an answer without content."""


def note_of(answer: RemotingCommand) -> str:
    """Return the remark of an answer."""
    return answer.remark or ""


def body_of(kind: type[B]) -> Callable[[RemotingCommand], B]:
    """Return a decoder for the declared body type `kind`."""
    return lambda answer: decode_body(kind, answer)


def field_of(kind: type[Header], name: str) -> Callable[[RemotingCommand], Any]:
    """Return a decoder for one header field."""
    return lambda answer: getattr(decode_header(kind, answer), name)


def json_of(answer: RemotingCommand) -> Any:
    """Decode a JSON table in its on-disk form; numeric keys, such as broker ids, become ints."""
    try:
        return lenient_json.loads(answer.body) if answer.body else {}
    except ValueError as error:
        raise ClientError(f"an answer that cannot be read: {error}") from None


def settings_of(answer: RemotingCommand) -> dict[str, str]:
    """Decode a properties text."""
    # Imported late: options are slow to import, and few answers need them.
    from mqgateway.engine.options import load_properties

    try:
        found = load_properties(answer.body, "the answer")
    except ConfigError as error:
        raise ClientError(f"an answer that cannot be read: {error}") from None
    return {setting.key: setting.value for setting in found}


def topics_of(answer: RemotingCommand) -> set[str]:
    """Decode a list of topic names."""
    return decode_body(bodies.TopicList, answer).topic_list if answer.body else set()


def as_properties(settings: Mapping[str, str]) -> bytes:
    """Encode settings as properties text."""
    # Imported late: options are slow to import, and few questions need them.
    from mqgateway.engine.options import format_properties_text

    return format_properties_text({name: str(value) for name, value in settings.items()}).encode()
