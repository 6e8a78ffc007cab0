"""The views of a store: those that every store has, and more."""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.engine.disk import Disk
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.consume_queue import ConsumeQueues
from mqgateway.engine.store.dispatch_request import parse_delay_levels
from mqgateway.engine.store.index import Index
from mqgateway.engine.store.lmq import has_lmq
from mqgateway.engine.store.queue_table import QueueTable
from mqgateway.engine.store.views.compacted_parts import CompactedPartsView
from mqgateway.engine.store.views.index import IndexView
from mqgateway.engine.store.views.new_files import NewFiles
from mqgateway.engine.store.views.producers import ProducersView
from mqgateway.engine.store.views.queues import QueuesView
from mqgateway.engine.store.views.starts import StartsView
from mqgateway.engine.store.views.transactions import TransactionsView
from mqgateway.engine.store.views.view import View
from mqgateway.engine.worker import Worker


def views_of(
    options: StoreOptions,
    disk: Disk,
    root: str,
    queues: ConsumeQueues,
    index: Index | None,
    worker: Worker,
    producers: ProducersView,
    transactions: TransactionsView,
    compacted_parts: CompactedPartsView,
    more: Sequence[View],
    has_older: bool,
) -> list[View]:
    """Return the views of the consume queues, which come first, of the index, if there is one, of producers,
    of their transactions, of moved starts, `more`, and of compacted parts, which come last."""
    of_queues = QueuesView(
        queues,
        parse_delay_levels(options.message_delay_level),
        has_lmq(options),
        QueueTable(disk, f"{root}/queuetable", f"{root}/lock"),
        options.queue_table_from,
        NewFiles(queues, disk, worker),
    )
    of_index: list[View] = [] if index is None else [IndexView(index)]
    starts = StartsView(disk, root, queues, has_older)
    return [of_queues, *of_index, producers, transactions, starts, *more, compacted_parts]
