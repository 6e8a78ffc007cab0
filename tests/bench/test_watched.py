"""Requests to the console, which are those of its page, and ratios, which are taken within a round."""

import os
import re
import socket
import threading

import pytest

from bench.watched import (
    IN_FLIGHT,
    KINDS,
    POLLED,
    Load,
    Round,
    Start,
    by_the_second,
    cpu_seconds,
    interval,
    ratios,
    section,
)
from mqgateway.gateway.codec.command import decode_command, encode_response
from mqgateway.gateway.codec.frame import FrameCutter
from mqgateway.gateway.web.files import FOLDER

PAGE = FOLDER / "pages" / "overview.js"


def test_the_page_of_the_overview_asks_for_the_same() -> None:
    asked = re.findall(r'useAsked\(["`](.+?)["`], (\d+)\)', PAGE.read_text())
    assert [(path.replace("${minutes}", "60"), int(seconds)) for path, seconds in asked] == list(POLLED)
    assert 'useStream("/events"' in PAGE.read_text()


def start(*rounds: tuple[float, float, float], rest: tuple[float, float, float] = (0, 0, 0)) -> Start:
    """Return the figures of three servers, two without a watched console and one with it.

    `rounds` are those under load, `rest` is the CPU use while other servers were sent to.
    """
    samples = {
        kind: [Round(1e6 / one[place], one[place]) for one in rounds] for place, kind in enumerate(KINDS)
    }
    return Start(samples, dict(zip(KINDS, rest, strict=True)))


def test_ratios_are_those_within_a_round() -> None:
    starts = [start((10, 10, 11), (20, 20, 22)), start((10, 30, 22))]
    watched, noise = ratios(starts, "cpu_per_million")
    assert watched == [pytest.approx([1.1, 1.1]), pytest.approx([1.1])]
    assert noise == [[1, 1], [3]]


def test_the_interval_says_what_a_median_is_worth() -> None:
    assert interval([[1.1] * 9] * 3) == (1.1, 1.1, 1.1)
    low, middle, high = interval([[0.9, 1.0, 1.1]] * 5)
    assert low < middle == 1.0 < high
    low, _, high = interval([[0.9] * 9, [1.1] * 9])  # runs of one start are not independent
    assert (low, high) == (0.9, 1.1)


@pytest.mark.parametrize(
    ("watched", "answers", "verdict"),
    [
        ((10.1,) * 9, 0.0, "met"),
        ((10.1,) * 9, 0.03, "missed"),
        ((10.5,) * 9, 0.0, "missed"),
        ((10.0, 10.2, 10.8) * 3, 0.0, "not decided by this"),
    ],
)
def test_verdict_on_the_aim_follows_the_interval(
    watched: tuple[float, ...], answers: float, verdict: str
) -> None:
    starts = [start(*[(10, 10, one) for one in watched], rest=(0.01, 0.03, 0.02 + answers))] * 4
    assert by_the_second(starts) == pytest.approx(answers)
    text = "\n".join(section(starts, 1.5, 0.001))
    assert f"3% at most, is {verdict}." in text
    assert "| not watched to not watched | +0.0% (+0.0% to +0.0%) | +0.0% (+0.0% to +0.0%) |" in text
    assert text.endswith("Who watched used 0.10% of a core.")
    assert all(f"| {kind}, median |" in text for kind in KINDS)


def test_the_cpu_time_is_that_of_all_threads() -> None:
    before, busy = cpu_seconds([os.getpid()]), threading.Thread(target=sum, args=(range(10**6),))
    busy.start()
    assert before < cpu_seconds([os.getpid()])
    busy.join()


def test_the_load_keeps_so_many_in_flight_and_counts_what_is_answered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        most: list[int] = []
        answering = threading.Thread(target=answer, args=(server, most))
        answering.start()
        load = Load(f"127.0.0.1:{server.getsockname()[1]}")
        count = load.run(0.2)
        load.close()
        answering.join(10)
    assert count == sum(most) >= IN_FLIGHT and max(most) <= IN_FLIGHT


def answer(server: socket.socket, most: list[int]) -> None:
    """Answer the requests of each read at once, and note how many they were."""
    connection, _ = server.accept()
    cutter = FrameCutter()
    with connection:
        while data := connection.recv(1 << 20):
            commands = [decode_command(payload) for payload in cutter.feed(data)]
            most.append(len(commands))
            connection.sendall(b"".join(encode_response(one, 0, None, b"", None) for one in commands))
