"""Settings of what a server logs."""

from mqgateway.engine.options.option import BadValue, closest, option
from mqgateway.engine.options.option_set import Options

LEVELS = ("debug", "info", "warning", "error")


def levels_of(text: str) -> dict[str, str]:
    """The levels by the names of their loggers, out of `NAME:LEVEL,NAME:LEVEL`. Raises `BadValue`."""
    levels = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, level = (part.strip() for part in pair.partition(":"))
        if not name or level.lower() not in LEVELS:
            right = closest(level, list(LEVELS)) or ("warning" if level.lower() == "warn" else "debug")
            raise BadValue(
                f"{pair} is no logger with one of the levels {', '.join(LEVELS)}",
                f"{name or 'mqgateway.gateway.broker'}:{right}",
            )
        levels[name] = level.lower()
    return levels


class LogOptions(Options):
    """What is logged, besides --log-level."""

    log_levels: str = option(
        "",
        "Levels of single loggers and of those below them, as name:level pairs separated by commas; "
        "may be changed while the server runs.",
        ours=True,
        check=levels_of,
    )
