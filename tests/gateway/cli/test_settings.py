"""Settings from file, environment and flags, in that order; wrong ones are named."""

import json
import os
from pathlib import Path

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.cli.environment import from_environment
from mqgateway.gateway.cli.settings import (
    BrokerSettings,
    ControllerSettings,
    NamesrvSettings,
    from_file,
    from_flags,
    from_pairs,
    from_tls_file,
    listing,
    stop_for,
)


def test_later_places_win_and_origins_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("brokerName=fromFile\nnamesrvAddr=file:1\nlistenPort=1111\n")
    settings = BrokerSettings()
    environment = from_environment({"NAMESRV_ADDR": "env:2", "OTHER": "x"}, settings.options)
    problems = settings.options.apply(
        from_file(str(file))
        + environment
        + from_pairs(["listenPort=2222"])
        + from_flags({"brokerIP1": "10.0.0.1"})
    )
    assert problems == []
    assert settings.broker.broker_name == "fromFile"
    assert settings.broker.namesrv_addr == "env:2"
    assert settings.broker.listen_port == settings.remoting.listen_port == 2222
    assert settings.broker.broker_ip1 == "10.0.0.1"
    assert settings.options.origin("brokerName") == f"{file}:1"
    assert settings.options.origin("namesrvAddr") == "NAMESRV_ADDR"


def test_a_wrong_line_is_named_with_file_and_remedy(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("# ours\nbrokerNmae=a\nfileReservedTime=soon\n")
    problems = BrokerSettings().options.apply(from_file(str(file)))
    assert [(p.line, p.key, p.severity) for p in problems] == [
        (2, "brokerNmae", "warning"),
        (3, "fileReservedTime", "error"),
    ]
    assert "brokerName" in problems[0].suggestion
    assert stop_for(problems, strict=False)
    assert stop_for(problems[:1], strict=True)
    assert not stop_for(problems[:1], strict=False)


def test_a_file_that_is_not_there_is_an_error_that_names_it() -> None:
    with pytest.raises(ConfigError, match=r"/no/broker\.conf cannot be read"):
        from_file("/no/broker.conf")


def test_the_file_for_tls_lies_below_everything(tmp_path: Path) -> None:
    file = tmp_path / "tls.properties"
    file.write_text("tls.server.keyPath=/from/file\ntls.server.certPath=/from/file\n")
    settings = BrokerSettings()
    given = from_pairs([f"tls.config.file={file}", "tls.server.certPath=/from/flag"])
    assert settings.options.apply(from_tls_file(given) + given) == []
    assert (settings.tls.tls_server_key_path, settings.tls.tls_server_cert_path) == (
        "/from/file",
        "/from/flag",
    )


def test_a_file_for_tls_that_was_named_has_to_be_there() -> None:
    assert from_tls_file([]) == []
    with pytest.raises(ConfigError, match="/no/tls cannot be read"):
        from_tls_file(from_pairs(["tls.config.file=/no/tls"]))


def test_a_set_flag_without_a_value_is_explained() -> None:
    with pytest.raises(ConfigError, match="--set brokerName: write it as"):
        from_pairs(["brokerName"])


def test_unset_options_are_determined() -> None:
    settings = BrokerSettings()
    settings.options.apply(from_flags({"brokerName": "mine", "storePathRootDir": None}))
    settings.find_out()
    assert settings.broker.broker_name == "mine"
    assert settings.broker.broker_ip2 == settings.broker.broker_ip1 != ""
    assert settings.store.store_path_root_dir.endswith("/store")


@pytest.mark.parametrize(("rate", "bits"), [(20, 112), (1, 312)])
def test_the_length_of_bit_maps_follows_from_what_filters_may_miss(rate: int, bits: int) -> None:
    """The configured length is ignored. Apache's broker shows 112 by default, and 64 before its start."""
    settings = BrokerSettings()
    given = [f"maxErrorRateOfBloomFilter={rate}", "bitMapLengthConsumeQueueExt=8"]
    settings.options.apply(from_pairs(given))
    settings.find_out()
    assert settings.options.get("bitMapLengthConsumeQueueExt") == bits


def test_tls_of_clients_has_two_names() -> None:
    settings = BrokerSettings()
    settings.options.apply(from_pairs(["tls.enable=true"]))
    settings.find_out()
    assert settings.remoting.use_tls


def test_name_server_keeps_its_files_in_the_data_folder() -> None:
    settings = NamesrvSettings()
    settings.find_out("/data/namesrv")
    assert settings.namesrv.kv_config_path == "/data/namesrv/kvConfig.json"
    assert settings.remoting.listen_port == 9876


def test_controller_keeps_its_files_in_the_data_folder() -> None:
    settings = ControllerSettings()
    settings.find_out("/data")
    assert settings.controller.controller_store_path == "/data/DLedgerController"
    assert settings.controller.config_store_path == "/data/controller.properties"
    at_home = ControllerSettings()
    at_home.find_out()
    assert at_home.controller.config_store_path == os.path.expanduser("~/controller/controller.properties")
    assert at_home.controller.controller_store_path == os.path.expanduser("~/DLedgerController")


def test_a_name_servers_file_may_hold_a_controllers_settings() -> None:
    settings = NamesrvSettings()
    assert not settings.options.apply(
        from_pairs(["enableControllerInNamesrv=true", "controllerDLegerPeers=n0-h:1", "configStorePath=/p"])
    )
    settings.find_out("/data/namesrv")
    assert settings.controller.controller_d_leger_peers == "n0-h:1"
    assert settings.controller.controller_store_path == "/data/namesrv/DLedgerController"
    assert settings.controller.config_store_path == settings.namesrv.config_store_path == "/p"


def test_the_listing_shows_value_and_origin() -> None:
    settings = BrokerSettings()
    settings.options.apply(from_pairs(["brokerName=b"]))
    lines = listing(settings.options, "text").splitlines()
    assert any(line.startswith("brokerName=b") and line.endswith("# --set") for line in lines)
    rows = {row["name"]: row for row in json.loads(listing(settings.options, "json"))}
    assert rows["brokerName"]["value"] == "b"
    assert rows["flushDiskType"]["origin"] == "default"


def test_settings_that_contradict_each_other_are_refused() -> None:
    settings = BrokerSettings()
    settings.options.set("kafkaGroupConsumerHeartbeatIntervalMillis", "45000")
    with pytest.raises(ConfigError) as caught:
        settings.find_out()
    assert str(caught.value) == (
        "kafkaGroupConsumerHeartbeatIntervalMillis=45000: must be less than "
        "kafkaGroupConsumerSessionTimeoutMillis=45000; change one of them"
    )


def test_unreadable_store_is_reported(tmp_path: Path) -> None:
    root = tmp_path / "store"
    root.mkdir()
    (root / "commitlog").write_text("no folder")
    settings = BrokerSettings()
    settings.options.apply(from_pairs([f"storePathRootDir={root}"]))
    with pytest.raises(ConfigError, match="commitlog"):
        settings.find_out()


def test_a_master_has_the_id_0() -> None:
    """RocketMQ's start sets the id as well, regardless of the setting."""
    settings = BrokerSettings()
    settings.options.apply(from_pairs(["brokerId=3"]))
    settings.find_out()
    assert settings.broker.broker_id == 0


def test_a_slave_needs_an_id_and_counts_less_memory_as_fresh() -> None:
    settings = BrokerSettings()
    settings.options.apply(from_pairs(["brokerRole=SLAVE"]))
    with pytest.raises(ConfigError, match="must be greater than 0"):
        settings.find_out()
    settings.options.apply(from_pairs(["brokerId=2"]))
    settings.find_out()
    assert settings.broker.broker_id == 2
    assert settings.store.access_message_in_memory_max_ratio == 30


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        (["tieredStorePath=ftp://x"], "tieredStorePath: no object store has the URL"),
        (["tieredStorePath=file:///tier", "enableDLegerCommitLog=true"], "DLedger member cannot be saved"),
    ],
)
def test_log_that_cannot_be_saved_is_reported(pairs: list[str], problem: str, tmp_path: Path) -> None:
    settings = BrokerSettings()
    member = ["dLegerGroup=g", "dLegerPeers=n0-127.0.0.1:40911", "dLegerSelfId=n0"]
    settings.options.apply(from_pairs([f"storePathRootDir={tmp_path}", *member, *pairs]))
    with pytest.raises(ConfigError, match=problem):
        settings.find_out()
