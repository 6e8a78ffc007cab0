"""Credentials that sign requests: from settings, else from a file, else from the environment.

The file has the format of RocketMQ's `tools.yml`. It is read again every few seconds, so keys can be rotated
without a restart: add them to the broker first, then to the file. While the file cannot be read, its last
valid content is used. The environment variables are `ROCKETMQ_ACCESS_KEY` and `ROCKETMQ_SECRET_KEY`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.access.signature import Credentials, credentials_in
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.options import ClientOptions

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""Interval between reads of the file."""


class CredentialsFile:
    """Credentials file and its current content.

    Raises `BadArgument` if it has no credentials at the start.
    """

    def __init__(self, path: str, disk: Disk, clock: Clock) -> None:
        self._path = path
        self._disk = disk
        self._clock = clock
        self._problem = ""
        self._looked_at = clock.monotonic()
        try:
            self._current = self._read()
        except (OSError, ValueError) as error:
            raise BadArgument(f"credentials_file={path}: {error}") from None

    def current(self) -> Credentials:
        """Return the credentials; a change of the file is seen within `LOOK_SECONDS`."""
        now = self._clock.monotonic()
        if now - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            self._look_again()
        return self._current

    def _look_again(self) -> None:
        try:
            found, problem = self._read(), ""
        except (OSError, ValueError) as error:
            found, problem = self._current, str(error)
        if problem and problem != self._problem:
            log.error("%s: %s; requests are signed as before", self._path, problem)
        elif found != self._current:
            log.info("%s has new credentials: requests are signed by %s", self._path, found.access_key)
        self._current, self._problem = found, problem

    def _read(self) -> Credentials:
        try:
            found = credentials_in(self._disk.read_bytes(self._path), self._path)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        if found is None:
            raise ValueError("it has no accessKey and secretKey, as in accessKey: NAME")
        return found


def credentials_of(
    options: ClientOptions, environment: Mapping[str, str], disk: Disk, clock: Clock
) -> Credentials | CredentialsFile | None:
    """Return a client's credentials, None if it does not sign. Raises `BadArgument` for an unusable file."""
    if options.access_key:
        return Credentials(options.access_key, options.secret_key, options.security_token)
    if options.credentials_file:
        return CredentialsFile(options.credentials_file, disk, clock)
    access, secret = environment.get("ROCKETMQ_ACCESS_KEY"), environment.get("ROCKETMQ_SECRET_KEY")
    return Credentials(access, secret) if access and secret else None
