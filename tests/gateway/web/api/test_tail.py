import json

from tests.support.gateway.console import ConsoleBrowser, console


def events(browser: ConsoleBrowser, path: str) -> tuple[object, list[tuple[str, dict[str, object]]]]:
    stream = browser.open()
    stream.send(f"GET /api/v1{path} HTTP/1.1\r\nHost: localhost\r\nCookie: {browser.cookie}\r\n\r\n".encode())
    return stream, []


def events_of(stream: object) -> list[tuple[str, dict[str, object]]]:
    text = stream.transport.value().decode()  # type: ignore[attr-defined]
    found = []
    for part in text.split("event: ")[1:]:
        name, _, rest = part.partition("\n")
        found.append((name, json.loads(rest.partition("data: ")[2].partition("\n")[0])))
    return found


def test_messages_are_reported_as_they_arrive() -> None:
    browser = console()
    world = browser.world
    world.memory.add_topic("T", queues=2)
    world.put("T", b"before")
    stream, _ = events(browser, "/topics/T/tail?tag=a")
    world.put("T", b"one", queue=1, TAGS="a")
    world.put("T", b"other", queue=0, TAGS="b")
    world.memory.clock.advance(1_000)
    world.put("T", b"two", queue=0, TAGS="a")
    world.clockwork.advance(0.5)
    assert [(name, event["preview"]) for name, event in events_of(stream)] == [
        ("message", "one"),
        ("message", "two"),
    ]
    world.clockwork.advance(0.5)
    assert len(events_of(stream)) == 2


def test_more_than_a_person_reads_is_passed_over() -> None:
    browser = console()
    browser.world.memory.add_topic("T", queues=2)
    stream, _ = events(browser, "/topics/T/tail")
    for number in range(150):
        browser.world.put("T", b"x", queue=number % 2)
    browser.world.clockwork.advance(0.5)
    found = events_of(stream)
    assert len([name for name, _ in found if name == "message"]) == 100
    assert found[-1] == ("skipped", {"messages": 50})


def test_there_must_be_such_a_topic() -> None:
    assert console().refused("GET", "/topics/none/tail")[0] == 404
