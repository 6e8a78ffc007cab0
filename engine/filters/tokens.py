"""Tokens of SQL92 expressions: names, keywords, numbers, strings and signs, with their positions.

Tokens are read on demand, as in RocketMQ: text after the end of an expression is not read. Blanks, `--`
comments up to the end of their line and `/* */` comments are between tokens.

RocketMQ: the token rules of `SelectorParser`.
"""

import re
from typing import NamedTuple

from mqgateway.engine.errors import FilterError

SYNTAX = "org.apache.rocketmq.filter.parser.ParseException"
NO_WORD = "org.apache.rocketmq.filter.parser.TokenMgrError"
MEANING = "java.lang.RuntimeException"
NO_NUMBER = "java.lang.NumberFormatException"
"""Beginnings of RocketMQ's remarks, by the kind of error."""

KEYWORDS = frozenset(
    "NOT AND OR BETWEEN IN TRUE FALSE NULL IS CONTAINS STARTSWITH ENDSWITH".split()  # noqa: SIM905
)
DECIMAL = "<DECIMAL_LITERAL>"
FLOATING_POINT = "<FLOATING_POINT_LITERAL>"
STRING = "<STRING_LITERAL>"
NAME = "<ID>"
END = "<EOF>"

_BETWEEN_WORDS = re.compile(
    r"(?:[ \t\n\r\f]+|--[^\n\r]*(?:\r\n|\n|\r)|/\*[^*]*\*(?:\*|[^*/][^*]*\*)*/)*",
)
# Of two alternatives that match, the first is the longer one.
_WORD = re.compile(
    r"""(?P<floating>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<decimal>0|[1-9][0-9]*[lL]?)
    |(?P<string>'(?:''|[^'])*')
    |(?P<name>[a-zA-Z_$][a-zA-Z0-9_$]*)
    |(?P<sign><>|>=|<=|[=<>(),+-])""",
    re.VERBOSE,
)
_KINDS = {"floating": FLOATING_POINT, "decimal": DECIMAL, "string": STRING}


class ExpressionError(FilterError):
    """An unusable expression; `position` is counted from 0, and contained in the text.

    `reason` is the text without the name of RocketMQ's exception.
    """

    def __init__(self, cause: str, text: str, position: int) -> None:
        super().__init__(f"{cause}: {text}")
        self.reason = text
        self.position = position


class Token(NamedTuple):
    """A token: `kind` is a keyword in capitals, a sign, or one of the names in `<>`; `end` is after it."""

    kind: str
    text: str
    start: int
    end: int


def place(source: str, position: int) -> str:
    """Return a position as text: line and column, counted from 1."""
    line = source.count("\n", 0, position) + 1
    column = position - source.rfind("\n", 0, position)
    return f"line {line}, column {column}"


def next_token(source: str, at: int) -> Token:
    """Return the first token from a position on. Raises `ExpressionError` if none can begin there."""
    blank = _BETWEEN_WORDS.match(source, at)
    start = at if blank is None else blank.end()
    if start == len(source):
        return Token(END, "", start, start)
    found = _WORD.match(source, start)
    if found is None:
        text = source[start]
        reason = "a string that does not end" if text == "'" else f'"{ascii(text)[1:-1]}" ({ord(text)})'
        where = place(source, start)
        raise ExpressionError(NO_WORD, f"Lexical error at {where}.  Encountered: {reason}", start)
    text = found.group()
    group = found.lastgroup or ""
    if group == "name":
        kind = text.upper() if text.upper() in KEYWORDS else NAME
    else:
        kind = _KINDS.get(group, text)
    return Token(kind, text, start, found.end())
