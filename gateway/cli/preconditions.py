"""Preconditions that are checked before a store is opened: free ports, writable folders, a valid address.

Each failure names the setting, the flag that sets it, and what to do.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions, NamesrvOptions, RemotingOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.broker.service import FAST_PORT_DISTANCE
from mqgateway.gateway.cli.settings import (
    ASSUMED_BY_SERVE,
    BrokerSettings,
    ControllerSettings,
    NamesrvSettings,
)
from mqgateway.gateway.front_end import FrontEnd
from mqgateway.gateway.front_ends import FRONT_ENDS

_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?")
EVERY_ADDRESS = {"", "0.0.0.0", "::"}
_NUMBERS = re.compile(r"[0-9.]+")


def check_start(namesrv: NamesrvSettings | None, broker: BrokerSettings | None) -> None:
    """Check the preconditions of a start. Raises `ConfigError` with all failures, one a line."""
    problems: list[str] = []
    if namesrv is not None and namesrv.namesrv.enable_controller_in_namesrv:
        problems += _of_controller(namesrv.controller, namesrv.remoting)
    if broker is not None:
        problems += _of_address(broker.broker.broker_ip1)
        problems += _of_front_ends(broker.broker)
    ports = list(_ports(namesrv, broker))
    for host, port, setting in ports:
        problems += _of_port(host, port, setting)
    problems += _of_shared_ports([*ports, *_optional_ports(namesrv, broker)])
    for folder, setting in _folders(namesrv, broker):
        problems += _of_folder(folder, setting)
    if problems:
        raise ConfigError("\n".join(problems))


def check_starts(namesrv: NamesrvSettings, brokers: Mapping[str, BrokerSettings]) -> None:
    """Check the preconditions of a start of several brokers, by their names, and a name server.

    Raises `ConfigError` with all failures, one a line, each with the name of the broker.
    """
    problems: list[str] = []
    if namesrv.namesrv.enable_controller_in_namesrv:
        problems.append("enableControllerInNamesrv: with --brokers, run mqgateway controller instead")
    all_ports = list(_ports(namesrv, None))
    for host, port, setting in all_ports:
        problems += _of_port(host, port, setting)
    problems += [line for folder, setting in _folders(namesrv, None) for line in _of_folder(folder, setting)]
    for name, broker in brokers.items():
        problems += _of_numbered(name, broker)
        all_ports += _all_ports(name, broker)
    problems += _of_shared_ports(all_ports)
    if problems:
        raise ConfigError("\n".join(problems))


def check_added(namesrv: NamesrvSettings, brokers: Mapping[str, BrokerSettings], added: str) -> None:
    """Check the preconditions of the start of one more broker; `brokers`, by their names, have it last.

    The name server and the other brokers run. Raises `ConfigError` as `check_starts`.
    """
    problems = list(_of_numbered(added, brokers[added]))
    all_ports = list(_ports(namesrv, None))
    for name, broker in brokers.items():
        all_ports += _all_ports(name, broker)
    problems += _of_shared_ports(all_ports)
    if problems:
        raise ConfigError("\n".join(problems))


def _of_numbered(name: str, broker: BrokerSettings) -> Iterator[str]:
    """Yield the failed preconditions of one of several brokers, each with its name."""
    found = [*_of_address(broker.broker.broker_ip1), *_of_front_ends(broker.broker)]
    for host, port, setting in _ports(None, broker):
        found += _of_port(host, port, setting)
    for folder, setting in _folders(None, broker):
        found += _of_folder(folder, setting)
    yield from (f"{name}: {problem}" for problem in found)


def _all_ports(name: str, broker: BrokerSettings) -> Iterator[tuple[str, int, str]]:
    """Yield host, port and setting, with the broker's name, of every listener of one of several brokers."""
    for host, port, setting in (*_ports(None, broker), *_optional_ports(None, broker)):
        yield host, port, f"{setting} of {name}"


def check_controller_start(settings: ControllerSettings) -> None:
    """Check the preconditions of a standalone controller. Raises `ConfigError` with all failures."""
    problems = list(_of_controller(settings.controller, settings.remoting))
    if problems:
        raise ConfigError("\n".join(problems))


def _of_front_ends(options: BrokerOptions) -> Iterator[str]:
    """Yield the errors of the settings of front ends that are to be started."""
    for one in FRONT_ENDS:
        if one.problems is not None and one.port_in(options):
            yield from one.problems(options)


def _of_controller(options: ControllerOptions, remoting: RemotingOptions) -> Iterator[str]:
    """Yield the failed preconditions of a controller, standalone or in a name server."""
    from mqgateway.gateway.controller.peers import own_peer

    try:
        peer = own_peer(options)
        if options.controller_etcd_endpoints:
            from mqgateway.gateway.controller.shared_place import check_place

            check_place(options)
    except ConfigError as error:
        yield str(error)
    else:
        yield from _of_port(remoting.bind_address, peer.port, "controllerDLegerPeers")
    if not options.controller_etcd_endpoints:
        yield from _of_folder(options.controller_store_path, "controllerStorePath (--data-dir)")


def _ports(namesrv: NamesrvSettings | None, broker: BrokerSettings | None) -> Iterator[tuple[str, int, str]]:
    """Yield host, port and setting of every required listener."""
    if namesrv is not None:
        flag = "--port" if broker is None else "--namesrv-port"
        host, port = namesrv.remoting.bind_address, namesrv.remoting.listen_port
        yield host, port, f"listenPort of the name server ({flag})"
    if broker is not None and broker.broker.listen_port:
        flag = "--port" if namesrv is None else "--broker-port"
        host, port = broker.remoting.bind_address, broker.broker.listen_port
        setting = f"listenPort of the broker ({flag})"
        yield host, port, setting
        if port > FAST_PORT_DISTANCE:
            yield host, port - FAST_PORT_DISTANCE, f"the VIP port, {FAST_PORT_DISTANCE} below {setting}"
        if not broker.store.enable_d_leger_commit_log:
            yield host, broker.store.ha_listen_port or port + 1, "haListenPort (--set haListenPort=PORT)"
    if broker is not None and broker.store.enable_d_leger_commit_log:
        from mqgateway.engine.raft.settings import peers_of  # few brokers need it

        own = peers_of(broker.store.d_leger_peers)[broker.store.d_leger_self_id]
        yield broker.remoting.bind_address, int(own.rpartition(":")[2]), "dLegerPeers"
    if broker is not None:
        yield from (_port_of(one, broker) for one in FRONT_ENDS if _must_listen(one, broker))


def _must_listen(front_end: FrontEnd, broker: BrokerSettings) -> bool:
    """Return False if the server starts without the front end when its port is in use.

    This holds for one that is not for clients, and for one that no setting enabled.
    """
    return front_end.is_for_clients and broker.options.origin(front_end.setting) != ASSUMED_BY_SERVE


def _port_of(front_end: FrontEnd, broker: BrokerSettings) -> tuple[str, int, str]:
    host = front_end.host_in(broker.broker, broker.remoting.bind_address)
    return host, front_end.port_in(broker.broker), front_end.described_setting


def _optional_ports(
    namesrv: NamesrvSettings | None, broker: BrokerSettings | None
) -> Iterator[tuple[str, int, str]]:
    """Yield host, port and setting of optional listeners. The server starts even if such a port is in use."""
    settings = broker or namesrv
    if settings is None:
        return
    options: BrokerOptions | NamesrvOptions = broker.broker if broker is not None else settings.namesrv  # type: ignore[union-attr]
    if options.health_port:
        yield options.health_host or settings.remoting.bind_address, options.health_port, "healthPort"
    if options.is_scraped:
        host = options.metrics_prom_exporter_host or (broker.broker.broker_ip1 if broker else "")
        yield host, options.metrics_prom_exporter_port, "metricsPromExporterPort"
    if broker is not None:
        yield from (_port_of(one, broker) for one in reversed(FRONT_ENDS) if not _must_listen(one, broker))
    if namesrv is not None and namesrv.namesrv.enable_controller_in_namesrv:
        from mqgateway.gateway.controller.peers import own_peer

        with contextlib.suppress(ConfigError):  # reported by `_of_controller`
            port = own_peer(namesrv.controller).port
            yield namesrv.remoting.bind_address, port, "controllerDLegerPeers"


def _of_shared_ports(ports: Sequence[tuple[str, int, str]]) -> Iterator[str]:
    """Yield an error for each pair of services with the same port and address."""
    for number, (host, port, setting) in enumerate(ports):
        for other_host, other_port, other in ports[:number]:
            if port and port == other_port and _overlap(host, other_host):
                yield f"{setting} and {other} are both {port}; give one of them another port"


def _overlap(host: str, other: str) -> bool:
    return host == other or bool({host, other} & EVERY_ADDRESS)


def _folders(namesrv: NamesrvSettings | None, broker: BrokerSettings | None) -> Iterator[tuple[str, str]]:
    if broker is not None:
        yield broker.store.store_path_root_dir, "storePathRootDir (--data-dir)"
    if namesrv is not None:
        yield os.path.dirname(namesrv.namesrv.kv_config_path), "kvConfigPath (--data-dir)"


def _of_port(host: str, port: int, setting: str) -> Iterator[str]:
    """Yield the reason if a port cannot be listened on; port 0 means any free port."""
    if not port:
        return
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
            tried.listen(1)
    except OverflowError:
        yield f"{setting}: {port} is not a port; choose one from 1 to 65535"
    except OSError as error:
        where = f"{host}:{port}" if host else f"port {port}"
        if error.errno == errno.EADDRINUSE:
            yield (
                f"{setting}: {where} is in use by another process; stop that one "
                f"(`ss -ltnp 'sport = :{port}'` names it) or choose another port"
            )
        elif error.errno == errno.EACCES:
            yield f"{setting}: this user is not permitted to listen on {where}; choose a port above 1023"
        else:
            yield f"{setting}: cannot listen on {where}: {error.strerror or error}; see bindAddress (--bind)"


def _of_folder(folder: str, setting: str) -> Iterator[str]:
    """Yield the reason if a folder cannot be written; a missing folder is created."""
    try:
        RealDisk().makedirs(folder)
    except OSError as error:
        reason = error.strerror or str(error)
    else:
        # A store on a read-only file system is still served, so that it can be drained.
        if os.access(folder, os.W_OK | os.X_OK) or os.statvfs(folder).f_flag & os.ST_RDONLY:
            return
        reason = "permission denied"
    yield f"{setting}: the folder {folder} cannot be written: {reason}; choose another, or change its owner"


def _of_address(address: str) -> Iterator[str]:
    """Yield the reason if clients cannot connect to an address."""
    try:
        ipaddress.ip_address(address)
        return
    except ValueError:
        pass
    if not _HOST_NAME.fullmatch(address) or _NUMBERS.fullmatch(address):
        why = "is not the address of a host"
    else:
        try:
            socket.getaddrinfo(address, None)
            return
        except OSError:
            why = "is a name that this machine cannot resolve"
    yield (
        f"brokerIP1 (--advertise): {address} {why}; set an IP address or a "
        "resolvable name, without a port, at which clients reach this machine"
    )
