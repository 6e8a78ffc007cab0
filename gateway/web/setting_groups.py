"""Groups of settings, by the classes that declare them. Pure."""

from __future__ import annotations

from typing import Final

from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.options.option import Option
from mqgateway.engine.options.remoting import RemotingOptions, TlsOptions

WITHOUT_EFFECT: Final = "Accepted without effect"

SETTINGS: Final = (BrokerOptions, StoreOptions, RemotingOptions, TlsOptions)
"""The classes with the settings of a broker."""

_CLASSES: Final = {
    "Names and addresses": ("IdentityOptions", "RegistrationOptions"),
    "Topics and groups": ("TopicOptions",),
    "Messages": ("MessageLimits",),
    "Consumption": ("BrokerPullOptions", "ReceivingOptions", "FilterOptions", "AssignmentOptions"),
    "Flow control": ("FlowOptions",),
    "Connected clients": ("ConnectedClientOptions",),
    "Ports and connections": ("RemotingOptions",),
    "TLS": ("TlsOptions",),
    "Transactions": ("TransactionOptions",),
    "Delayed messages": ("DelayOptions", "TimerOptions"),
    "POP": ("PopOptions",),
    "Lite topics": ("LiteOptions", "LmqOptions"),
    "gRPC": ("GrpcOptions", "MessagingOptions"),
    "Kafka": (
        *("KafkaOptions", "KafkaGroupOptions", "KafkaAccessOptions", "DelegationTokenOptions"),
        "IdempotentProducerOptions",
    ),
    "Store folders and files": ("PathOptions",),
    "Flushing": ("FlushOptions",),
    "Retention and compaction": ("RetentionOptions", "CompactionOptions"),
    "Long retention": ("TieredOptions",),
    "Reads": ("ReadOptions",),
    "Replication and roles": ("ReplicationOptions", "AcknowledgementOptions", "RoleOptions"),
    "Controller": ("ControlledOptions",),
    "DLedger": ("LedgerOptions",),
    "Access control": ("AccessOptions", "AclOptions"),
    "Web console": ("ConsoleOptions",),
    "Metrics, health and logs": (
        *("MetricsOptions", "ExporterOptions", "HealthOptions"),
        *("StatisticsOptions", "LogOptions"),
    ),
}
GROUPS: Final = (*_CLASSES, WITHOUT_EFFECT)
"""The groups in the order in which they are shown."""


def _by_attribute() -> dict[str, str]:
    titles = {name: title for title, names in _CLASSES.items() for name in names}
    return {
        attribute: titles[base.__name__]
        for options in SETTINGS
        for base in reversed(options.__mro__)
        if base.__name__ in titles
        for attribute in base.__annotations__
    }


_BY_ATTRIBUTE: Final = _by_attribute()


def group_of(option: Option) -> str:
    """Return the group of a setting, one of `GROUPS`."""
    return WITHOUT_EFFECT if option.no_effect else _BY_ATTRIBUTE[option.attribute]
