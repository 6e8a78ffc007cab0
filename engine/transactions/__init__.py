"""Transactional messages: half now, whole or gone when the producer says so, asked about when it does not.

    half         what a producer's half message, its renewed copy and its outcome look like; what is due
    settled      which half messages are done with, and how far that goes without a gap
    ops          the messages that list what is done with
    listing      writing those, and how far all is done
    counts       how many half messages of each topic are open
    open_halves  half messages by offset: settled, put again, waited for
    checks       rounds along the half queue: asking producers, giving up
    log          the whole: taking and ending transactions, starting again
    escape       what a slave does with those of its master while it acts for it

`TransactionLog` in `log` is the facade.
Standard: `TransactionalMessageServiceImpl`, `TransactionalMessageBridge`.
"""

from mqgateway.engine.transactions.checks import CheckBack
from mqgateway.engine.transactions.counts import TransactionCounts
from mqgateway.engine.transactions.half import HalfMessage, as_committed
from mqgateway.engine.transactions.log import TransactionLog

__all__ = ["CheckBack", "HalfMessage", "TransactionCounts", "TransactionLog", "as_committed"]
