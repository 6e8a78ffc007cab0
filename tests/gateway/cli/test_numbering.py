"""Number and settings of the brokers of one command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.limits import usable_cores
from mqgateway.gateway.cli.numbering import (
    AUTO,
    BROKERS_MAX,
    asked_count,
    changed_since,
    count_of,
    has_numbers,
    left_in,
    mark_removed,
    numbered,
    read_all,
    read_numbered,
    remember,
    serve_again,
    stores_in,
)
from mqgateway.gateway.cli.settings import BrokerSettings

DISK = RealDisk()


def settings(**values: str) -> BrokerSettings:
    found = BrokerSettings()
    given = {"brokerName": "n", "storePathRootDir": "/d/store", "grpcServerPort": "8081", **values}
    for name, value in given.items():
        found.options.set(name, value, "test")
    return found


def given(folder: Path, *pairs: str) -> dict[str, Any]:
    return {
        "pairs": pairs,
        "data_dir": str(folder),
        "bind": "127.0.0.1",
        "advertise": "127.0.0.1",
        "secure": False,
        "print_config": False,
        "broker_port": 20911,
    }


def asked(text: str) -> int | str:
    command = click.Command("serve")
    return asked_count(click.Context(command), click.Option(["--brokers"]), text)


@pytest.mark.parametrize("text,count", [("1", 1), (" 16 ", 16), ("auto", "auto")])
def test_number_of_brokers_is_read(text: str, count: object) -> None:
    assert asked(text) == count


@pytest.mark.parametrize("text", ["0", "-1", "two", "", str(BROKERS_MAX + 1)])
def test_other_numbers_of_brokers_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        asked(text)


def test_brokers_differ_by_name_folder_and_ports() -> None:
    first, second, third = numbered(settings(kafkaPort="9092", consolePort="8088", healthPort="80"), 3)
    assert first.settings == {
        "brokerName": "n-0",
        "storePathRootDir": "/d/store/broker-0",
        "listenPort": "10911",
        "haListenPort": "0",
        "grpcServerPort": "8081",
        "healthPort": "0",
        "grpcPortsOfBrokers": "n-0:8081;n-1:8091;n-2:8101",
    }
    assert third.settings == {
        "brokerName": "n-2",
        "storePathRootDir": "/d/store/broker-2",
        "listenPort": "10931",
        "haListenPort": "0",
        "grpcServerPort": "8101",
        "kafkaPort": "0",
        "consolePort": "0",
        "healthPort": "0",
        "grpcPortsOfBrokers": "n-0:8081;n-1:8091;n-2:8101",
    }
    assert (second.number, second.name, second.folder) == (1, "n-1", "/d/store/broker-1")


def test_metrics_of_each_broker_are_on_loopback_for_the_parent() -> None:
    (first, _) = numbered(settings(metricsExporterType="PROM", metricsPromExporterHost="0.0.0.0"), 2)
    assert first.settings["metricsPromExporterHost"] == "127.0.0.1"
    assert first.settings["metricsPromExporterPort"] == "0"
    assert "metricsPromExporterPort" not in numbered(settings(), 2)[0].settings


def test_disabled_and_free_ports_stay_so() -> None:
    (_, second) = numbered(settings(listenPort="0", grpcServerPort="0", haListenPort="10912"), 2)
    assert second.settings["listenPort"] == second.settings["grpcServerPort"] == "0"
    assert second.settings["haListenPort"] == "10922"
    assert second.settings["grpcPortsOfBrokers"] == ""


@pytest.mark.parametrize(
    "name,value",
    [
        ("brokerRole", "SLAVE"),
        ("enableDLegerCommitLog", "true"),
        ("enableControllerMode", "true"),
        ("storePathCommitLog", "/logs"),
        ("authenticationEnabled", "true"),
    ],
)
def test_settings_that_several_brokers_cannot_have_are_named(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"--brokers: {name}="):
        numbered(settings(**{name: value}), 2)


def test_authentication_needs_credentials_of_the_servers() -> None:
    inner = '{"accessKey":"inner","secretKey":"12345678"}'
    numbered(settings(authenticationEnabled="true", innerClientAuthenticationCredentials=inner), 2)


def test_settings_of_each_broker_are_read_again_from_the_command(tmp_path: Path) -> None:
    flags = given(tmp_path, "fileReservedTime=48", "brokerName=n")
    base, problems = read_numbered(flags, [])
    assert not problems and base.broker.broker_name == "n"
    brokers = numbered(base, 2)
    first, second = read_all(flags, brokers)
    assert (first.broker.listen_port, second.broker.listen_port) == (20911, 20921)
    assert (first.broker.kafka_port, second.broker.kafka_port) == (9092, 0)
    assert (first.broker.console_port, second.broker.console_port) == (8088, 0)
    assert second.store.store_path_root_dir == str(tmp_path / "store" / "broker-1")
    assert first.store.file_reserved_time == second.store.file_reserved_time == 48
    assert second.options.origin("listenPort") == "--brokers"


def test_error_in_a_setting_names_the_broker(tmp_path: Path) -> None:
    flags = given(tmp_path, "brokerName=n")
    brokers = numbered(read_numbered(flags, [])[0], 2)
    with pytest.raises(ConfigError, match=r"n-0: .*fileReservedTime=many"):
        read_all(given(tmp_path, "fileReservedTime=many"), brokers)


def store(folder: Path, *numbers: int) -> str:
    for number in numbers:
        (folder / f"broker-{number}" / "commitlog").mkdir(parents=True)
    return str(folder)


def test_stores_are_counted_up_to_the_highest(tmp_path: Path) -> None:
    assert stores_in(str(tmp_path / "missing"), DISK) == 0
    (tmp_path / "broker-7").mkdir()
    (tmp_path / "broker-x" / "commitlog").mkdir(parents=True)
    assert stores_in(store(tmp_path, 0, 2), DISK) == 3


def test_auto_serves_every_store(tmp_path: Path) -> None:
    cores = usable_cores()
    assert count_of(AUTO, str(tmp_path), DISK) == cores
    assert count_of(AUTO, store(tmp_path, cores + 1), DISK) == cores + 2


def test_fewer_brokers_than_stores_are_refused(tmp_path: Path) -> None:
    root = store(tmp_path, 0, 1, 2)
    assert count_of(3, root, DISK) == 3
    for count in (1, 2):
        with pytest.raises(ConfigError, match="has the stores of 3 brokers"):
            count_of(count, root, DISK)


def test_removed_brokers_are_not_counted_until_they_are_served_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = store(tmp_path, 0, 1)
    mark_removed(str(tmp_path / "broker-1"), DISK, 7, 3)
    assert stores_in(root, DISK) == count_of(1, root, DISK) == 1
    assert count_of(AUTO, root, DISK) == 1, "it does not add what was removed"
    assert has_numbers(1, root, DISK) and not has_numbers(1, str(tmp_path / "none"), DISK)
    assert count_of(2, root, DISK) == 2
    serve_again(numbered(settings(storePathRootDir=root), 2), DISK)
    assert "n-1 was removed before; it is served again" in caplog.text
    assert stores_in(root, DISK) == 2


def test_same_number_as_at_the_last_start_means_the_brokers_left_by_removals(tmp_path: Path) -> None:
    root = store(tmp_path, 0, 1, 2)
    remember(3, root, DISK)
    mark_removed(str(tmp_path / "broker-2"), DISK, 7, 0)
    assert count_of(3, root, DISK) == 2
    assert (
        "--brokers 3 is the number of the last start, and brokers were removed since: the number is 2 now"
        in (changed_since(3, 2))
    )
    remember(2, root, DISK)
    assert count_of(3, root, DISK) == 3, "another number asks for the removed broker"


def test_same_number_as_at_the_last_start_includes_added_brokers(tmp_path: Path) -> None:
    root = store(tmp_path, 0, 1)
    remember(2, root, DISK)
    store(tmp_path, 2)
    assert count_of(2, root, DISK) == 3
    assert "brokers were added since: the number is 3 now" in changed_since(2, 3)
    assert count_of(3, root, DISK) == 3 and changed_since(3, 3) == ""
    with pytest.raises(ConfigError, match="has the stores of 3 brokers"):
        count_of(1, root, DISK)


def test_brokers_without_a_store_are_started_with_the_same_number(tmp_path: Path) -> None:
    remember(4, str(tmp_path), DISK)
    assert count_of(4, store(tmp_path, 0, 1), DISK) == 4, "the last start did not get that far"


def test_auto_is_remembered_and_follows_the_cores(tmp_path: Path) -> None:
    remember(AUTO, str(tmp_path), DISK)
    assert count_of(AUTO, str(tmp_path), DISK) == usable_cores() and changed_since(AUTO, 7) == ""
    store(tmp_path, 0, 1)
    mark_removed(str(tmp_path / "broker-1"), DISK, 7, 0)
    assert count_of(2, str(tmp_path), DISK) == 2, "a number instead of auto is another one"


def test_file_of_the_last_start_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "brokers").mkdir()
    with pytest.raises(ConfigError, match="brokers cannot be read: Is a directory; correct or delete it"):
        count_of(2, str(tmp_path), DISK)


def test_mark_has_the_number_of_messages_left(tmp_path: Path) -> None:
    folder = str(tmp_path)
    assert left_in(folder, DISK) == 0
    mark_removed(folder, DISK, 7, 12)
    assert left_in(folder, DISK) == 12
    mark_removed(folder, DISK, 7, None)
    assert left_in(folder, DISK) is None
    (tmp_path / "removed").write_text("7\n")
    assert left_in(folder, DISK) is None, "a mark of an earlier version"


def test_stores_of_both_kinds_are_refused(tmp_path: Path) -> None:
    root = store(tmp_path, 0)
    (tmp_path / "commitlog").mkdir()
    with pytest.raises(ConfigError, match="and those of 1 brokers with numbers"):
        count_of(1, root, DISK)


def test_store_of_a_single_broker_is_not_left_behind(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    assert count_of(1, str(tmp_path), DISK) == 1
    with pytest.raises(ConfigError, match="is the store of a single broker"):
        count_of(2, str(tmp_path), DISK)
