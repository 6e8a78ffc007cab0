from urllib.parse import quote

import pytest

from tests.support.gateway.console import ConsoleBrowser, ConsoleWorld, console


def test_a_topic_is_looked_through() -> None:
    browser = console()
    browser.world.memory.add_topic("T", queues=2)
    for number in range(20):
        browser.world.put("T", f"m{number}".encode(), queue=number % 2)
        browser.world.memory.clock.advance(1_000)
    first = browser.get("/messages?topic=T&limit=5&order=oldest")
    assert [row["preview"] for row in first["rows"]] == [f"m{number}" for number in range(5)]
    assert (first["scanned"], first["left"]) == (5, 15)
    rest = browser.get(f"/messages?topic=T&order=oldest&cursor={first['cursor']}")
    assert len(rest["rows"]) == 15 and not rest["cursor"]
    assert [row["preview"] for row in browser.get("/messages?topic=T&text=m1&budget=3")["rows"]] == [
        "m19",
        "m18",
        "m17",
    ]
    assert browser.refused("GET", "/messages?topic=none")[0] == 404
    assert browser.refused("GET", "/messages")[0] == 400


def test_expression_selects_by_properties_tags_and_keys() -> None:
    browser = console()
    browser.world.memory.add_topic("T")
    for number in range(6):
        browser.world.put(
            "T", f"m{number}".encode(), TAGS="even" if number % 2 == 0 else "odd", n=str(number)
        )
    for expression, expected in (
        ("n > 3", ["m5", "m4"]),
        ("n BETWEEN 1 AND 3 AND TAGS = 'odd'", ["m3", "m1"]),
        ("other IS NULL AND n = 0", ["m0"]),
        ("missing > 1", []),
        (" ", ["m5", "m4", "m3", "m2", "m1", "m0"]),
    ):
        found = browser.get(f"/messages?topic=T&expression={quote(expression)}")
        assert [row["preview"] for row in found["rows"]] == expected, expression


@pytest.mark.parametrize(
    ("expression", "position"), [("n >", 4), ("n = 'x", 5), ("n > 1 AND AND", 11), ("n BETWEEN 5 AND 2", 11)]
)
def test_error_of_an_expression_has_its_position(expression: str, position: int) -> None:
    browser = console()
    browser.world.memory.add_topic("T")
    code, text = browser.refused("GET", f"/messages?topic=T&expression={quote(expression)}")
    assert code == 400 and text.startswith(f"expression, character {position}: ")
    assert "org.apache" not in text and "java.lang" not in text


def test_by_key_and_by_unique_key() -> None:
    browser = console()
    browser.world.memory.add_topic("T")
    browser.world.put("T", b"a", KEYS="k1 k2", UNIQ_KEY="U1")
    browser.world.put("T", b"b", KEYS="k2", UNIQ_KEY="U2")
    for key, expected in (("k1", ["a"]), ("k2", ["a", "b"]), ("U2", ["b"]), ("other", [])):
        answer = browser.get(f"/messages/by-key?topic=T&key={key}")
        assert ([row["preview"] for row in answer["rows"]], answer["isAll"]) == (expected, True)


def test_one_message_and_who_is_past_it() -> None:
    browser = console()
    browser.world.memory.add_topic("T")
    browser.world.put("T", b"a")
    browser.world.put("T", b"b")
    browser.world.broker.tables.offsets.commit("G", "T", 0, 1)
    first, second = browser.get("/messages?topic=T&order=oldest")["rows"]
    for row, is_past in ((first, True), (second, False)):
        answer = browser.get(f"/messages/{row['id']}")
        assert answer["groups"] == [{"group": "G", "isPast": is_past}] and answer["isWhole"]
    lower = browser.get(f"/messages/{first['id'].lower()}")
    assert lower["body"] == "a"


def test_ids_that_are_none() -> None:
    browser = console()
    browser.world.memory.add_topic("T")
    browser.world.put("T")
    assert browser.refused("GET", "/messages/nonsense")[0] == 400
    foreign = "0A000001" + "00002A9F" + "0" * 16
    assert browser.refused("GET", f"/messages/{foreign}")[0] == 404
    far = "7F000001" + "00002A9F" + f"{10**9:016X}"
    assert browser.refused("GET", f"/messages/{far}")[0] in (404, 409)


def test_policies_of_the_topic_count_for_one_message_too() -> None:
    policies = {"alice": [("Topic:T", "Sub")]}
    world = ConsoleWorld(users=("alice",), policies=policies, console_roles="alice:reader")
    for topic in ("T", "Secret"):
        world.memory.add_topic(topic)
        world.put(topic, topic.encode())
    alice, root = ConsoleBrowser(world).log_in("alice"), ConsoleBrowser(world).log_in("root")
    [mine], [other] = (root.get(f"/messages?topic={topic}")["rows"] for topic in ("T", "Secret"))
    assert alice.get(f"/messages/{mine['id']}")["body"] == "T"
    assert alice.refused("GET", f"/messages/{other['id']}")[0] == 403
    assert alice.refused("GET", "/messages?topic=Secret")[0] == 403
    assert alice.refused("GET", "/messages/by-key?topic=Secret&key=x")[0] == 403


def test_the_trace_of_a_message() -> None:
    browser = console()
    world = browser.world
    world.memory.add_topic("T")
    world.memory.add_topic("RMQ_SYS_TRACE_TOPIC", queues=1)
    world.put("T", b"x", UNIQ_KEY="U1")
    [row] = browser.get("/messages/by-key?topic=T&key=U1")["rows"]
    address = f"/messages/{row['id']}/trace"
    assert browser.get(address)["sent"] == []
    records = (
        "Pub 1000 Region P T U1 tag key host 5 12 0 OFFSET true",
        "SubBefore 1100 Region G n U1 0 key",
        "SubAfter n U1 7 true key 0 1107 G",
        "SubBefore 1100 Region G n U2 0 key",
    )
    body = "".join(record.replace(" ", "\x01") + "\x02" for record in records).encode()
    world.put("RMQ_SYS_TRACE_TOPIC", body, KEYS="U1 U2")
    answer = browser.get(address)
    assert [step["group"] for step in answer["sent"]] == ["P"] and answer["isAll"]
    assert answer["consumed"] == [
        {"group": "G", "host": "10.0.0.1", "began": 1100, "took": 7, "isGood": True}
    ]
    assert answer["stored"] == world.memory.clock.millis()
