"""Progress of saving the log, and the offset from which local files are kept."""

from mqgateway.engine.store.log import ENDLESS
from mqgateway.engine.store.saved_log import UNKNOWN, SavedLog
from tests.support.engine.store.stores import options

URL = "file:///tier"


def test_log_that_is_not_saved_keeps_nothing() -> None:
    saved = SavedLog(options())
    assert (saved.is_on, saved.kept_from) == (False, ENDLESS)


def test_everything_is_kept_before_the_first_report() -> None:
    saved = SavedLog(options(tiered_store_path=URL))
    assert (saved.is_on, saved.kept_from) == (True, UNKNOWN)
    saved.saved_to = 4096
    assert saved.kept_from == 4096


def test_log_that_may_be_lost_is_not_kept() -> None:
    saved = SavedLog(options(tiered_store_path=URL, tiered_may_lose=True))
    assert saved.kept_from == ENDLESS


def test_lag_is_counted_from_the_report() -> None:
    saved = SavedLog(options(tiered_store_path=URL))
    assert (saved.behind_bytes(100), saved.behind_millis(100)) == (0, 0)
    saved.saved_to, saved.oldest = 60, 30
    assert (saved.behind_bytes(100), saved.behind_millis(100)) == (40, 70)
    assert (saved.behind_bytes(50), saved.behind_millis(20)) == (0, 0)
