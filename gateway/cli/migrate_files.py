"""Files, rows, errors and waits of the migration commands."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from threading import Event

import click

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.ending import complain
from mqgateway.gateway.cli.plain import escaped_json
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.migration.plan import MigrationError

NOT_WELL = 3
"""Exit code if `verify` found differences, or `plan` obstacles."""
PROGRESS = ".progress"
"""End of the name of the file beside a plan."""


@contextlib.contextmanager
def errors_reported() -> Iterator[None]:
    """Report an error or interrupt as one line on standard error and an exit code."""
    try:
        yield
    except (MigrationError, ClientError, OSError) as error:
        complain(str(error))
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        click.echo("interrupted: run the command again to continue", err=True)
        raise SystemExit(130) from None


class PlanRun:
    """Common part of the environments `HandoverEnvironment` and `MigrationEnvironment`: time and waits."""

    def __init__(self, path: str, as_json: bool) -> None:
        self._path = path
        self._as_json = as_json
        self._clock = SystemClock()

    def monotonic(self) -> float:
        """Return a time in seconds that only grows."""
        return self._clock.monotonic()

    def wait(self, seconds: float) -> None:
        """Wait, interruptibly."""
        Event().wait(seconds)


def write_file(path: str, data: bytes) -> None:
    """Replace a file atomically."""
    from mqgateway.engine.tables.jsonfile import take_place
    from mqgateway.engine.upkeep.manifest import write

    disk, place = RealDisk(), os.path.abspath(path)
    write(disk, f"{place}.tmp", data)
    take_place(disk, place)


def print_row(value: object) -> None:
    """Print a value as a line of JSON."""
    import json

    click.echo(escaped_json(json.dumps(value, ensure_ascii=False)))
