"""The request side of a broker's ports: access control, request functions, dispatchers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from mqgateway.engine.clock import Clock
from mqgateway.engine.options import RemotingOptions
from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.callers import CallerAccess
from mqgateway.gateway.access.changes import audited
from mqgateway.gateway.access.settings import AccessSettings
from mqgateway.gateway.access.throttling import Pause
from mqgateway.gateway.broker.body_limits import limits_of_bodies
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.environment import BrokerEnvironment
from mqgateway.gateway.broker.refusals import refusal
from mqgateway.gateway.broker.replication.role_requests import AnyRequestFunction
from mqgateway.gateway.broker.requests import NOT_ON_FAST_PORT, REQUESTS, UNSUPPORTED
from mqgateway.gateway.broker.translated import DispatchContext
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.call import Peer
from mqgateway.gateway.remoting.dispatch import Dispatcher, Hook

if TYPE_CHECKING:
    from mqgateway.gateway.access.control import AccessControl
    from mqgateway.gateway.access.plain.keeper import AclRulesKeeper


def access_control(on: BrokerEnvironment, settings: AccessSettings, pause: Pause) -> AccessControl | None:
    """Return the users and policies; None if the settings have none."""
    if not settings.has_tables:
        return None
    from mqgateway.gateway.access.control import AccessControl
    from mqgateway.gateway.access.tables import AccessTables

    tables = AccessTables(on.disk, on.path("config"), on.clock, on.worker, settings.cipher, settings.own_user)
    return AccessControl(settings, tables, on.options, on.clock, pause)


def guarded(
    broker: Broker, access: AccessControl | None, plain: AclRulesKeeper | None, pause: Pause
) -> tuple[CallerAccess | None, Mapping[int, AnyRequestFunction], Sequence[Hook]]:
    """Return the access control if there is any, the table of request functions, and the hooks before it."""
    on, audit = broker.environment, Audit(broker.options.audit_log_format)
    if plain is not None:
        from mqgateway.gateway.access.plain import requests as plain_requests  # few brokers need it
        from mqgateway.gateway.access.plain.control import PlainControl

        names = plain_requests.BrokerNames(on.options.broker_name, on.address, on.options.broker_cluster_name)
        table = {**REQUESTS, **plain_requests.requests(plain, names)}
        control = PlainControl(plain, on.options, on.clock, pause)
        return control, control.guarded(audited(table, audit, refusal)), [control]
    guard = audited(REQUESTS, audit, refusal)
    return (None, guard, []) if access is None else (access, access.guarded(guard, on.options), [access])


def dispatchers(
    context: DispatchContext,
    table: Mapping[int, AnyRequestFunction],
    remoting: RemotingOptions,
    clock: Clock,
    hooks: Sequence[Hook],
) -> tuple[Dispatcher, Dispatcher]:
    """Return the dispatchers of the main port and of the fast one."""
    broker = context.broker
    fast = {code: function for code, function in table.items() if code not in NOT_ON_FAST_PORT}

    def count_refused(command: RemotingCommand, peer: Peer) -> None:
        broker.flow_control.count("requests in flight", f"{peer.address}, request {command.code}")

    refused = UNSUPPORTED | dict.fromkeys(NOT_ON_FAST_PORT, "what may wait is asked on the main port")
    limits = limits_of_bodies(table, remoting, broker.options)
    main_port, fast_port = (
        Dispatcher(
            context,
            served,
            others,
            clock=clock,
            hooks=hooks,
            limits=limits,
            refusal=refusal,
            on_refused=count_refused,
        )
        for served, others in ((table, UNSUPPORTED), (fast, refused))
    )
    return main_port, fast_port


def end_of_read(broker: Broker, dispatch: Callable[[], None]) -> Callable[[], None]:
    """Return the function to call after each read: it stores what requests left, and makes all readable."""
    gathered = broker.pop.gathered

    def settle_and_dispatch() -> None:
        if gathered.points:  # most reads have no acknowledgement: it is not worth a call
            gathered.settle()
        dispatch()

    return settle_and_dispatch
