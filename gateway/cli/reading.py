"""Settings of the two servers of `mqgateway serve`, `namesrv` and `broker`, from the flags of the command.

The parent of several brokers and each of their processes read them in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mqgateway.engine.options import SettingProblem
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.environment import from_environment, unknown_variables
from mqgateway.gateway.cli.settings import (
    ASSUMED_BY_SERVE,
    BrokerSettings,
    NamesrvSettings,
    from_file,
    from_flags,
    from_pairs,
    from_tls_file,
)
from mqgateway.gateway.front_ends import FRONT_ENDS

if TYPE_CHECKING:
    from mqgateway.gateway.cli.secure import Secured


def apply_all(
    given: Mapping[str, Any], namesrv: NamesrvSettings | None, broker: BrokerSettings | None
) -> list[SettingProblem]:
    """Apply file, environment and flags to the settings of both servers; return the problems found.

    Raises `ConfigError`.
    """
    pairs = from_pairs(given["pairs"])
    sets = [kind.options for kind in (namesrv, broker) if kind is not None]
    problems = unknown_variables(os.environ, sets)
    bind = {"bindAddress": given.get("bind")}
    if broker is not None:
        settings = from_file(given.get("config")) + from_environment(os.environ, broker.options)
        settings += [pair for pair in pairs if namesrv is None or _is_brokers(pair.key, namesrv, broker)]
        flags = {
            "namesrvAddr": given.get("namesrv_address"),
            "brokerIP1": given.get("advertise"),
            "listenPort": given.get("broker_port"),
            "storePathRootDir": below(given.get("data_dir"), "store"),
            **{one.setting: given.get(one.parameter) for one in FRONT_ENDS},
            **bind,
        }
        settings += from_flags(flags)
        problems += broker.options.apply(from_tls_file(settings) + settings)
    if namesrv is not None:
        settings = from_file(given.get("namesrv_config")) + from_environment(os.environ, namesrv.options)
        settings += [pair for pair in pairs if broker is None or _is_name_servers(pair.key, namesrv, broker)]
        settings += from_flags({"listenPort": given.get("namesrv_port"), **bind})
        problems += namesrv.options.apply(from_tls_file(settings) + settings)
    return problems


def find_out_all(
    given: Mapping[str, Any], namesrv: NamesrvSettings | None, broker: BrokerSettings | None
) -> Secured | None:
    """Fill in unset settings. Problems of the given settings are already collected: they may be the cause of
    an error here. Raises `ConfigError`."""
    secured = None
    if broker is not None:
        if given.get("config"):
            broker.options.assume("brokerConfigPath", os.path.abspath(given["config"]), "-c")
        if namesrv is not None:
            for one in FRONT_ENDS:
                broker.options.assume(one.setting, one.serve_port, ASSUMED_BY_SERVE)
        broker.find_out(small_files=namesrv is not None)
    if namesrv is not None:
        namesrv.find_out(below(given.get("data_dir"), "namesrv"), given.get("namesrv_config"))
        if broker is not None:
            secured = _secured(given, namesrv, broker)
            namesrv.ask_as(broker)
    return secured


def _secured(given: Mapping[str, Any], namesrv: NamesrvSettings, broker: BrokerSettings) -> Secured | None:
    """Secure both servers if `--secure` is given. With `--print-config`, generate no credentials."""
    if not given["secure"]:
        return None
    from mqgateway.gateway.cli.secure import close_both, secure

    if given["print_config"]:
        close_both(namesrv, broker)
        return None
    home = os.path.join(os.path.expanduser("~"), "mqgateway-secure")
    return secure(below(given["data_dir"], "secure") or home, namesrv, broker, RealDisk())


def _is_brokers(key: str, namesrv: NamesrvSettings, broker: BrokerSettings) -> bool:
    """Return True if `--set` of this key is for the broker: its own, common and misspelt keys."""
    return key in broker.options or key not in namesrv.options


def _is_name_servers(key: str, namesrv: NamesrvSettings, broker: BrokerSettings) -> bool:
    """Return True if `--set` of this key is for the name server: its own keys, and common ones of TLS.

    Clients expect TLS of both servers.
    """
    return key in namesrv.options and (key not in broker.options or key.startswith("tls."))


def below(folder: str | None, name: str) -> str | None:
    """Return the absolute path of a name in a folder; None without a folder."""
    return os.path.join(os.path.abspath(folder), name) if folder else None
