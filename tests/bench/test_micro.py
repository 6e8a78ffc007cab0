"""Instructions are counted the same each time, and whole sends and pulls are served."""

from pathlib import Path

from bench.micro import section, whole_work
from bench.micro_client import client_work
from bench.micro_grpc import grpc_work
from bench.micro_kafka import kafka_work
from bench.micro_looks import looks_work
from bench.requests import TOGETHER
from bench.steps import Work, instructions, measured


def test_twice_the_work_is_twice_the_instructions() -> None:
    def work(times: int) -> None:
        for _ in range(times):
            sum((1, 2))

    ten, twenty, thirty = (instructions(lambda times=times: work(times)) for times in (10, 20, 30))  # type: ignore[misc]
    assert thirty - twenty == twenty - ten > 0


def test_preparing_is_not_measured() -> None:
    done: list[str] = []
    step = measured(Work("one", 2, lambda: done.append("do"), lambda: done.append("prepare")), 2)
    assert done == ["prepare", "do"] * 3
    assert 0 < step.instructions < 20


def test_calls_of_grpc_are_answered_from_bytes_to_bytes(tmp_path: Path) -> None:
    steps = [measured(work, 1) for work in grpc_work(tmp_path)]
    assert [step.name for step in steps] == [
        "a whole send over gRPC",
        f"a whole receive of {TOGETHER} over gRPC",
        "an acknowledgement over gRPC",
    ]


def test_requests_of_kafka_are_answered_from_bytes_to_bytes(tmp_path: Path) -> None:
    steps = [measured(work, 1) for work in kafka_work(tmp_path)]
    assert [step.name for step in steps] == [
        "a produced batch of 15 x 1 KB",
        "a produced batch of 140 x 100 B",
        "a produced batch of one record, 100 B",
        "a produced batch of 15 x 1 KB, idempotent",
        "a fetched batch of 15 x 1 KB",
        "a fetched batch of 140 x 100 B",
    ]


def test_clients_send_and_consume_from_bytes_to_bytes() -> None:
    steps = [measured(work, 2) for work in client_work()]
    assert [step.name for step in steps] == [
        "a client's send",
        "a client's send, from a thread",
        "a message of a client's batch",
        "a message that a client pulls",
    ]
    send, from_thread, batch, pulled = steps
    assert max(pulled.instructions, batch.instructions) < send.instructions < from_thread.instructions


def test_looks_are_answered_from_bytes_to_bytes(tmp_path: Path) -> None:
    steps = [measured(work, 1) for work in looks_work(tmp_path)]
    assert [step.name for step in steps] == [
        "a scrape",
        "the overview",
        "its chart of an hour",
        "its figures",
    ]


def test_sends_and_pulls_are_answered_from_bytes_to_bytes(tmp_path: Path) -> None:
    steps = [measured(work, 1) for work in whole_work(tmp_path)]
    sends, alone, _, counted, *_ = steps
    pull, batch = f"a whole pull of {TOGETHER} messages", f"a whole batch of {TOGETHER} x 128 B"
    assert [step.name for step in steps] == [
        *("a whole send", "a whole send alone", "a whole send, ACL 2.0", "a whole send, counted"),
        *(batch, f"{batch} of a client with IPv6"),
        *(pull, f"{pull}, counted"),
    ]
    assert sends.instructions < counted.instructions < 1.08 * sends.instructions
    assert sends.instructions < alone.instructions
    assert "| a whole send |" in "\n".join(section(steps, 1))
