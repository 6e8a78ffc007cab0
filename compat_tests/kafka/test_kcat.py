"""kcat, the command of librdkafka's makers, run on both servers; what it prints is the same."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from compat_tests.kafka.support.commands import check_printed, normalised
from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.wire import create_topic

pytestmark = pytest.mark.long

SECONDS = 60
FORMAT = "%t %p %o key=%k(%K) value=%s(%S) headers=%h\n"
BEGIN = 1_700_000_000_000


class Kcat:
    """The command beside one server; keeps what it prints."""

    def __init__(self, server: KafkaServer) -> None:
        found = shutil.which("kcat")
        assert found, "kcat is missing: apt-get install kcat"
        self._command = [found, "-b", server.address]
        self.printed: list[str] = []

    def run(self, *arguments: str, text: str = "", exit: int = 0) -> str:
        """Run the command to its end with a status; returns what it printed, normalised."""
        done = subprocess.run(
            [*self._command, *arguments], input=text, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == exit, done
        said = normalised(done.stdout + "\n" + done.stderr)
        self.printed.append(f"{arguments[0]}: {said}")
        return said


@pytest.fixture
def kcat(request: pytest.FixtureRequest, server: KafkaServer, name: str) -> Iterator[Kcat]:
    """The command beside the server, with a topic of two partitions; what it prints must be what it prints
    on Apache's, which a run with `--record-apache` writes down."""
    create_topic(server.address, name, 2)
    kcat = Kcat(server)
    yield kcat
    writes = server.kind == "apache" and request.config.getoption("--record-apache")
    check_printed(request.node.originalname, name, kcat.printed, writes=writes)


def test_records_are_produced_and_consumed(kcat: Kcat, name: str) -> None:
    place = ("-t", name, "-p", "1")
    kcat.run("-P", *place, "-K:", "-H", "a=1", "-H", "b=2", "-H", "a=3", text="k1:v1\nk2:v2\n:v3\nk4:\n")
    kcat.run("-P", *place, "-K:", "-Z", text="k5:\n:\n")
    said = kcat.run("-C", *place, "-o", "beginning", "-e", "-f", FORMAT)
    assert "key=k5(2) value=(-1)" in said and "at offset 6" in said
    kcat.run("-C", *place, "-o", "-2", "-e", "-q")
    shown = kcat.run("-C", *place, "-o", "3", "-c", "2", "-q", "-J")
    assert '"offset":3' in shown and '"key":"k5","payload":null' in shown
    kcat.run("-C", "-t", name, "-p", "7", "-e", exit=1)


def test_all_compressions_are_produced_and_consumed(kcat: Kcat, name: str) -> None:
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    for codec in codecs:
        text = "".join(f"{codec}-{number}-{'x' * 100}\n" for number in range(5))
        kcat.run("-P", "-t", name, "-p", "0", "-z", codec, text=text)
    said = kcat.run("-C", "-t", name, "-p", "0", "-o", "beginning", "-e", "-f", "%o %s\n")
    assert all(f"{codec}-4-" in said for codec in codecs)


def test_topics_and_brokers_are_listed(kcat: Kcat, name: str) -> None:
    said = kcat.run("-L", "-t", name)
    assert f'topic "{name}" with 2 partitions' in said
    kcat.run("-L", "-J", "-t", name)
    kcat.run("-L", "-t", f"{name}-b", "-X", "allow.auto.create.topics=false")
    assert f'topic "{name}" with 2 partitions' in kcat.run("-L")
    kcat.printed.pop()  # which other topics there are depends on the run


def test_offsets_are_queried_by_time(kcat: Kcat, name: str) -> None:
    kcat.run("-P", "-t", name, "-p", "0", text="one\ntwo\nthree\n")
    for time in ("-1", "-2", str(BEGIN), "9999999999999"):
        kcat.run("-Q", "-t", f"{name}:0:{time}")
    assert len(kcat.run("-Q", "-t", f"{name}:0:-1", "-t", f"{name}:1:-1").splitlines()) == 2
    kcat.run("-C", "-t", name, "-p", "0", "-o", f"s@{BEGIN}", "-e", "-q")


def test_member_of_a_group_reads_all_partitions(kcat: Kcat, name: str) -> None:
    for partition in ("0", "1"):
        kcat.run("-P", "-t", name, "-p", partition, text=f"first-{partition}\n")
    member = ("-G", f"{name}-group", "-e", "-q", "-X", "auto.offset.reset=earliest", name)
    assert sorted(kcat.run(*member).splitlines()) == ["first-0", "first-1"]
    kcat.printed.pop()  # in any order
    kcat.run("-P", "-t", name, "-p", "1", text="second\n")
    assert kcat.run(*member) == "second"
