"""Registrations of brokers in these tests."""

from typing import Any

from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.gateway.codec.bodies import QueueData
from mqgateway.gateway.namesrv.registration import BrokerKey, Registration, read_queues

NOW = 1_700_000_000_000
MASTER = "10.0.0.1:10911"
SLAVE = "10.0.0.2:10911"
OTHER = "10.0.0.3:10911"
HA = "10.0.0.1:10912"


def version(counter: int = 1, state: int = 0) -> DataVersion:
    return DataVersion(counter=counter, state_version=state, timestamp=NOW)


def topic(name: str, perm: int = 6, queues: int = 8, flag: int = 0) -> dict[str, Any]:
    """Return the configuration of a topic as sent by a broker."""
    return {
        "attributes": {},
        "order": False,
        "perm": perm,
        "readQueueNums": queues,
        "topicFilterType": "SINGLE_TAG",
        "topicName": name,
        "topicSysFlag": flag,
        "writeQueueNums": queues,
    }


def table(*topics: str | dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return configurations by name; a topic given by name has the usual queues."""
    configs = [topic(one) if isinstance(one, str) else one for one in topics]
    return {config["topicName"]: config for config in configs}


def mapping(broker: str, name: str) -> dict[str, Any]:
    """Return the queues of a static topic on one broker."""
    return {
        "bname": broker,
        "currIdMap": {0: 0},
        "dirty": False,
        "epoch": 1,
        "topic": name,
        "totalQueues": 8,
    }


def says(
    *topics: str | dict[str, Any],
    cluster: str = "c1",
    name: str = "b1",
    broker_id: int = 0,
    address: str = MASTER,
    data_version: DataVersion | None = None,
    **more: object,
) -> Registration:
    """Return a registration as sent by a broker; by default with the two topics that every broker has."""
    return Registration(
        cluster=cluster,
        name=name,
        broker_id=broker_id,
        address=address,
        ha_address=address.replace("10911", "10912"),
        data_version=data_version or version(),
        topics={
            topic: read_queues(name, topic, config)
            for topic, config in table(*(topics or ("T1", "T2"))).items()
        },
        **more,  # type: ignore[arg-type]
    )


def key(address: str = MASTER, cluster: str = "c1") -> BrokerKey:
    return BrokerKey(cluster, address)


def queues(broker: str, number: int = 4) -> QueueData:
    return QueueData(
        broker_name=broker, read_queue_nums=number, write_queue_nums=number, perm=6, topic_sys_flag=0
    )
