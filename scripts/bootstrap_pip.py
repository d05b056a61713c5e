"""Installs pip into the running Python environment, on a machine whose Python came without it.

One known version of pip is fetched from the package index that the user's pip configuration names (PyPI when it names
none), checked against its known hash, and then installs itself: a wheel of pip can be run.
"""

import base64
import configparser
import hashlib
import os
import re
import ssl
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path
from typing import List, Optional

WHEEL = "pip-24.3.1-py3-none-any.whl"
WHEEL_SHA256 = "3790624780082365f47549d032f3770eeb2b1e8bd1f7b2e02dace1afa361b4ed"
TIMEOUT_S = 60


def configuration_files() -> List[Path]:
    """The files that pip reads, the most specific first."""
    home = Path.home()
    config_home = Path(os.environ.get("XDG_CONFIG_HOME", home / ".config"))
    named = os.environ.get("PIP_CONFIG_FILE")
    files = [Path(named)] if named else []
    return files + [config_home / "pip" / "pip.conf", home / ".pip" / "pip.conf", Path("/etc/pip.conf")]


def setting(name: str) -> Optional[str]:
    """pip's setting of that name: from the environment, else from a configuration file."""
    value = os.environ.get("PIP_" + name.upper().replace("-", "_"))
    if value:
        return value
    for path in configuration_files():
        parser = configparser.RawConfigParser()
        if path.is_file() and parser.read(path) and parser.has_option("global", name):
            return parser.get("global", name)
    return None


def fetch(url: str) -> bytes:
    """What is at an address, in which a name and a password may stand, as they may in pip's index-url."""
    parts = urllib.parse.urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    public_url = parts._replace(netloc=host).geturl()
    request = urllib.request.Request(public_url, headers={"Accept": "text/html"})
    if login:
        code = base64.b64encode(urllib.parse.unquote(login).encode()).decode()
        request.add_header("Authorization", f"Basic {code}")
    context = ssl.create_default_context(cafile=setting("cert"))
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context) as response:
            return response.read()
    except OSError as error:
        raise SystemExit(f"cannot read {public_url}: {error}; install python3-venv, or set PIP_INDEX_URL") from None


def wheel_url() -> str:
    """The wheel's address, from the page that the index has for pip (PEP 503: one link per file)."""
    index = setting("index-url") or "https://pypi.org/simple"
    page_url = index.rstrip("/") + "/pip/"
    page = fetch(page_url).decode("utf-8", "replace")
    for link in re.findall(r'href="([^"]+)"', page):
        address = urllib.parse.urljoin(page_url, link.replace("&amp;", "&"))
        if urllib.parse.urlparse(address).path.endswith("/" + WHEEL):
            return address
    raise SystemExit(f"the package index does not list {WHEEL}; install python3-venv, then run again")


def main() -> None:
    wheel = fetch(wheel_url())
    if hashlib.sha256(wheel).hexdigest() != WHEEL_SHA256:
        raise SystemExit(f"{WHEEL} has another SHA-256 than {WHEEL_SHA256}: not used")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / WHEEL
        path.write_bytes(wheel)
        subprocess.run([sys.executable, f"{path}/pip", "install", "--no-index", str(path)], check=True)


if __name__ == "__main__":
    main()
