"""Errors that the pipeline raises on purpose; any other is a bug or an error of the client.

Spark shows only the text of an error, so every text says what to do.
"""

from __future__ import annotations


class PipelineError(Exception):
    """Base of the pipeline's errors."""


class BadOption(PipelineError, ValueError):
    """An unusable option: its name, its value, the problem, and a valid value."""

    def __init__(self, name: str, value: str, what: str, right: str = "") -> None:
        super().__init__(f"option {name}={value!r}: {what}" + (f"; {right}" if right else ""))
        self.name = name
        self.value = value


class DataLoss(PipelineError):
    """Messages in the requested range no longer exist, and `failOnDataLoss` is true."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}. Some data may have been lost: it was removed by retention, or the topic was deleted "
            "and created again. To continue without it, set the option failOnDataLoss to false."
        )


class SinkError(PipelineError):
    """Rows that could not be sent; the text names topic, queue and cause."""
