"""Deadlines: what is due runs, once."""

from mqgateway.gateway.kafka.coordinator.deadlines import Deadlines


def test_deadline_runs_when_it_is_due_and_once() -> None:
    deadlines, ran = Deadlines(), list[str]()
    deadlines.set("a", 10, lambda: ran.append("a"))
    deadlines.set("b", 5, lambda: ran.append("b"))
    deadlines.run(4)
    assert ran == [] and "a" in deadlines
    deadlines.run(10)
    deadlines.run(20)
    assert ran == ["b", "a"] and len(deadlines) == 0


def test_deadline_that_is_put_off_or_brought_forward_runs_at_its_new_time() -> None:
    deadlines, ran = Deadlines(), list[str]()
    deadlines.set("a", 10, lambda: ran.append("old"))
    deadlines.set("a", 30, lambda: ran.append("late"))
    deadlines.run(29)
    assert ran == []
    deadlines.set("a", 29, lambda: ran.append("early"))
    deadlines.run(29)
    deadlines.run(40)
    assert ran == ["early"]


def test_cancelled_deadline_does_not_run_and_may_be_set_again() -> None:
    deadlines, ran = Deadlines(), list[str]()
    deadlines.set("a", 10, lambda: ran.append("a"))
    deadlines.cancel("a")
    deadlines.cancel("unknown")
    deadlines.set("a", 10, lambda: ran.append("again"))
    deadlines.run(10)
    assert ran == ["again"]


def test_action_that_sets_a_due_deadline_does_not_run_without_end() -> None:
    deadlines, ran = Deadlines(), list[int]()

    def action() -> None:
        ran.append(1)
        deadlines.set("a", 0, action)

    action()
    deadlines.run(5)
    assert len(ran) == 2
    deadlines.run(5)
    assert len(ran) == 3


def test_deadline_put_off_again_and_again_is_queued_once() -> None:
    deadlines = Deadlines()
    for due in range(1000):
        deadlines.set("a", due, lambda: None)
    assert len(deadlines._heap) == 1


def test_cleared_deadlines_run_no_action() -> None:
    deadlines = Deadlines()
    ran: list[str] = []
    deadlines.set("a", 10, lambda: ran.append("a"))
    deadlines.clear()
    deadlines.run(20)
    assert not ran and len(deadlines) == 0
