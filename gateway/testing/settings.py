"""Options of a server for tests: small files and free ports, unless the test sets others."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.options import (
    BrokerOptions,
    OptionSet,
    RemotingOptions,
    StoreOptions,
    TlsOptions,
    camel_case,
)

LOG_FILE_BYTES = 64 << 20


def options_for_tests(
    settings: dict[str, Any], address: str, port: int, root: str
) -> tuple[BrokerOptions, StoreOptions, RemotingOptions, TlsOptions]:
    """Return the options for tests, with the given settings in their place. Raises `ConfigError`.

    `settings` are by their names in Python or in RocketMQ; `address` and `port` are the broker's, `root` is
    the folder of its store.
    """
    broker = BrokerOptions(
        broker_ip1=address, broker_ip2=address, broker_name="broker-a", listen_port=port, broker_id=0
    )
    store = StoreOptions(
        store_path_root_dir=f"{root}/store",
        mapped_file_size_commit_log=LOG_FILE_BYTES,
        mapped_file_size_consume_queue=20_000,
        max_hash_slot_num=1000,
        max_index_num=4000,
    )
    remoting, tls = RemotingOptions(), TlsOptions()
    options = OptionSet(broker, remoting, store, tls)
    for name, value in settings.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        options.set(name if name in options else camel_case(name), text, "the test")
    return broker, store, remoting, tls
