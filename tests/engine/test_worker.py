"""Workers: values and exceptions reach `done`, in order, when performed."""

from mqgateway.engine.worker import InlineWorker, MemoryWorker


def test_inline_work_is_done_at_once() -> None:
    done: list[object] = []
    InlineWorker().run(lambda: 5, done.append)
    assert done == [5]


def test_an_exception_is_handed_over_not_raised() -> None:
    done: list[object] = []

    def fail() -> None:
        raise OSError("full")

    InlineWorker().run(fail, done.append)
    assert isinstance(done[0], OSError)


def test_memory_work_waits_for_its_step_and_keeps_order() -> None:
    worker, done = MemoryWorker(), []
    worker.run(lambda: 1, done.append)
    worker.run(lambda: 2, done.append)
    assert (done, worker.waiting) == ([], 2)
    assert worker.perform()
    assert done == [1]
    worker.perform_all()
    assert done == [1, 2]
    assert not worker.perform()
