"""The messages that a log got since some place in it."""

from mqgateway.engine.tail import messages_since
from tests.support.engine.store.stores import Bench, message


def test_messages_from_a_record_on_that_hold_a_word() -> None:
    """Over the borders of files."""
    bench = Bench(mapped_file_size_commit_log=1024)
    places = []
    for number in range(40):
        properties = {"KEYS": f"k{number}"} | ({"MARK": "1"} if number % 2 else {})
        places.append(bench.store.put(message(body=b"x" * 40, properties=properties)).physical_offset)
    bench.store.dispatch()
    store = bench.store
    found = list(messages_since(store, places[10], 1024, b"MARK"))
    keys = [None if one is None else one.properties["KEYS"] for one in found]
    assert keys == [f"k{number}" if number % 2 else None for number in range(10, 40)]
    assert list(messages_since(store, store.max_physical_offset, 1024, b"MARK")) == []
    assert len(list(messages_since(store, 0, 1024, b"KEYS"))) == 40
