"""Settings of logging."""

from mqgateway.engine.options.option import BadValue, closest, option
from mqgateway.engine.options.option_set import Options

LEVELS = ("debug", "info", "warning", "error")


def levels_of(text: str) -> dict[str, str]:
    """Return the levels by logger name, parsed from `NAME:LEVEL,NAME:LEVEL`. Raises `BadValue`."""
    levels = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, level = (part.strip() for part in pair.partition(":"))
        if not name or level.lower() not in LEVELS:
            right = closest(level, list(LEVELS)) or ("warning" if level.lower() == "warn" else "debug")
            raise BadValue(
                f"{pair} is not NAME:LEVEL with a level of {', '.join(LEVELS)}",
                f"{name or 'mqgateway.gateway.broker'}:{right}",
            )
        levels[name] = level.lower()
    return levels


class LogOptions(Options):
    """Log levels in addition to --log-level."""

    log_levels: str = option(
        "",
        "Levels of single loggers and of those below them, as name:level pairs separated by commas. Can "
        "be changed at run time.",
        ours=True,
        check=levels_of,
    )
