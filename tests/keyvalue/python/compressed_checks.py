"""Checks of compressed text and of a host's own, without a job: for test_compressed_files.py, in the folder named."""

import array
import gzip
import os
import socket
import sys
import tempfile

from spillway import mpid

folder, text = sys.argv[1], "".join(f"{number} \xe4\n" for number in range(200000))
path = folder + "/text.gz"
with open(path, "wb") as file:
    file.write(gzip.compress(text.encode()))
splits = mpid.LineSplits([path], 1000)
assert len(splits) == 1 and list(splits.lines(0, 1)) == text.split("\n")[:-1]
assert b"".join(splits[0].blocks(70000)) == text.encode()
assert mpid.sampled_lines(splits) == sorted(line.encode() for line in text.split("\n")[:4096])


def message_of(function):
    try:
        function()
    except (OSError, ValueError) as error:
        return str(error)


with open(path, "wb") as file:
    file.write(gzip.compress(b"a\n" * 700000 + b"\xff\n"))
message = message_of(lambda: list(splits.lines(0, 1)))
assert message.startswith(f"cannot read {path}: it has been written to since the job first looked at it: it had ")
splits = mpid.LineSplits([path])
message = message_of(lambda: list(splits.lines(0, 1)))
assert message.startswith(f"{path}, byte 1400000 of its contents: no text in utf-8")
own = mpid.LineSplits([f"{socket.gethostname()}:{path}"])
assert next(own[0].blocks(2)) == b"a\n" and len(list(own.lines(0, 1, None))) == 700001
assert message_of(lambda: list(own.lines(0, 1))).startswith(
    f"{socket.gethostname()}:{path}, byte 1400000 of its contents: "
)
elsewhere = mpid.LineSplits([f"elsewhere:{path}"])
assert message_of(lambda: list(elsewhere.lines(0, 1))).startswith(f"cannot read elsewhere:{path} on another host: ")
os.unlink(path)
for gone in (own, splits):
    assert message_of(lambda: list(gone.lines(0, 1))) == f"[Errno 2] No such file or directory: {path!r}"  # noqa: B023
with open(path, "w") as file:
    file.write("plain")
assert f"cannot read {path}: it does not begin as a file of gzip" in message_of(lambda: mpid.LineSplits([path]))
for name in ("out.gz", "out.zst"):
    with mpid.OutputFile(f"{folder}/{name}") as output:
        for line in text.splitlines(True):
            output.write(line)
    assert "".join(line + "\n" for line in mpid.LineSplits([f"{folder}/{name}"]).lines(0, 1)) == text
    try:
        with mpid.OutputFile(f"{folder}/{name}") as output:
            output.write("lost" * 1000000)
            raise KeyError
    except KeyError:
        pass
os.symlink("/dev/full", f"{folder}/full.gz.partial")


def fill():
    with mpid.OutputFile(f"{folder}/full.gz") as output:
        output.write("text")


assert message_of(fill) == f"cannot write {folder}/full.gz: No space left on device"
assert sorted(os.listdir(folder)) == ["out.gz", "out.zst", "text.gz"]

for name in ("full", "full.gz", "full.zst"):  # what has failed once is missing, whatever comes later
    os.symlink("/dev/full", f"{folder}/{name}.partial")

    def fill_and_go_on():
        with mpid.OutputFile(f"{folder}/{name}") as output:  # noqa: B023
            assert "No space left" in message_of(lambda: output.write(os.urandom(3 << 20)))
            os.unlink(f"{folder}/{name}.partial")  # noqa: B023
            open(f"{folder}/{name}.partial", "w").close()  # noqa: B023

    assert f"cannot write {folder}/{name}: an earlier write has failed: " in message_of(fill_and_go_on)

for name in ("plain", "out.gz", "out.zst"):
    with mpid.OutputFile(f"{folder}/{name}") as output:
        output.write(memoryview(array.array("i", [1, 2])))
        output.write(text)
    assert message_of(lambda: output.write("more")).startswith("write to closed file"), name  # noqa: B023
    first, *lines = mpid.LineSplits([f"{folder}/{name}"]).lines(0, 1, None)
    assert first + b"\n" == array.array("i", [1, 2]).tobytes() + b"0 \xc3\xa4\n" and len(lines) == 199999
os.unlink(f"{folder}/plain")

with tempfile.TemporaryDirectory() as other:  # not below those of the tests, which only their owner may enter
    os.chmod(other, 0o755)
    path = f"{other}/text.gz"
    with open(path, "wb") as file:
        file.write(gzip.compress(b"text"))
    os.geteuid() or os.seteuid(65534)
    assert len(mpid.LineSplits([path])) == 1
    os.getuid() or os.seteuid(0)
    os.chmod(path, 0)
    os.geteuid() or os.seteuid(65534)
    message = message_of(lambda: mpid.LineSplits([path]))
    os.getuid() or os.seteuid(0)
    assert path in message and "Permission denied" in message

for pack, name in ((gzip.compress, "records.gz"), (bytes, "records")):
    path = f"{folder}/{name}"
    with open(path, "wb") as file:
        file.write(pack(b"bbbaaa" * 500000))
    for places in ([path], [f"{socket.gethostname()}:{path}"]):
        assert sum(1 for _ in mpid.RecordSplits(places, 3).records(0, 1)) == 1000000
        assert b"".join(batch.tobytes() for batch in mpid.RecordSplits(places, 3).batches(0, 1)) == b"bbbaaa" * 500000
    assert mpid.sampled_keys(mpid.RecordSplits([path], 3), 1)[:2] == [b"a", b"a"]
    places = [path] if name == "records.gz" else places
    whose = "the 3000000 bytes of its contents" if name == "records.gz" else "its 3000000 bytes"
    message = message_of(lambda: list(mpid.RecordSplits(places, 7).records(0, 1)))  # noqa: B023
    assert f"{path}: {whose} are no whole number of records of 7 bytes" in message, message
