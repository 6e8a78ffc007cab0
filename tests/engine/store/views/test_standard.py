"""The views that every store has."""

from mqgateway.engine.store.views.compacted_parts import CompactedPartsView
from mqgateway.engine.store.views.index import IndexView
from mqgateway.engine.store.views.producers import ProducersView
from mqgateway.engine.store.views.queues import QueuesView
from mqgateway.engine.store.views.starts import StartsView
from mqgateway.engine.store.views.transactions import TransactionsView
from tests.support.engine.store.stores import Bench, message


def test_store_has_queues_index_producers_transactions_starts_and_compacted_parts() -> None:
    assert [type(view) for view in Bench().store._views] == [
        QueuesView,
        IndexView,
        ProducersView,
        TransactionsView,
        StartsView,
        CompactedPartsView,
    ]


def test_store_without_index_has_the_other_views() -> None:
    bench = Bench(message_index_enable=False)
    assert [type(view) for view in bench.store._views] == [
        QueuesView,
        ProducersView,
        TransactionsView,
        StartsView,
        CompactedPartsView,
    ]
    bench.put(message(properties={"KEYS": "k"}))
    assert bench.kill().store.max_offset("orders", 0) == 1
