"""Levels of single loggers, which follow the setting `logLevels` while a server runs.

The setting is polled, as RocketMQ polls its `rmq.*.logback.xml`. So it does not matter which request changed
it, and in which server of the process.
"""

import logging
from collections.abc import Sequence

from mqgateway.engine.options.logs import LogOptions, levels_of

LOOK_SECONDS = 1.0


class LogLevels:
    """Log levels from the settings of one process."""

    def __init__(self, options: Sequence[LogOptions]) -> None:
        self._options = options
        self._text = ""
        self._before: dict[str, int] = {}

    def follow(self) -> None:
        """Set the levels if the settings changed. Loggers that are no longer named get their old level."""
        text = ",".join(one.log_levels for one in self._options)
        if text == self._text:
            return
        self._text = text
        for name, level in self._before.items():
            logging.getLogger(name).setLevel(level)
        levels = levels_of(text)
        self._before = {name: logging.getLogger(name).level for name in levels}
        for name, name_level in levels.items():
            logging.getLogger(name).setLevel(name_level.upper())
