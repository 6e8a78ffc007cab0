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

from typing import TYPE_CHECKING

from mqgateway.engine.lazy import lazy_names
from mqgateway.engine.options.option import Effect, Option, Value, camel_case, format_value, snake_case
from mqgateway.engine.options.option_set import Effective, Options, OptionSet, SettingProblem
from mqgateway.engine.options.properties import (
    Setting,
    change_properties,
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
else:
    __getattr__ = lazy_names(
        globals(),
        {
            "engine.options.broker": ("BrokerOptions",),
            "engine.options.clients": ("RequestMode",),
            "engine.options.namesrv": ("NamesrvOptions",),
            "engine.options.replication": ("BrokerRole",),
            "engine.options.store": ("FlushDiskType", "StoreOptions"),
        },
    )

__all__ = [
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
    "format_properties_text",
    "format_value",
    "load_properties",
    "snake_case",
]
