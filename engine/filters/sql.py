"""SQL92 expressions: parsing of text to a tree, with position and reason of errors.

Grammar (`{}` any number of times, `[]` optional; keywords in any case, names case-sensitive):

    or         = and { OR and }
    and        = equality { AND equality }
    equality   = comparison { "=" comparison | "<>" comparison | IS [NOT] NULL }
    comparison = sign { (">" | ">=" | "<" | "<=") sign | [NOT] BETWEEN sign AND sign
                       | [NOT] IN "(" text { "," text } ")"
                       | [NOT] (CONTAINS | STARTSWITH | ENDSWITH) text }
    sign       = "+" sign | "-" sign | NOT sign | primary
    primary    = text | number | TRUE | FALSE | NULL | name | "(" or ")"

So NOT binds closest: `NOT a = 1` is `(NOT a) = 1`. Text after a complete expression is ignored, as by
RocketMQ; `Parsed.ignored` contains it. RocketMQ: `SelectorParser`, and the checks of `ComparisonExpression`
and `ConstantExpression`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mqgateway.engine.filters import tokens
from mqgateway.engine.filters.tokens import ExpressionError, Token, next_token, place
from mqgateway.engine.filters.tree import (
    NUMBERS,
    And,
    Constant,
    Equal,
    In,
    Negated,
    Node,
    Not,
    Or,
    OrderComparison,
    Property,
    TextSearch,
    Truth,
    ValueType,
    is_boolean,
)

NESTING_MAX = 50
"""Maximum of nesting; RocketMQ's limit is its stack, at some thousands."""
PARTS_MAX = 2000
"""Maximum of names, values and comparisons of one expression; the texts of one IN count as one."""

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
LONG_DIGITS = 19
_SIGNS = frozenset({">", ">=", "<", "<="})
_HOLDS = frozenset({"CONTAINS", "STARTSWITH", "ENDSWITH"})
_AFTER_NOT = _HOLDS | {"BETWEEN", "IN"}
_COMPARISONS = _SIGNS | _AFTER_NOT | {"NOT"}
_WORDS = {"TRUE": True, "FALSE": False}


TextSpan = tuple[int, int]
"""Begin of a part, and the position after its end."""


class ParsedExpression(NamedTuple):
    """The tree of an expression, and the text after its end."""

    root: Node
    ignored: str


def parse(source: str) -> ParsedExpression:
    """Parse an expression. Raises `ExpressionError`."""
    parser = _Parser(source)
    root = parser.whole()
    return ParsedExpression(root, source[parser.token.start :])


class _Parser:
    """Parser of an expression; tokens are read on demand, as in RocketMQ."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._end = 0
        self._depth = 0
        self._count = 0
        self._next: Token | None = None

    @property
    def token(self) -> Token:
        """The next token."""
        if self._next is None:
            self._next = next_token(self._source, self._end)
        return self._next

    def whole(self) -> Node:
        return self._condition(*self._with_span(self._any_of))

    def _any_of(self) -> Node:
        return self._chain("OR", self._all_of, Or)

    def _all_of(self) -> Node:
        return self._chain("AND", self._equality, And)

    def _chain(self, word: str, part: Callable[[], Node], joined: Callable[[tuple[Node, ...]], Node]) -> Node:
        first, where = self._with_span(part)
        if self.token.kind != word:
            return first
        operands: list[Node] = []
        while self._skip(word):
            right, right_where = self._with_span(part)
            if not operands:
                operands.append(self._condition(first, where))
            operands.append(self._condition(right, right_where))
        return joined(tuple(operands))

    def _condition(self, node: Node, where: TextSpan) -> Node:
        """Return the part as a condition. Raises `ExpressionError` if it is none."""
        if is_boolean(node):
            return node
        if isinstance(node, Property):
            return Truth(node)
        start, end = where
        text = f"Expression will not result in a boolean value: {self._source[start:end]}"
        raise self._refusal(text, start, tokens.SYNTAX)

    def _with_span(self, part: Callable[[], Node]) -> tuple[Node, TextSpan]:
        start = self.token.start
        node = part()
        return node, (start, self._end)

    def _equality(self) -> Node:
        start = self.token.start
        left = self._comparison()
        while self.token.kind in ("=", "<>", "IS"):
            word = self._take_operator()
            if word.kind == "IS":
                is_not = self._skip("NOT")
                self._expect("NULL")
                node: Node = Equal(left, Constant(None, ValueType.NULL))
            else:
                is_not = word.kind == "<>"
                right_start = self.token.start
                right = self._comparison()
                self._check_equal(left, right, start, right_start)
                node = Equal(left, right)
            left = Not(node) if is_not else node
        return left

    def _check_equal(self, left: Node, right: Node, start: int, right_start: int) -> None:
        for node, at in ((left, start), (right, right_start)):
            if isinstance(node, Constant) and node.kind is ValueType.NULL:
                raise self._refusal("'NULL' cannot be compared.", at)
        if not (isinstance(left, Constant) and isinstance(right, Constant)):
            return
        if is_boolean(left) and not is_boolean(right):
            truth, other = str(left.value).upper(), self._source[right_start : self._end]
            raise self._refusal(f"'{truth}' cannot be compared with '{other}'.", start)

    def _comparison(self) -> Node:
        start = self.token.start
        left = self._sign()
        while self.token.kind in _COMPARISONS:
            where = start, self._end
            first = self._take_operator()
            is_not = first.kind == "NOT"
            word = first
            if is_not:
                if self.token.kind not in _AFTER_NOT:
                    raise self._unexpected(first, "BETWEEN, IN, CONTAINS, STARTSWITH or ENDSWITH after it")
                word = self._take()
            if word.kind in _SIGNS:
                left = self._ordered(word.kind, left, where)
            elif word.kind in _HOLDS:
                left = TextSearch(word.kind, left, self._string(), is_not)
            elif word.kind == "BETWEEN":
                left = self._between(left, where, is_not)
            else:
                left = self._in(left, where, is_not)
        return left

    def _ordered(self, sign: str, left: Node, where: TextSpan) -> Node:
        right, right_where = self._with_span(self._sign)
        self._check_size(left, where)
        self._check_size(right, right_where)
        return OrderComparison(sign, left, right)

    def _between(self, value: Node, where: TextSpan, is_not: bool) -> Node:
        low, low_where = self._with_span(self._sign)
        self._expect("AND")
        high, high_where = self._with_span(self._sign)
        if not is_not and isinstance(low, Constant) and isinstance(high, Constant):
            self._check_range(low, high, low_where[0])
        for node, at in ((value, where), (low, low_where), (high, high_where)):
            self._check_size(node, at)
        if is_not:
            return Or((OrderComparison("<", value, low), OrderComparison(">", value, high)))
        return And((OrderComparison(">=", value, low), OrderComparison("<=", value, high)))

    def _check_range(self, low: Constant, high: Constant, start: int) -> None:
        if ValueType.NULL in (low.kind, high.kind):
            raise self._refusal("Illegal values of between, values can not be null!", start)
        if low.kind not in NUMBERS or high.kind not in NUMBERS:
            return
        left, right = low.value, high.value
        assert left is not None and right is not None
        if ValueType.DOUBLE in (low.kind, high.kind):
            left, right = float(left), float(right)
        if right < left:  # type: ignore[operator]
            text = f"left value({left}) must less than or equal to right value({right})"
            raise self._refusal(f"Illegal values of between, {text}", start)

    def _check_size(self, node: Node, where: TextSpan) -> None:
        """Raise for operands that cannot be ordered; a property can if its text is a number."""
        if isinstance(node, Constant) and node.kind in NUMBERS:
            return
        if isinstance(node, Constant) or is_boolean(node):
            start, end = where
            raise self._refusal(f"Value '{self._source[start:end]}' cannot be compared.", start)

    def _in(self, operand: Node, where: TextSpan, is_not: bool) -> Node:
        self._expect("(")
        texts = {self._string()}
        while self._skip(","):
            texts.add(self._string())
        self._expect(")")
        if not isinstance(operand, Property):
            start, end = where
            raise self._refusal(
                f"Expected a property for In expression, got: {self._source[start:end]}", start
            )
        return In(operand, frozenset(texts), is_not)

    def _sign(self) -> Node:
        kind = self.token.kind
        if kind not in ("+", "-", "NOT"):
            return self._primary()
        self._take()
        self._deeper()
        operand, where = self._with_span(self._sign)
        self._depth -= 1
        if kind == "+":
            return operand
        return Negated(operand) if kind == "-" else Not(self._condition(operand, where))

    def _primary(self) -> Node:
        token = self.token
        kind = token.kind
        self._count_one()
        if kind == tokens.STRING:
            return Constant(self._string(), ValueType.TEXT)
        if kind == tokens.DECIMAL:
            return self._decimal(self._take())
        if kind == tokens.FLOATING_POINT:
            return self._floating_point(self._take())
        if kind == tokens.NAME:
            return Property(self._take().text)
        if kind in _WORDS:
            self._take()
            return Constant(_WORDS[kind], ValueType.BOOLEAN)
        if kind == "NULL":
            self._take()
            return Constant(None, ValueType.NULL)
        if kind != "(":
            raise self._unexpected(token, "a name, a value or (")
        self._take()
        self._deeper()
        inside = self._any_of()
        self._depth -= 1
        self._expect(")")
        return inside

    def _decimal(self, token: Token) -> Constant:
        digits = token.text.rstrip("lL")
        if len(digits) > LONG_DIGITS or int(digits) > LONG_MAX:
            raise self._refusal(f'For input string: "{digits}"', token.start, tokens.NO_NUMBER)
        value = int(digits)
        return Constant(value, ValueType.INT if value <= INT_MAX else ValueType.LONG)

    def _floating_point(self, token: Token) -> Constant:
        value = float(token.text)
        if value == float("inf"):
            raise self._refusal(f"{token.text} is greater than 1.7976931348623157E308", token.start)
        if value == 0:
            raise self._refusal(f"{token.text} is less than 4.9E-324", token.start)
        return Constant(value, ValueType.DOUBLE)

    def _string(self) -> str:
        return self._expect(tokens.STRING).text[1:-1].replace("''", "'")

    def _skip(self, kind: str) -> bool:
        if self.token.kind != kind:
            return False
        self._take()
        return True

    def _expect(self, kind: str) -> Token:
        if self.token.kind != kind:
            raise self._unexpected(self.token, kind)
        return self._take()

    def _take(self) -> Token:
        taken = self.token
        self._end = taken.end
        self._next = None
        return taken

    def _take_operator(self) -> Token:
        self._count_one()
        return self._take()

    def _count_one(self) -> None:
        self._count += 1
        if self._count > PARTS_MAX:
            raise self._refusal(f"more than {PARTS_MAX} parts", self.token.start)

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > NESTING_MAX:
            raise self._refusal(f"more than {NESTING_MAX} parts inside one another", self.token.start)

    def _unexpected(self, token: Token, wanted: str) -> ExpressionError:
        if token.kind == tokens.END:
            word = tokens.END
        else:
            kind = token.kind if token.kind.startswith("<") and len(token.kind) > 2 else f'"{token.kind}"'
            word = f' {kind} "{token.text} "'
        text = f'Encountered "{word}" at {place(self._source, token.start)}. Expected: {wanted}.'
        return ExpressionError(tokens.SYNTAX, text, token.start)

    def _refusal(self, text: str, start: int, cause: str = tokens.MEANING) -> ExpressionError:
        return ExpressionError(cause, f"{text} (at {place(self._source, start)})", start)
