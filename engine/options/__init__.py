"""Every setting, declared once: property name, type, unit, default, meaning, and what values are right.

- `option`: how a setting is declared, read and written
- `properties`: the text of the files
- `option_set`: the settings of one server as one table; problems with place and remedy
- `broker`, `store`, `replication`, `remoting` (TLS too), `namesrv`: the settings
- `accepted`, `reasons`: the standard's properties that change nothing here, and why

Attributes are the standard's property names in snake case: `flushDiskType` is `flush_disk_type`.
"""

from mqgateway.engine.options.broker import BrokerOptions, RequestMode
from mqgateway.engine.options.namesrv import NamesrvOptions
from mqgateway.engine.options.option import (
    BadValue,
    Option,
    Value,
    camel_case,
    format_value,
    options_of,
    snake_case,
)
from mqgateway.engine.options.option_set import Effective, Options, OptionSet, Problem
from mqgateway.engine.options.properties import Setting, format_properties_text, load_properties
from mqgateway.engine.options.remoting import ClientAuthentication, RemotingOptions, TlsMode, TlsOptions
from mqgateway.engine.options.replication import BrokerRole
from mqgateway.engine.options.store import FlushDiskType, StoreOptions

__all__ = [
    "BadValue",
    "BrokerOptions",
    "BrokerRole",
    "ClientAuthentication",
    "Effective",
    "FlushDiskType",
    "NamesrvOptions",
    "Option",
    "OptionSet",
    "Options",
    "Problem",
    "RemotingOptions",
    "RequestMode",
    "Setting",
    "StoreOptions",
    "TlsMode",
    "TlsOptions",
    "Value",
    "camel_case",
    "format_properties_text",
    "format_value",
    "load_properties",
    "options_of",
    "snake_case",
]
