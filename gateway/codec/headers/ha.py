"""Broker groups and broker containers: the smallest id, addresses for replication, members of a container.

Standard: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Header, Long


class NotifyMinBrokerIdChangeRequestHeader(Header, code=RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE):
    """The name server tells a group who has the smallest id now."""

    min_broker_id: Long | None = None
    broker_name: str | None = None
    min_broker_addr: str | None = None
    offline_broker_addr: str | None = None
    ha_broker_addr: str | None = None


class ExchangeHAInfoRequestHeader(Header, code=RequestCode.EXCHANGE_BROKER_HA_INFO):
    """Two brokers of a group tell each other where to replicate from."""

    master_ha_address: str | None = None
    master_flush_offset: Long | None = None
    master_address: str | None = None


class ExchangeHAInfoResponseHeader(Header):
    """The other side of it."""

    master_ha_address: str | None = None
    master_flush_offset: Long | None = None
    master_address: str | None = None


class ResetMasterFlushOffsetHeader(Header, code=RequestCode.RESET_MASTER_FLUSH_OFFSET):
    """Up to where the master has flushed."""

    master_flush_offset: Long | None = None


class AddBrokerRequestHeader(Header, code=RequestCode.ADD_BROKER):
    """Start a broker in a container from a configuration file of its host."""

    config_path: str | None = None


class RemoveBrokerRequestHeader(Header, code=RequestCode.REMOVE_BROKER):
    """Stop a broker of a container."""

    broker_name: str
    broker_cluster_name: str
    broker_id: Long
