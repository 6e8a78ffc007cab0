"""Subscriptions of consumers, as sent to brokers. RocketMQ: `FilterAPI`, `MessageSelector`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters.tags import ALL, SQL92_TYPE, TAG_TYPE, compile_subscription
from mqgateway.gateway.client import arguments
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.codec.bodies import SubscriptionData

Topics = str | Iterable[str]
"""Name of a topic, or several names."""


@dataclass(frozen=True, slots=True)
class Sql:
    """SQL92 filter expression over message properties: `Sql("a > 3")`."""

    expression: str


def subscription(topic: str, wanted: str | Sql, version: int) -> SubscriptionData:
    """Return a subscription to `*`, to tags joined by `||`, or by an expression; `version` is a time in ms.

    Raises `BadArgument` for invalid tags. Expressions are validated by the broker.
    """
    if not isinstance(wanted.expression if isinstance(wanted, Sql) else wanted, str):
        arguments.refuse("wanted", wanted, 'pass "*", tags ("a || b"), or Sql("price > 100")')
    expression, kind = (wanted.expression, SQL92_TYPE) if isinstance(wanted, Sql) else (wanted, TAG_TYPE)
    try:
        compiled = compile_subscription(topic, expression or ALL, kind)
    except FilterError as error:
        raise BadArgument(f"the subscription to {topic}: {error}") from None
    return SubscriptionData(
        topic=topic,
        sub_string=compiled.sub_string,
        sub_version=version,
        expression_type=kind,
        tags_set=sorted(compiled.tags_set),
        code_set=sorted(compiled.code_set),
    )
