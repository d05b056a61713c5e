"""The progress of `spillway sort`, which nobody has to read."""

import io
import sys

import pytest
from spillway_front_end.sort_progress import SortProgress


class Terminal(io.StringIO):
    """Which its reader may leave: what has been written since fails."""

    is_read = True

    def flush(self) -> None:
        if not self.is_read:
            raise BrokenPipeError


@pytest.mark.parametrize("style", ["bar", "json"])
@pytest.mark.parametrize("is_left_early", [True, False])
def test_progress_that_nobody_reads(tmp_path, monkeypatch, style, is_left_early):
    path = tmp_path / "progress"
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = SortProgress(style, str(path), 1000)
    path.write_text("d 1 4\n")
    progress._show()
    assert "read and deal out" in terminal.getvalue()
    terminal.is_read = not is_left_early
    path.write_text("f 3 4\n")
    progress._show()
    terminal.is_read = False
    (tmp_path / "ended").touch()
    with open(tmp_path / "ended", "rb") as ended:
        assert progress.show_until_end(ended) == b""
