"""The blocks of every page: which are run, which are parsed, and why the others cannot be run here.

The language of a block decides: commands and programs are run, settings and data are parsed, and `text` is
compared with what the block before it printed. `PAGES` has what a page needs beside, and its exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from website.blocks import Block, blocks

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "docs/development")
OTHERS = ("README.md", "packaging/helm/README.md")


class Kind(StrEnum):
    """The treatment of a block."""

    RUN = "run"
    PARSED = "parsed"
    COMPARED = "compared"
    EXCEPTED = "excepted"


KINDS = {
    "sh": Kind.RUN,
    "console": Kind.RUN,
    "python": Kind.RUN,
    "properties": Kind.PARSED,
    "json": Kind.PARSED,
    "yaml": Kind.PARSED,
    "toml": Kind.PARSED,
    "text": Kind.COMPARED,
    "java": Kind.EXCEPTED,
    "mermaid": Kind.EXCEPTED,
}
"""By language; a block without one of these languages is an error."""

JAVA = "needs Java"
PICTURE = "a picture"
KUBERNETES = "needs Kubernetes"
DOCKER = "needs Docker"
SYSTEMD = "needs root and systemd"
CLONE = "builds from a clone, which takes minutes"
MACHINES = "needs several machines or Apache's cluster"
SAMPLE = "a sample of a state that takes a failure or a load to produce"
BENCH = "needs Apache's server and an idle machine"
SPARK = "needs Java; spark_tests/test_guide.py runs the programs"
IN_MEMORY = "run by tests/gateway/resources/test_walk_through.py, which moves the clock"
ELSEWHERE_ON_PAGE = "runs in another block of the page"
INSTALLED = "is how the environment of the test was made"
INTERNET = "asks a package index"
BROKERS = "starts several brokers; compat_tests/test_brokers.py does"
CONTAINER = "starts three brokers; compat_tests/test_container.py does"
SESSION = "needs the token of a login"
SHELL = "changes the shell of the reader"
BOTH_QUEUES = "mqgateway send Orders one two && mqgateway consume Orders -g billing --max 2"
"""One process sends to the queues in turn; the commands of the page may all choose the same queue."""
BY_LANGUAGE = {"java": JAVA, "mermaid": PICTURE}


@dataclass(frozen=True)
class Page:
    """The needs of a page, so that its blocks run.

    Attributes:
        is_served: A server of `mqgateway serve` runs before the first block.
        settings: Settings of that server.
        setup: Commands that are run before the first block.
        before: Commands that are run before a block; the key is how the block begins.
        files: The names under which blocks of settings are saved, by how they begin.
        paths: Paths of the page and where they lead in the page's folder.
        programs: Programs on the path that stand in for others.
        excepted: Reasons why blocks are not run, by how they begin; the key "" is for all.
    """

    is_served: bool = False
    settings: Sequence[str] = ()
    setup: str = ""
    before: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    excepted: Mapping[str, str] = field(default_factory=dict)

    def kind_of(self, block: Block) -> Kind:
        """Return what becomes of a block of this page."""
        return Kind.EXCEPTED if self.reason_of(block) else KINDS[block.language]

    def reason_of(self, block: Block) -> str:
        """Return why a block is not run, or an empty text."""
        return _first(self.excepted, block) or BY_LANGUAGE.get(block.language, "")

    def setup_of(self, block: Block) -> str:
        """Return the commands that are run before a block."""
        return _first(self.before, block)

    def file_of(self, block: Block) -> str:
        """Return the name of the file that a block is saved in, or an empty text."""
        return _first(self.files, block)

    def starts(self) -> list[str]:
        """Return how the blocks begin that this table names."""
        return [start for names in (self.before, self.files, self.excepted) for start in names]


def _first(names: Mapping[str, str], block: Block) -> str:
    return next((value for start, value in names.items() if block.text.startswith(start)), "")


JAVA_STAND_IN = """\
#!{python}
import sys
from mqgateway import Message, Producer, PushConsumer

namesrv = sys.argv[1].removeprefix("-Drocketmq.namesrv.addr=")
assert sys.argv[2:] == ["-jar", "target/order-service.jar"]
producer = Producer("order-service", namesrv)
producer.start()


def announce(messages, context):
    producer.send(Message("Announced", messages[0].body))


consumer = PushConsumer("order-service", announce, namesrv, consume_from_where="CONSUME_FROM_FIRST_OFFSET")
consumer.subscribe("Orders")
with consumer:
    consumer.wait()
"""
"""Stands in for the JVM of the page on testing; `compat_tests/test_testing.py` has a real one."""

ORDERS = """\
mqgateway topic create TopicTest -c DefaultCluster -r 4 -w 4
mqgateway topic create Orders -c DefaultCluster -r 1 -w 1
mqgateway group create billing -c DefaultCluster
mqgateway send Orders book --tags TagA --keys order-1
mqgateway send TopicTest first --tags TagA
"""
STORED_TABLES = "until grep -q '\"Orders\"' store/config/topics.json; do sleep 0.2; done\n"
"""Tables are written some seconds after a change."""
WAIT_FOR_PAIR = """\
until [ "$(mqgateway cluster status -n 127.0.0.1:9876 | grep -c ' yes  .* yes  ')" = 2 ]; do sleep 0.5; done
"""
SECOND_BROKER = "sed 's/10911/11011/; s/10912/11012/; s#ha/a#ha/b#' a.conf > b.conf"

PAGES: Mapping[str, Page] = {
    "README.md": Page(excepted={"import mqgateway.spark": SPARK}),
    "docs/architecture.md": Page(),
    "docs/benchmarks.md": Page(excepted={"": BENCH}),
    "docs/client.md": Page(is_served=True, setup=ORDERS, excepted={"pip install": INSTALLED}),
    "docs/commands.md": Page(is_served=True, setup=ORDERS),
    "docs/console.md": Page(is_served=True, excepted={"curl": SESSION, "console ": SAMPLE}),
    "docs/from-apache.md": Page(setup="echo brokerName=broker-a > broker.conf"),
    "docs/ha.md": Page(
        before={"mqgateway namesrv &": SECOND_BROKER, "mqgateway cluster status": WAIT_FOR_PAIR},
        files={
            "controllerDLegerGroup=group1\ncontrollerDLegerPeers=n0-127": "controller.conf",
            "brokerName=broker-a\nbrokerIP1": "a.conf",
        },
        paths={"/tmp/ha": "ha"},
        excepted={
            "controllers  n0   10": SAMPLE,
            "mqgateway controller -c controller.conf   ": ELSEWHERE_ON_PAGE,
        },
    ),
    "docs/kafka.md": Page(
        before={"mqgateway store convert": "mkdir -p DIR/commitlog"},
        excepted={
            "$ kafka-console-producer.sh": JAVA,
            "$ kafka-console-consumer.sh": JAVA,
            "$ kafka-acls.sh": JAVA,
            "$ mqgateway kafka groups": MACHINES,
            "$ mqgateway migrate kafka": MACHINES,
            "$ kafka-configs.sh": JAVA,
            "$ kafka-topics.sh": JAVA,
            "$ kafka-reassign-partitions.sh": JAVA,
            '{"version": 1, "partitions"': JAVA,
            "kafka-client-metrics.sh": JAVA,
            "kafka-configs.sh": JAVA,
            "kafka-topics.sh": JAVA,
            "from kafka import": INTERNET,
            "from confluent_kafka import": INTERNET,
        },
    ),
    "docs/metrics.md": Page(
        is_served=True, settings=("metricsExporterType=PROM", "metricsPromExporterPort=5557")
    ),
    "docs/operations.md": Page(
        is_served=True,
        setup=ORDERS,
        before={"mqgateway store check DIR": STORED_TABLES + "cp -a --sparse=always store DIR"},
        paths={"/backups": "backups"},
        excepted={
            "error  /data": SAMPLE,
            "mqgateway migrate": MACHINES,
            "mqgateway store convert": MACHINES,
            "mqgateway serve --brokers": BROKERS,
            "mqgateway broker add": BROKERS,
            "mqgateway broker remove": BROKERS,
            "mqgateway container": CONTAINER,
            "mqadmin addBroker": CONTAINER,
        },
    ),
    "docs/packages.md": Page(
        excepted={
            "scripts/wheels\n": CLONE,
            "scripts/wheels --with-dependencies\n": DOCKER,
            "scripts/wheels --with-dependencies &&": SYSTEMD,
            "helm": KUBERNETES,
        },
    ),
    "docs/security.md": Page(excepted={"event=administration": SAMPLE, "bootstrap.servers=": JAVA}),
    "docs/spark.md": Page(excepted={"": SPARK}),
    "docs/stuck-groups.md": Page(excepted={"": IN_MEMORY}),
    "docs/testing.md": Page(programs={"java": JAVA_STAND_IN}),
    "docs/tutorial.md": Page(
        files={"from mqgateway import PushConsumer": "billing.py"},
        before={"$ mqgateway offset reset": BOTH_QUEUES},
    ),
    "docs/development/compiled-modules.md": Page(excepted={"": CLONE}),
    "docs/development/documentation.md": Page(excepted={"": CLONE}),
    "docs/development/dependencies.md": Page(excepted={"": INTERNET}),
    "docs/development/event-loop-holds.md": Page(excepted={"": BENCH}),
    "packaging/helm/README.md": Page(excepted={"": KUBERNETES}),
}
"""Pages that have blocks."""


def pages() -> list[str]:
    """Return every page, relative to the root."""
    found = [page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md"))]
    return [*OTHERS, *(str(page.relative_to(ROOT)) for page in found)]


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page."""
    return blocks((ROOT / page).read_text())


def counted() -> Mapping[Kind, int]:
    """Return how many blocks of all pages there are of each kind."""
    kinds = [PAGES[page].kind_of(block) for page in pages() for block in blocks_of(page)]
    return {kind: kinds.count(kind) for kind in Kind}
