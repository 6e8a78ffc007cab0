"""Odd requests to both servers: answers are compared field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest

from compat_tests.kafka.support.odd_requests import CLOSED, SILENT, Odd, contents, frames, outcome, versions
from compat_tests.kafka.support.servers import KafkaServer, Servers
from compat_tests.kafka.support.wire import Connection, create_topic
from compat_tests.support.peers import Peers

GROUPS = {"frames": lambda topic: frames(), "versions": lambda topic: versions(), "contents": contents}

MAY_DIFFER = ("error_message", "log_start_offset")


def test_server_survives_odd_requests(server: KafkaServer, name: str) -> None:
    create_topic(server.address, name)
    with Connection(server.address) as other:
        answers = {odd.title: outcome(server.address, odd) for odd in chain(frames(), versions())}
        assert other.api_versions()
    assert answers["size above the limit"] == answers["negative size"] == CLOSED
    assert {one for title, one in answers.items() if title.startswith("unknown key")} == {CLOSED}
    wrong = [odd.title for odd in versions() if answers[odd.title] != CLOSED]
    assert not wrong


def test_refused_contents_have_answers(server: KafkaServer, name: str) -> None:
    create_topic(server.address, name)
    answers = {odd.title: outcome(server.address, odd) for odd in contents(name)}
    assert not [title for title, one in answers.items() if one in (CLOSED, SILENT)]


def comparable(answer: Any) -> Any:
    """Return an answer without what may differ: ours has a message for every error, and the log start offset
    only where the batch was stored; partitions come in any order."""
    if isinstance(answer, dict):
        return {name: comparable(one) for name, one in answer.items() if name not in MAY_DIFFER}
    if isinstance(answer, list | tuple):
        return sorted(map(comparable, answer), key=repr)
    return answer


@pytest.mark.both_servers
@pytest.mark.parametrize("group", GROUPS)
def test_both_servers_answer_alike(servers: Servers, peers: Peers, group: str) -> None:
    requests: Callable[[str], Iterator[Odd]] = GROUPS[group]
    topic = f"odd-{group}"

    def answers(kind: str) -> dict[str, Any]:
        address = servers.get(kind).address
        create_topic(address, topic)
        return {odd.title: comparable(outcome(address, odd)) for odd in requests(topic)}

    apaches, ours = peers.transcripts.both(__name__, group, answers)
    assert {title: (one, ours[title]) for title, one in apaches.items() if one != ours[title]} == {}
