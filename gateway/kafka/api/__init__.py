"""The functions of the APIs, one module a subject.

A class has functions for some API keys, by `handlers`. A handler is given a call and its request, and returns
the answer, a Deferred of it, or None if there is none. A handler whose work grows with the request is a
cooperative task (`engine.steps`) that returns one of these. It answers what a client does wrong with an error
code of Kafka. An exception is a fault of the broker: it is logged, and the connection is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.steps import Steps
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.schema import Message

Answer = Message | Deferred[Any] | None
Handler = Callable[[KafkaCall, Any], Answer | Steps[Any]]
Handlers = Mapping[int, Handler]
