"""POP on both servers, by the official client's own calls: the requests of proxies and pop consumers.

Times are checked with RocketMQ's slack: a message without acknowledgement is visible again a few seconds
after its time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import ClientError, PopClient, Producer, Received, message
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.servers import BROKER_NAME
from compat_tests.test_timers import Hands

INVISIBLE = 6_000
REVIVED_SECONDS = 25
"""Time limit, from the pop, for a message without acknowledgement to be redelivered."""


class Popping:
    """A topic, its producer, and its pop client."""

    def __init__(self, peer: Peer, address: str, what: str, queues: int = 1) -> None:
        self.peer = peer
        self.address = address
        self.topic = peer.topic(what, queues)
        self.group = peer.name(what + "_poppers")
        self._open = ExitStack()
        self.producer: Producer = self._open.enter_context(peer.producer())
        self.client = self.new_client()

    def new_client(self) -> PopClient:
        made = PopClient(self.peer.driver, BROKER_NAME, self.address, self.group)
        return self._open.enter_context(made)

    def close(self) -> None:
        self._open.close()

    def send(self, *bodies: str, **fields: object) -> None:
        self.producer.send([message(self.topic, body, **fields) for body in bodies])
        # Apache's broker makes messages readable a little after it acknowledged them.
        time.sleep(0.3)

    def wait_for(self, count: int = 1, seconds: float = REVIVED_SECONDS, **fields: object) -> list[Received]:
        """Pop until `count` messages came or the time is over."""
        found: list[Received] = []
        deadline = time.monotonic() + seconds
        while len(found) < count and time.monotonic() < deadline:
            found += self.client.pop(self.topic, poll=1000, **fields).messages  # type: ignore[arg-type]
        return found


@contextmanager
def popping_from(kind: str, peers: Peers, what: str, queues: int = 1) -> Iterator[Popping]:
    """Yield the topic and clients of a scenario, on the shared server of a kind."""
    made = Popping(peers.peer(kind, CURRENT), peers.server(kind).broker_address, what, queues)
    try:
        yield made
    finally:
        made.close()


def bodies(messages: list[Received]) -> list[str]:
    return [each.body for each in messages]


@pytest.mark.overlap
def test_an_acknowledged_message_does_not_come_again(kind: str, peers: Peers) -> None:
    with popping_from(kind, peers, "pop_acked", 4) as popping:
        popping.send("a", tags="T", keys="k", properties={"p": "v"})
        [found] = popping.wait_for(invisible=INVISIBLE)
        assert (found.topic, found.body, found.tags, found.keys) == (popping.topic, "a", "T", "k")
        assert (found.properties["p"], found.reconsume_times) == ("v", 0)
        receipt = found.properties["POP_CK"].split(" ")
        assert receipt[2:3] + receipt[4:6] == [str(INVISIBLE), "0", BROKER_NAME]
        assert popping.client.ack(found) == "OK"
        assert popping.wait_for(seconds=INVISIBLE / 1000 + 8) == []


@pytest.mark.overlap
def test_message_without_ack_is_redelivered(kind: str, peers: Peers) -> None:
    """It comes by the retry topic, under its own topic, counted, not before its time."""
    with popping_from(kind, peers, "pop_again") as popping:
        popping.send("a", "b", tags="T", properties={"p": "v"})
        popped = popping.client.pop(popping.topic, invisible=INVISIBLE)
        assert bodies(popped.messages) == ["a", "b"]
        assert popping.client.ack(popped.messages[0]) == "OK"
        assert popping.client.pop(popping.topic).messages == []
        [again] = popping.wait_for()
        first = popped.messages[1]
        assert again.store_timestamp >= popped.pop_time + INVISIBLE
        assert (again.topic, again.body, again.tags, again.reconsume_times) == (popping.topic, "b", "T", 1)
        assert again.unique_key == first.unique_key
        assert again.properties["1ST_POP_TIME"] == str(popped.pop_time)
        assert again.properties["ORIGIN_GROUP"] == popping.group
        assert again.properties["p"] == "v"
        assert again.properties["POP_CK"].split(" ")[4] == "1"
        assert popping.client.ack(again) == "OK"
        assert popping.wait_for(seconds=14) == []


@pytest.mark.overlap
def test_many_are_acknowledged_at_once(kind: str, peers: Peers) -> None:
    with popping_from(kind, peers, "pop_batch") as popping:
        popping.send(*(str(number) for number in range(6)))
        found = popping.wait_for(6, invisible=INVISIBLE)
        assert popping.client.batch_ack(popping.topic, [found[0], found[2], found[3], found[5]]) == "OK"
        again = popping.wait_for(2)
        assert sorted(bodies(again)) == ["1", "4"]
        assert popping.client.batch_ack(popping.topic, again) == "OK"
        assert popping.wait_for(seconds=14) == []


@pytest.mark.overlap
def test_the_time_can_be_changed(kind: str, peers: Peers) -> None:
    """A longer time keeps the message invisible; the old receipt acknowledges nothing any more."""
    with popping_from(kind, peers, "pop_change") as popping:
        popping.send("a", "b")
        one, two = popping.wait_for(2, invisible=INVISIBLE)
        changed = popping.client.change(one, 14_000)
        since = time.monotonic()
        assert changed.properties["POP_CK"] != one.properties["POP_CK"]
        shorter = popping.client.change(two, 1_000)
        assert popping.client.ack(two) in ("OK", "NO_EXIST")
        [again] = popping.wait_for(seconds=12)
        assert (again.body, again.reconsume_times) == ("b", 1)
        assert popping.client.ack(again) == "OK"
        assert shorter.properties["POP_CK"].split(" ")[2] == "1000"
        [again] = popping.wait_for()
        assert again.body == "a"
        assert time.monotonic() - since >= 14
        assert popping.client.ack(again) == "OK"


@pytest.mark.overlap
def test_a_changed_message_can_be_acknowledged(kind: str, peers: Peers) -> None:
    with popping_from(kind, peers, "pop_change_ack") as popping:
        popping.send("a")
        [found] = popping.wait_for(invisible=INVISIBLE)
        changed = popping.client.change(found, 8_000)
        assert popping.client.ack(changed) == "OK"
        assert popping.wait_for(seconds=16) == []


@pytest.mark.overlap
def test_pop_delivers_matching_tags(kind: str, peers: Peers) -> None:
    with popping_from(kind, peers, "pop_tags") as popping:
        popping.send("a", tags="x")
        popping.send("b", tags="y")
        popping.send("c", tags="x")
        assert bodies(popping.wait_for(2, tags="x")) == ["a", "c"]
        assert popping.client.pop(popping.topic, tags="*").messages == []


@pytest.mark.overlap
def test_a_pop_waits_for_a_message(kind: str, peers: Peers) -> None:
    with popping_from(kind, peers, "pop_wait", 4) as popping:
        empty = popping.client.pop(popping.topic, poll=1_000)
        assert (empty.status, empty.messages) == ("POLLING_NOT_FOUND", [])
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(popping.client.pop, popping.topic, poll=15_000)
            time.sleep(1)
            began = time.monotonic()
            popping.send("a")
            assert bodies(waiting.result(20).messages) == ["a"]
        assert time.monotonic() - began < 3


@pytest.mark.overlap
def test_redelivered_message_wakes_a_waiting_pop(kind: str, peers: Peers) -> None:
    with popping_from(kind, peers, "pop_wait_again") as popping:
        popping.send("a")
        popping.wait_for(invisible=2_000)
        popped = popping.client.pop(popping.topic, poll=20_000)
        assert bodies(popped.messages) == ["a"]
        assert popping.client.ack(popped.messages[0]) == "OK"


@pytest.mark.overlap
def test_in_order_a_queue_is_blocked_until_all_are_consumed(kind: str, peers: Peers) -> None:
    with popping_from(kind, peers, "pop_order") as popping:
        popping.send(*(str(number) for number in range(5)))
        one, two = popping.wait_for(2, order=True, most=2, invisible=30_000)
        assert one.properties["POP_CK"].split(" ")[3] == "999"
        assert popping.client.pop(popping.topic, order=True).messages == []
        assert popping.client.ack(two) == "OK"
        assert popping.client.pop(popping.topic, order=True).messages == []
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(popping.client.pop, popping.topic, order=True, poll=10_000)
            time.sleep(1)
            assert popping.client.ack(one) == "OK"
            rest = waiting.result(15).messages
        assert bodies(rest) == ["2", "3", "4"]


@pytest.mark.overlap
def test_in_order_messages_come_again_in_place(kind: str, peers: Peers) -> None:
    """The deliveries are counted; the message with a changed time holds up the others."""
    with popping_from(kind, peers, "pop_order_again") as popping:
        popping.send("a", "b", "c")
        found = popping.wait_for(3, order=True, invisible=3_000)
        popping.client.ack(found[0])
        popping.client.change(found[1], 7_000)
        since = time.monotonic()
        again = popping.wait_for(2, order=True, invisible=3_000)
        assert bodies(again) == ["b", "c"]
        assert [each.reconsume_times for each in again] == [1, 1]
        assert 6 < time.monotonic() - since < 14


@pytest.mark.overlap
def test_in_order_an_attempt_can_be_repeated(kind: str, peers: Peers) -> None:
    with popping_from(kind, peers, "pop_attempt") as popping:
        popping.send("a")
        assert bodies(popping.wait_for(order=True, attempt="1", invisible=30_000)) == ["a"]
        assert popping.client.pop(popping.topic, order=True, attempt="2").messages == []
        [again] = popping.client.pop(popping.topic, order=True, attempt="1", invisible=30_000).messages
        assert (again.body, again.reconsume_times) == ("a", 0)
        assert popping.client.ack(again) == "OK"


@pytest.mark.overlap
def test_notification_reports_a_message(kind: str, peers: Peers) -> None:
    with popping_from(kind, peers, "pop_notice") as popping:
        assert not popping.client.notify(popping.topic, poll=500)
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(popping.client.notify, popping.topic, poll=15_000)
            time.sleep(1)
            popping.send("a")
            assert waiting.result(20)
        assert popping.client.notify(popping.topic)
        assert not popping.client.notify(popping.topic, expType="TAG", exp="other")
        [found] = popping.wait_for(order=True)
        assert not popping.client.notify(popping.topic, order=True)
        assert popping.client.ack(found) == "OK"


@pytest.mark.overlap
def test_a_message_that_fails_for_good_is_a_dead_letter(kind: str, peers: Peers) -> None:
    """Popped, redelivered, then sent back as proxies do: as a dead letter, and acknowledged."""
    with popping_from(kind, peers, "pop_dead") as popping:
        popping.send("a", tags="T", properties={"p": "v"})
        popping.wait_for(invisible=1_000)
        [again] = popping.wait_for()
        assert again.reconsume_times == 1
        assert popping.client.send_back(again, -1, 0) == 0
        assert popping.client.ack(again) == "OK"
        dead = f"%DLQ%{popping.group}"
        with popping.peer.pull(popping.peer.name("pop_undertaker")) as reader:

            def letters() -> list[Received]:
                try:
                    return [one for queue in reader.queues(dead) for one in reader.pull(queue, 0).messages]
                except ClientError:
                    return []

            wait_until(lambda: letters(), 40, "a dead letter", 0.5)
            [letter] = letters()
        assert (letter.topic, letter.body, letter.tags, letter.properties["p"]) == (dead, "a", "T", "v")
        assert letter.properties["RETRY_TOPIC"] == f"%RETRY%{popping.group}_{popping.topic}"
        assert popping.wait_for(seconds=16) == []


@pytest.mark.overlap
def test_invalid_pop_requests_are_refused(kind: str, peers: Peers) -> None:
    with popping_from(kind, peers, "pop_bad") as popping:
        popping.send("a")
        [found] = popping.wait_for()
        assert popping.client.ack(
            found._replace(properties={**found.properties, "POP_CK": receipt(found, 7, "9")})
        ) == ("NO_EXIST")
        for change in ({"queue_id": 9}, {"most": 33}, {"tags": "a ||| b ||"}):
            try:
                popping.client.pop(popping.topic, **change)
            except ClientError as refused:
                assert refused.code == 29, change
        with pytest.raises(ClientError) as unknown:
            popping.client.pop(popping.topic + "_unknown")
        assert unknown.value.code == 17


def receipt(found: Received, place: int, value: str) -> str:
    fields = found.properties["POP_CK"].split(" ")
    fields[place] = value
    return " ".join(fields)


@pytest.mark.overlap
@pytest.mark.both_servers
@pytest.mark.parametrize(("first", "second"), [("apache", "ours"), ("ours", "apache")])
def test_pops_change_hands(first: str, second: str, peers: Peers, tmp_path: Path) -> None:
    """A server redelivers the messages that the other delivered, and knows its acknowledgements."""
    with Hands(tmp_path).open() as hands:
        hands.begin(first)
        peer = Peer(hands.namesrv_address, peers.driver(CURRENT), CURRENT)
        popping = Popping(peer, hands.address, "pop_hands")
        try:
            popping.send(*(str(number) for number in range(8)))
            found = popping.wait_for(6, most=6, invisible=30_000)
            assert popping.client.ack(found[0]) == "OK"
            assert popping.client.batch_ack(popping.topic, found[1:3]) == "OK"
            popping.client.change(found[3], 35_000)
            changed = popping.client.change(found[4], 35_000)
            assert popping.client.ack(changed) == "OK"
            hands.end("stop")
            hands.begin(second)
            rest = popping.wait_for(2, invisible=60_000)
            assert bodies(rest) == ["6", "7"]
            again = popping.wait_for(2, 90, invisible=60_000)
            assert sorted(bodies(again)) == ["3", "5"]
            assert [one.reconsume_times for one in again] == [1, 1]
            assert popping.client.batch_ack(popping.topic, [*rest]) == "OK"
            assert popping.client.batch_ack(popping.topic, again) == "OK"
            assert popping.wait_for(seconds=12) == []
        finally:
            popping.close()


@pytest.mark.overlap
def test_only_messages_without_ack_are_redelivered_after_a_kill(peers: Peers) -> None:
    """Apache's broker loses acknowledgements and offsets of the last seconds; ours has them in its log."""
    with peers.fresh("ours") as server:
        peer = peers.with_server(server, CURRENT)
        popping = Popping(peer, server.broker_address, "pop_kill", 4)
        try:
            popping.send(*(str(number) for number in range(20)))
            found = popping.wait_for(20, invisible=20_000)
            acked, open_ = found[:12], found[12:]
            assert {popping.client.ack(one) for one in acked} == {"OK"}
            server.kill9()
            server.start()
            assert popping.client.pop(popping.topic, poll=2_000).messages == []
            again = popping.wait_for(len(open_), 60)
            assert sorted(bodies(again)) == sorted(bodies(open_))
            assert popping.wait_for(seconds=4) == []
        finally:
            popping.close()
