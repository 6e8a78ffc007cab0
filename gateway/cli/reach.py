"""Addresses of the servers of one command: the name servers of its brokers, and who can reach it."""

from __future__ import annotations

import socket

from mqgateway.gateway.cli.limits import advice, read_kernel
from mqgateway.gateway.cli.settings import BrokerSettings, NamesrvSettings
from mqgateway.gateway.cli.summary import accepted_clients, in_container, local_addresses, reach_warnings
from mqgateway.gateway.runtime.name_servers import split_addresses


def with_own_name_server(settings: BrokerSettings, port: int) -> str:
    """Return the value of `namesrvAddr` with the name server of this command, on `port`, first."""
    bind = settings.remoting.bind_address
    own = "127.0.0.1" if bind in ("", "0.0.0.0", "::") else bind
    given = split_addresses(settings.broker.namesrv_addr)
    return ";".join([f"{own}:{port}", *(address for address in given if not _is_own(address, port))])


def _is_own(address: str, port: int) -> bool:
    """Return True if an address of `namesrvAddr` is that of the name server of this command."""
    host, _, given = address.rpartition(":")
    own = ("localhost", "127.0.0.1", "[::1]", socket.gethostname(), *local_addresses())
    return given == str(port) and host in own


def opened_to(namesrv: NamesrvSettings | None, broker: BrokerSettings | None) -> str:
    """Return a description of the clients that may use the servers."""
    asking = broker.broker if broker else namesrv.namesrv  # type: ignore[union-attr]
    remoting = (broker or namesrv).remoting  # type: ignore[union-attr]
    return accepted_clients(
        remoting.bind_address,
        authenticates=asking.authentication_enabled,
        authorizes=asking.authorization_enabled,
        has_open_name_server=namesrv is not None and not namesrv.namesrv.authentication_enabled,
        allowed_slaves=broker.store.ha_allowed_slaves if broker else "",
        has_accounts=broker is not None and broker.broker.acl_enable,
    )


def warnings_of(namesrv: NamesrvSettings | None, broker: BrokerSettings | None, open_files: int) -> list[str]:
    """Return warnings about addresses that clients cannot reach, and about limits of the machine.

    `open_files` is the limit of open files; -1: no limit.
    """
    remoting = (broker or namesrv).remoting  # type: ignore[union-attr]
    warnings = []
    if broker is not None:
        advertised, bind = broker.broker.broker_ip1, remoting.bind_address
        warnings += reach_warnings(advertised, bind, local_addresses(), in_container())
    warnings += advice(open_files, remoting.max_connections, remoting.server_socket_backlog, read_kernel)
    return warnings
