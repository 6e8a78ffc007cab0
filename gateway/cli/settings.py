"""Settings of the services from file, environment and flags, and their problems.

Precedence: default < file for TLS < file < environment < `--set` and flags. `-p` shows the origin of each.
"""

import json
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mqgateway.engine.configuration import NOT_READ
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import (
    BrokerOptions,
    BrokerRole,
    NamesrvOptions,
    OptionSet,
    RemotingOptions,
    Setting,
    SettingProblem,
    StoreOptions,
    TlsOptions,
    load_properties,
)
from mqgateway.engine.options.access import AccessOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.options.relations import broken_relations
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.environment import tls_file
from mqgateway.gateway.cli.sizes import assume_file_sizes
from mqgateway.gateway.cli.summary import default_advertise, local_addresses

ASSUMED_BY_SERVE = "mqgateway serve"
"""Origin of settings that `serve` assumes by default."""
SLAVE_MEMORY_PERCENT_LESS = 10
"""Difference of a slave's `accessMessageInMemoryMaxRatio` to a master's, in percentage points.

Smaller for slaves, so that readers return to the master first.
"""


def host_name() -> str:
    """Return the name of a broker that is not named otherwise."""
    return socket.gethostname() or "DEFAULT_BROKER"


@dataclass
class BrokerSettings:
    """All settings of a broker, and the set through which files and flags reach them."""

    broker: BrokerOptions = field(default_factory=BrokerOptions)
    store: StoreOptions = field(default_factory=StoreOptions)
    remoting: RemotingOptions = field(default_factory=RemotingOptions)
    tls: TlsOptions = field(default_factory=TlsOptions)

    def __post_init__(self) -> None:
        self.options = OptionSet(self.broker, self.remoting, self.store, self.tls)

    def find_out(self, small_files: bool = False) -> None:
        """Fill in unset settings that depend on the machine: names, addresses, folders, lengths of files.

        A new store gets `small_files` if set. Raises `ConfigError` if settings contradict each other, or the
        store cannot be read.
        """
        options = self.options
        if problems := broken_relations(options.get):
            raise ConfigError("\n".join(problems))
        options.assume("brokerName", host_name(), "host name")
        options.assume("brokerIP1", default_advertise(local_addresses()), "local address")
        options.assume("brokerIP2", self.broker.broker_ip1, "as brokerIP1")
        if self.tls.tls_enable:
            options.assume("useTLS", True, "tls.enable")
        options.assume("storePathRootDir", os.path.join(os.path.expanduser("~"), "store"), "home folder")
        self._settle_role()
        self._check_long_retention()
        self._size_bit_maps()
        try:
            assume_file_sizes(options, RealDisk(), small_files)
        except OSError as error:
            raise ConfigError(
                f"storePathRootDir (--data-dir): the store cannot be read: {error}; choose another"
            ) from None

    def _check_long_retention(self) -> None:
        """Raise `ConfigError` if the log cannot be saved to the object store of the settings."""
        url = self.store.tiered_store_path
        if url and self.store.enable_d_leger_commit_log:
            raise ConfigError("tieredStorePath: the log of a DLedger member cannot be saved; leave it empty")
        if url:
            from mqgateway.gateway.object_stores.opening import open_object_store  # few brokers need it

            try:
                open_object_store(url)
            except ConfigError as error:
                raise ConfigError(f"tieredStorePath: {error}") from None

    def _size_bit_maps(self) -> None:
        """Set the length that follows from the other settings. Standard: `ConsumerFilterManager`."""
        from mqgateway.engine.filters.bloom import BloomFilter  # with all of filters, which only brokers need

        options = self.broker
        bloom = BloomFilter(options.max_error_rate_of_bloom_filter, options.expect_consumer_num_use_filter)
        self.options.set("bitMapLengthConsumeQueueExt", str(bloom.bits), "maxErrorRateOfBloomFilter")

    def _settle_role(self) -> None:
        """Check the broker id: 0 for a master, greater for a slave.

        A controller or a DLedger group, if any, decides role and id instead. Raises `ConfigError`. Standard:
        `BrokerStartup`.
        """
        if self.store.enable_d_leger_commit_log:
            from mqgateway.gateway.broker.ledger.settings import member_settings  # few brokers need it

            member_settings(self.broker, self.store)
            return
        if self.broker.enable_controller_mode:
            if not self.broker.controller_addr:
                raise ConfigError(
                    "controllerAddr: set the addresses of the controllers, as 10.0.0.1:9878;10.0.0.2:9878"
                )
            return
        if self.store.broker_role is not BrokerRole.SLAVE:
            if self.broker.broker_id:
                self.options.set("brokerId", "0", "the role of a master")
            return
        if self.broker.broker_id <= 0:
            raise ConfigError("brokerId: a slave's id must be greater than 0 and unique among the slaves")
        ratio = self.store.access_message_in_memory_max_ratio - SLAVE_MEMORY_PERCENT_LESS
        self.options.assume("accessMessageInMemoryMaxRatio", max(0, ratio), "the role of a slave")


@dataclass
class NamesrvSettings:
    """All settings of a name server, and the set through which files and flags reach them.

    The same file has the settings of the controller that may run in the name server's process.
    """

    namesrv: NamesrvOptions = field(default_factory=NamesrvOptions)
    controller: ControllerOptions = field(default_factory=ControllerOptions)
    remoting: RemotingOptions = field(default_factory=lambda: RemotingOptions(listen_port=9876))
    tls: TlsOptions = field(default_factory=TlsOptions)

    def __post_init__(self) -> None:
        self.options = OptionSet(self.namesrv, self.remoting, self.tls, self.controller)

    def find_out(self, folder: str | None = None, file: str | None = None) -> None:
        """Fill in unset paths of files, below `folder` or the home folder.

        `file` is the file of these settings; their changes are stored in it.
        """
        _assume_controller_store(self.options, folder)
        _assume_settings_file(self.options, file)
        folder = folder or os.path.join(os.path.expanduser("~"), "namesrv")
        self.options.assume("kvConfigPath", os.path.join(folder, "kvConfig.json"), "data folder")
        self.options.assume("configStorePath", os.path.join(folder, "namesrv.properties"), NOT_READ)

    def ask_as(self, broker: BrokerSettings) -> None:
        """Use the access control of the broker of the same process, unless this server's is switched off."""
        is_set = self.options.origin("authenticationEnabled") != "default"
        if not is_set or self.namesrv.authentication_enabled:
            for name in OptionSet(AccessOptions()).names():
                self.options.assume(name, broker.options.get(name), "the broker's")


@dataclass
class ControllerSettings:
    """All settings of a standalone controller, and the set through which files and flags reach them."""

    controller: ControllerOptions = field(default_factory=ControllerOptions)
    remoting: RemotingOptions = field(default_factory=RemotingOptions)
    tls: TlsOptions = field(default_factory=TlsOptions)

    def __post_init__(self) -> None:
        self.options = OptionSet(self.controller, self.remoting, self.tls)

    def find_out(self, folder: str | None = None, file: str | None = None) -> None:
        """Fill in unset paths of files, as `NamesrvSettings.find_out` does."""
        _assume_controller_store(self.options, folder)
        _assume_settings_file(self.options, file)
        folder = folder or os.path.join(os.path.expanduser("~"), "controller")
        self.options.assume("configStorePath", os.path.join(folder, "controller.properties"), NOT_READ)


def _assume_controller_store(options: OptionSet, folder: str | None) -> None:
    """Set the default store path of a controller: below `folder`, or the home folder as in RocketMQ."""
    folder = folder or os.path.expanduser("~")
    options.assume("controllerStorePath", os.path.join(folder, "DLedgerController"), "data folder")


def _assume_settings_file(options: OptionSet, file: str | None) -> None:
    """Store changes in the settings file. Standard: `NamesrvStartup`, `ControllerStartup`."""
    if file:
        options.assume("configStorePath", os.path.abspath(file), "-c")


def from_file(path: str | None) -> list[Setting]:
    """Return the settings in a properties file; none without a path. Raises `ConfigError` if unreadable."""
    if not path:
        return []
    try:
        return load_properties(RealDisk().read_bytes(path), path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None


def from_tls_file(settings: Iterable[Setting]) -> list[Setting]:
    """Return the settings in the file for TLS, which `settings` may name.

    Without a name, a missing file has no settings. Raises `ConfigError` as `from_file`.
    """
    path, is_named = tls_file(settings)
    return from_file(path) if is_named or os.path.exists(path) else []


def from_pairs(pairs: Iterable[str]) -> list[Setting]:
    """Return the settings of `--set KEY=VALUE` flags. Raises `ConfigError` for a flag without `=`."""
    settings = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--set {pair}: write it as --set property=value")
        settings.append(Setting(name.strip(), value, 0, "--set"))
    return settings


def from_flags(flags: Mapping[str, object]) -> list[Setting]:
    """Return the settings of the given flags; `flags` maps properties to values, None if not given."""
    return [Setting(name, str(value), 0, "flag") for name, value in flags.items() if value is not None]


def stop_for(problems: Sequence[SettingProblem], strict: bool) -> bool:
    """Return True if a problem stops the start: an unusable setting, or any problem under `--strict`."""
    return any(strict or problem.severity == "error" for problem in problems)


def listing(options: OptionSet, form: str) -> str:
    """Return all effective settings: lines of `name=value  # origin`, or JSON."""
    rows = options.effective()
    if form == "json":
        return json.dumps([row._asdict() for row in rows], indent=1)
    width = max(len(row.name) + len(row.value) + 1 for row in rows if len(row.value) < 40)
    lines = []
    for row in rows:
        note = f"; {row.note}" if row.note else ""
        lines.append(f"{f'{row.name}={row.value}':{width}}  # {row.origin}{note}")
    return "\n".join(lines)
