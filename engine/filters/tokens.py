"""SQL92 expressions as words: names, keywords, numbers, strings and signs, each with its place.

Words are cut on demand, as the standard does it: what follows the end of an expression is not looked at.
Blanks, `--` comments up to the end of their line and `/* */` comments lie between words.
Standard: the token rules of `SelectorParser`.
"""

import re
from typing import NamedTuple

from mqgateway.engine.errors import FilterError

SYNTAX = "org.apache.rocketmq.filter.parser.ParseException"
NO_WORD = "org.apache.rocketmq.filter.parser.TokenMgrError"
MEANING = "java.lang.RuntimeException"
NO_NUMBER = "java.lang.NumberFormatException"
"""What the remarks of the standard begin with, by what is wrong."""

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
# Of two that match the first is the longer one.
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
    """An expression that cannot be used; `position` is where, counted from 0, the text says it in words."""

    def __init__(self, cause: str, text: str, position: int) -> None:
        super().__init__(f"{cause}: {text}")
        self.position = position


class Token(NamedTuple):
    """A word: `kind` is a keyword in capitals, a sign, or one of the names in `<>`; `end` is after it."""

    kind: str
    text: str
    start: int
    end: int


def place(source: str, position: int) -> str:
    """A position in words, line and column counted from 1."""
    line = source.count("\n", 0, position) + 1
    column = position - source.rfind("\n", 0, position)
    return f"line {line}, column {column}"


def next_token(source: str, at: int) -> Token:
    """The first word from a position on. Raises `ExpressionError` where no word can begin."""
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
