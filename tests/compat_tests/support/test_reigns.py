"""Facts about a message that was acknowledged and is lost: epoch, master, successor."""

from __future__ import annotations

import pytest

from compat_tests.support.reigns import Acknowledged, Reigns

A, B = "127.0.0.1:1", "127.0.0.1:2"
EPOCHS = [(1, 0), (2, 1000)]


@pytest.fixture
def reigns() -> Reigns:
    """Return the reigns of A and of B, which became master at some time between 3 and 4."""
    found = Reigns(dict)
    for at, epoch, master in ((0.0, 1, A), (3.0, 1, A), (4.0, 2, B), (5.0, 2, B)):
        found.saw(epoch, master, at)
    return found


def test_a_message_behind_the_end_of_the_successors_log_was_the_masters_alone(reigns: Reigns) -> None:
    loss = reigns.loss("m", "apache", Acknowledged(7, 3.5, A, 1000), EPOCHS)
    assert (loss.epoch, loss.began) == (1, 1000)
    assert loss.successor is not None and loss.successor.master == B
    assert loss.is_apaches_alone
    assert "acknowledged by apache 127.0.0.1:1 in epoch 1" in str(loss)
    assert "127.0.0.1:2 may have been master in epoch 2, which begins at 1000" in str(loss)


@pytest.mark.parametrize(
    ("kind", "acknowledged"),
    [
        ("ours", Acknowledged(7, 3.5, A, 1000)),
        ("apache", Acknowledged(7, 3.5, A, 999)),
        ("apache", Acknowledged(7, 4.5, B, 1200)),
        ("apache", Acknowledged(7, 4.5, "127.0.0.1:3", 1200)),
    ],
    ids=["ours acknowledged it", "the successor had it", "nobody succeeded", "never master"],
)
def test_everything_else_is_a_loss(reigns: Reigns, kind: str, acknowledged: Acknowledged) -> None:
    assert not reigns.loss("m", kind, acknowledged, EPOCHS).is_apaches_alone


def test_an_epoch_without_a_message_begins_where_the_next_one_does(reigns: Reigns) -> None:
    reigns.saw(3, A, 6.0)
    loss = reigns.loss("m", "apache", Acknowledged(7, 3.5, A, 1100), [(1, 0), (3, 1050)])
    assert loss.began == 1050


def test_second_reign_of_a_master_has_its_own_epoch(reigns: Reigns) -> None:
    reigns.saw(3, A, 6.0)
    loss = reigns.loss("m", "apache", Acknowledged(7, 5.5, A, 2000), EPOCHS)
    assert (loss.epoch, loss.successor) == (3, None)


def test_it_asks_until_it_is_left() -> None:
    answers = iter([{}, {"masterAddress": A, "masterEpoch": 1}])
    with Reigns(lambda: next(answers, {})) as found:
        while not found.all:
            pass
    assert [(one.epoch, one.master) for one in found.all] == [(1, A)]
