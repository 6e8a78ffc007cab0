"""Administrative requests of a container: add and remove brokers, its settings, the state of its brokers.

902 ADD_BROKER, 903 REMOVE_BROKER, 25 and 26 for the settings. 28 is mqgateway's addition: the state of each
broker, for `mqadmin brokerStatus`. Standard: `BrokerContainerProcessor`.
"""

from __future__ import annotations

import logging
from typing import Protocol

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.configuration import ChangeForbidden
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import Setting, load_properties
from mqgateway.gateway.codec.bodies import KVTable
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode, ResponseCode, version_name
from mqgateway.gateway.codec.headers import (
    AddBrokerRequestHeader,
    GetBrokerConfigResponseHeader,
    RemoveBrokerRequestHeader,
)
from mqgateway.gateway.container.container import Container
from mqgateway.gateway.container.plan import BrokerIdentity, BrokerPlan, BrokerRejected
from mqgateway.gateway.container.supervision import Supervision
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import RequestFunction

log = logging.getLogger(__name__)


class AddsBrokers(Protocol):
    """A parent process of brokers."""

    def add(self, path: str | None) -> Deferred[BrokerPlan]:
        """Start a broker. The Deferred fires when it serves clients, or fails with `BrokerRejected`."""
        ...


def add_broker(parent: AddsBrokers, call: Call) -> Deferred[Reply]:
    """902: start the broker of a path on this machine; answered when it serves clients."""
    header = call.header
    assert isinstance(header, AddBrokerRequestHeader)
    log.info("%s adds the broker of %s", call.peer.address, header.config_path)
    return parent.add(header.config_path).addCallbacks(lambda _: Reply(), _refused)


def remove_broker(container: Container, call: Call) -> Deferred[Reply]:
    """903: stop a broker; answered when it has stopped."""
    header = call.header
    assert isinstance(header, RemoveBrokerRequestHeader)
    identity = BrokerIdentity(header.broker_cluster_name, header.broker_name, header.broker_id)
    log.info("%s removes %s", call.peer.address, identity.canonical_name)
    return container.remove(identity).addCallback(_removed)


def update_config(container: Container, call: Call) -> Reply:
    """25 UPDATE_BROKER_CONFIG: properties text, all set or none; brokers are notified of name servers."""
    try:
        read = load_properties(call.body, "request")
        found = [Setting(setting.key, setting.value, source="request") for setting in read]
        note = container.configuration.update(found)
    except ChangeForbidden as refusal:
        raise RequestError(ResponseCode.NO_PERMISSION, str(refusal)) from None
    except ConfigError as error:
        raise RequestError(ResponseCode.INVALID_PARAMETER, str(error)) from None
    container.settings_changed([setting.key for setting in found])
    return Reply(remark=note or None)


def get_config(container: Container, call: Call) -> Reply:
    """26 GET_BROKER_CONFIG: all settings of the container as properties text; secrets are hidden."""
    configuration = container.configuration
    return Reply(
        header=GetBrokerConfigResponseHeader(version=configuration.version.encode().decode()),
        body=configuration.as_properties().encode(),
    )


class Supervises(Protocol):
    """A parent process of brokers, by its supervision."""

    @property
    def supervision(self) -> Supervision:
        """The state of all brokers."""
        ...


def runtime_info(parent: Supervises, call: Call) -> Reply:
    """28 GET_BROKER_RUNTIME_INFO: the state of each broker. RocketMQ's container does not answer this."""
    supervision = parent.supervision
    table = {"brokerVersionDesc": version_name(CURRENT_VERSION), "brokers": str(len(supervision))}
    table |= {charge.plan.identity.canonical_name: charge.describe() for charge in supervision}
    return Reply(body=KVTable(table=table).encode())


def _refused(failure: Failure) -> Reply:
    failure.trap(BrokerRejected)  # type: ignore[no-untyped-call]
    raise RequestError(ResponseCode.SYSTEM_ERROR, str(failure.value))


def _removed(was_there: bool) -> Reply:
    return Reply() if was_there else Reply(ResponseCode.BROKER_NOT_EXIST, remark="Broker not exist")


REQUESTS: dict[int, RequestFunction] = {
    RequestCode.ADD_BROKER: add_broker,
    RequestCode.REMOVE_BROKER: remove_broker,
    RequestCode.UPDATE_BROKER_CONFIG: update_config,
    RequestCode.GET_BROKER_CONFIG: get_config,
    RequestCode.GET_BROKER_RUNTIME_INFO: runtime_info,
}

UNSUPPORTED: dict[int, str] = {
    code: "the brokers of the container answer this on their own ports, or name servers and controllers do"
    for code in RequestCode
    if code not in REQUESTS
}
