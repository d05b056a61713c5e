"""Sizes as people write and read them."""

import pytest
from spillway_front_end.errors import LaunchError
from spillway_front_end.sizes import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("8G", 8 << 30),
        ("512M", 512 << 20),
        ("1.5GiB", 3 << 29),
        ("1.5g", 3 << 29),
        ("64k", 65536),
        ("64KB", 65536),
        ("2TiB", 2 << 40),
        ("4096", 4096),
        ("4096B", 4096),
        ("0", 0),
        (" 7M ", 7 << 20),
        (".5G", 1 << 29),
        ("9999999999G", 9999999999 << 30),
    ],
)
def test_reads_a_size(text, count):
    assert parse_size(text) == count


@pytest.mark.parametrize(
    "text", ["", "G", "8X", "8GG", "8iB", "-1G", "1e3q", "nan", "inf", "8 0", ".", ".G", "9" * 99, "eight", "0x10"]
)
def test_refuses_what_is_no_size(text):
    with pytest.raises(LaunchError, match="is not a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1024, "1.00 KiB"),
        (1536 << 20, "1.50 GiB"),
        (64 << 30, "64.0 GiB"),
        (999 << 20, "999 MiB"),
        (1000 << 20, "0.98 GiB"),
        (5 << 40, "5.00 TiB"),
    ],
)
def test_writes_a_size(count, text):
    assert format_size(count) == text
