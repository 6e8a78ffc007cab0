"""Every setting, declared once: property name, type, unit, default, meaning and valid values.

- `option`: how a setting is declared, read and written
- `properties`: the text of the files
- `option_set`: the settings of one server as one table; problems with place and remedy
- `broker`, `store`, `replication`, `remoting` (TLS too), `namesrv`: the settings
- `checks`: values of text that could be set and not work
- `relations`: settings that must be less than others
- `accepted`, `reasons`: RocketMQ's properties without effect here, and the reasons

Attributes are RocketMQ's property names in snake case: `flushDiskType` is `flush_disk_type`. The
settings of servers are loaded on first use: a client has none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mqgateway.engine.options.option import (
    BadValue,
    Effect,
    Option,
    Value,
    camel_case,
    format_value,
    options_of,
    snake_case,
)
from mqgateway.engine.options.option_set import Effective, Options, OptionSet, SettingProblem
from mqgateway.engine.options.properties import (
    Setting,
    change_properties,
    decode_text,
    format_properties_text,
    load_properties,
)
from mqgateway.engine.options.remoting import ClientAuthentication, RemotingOptions, TlsMode, TlsOptions

if TYPE_CHECKING:
    from mqgateway.engine.options.broker import BrokerOptions
    from mqgateway.engine.options.clients import RequestMode
    from mqgateway.engine.options.namesrv import NamesrvOptions
    from mqgateway.engine.options.replication import BrokerRole
    from mqgateway.engine.options.store import FlushDiskType, StoreOptions

__all__ = [
    "BadValue",
    "BrokerOptions",
    "BrokerRole",
    "ClientAuthentication",
    "Effect",
    "Effective",
    "FlushDiskType",
    "NamesrvOptions",
    "Option",
    "OptionSet",
    "Options",
    "RemotingOptions",
    "RequestMode",
    "Setting",
    "SettingProblem",
    "StoreOptions",
    "TlsMode",
    "TlsOptions",
    "Value",
    "camel_case",
    "change_properties",
    "decode_text",
    "format_properties_text",
    "format_value",
    "load_properties",
    "options_of",
    "snake_case",
]

_OF_SERVERS = {
    "BrokerOptions": "broker",
    "BrokerRole": "replication",
    "FlushDiskType": "store",
    "NamesrvOptions": "namesrv",
    "RequestMode": "clients",
    "StoreOptions": "store",
}


def __getattr__(name: str) -> Any:
    """Load the settings of a server on first use of one of their names."""
    if name not in _OF_SERVERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_OF_SERVERS[name]}"), name)
    globals()[name] = value
    return value
