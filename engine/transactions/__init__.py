"""Transactional messages: half now, whole or gone when the producer says so, asked about when it does not.

    half      what a producer's half message, its renewed copy and its outcome look like; what is due with one
    settled   which half messages are done with, and how far that goes without a gap
    ops       the messages that list what is done with
    listing   writing those, and how far all is done
    counts    how many half messages of each topic are open
    log       the whole: taking, ending, asking, giving up, with the store and the clock
    escape    what a slave does with those of its master while it acts for it

`TransactionLog` in `log` is the facade.
Standard: `TransactionalMessageServiceImpl`, `TransactionalMessageBridge`.
"""

from mqgateway.engine.transactions.counts import TransactionCounts
from mqgateway.engine.transactions.half import HalfMessage, as_committed
from mqgateway.engine.transactions.log import CheckBack, TransactionLog

__all__ = ["CheckBack", "HalfMessage", "TransactionCounts", "TransactionLog", "as_committed"]
