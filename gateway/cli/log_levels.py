"""Levels of single loggers, which follow the setting `logLevels` while a server runs.

The setting is looked at again and again, as the standard looks at its `rmq.*.logback.xml`: so it does not
matter by which request, and in which of several servers of the process, it was changed.
"""

import logging
from collections.abc import Sequence

from mqgateway.engine.options.logs import LogOptions, levels_of

LOOK_SECONDS = 1.0


class LogLevels:
    """Those that the settings of one process name."""

    def __init__(self, options: Sequence[LogOptions]) -> None:
        self._options = options
        self._text = ""
        self._before: dict[str, int] = {}

    def follow(self) -> None:
        """Set the levels if the settings changed; loggers they no longer name are as they were before."""
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
