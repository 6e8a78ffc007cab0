"""The place that several controllers have in common, out of the settings: keys in etcd, by their group."""

from __future__ import annotations

from mqgateway.engine.clock import Clock
from mqgateway.engine.controller.shared_state import SharedState
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import TlsOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.gateway.controller.etcd import endpoints_of
from mqgateway.gateway.controller.etcd_client import EtcdClient, TlsFor
from mqgateway.gateway.controller.peers import ControllerPeer
from mqgateway.gateway.remoting.tls import UNUSABLE, ClientTls
from mqgateway.gateway.runtime.loop import Reactor

CALLS_A_LEASE = 4
"""A call may take this part of a lease, so that a server that hangs does not cost the lease."""


def check_place(options: ControllerOptions) -> None:
    """Raises `ConfigError` when the settings name no usable place."""
    endpoints_of(options.controller_etcd_endpoints)
    group = options.controller_d_leger_group
    if not group or "/" in group:
        raise ConfigError(
            f"controllerDLegerGroup={group}: with controllerEtcdEndpoints the group names the keys: "
            "give it a name without /, the same at all controllers"
        )
    if bool(options.controller_etcd_user) != bool(options.controller_etcd_password):
        raise ConfigError("controllerEtcdUser and controllerEtcdPassword: one is given without the other")
    if bool(options.controller_etcd_cert_file) != bool(options.controller_etcd_key_file):
        raise ConfigError("controllerEtcdCertFile and controllerEtcdKeyFile: one is given without the other")


def open_place(options: ControllerOptions, reactor: Reactor, disk: Disk) -> EtcdClient:
    """etcd, as the settings say that it is reached; nothing is connected yet. Raises `ConfigError`."""
    check_place(options)
    endpoints = endpoints_of(options.controller_etcd_endpoints)
    return EtcdClient(
        endpoints,
        reactor=reactor,
        seconds=options.controller_etcd_lease_seconds / CALLS_A_LEASE,
        user=options.controller_etcd_user,
        password=options.controller_etcd_password,
        tls=_tls(options, disk) if any(one.is_encrypted for one in endpoints) else None,
    )


def state_in(place: EtcdClient, options: ControllerOptions, me: ControllerPeer, clock: Clock) -> SharedState:
    """Return the broker sets of the controllers of this group."""
    prefix = f"/mqgateway/controller/{options.controller_d_leger_group}"
    return SharedState(me.leader, place, clock, prefix, options.controller_etcd_lease_seconds)


def _tls(options: ControllerOptions, disk: Disk) -> TlsFor:
    files = TlsOptions(
        tls_client_trust_cert_path=options.controller_etcd_ca_file,
        tls_client_cert_path=options.controller_etcd_cert_file,
        tls_client_key_path=options.controller_etcd_key_file,
    )
    try:
        return ClientTls(files, disk, check_host=True).for_host
    except UNUSABLE as error:
        raise ConfigError(
            f"controllerEtcdCaFile, controllerEtcdCertFile, controllerEtcdKeyFile cannot be used: {error}"
        ) from None
