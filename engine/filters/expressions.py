"""Expressions compiled once and evaluated for many messages.

RocketMQ: `FilterFactory`, `SqlFilter`, `ExpressionMessageFilter`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters.tags import SQL92_TYPE

if TYPE_CHECKING:
    from mqgateway.engine.filters.evaluation import Evaluate, Properties
    from mqgateway.engine.store.property_choice import PropertyChoice

log = logging.getLogger(__name__)

LENGTH_MAX = 65536
"""Maximum of characters of one expression; the longest have many texts after IN."""


class Expression:
    """A compiled expression; `text` is its source, `names` are the properties it uses."""

    __slots__ = ("_choice", "_names", "evaluate", "text")

    def __init__(self, text: str, evaluate: Evaluate, names: Sequence[str]) -> None:
        self.text = text
        self.evaluate = evaluate
        self._names = names
        self._choice: PropertyChoice | None = None

    @property
    def choice(self) -> PropertyChoice:
        """The `accept` argument for `MessageStore.get`."""
        if self._choice is None:
            from mqgateway.engine.store.property_choice import PropertyChoice  # a client reads no store

            self._choice = PropertyChoice(self._names, self.matches)
        return self._choice

    def matches(self, properties: Properties) -> bool:
        """Return True if the expression is true for a message; False if it is unknown or fails."""
        try:
            return self.evaluate(properties) is True
        except ValueError:
            return False

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def compile_expression(text: str | None, expression_type: str | None = SQL92_TYPE) -> Expression:
    """Compile an expression that is not a list of tags. Raises `FilterError` with position and reason."""
    if expression_type != SQL92_TYPE:
        raise FilterError(f"expressions of type {expression_type} are not known")
    if not text:
        raise FilterError("there is no expression")
    if len(text) > LENGTH_MAX:
        raise FilterError(f"an expression of {len(text)} characters is too long, {LENGTH_MAX} are allowed")
    return _compiled(text)


@lru_cache(256)
def _compiled(text: str) -> Expression:
    from mqgateway.engine.filters.evaluation import build  # few consumers have expressions
    from mqgateway.engine.filters.sql import parse
    from mqgateway.engine.filters.tree import names_in

    root, ignored = parse(text)
    if ignored:
        log.warning(
            "the end of the expression %.200r is ignored, as by Apache RocketMQ: %.200r", text, ignored
        )
    return Expression(text, build(root), sorted(names_in(root)))
