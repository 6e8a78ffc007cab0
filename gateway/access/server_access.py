"""Users and policies of a server that is no broker: name server, controller, container."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.options.access import AccessOptions
from mqgateway.engine.worker import Worker
from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.changes import audited
from mqgateway.gateway.access.needs import Row, needs_in
from mqgateway.gateway.access.server_needs import ALL_CLUSTERS
from mqgateway.gateway.access.settings import AccessSettings
from mqgateway.gateway.access.throttling import Pause
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.call import Reply

if TYPE_CHECKING:
    from mqgateway.gateway.access.administration import AccessAdministration
    from mqgateway.gateway.access.control import AccessControl
    from mqgateway.gateway.access.tables import AccessTables


class ServerAccess:
    """The access control of a server, and the audit log of its changes; `needs` is of each code.

    Its users and policies are loaded from `folder`, or are the `shared` ones of another server of this
    process, which loads them. Where settings enable neither authentication nor authorization there are
    none. Raises `ConfigError`.
    """

    def __init__(
        self,
        options: AccessOptions,
        needs: Mapping[int, Row],
        *,
        disk: Disk,
        folder: str,
        clock: Clock,
        worker: Worker | None,
        pause: Pause,
        shared: AccessTables | None = None,
    ) -> None:
        settings = AccessSettings.of(options, disk, ALL_CLUSTERS)
        self._audit = Audit(options.audit_log_format)
        self.control: AccessControl | None = None
        """The checks of requests; None where there are none."""
        self.sign: Callable[[RemotingCommand], None] | None = settings.sign
        """The function that signs the requests of this server to others, if they are signed."""
        if not settings.is_on:
            return
        from mqgateway.gateway.access.control import AccessControl
        from mqgateway.gateway.access.tables import AccessTables

        tables = AccessTables(disk, folder, clock, worker, settings.cipher) if shared is None else shared
        self.control = AccessControl(settings, tables, options, clock, pause, partial(needs_in, needs))
        if shared is None:
            self.control.load()

    @property
    def administration(self) -> AccessAdministration | None:
        """The users and policies as requests administer them, if there are any."""
        return None if self.control is None else self.control.administration

    @property
    def tables(self) -> AccessTables | None:
        """Users and policies, if there are any, for other servers of the same process."""
        return None if self.control is None else self.control.tables

    @property
    def hooks(self) -> list[AccessControl]:
        """The hooks of the dispatcher that check requests."""
        return [] if self.control is None else [self.control]

    def requests(
        self, table: Mapping[int, Any], refusal: Callable[[BaseException], Reply | None] = lambda _: None
    ) -> dict[int, Any]:
        """Return a table of request functions with those for users and policies, and with the audit log.

        `refusal` makes the answer to an error, as in `Dispatcher`.
        """
        if self.control is not None:
            from mqgateway.gateway.access.requests import REQUESTS

            table = {**table, **REQUESTS}
        return audited(table, self._audit, refusal)

    def retry(self) -> None:
        """Write what could not be written; for a slow tick."""
        if self.control is not None:
            self.control.retry()

    def close(self) -> None:
        """Write what is not in the files yet."""
        if self.control is not None:
            self.control.close()
