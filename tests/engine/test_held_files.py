"""Data written over a file is read back, whatever is below."""

import random

from mqgateway.engine.disk import File
from mqgateway.engine.held_files import PAGE, Content
from mqgateway.engine.testing.crash_disk import CrashDisk


def file_with(data: bytes) -> File:
    disk = CrashDisk()
    disk.makedirs("/d")
    file = disk.open("/d/a", create=True)
    file.write(0, data)
    return file


def test_random_changes_show_as_in_a_file() -> None:
    for seed in range(60):
        choose = random.Random(seed)
        data = choose.randbytes(choose.choice((0, 10, PAGE, 3 * PAGE + 7)))
        content, real = Content(file_with(data)), file_with(data)
        if choose.random() < 0.3:
            content.open_window(PAGE + 100)
            real.truncate(max(real.size(), PAGE + 100))
        for _ in range(40):
            at = choose.randrange(4 * PAGE)
            if choose.random() < 0.2:
                content.truncate(at)
                real.truncate(at)
            else:
                written = choose.randbytes(choose.choice((1, 20, PAGE + 5)))
                content.write(at, written)
                real.write(at, written)
            begin, size = choose.randrange(5 * PAGE), choose.randrange(2 * PAGE)
            assert content.read(begin, size) == real.read(begin, size), seed
            assert content.size == real.size()
        assert content.read(0, 9 * PAGE) == real.read(0, 9 * PAGE)
        used = content.used()
        assert used <= content.size and not any(content.read(used, content.size))


def test_a_window_shows_what_is_written_and_is_read() -> None:
    content = Content(file_with(b"abcdef"))
    window = content.open_window(4)
    content.write(2, b"XY")
    assert bytes(window) == b"abXY"
    window[0:2] = b"12"
    assert content.read(0, 6) == b"12XYef"
    assert content.held == 4


def test_the_file_below_is_only_read() -> None:
    file = file_with(b"abcdef")
    content = Content(file)
    content.write(1, b"X")
    content.truncate(3)
    assert file.read(0, 9) == b"abcdef"
    assert Content(None).read(0, 9) == b""
