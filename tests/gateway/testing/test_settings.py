"""Options of a server for tests."""

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.testing.settings import LOG_FILE_BYTES, options_for_tests


def test_settings_replace_options_for_tests() -> None:
    settings = {"max_message_size": 100, "brokerName": "b", "message_index_enable": False}
    broker, store, _, _ = options_for_tests(settings, "127.0.0.1", 7, "/root")
    assert (broker.broker_ip1, broker.listen_port, broker.broker_name) == ("127.0.0.1", 7, "b")
    assert (store.max_message_size, store.message_index_enable) == (100, False)
    assert (store.store_path_root_dir, store.mapped_file_size_commit_log) == ("/root/store", LOG_FILE_BYTES)


def test_unknown_setting_raises() -> None:
    with pytest.raises(ConfigError):
        options_for_tests({"no_such_setting": 1}, "127.0.0.1", 7, "/root")
