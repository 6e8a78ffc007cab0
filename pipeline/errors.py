"""What can go wrong in the pipeline on purpose; everything else is a fault of ours or an error of the client.

Spark shows the text of an error and nothing else, so every text says what to do.
"""

from __future__ import annotations


class PipelineError(Exception):
    """Base of the pipeline's errors."""


class BadOption(PipelineError, ValueError):
    """An option that cannot be used: its name, its value, what is wrong, and what would be right."""

    def __init__(self, name: str, value: str, what: str, right: str = "") -> None:
        super().__init__(f"option {name}={value!r}: {what}" + (f"; {right}" if right else ""))
        self.name = name
        self.value = value


class DataLoss(PipelineError):
    """Messages that were to be read are not there any more, and `failOnDataLoss` is true."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}. Some data may have been lost: it was removed by retention, or the topic was deleted "
            "and made anew. To go on without it, set the option failOnDataLoss to false."
        )


class SinkError(PipelineError):
    """Rows that could not be sent; the text names topic, queue and cause."""
