"""A server of the S3 protocol on this machine (moto's), and what the tests ask of it without pyarrow."""

import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator, List

from standstill import TimeLimit

START_LIMIT_S = 60


class S3Server:
    def __init__(self, python: Path) -> None:
        with socket.socket() as any_port:
            any_port.bind(("127.0.0.1", 0))
            self.endpoint = f"127.0.0.1:{any_port.getsockname()[1]}"
        port = self.endpoint.split(":")[1]
        words = [str(python), "-m", "moto.server", "-H", "127.0.0.1", "-p", port]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        limit = TimeLimit(START_LIMIT_S)
        while not self._answers():
            assert self._process.poll() is None and limit.left_s() > 0, "moto's server does not start"
            time.sleep(0.05)

    @property
    def variables(self) -> Dict[str, str]:
        """Of a job's environment: credentials, which are not looked at unless they are refused."""
        return {
            "AWS_ENDPOINT_URL": f"http://{self.endpoint}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    @property
    def process(self) -> int:
        return self._process.pid

    def _answers(self) -> bool:
        try:
            self.ask("GET", "moto-api/")
        except urllib.error.URLError:
            return False
        return True

    def ask(self, method: str, place: str, data: bytes = b"", kind: str = "application/octet-stream") -> bytes:
        headers = {
            "Content-Type": kind,
            "Authorization": "AWS4-HMAC-SHA256 Credential=key/20200101/us-east-1/s3/aws4_request",
        }
        request = urllib.request.Request(f"http://{self.endpoint}/{place}", data or None, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return bytes(answer.read())

    def put(self, bucket: str, files: List[Path]) -> None:
        """Makes the bucket, with the files at its top."""
        self.ask("PUT", bucket)
        for path in files:
            self.ask("PUT", f"{bucket}/{path.name}", path.read_bytes())

    def names(self, bucket: str, of: str = "list-type=2") -> List[str]:
        """But for directories; of="uploads": of those that nobody has completed."""
        found = re.findall(r"<Key>([^<]*)</Key>", self.ask("GET", f"{bucket}?{of}").decode())
        return sorted(name for name in found if not name.endswith("/"))

    @contextmanager
    def all_credentials_refused(self) -> Iterator[None]:
        self.ask("POST", "moto-api/reset-auth", b"0", "text/plain")
        try:
            yield
        finally:
            self.ask("POST", "moto-api/reset-auth", b"inf", "text/plain")

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
