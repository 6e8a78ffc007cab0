"""Plans from broker files, read before anything is started; rejections carry RocketMQ's texts."""

from pathlib import Path

import pytest

from mqgateway.engine.options import Setting
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.container.plan import (
    CONNECTION,
    BrokerIdentity,
    BrokerRejected,
    plan_of,
    settings_of_broker,
)


def plan(folder: Path, text: str) -> tuple[BrokerIdentity, int]:
    file = folder / "broker.conf"
    file.write_text(text)
    found = plan_of(str(file), RealDisk(), "host")
    assert found.path == str(file)
    return found.identity, found.port


def test_a_master_has_the_id_0_and_a_slave_its_own(tmp_path: Path) -> None:
    text = "brokerClusterName=c\nbrokerName=a\nbrokerId=3\nlistenPort=30911\n"
    assert plan(tmp_path, text) == (("c", "a", 0), 30911)
    assert plan(tmp_path, text + "brokerRole=SLAVE\n") == (("c", "a", 3), 30911)


def test_missing_settings_have_the_defaults_of_a_broker(tmp_path: Path) -> None:
    identity, port = plan(tmp_path, "")
    assert (identity, port) == (("DefaultCluster", "host", 0), 10911)
    assert identity.canonical_name == "DefaultCluster_host_0"


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("brokerRole=SLAVE\n", "slave broker id must be > 0"),
        ("inSyncReplicas=2\n", "invalid replicas number"),
        ("totalReplicas=3\ninSyncReplicas=1\nminInSyncReplicas=2\n", "invalid replicas number"),
        (
            "duplicationEnable=true\n",
            "Can not add broker to container when duplicationEnable is true currently",
        ),
        ("flushDiskType=SYNC\n", "start broker failed, .*broker.conf:1: flushDiskType=SYNC: .*"),
    ],
)
def test_invalid_file_is_rejected(tmp_path: Path, text: str, remark: str) -> None:
    with pytest.raises(BrokerRejected, match=f"^{remark}$"):
        plan(tmp_path, text)


@pytest.mark.parametrize(
    ("path", "remark"),
    [
        (None, "addBroker config path is empty"),
        ("", "addBroker config path is empty"),
        ("/no/such/file", "addBroker properties empty"),
    ],
)
def test_missing_file_is_rejected(path: str | None, remark: str) -> None:
    with pytest.raises(BrokerRejected, match=f"^{remark}$"):
        plan_of(path, RealDisk(), "host")


def test_connections_and_name_servers_are_the_containers() -> None:
    own = [Setting("brokerName", "a"), Setting("listenPort", "1"), Setting("namesrvAddr", "own:1")]
    files = [*own, Setting("serverChannelMaxIdleTimeSeconds", "5"), Setting("bindAddress", "0.0.0.0")]
    sent = [Setting("bindAddress", "127.0.0.1"), Setting("namesrvAddr", "shared:1")]
    settings, passed_over = settings_of_broker(files, sent)
    assert settings == [*own[:2], *sent]
    assert passed_over == ["bindAddress", "namesrvAddr", "serverChannelMaxIdleTimeSeconds"]
    settings, passed_over = settings_of_broker(files, [])
    assert settings == own


def test_a_port_is_each_brokers_own() -> None:
    assert "listenPort" not in CONNECTION
    assert "tls.server.mode" in CONNECTION
