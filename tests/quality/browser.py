"""A real headless browser: what a page shows, which requests it makes, and how wide it is."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DARK = "--blink-settings=preferredColorScheme=0"
INSIDE = ("file:", "data:", "chrome:", "chrome-untrusted:", "devtools:", "about:")


def find_browser() -> str:
    """The browser's command; without one the test is skipped."""
    found = os.environ.get("SILTSTONE_CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium, or name one in SILTSTONE_CHROMIUM")
    return found


@dataclass(frozen=True)
class Seen:
    """The observations of a page: console lines, external requests, the width of its content and of the window."""

    console: tuple[str, ...]
    requests: tuple[str, ...]
    wide: int
    window: int


def requests(log: Path) -> list[str]:
    """The addresses that a page requested. Requests of the browser itself have no initiator."""
    text = log.read_text(encoding="utf-8").rstrip().removesuffix(",")
    events = json.loads(text if text.endswith("}") else text + "]}")["events"]
    made = [event["params"] for event in events if "initiator" in event.get("params", {})]
    urls = {str(one.get("url", "")) for one in made if one["initiator"] != "not an origin"}
    return sorted(url for url in urls if url and not url.startswith(INSIDE))


@dataclass(frozen=True)
class Browser:
    """Chromium with a separate profile."""

    command: str
    folder: Path

    def run(self, url: str, *options: str) -> tuple[str, str]:
        """Open a page. Gives standard output and standard error."""
        flags = (
            "--headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking"
            " --disable-component-update --disable-sync --disable-extensions --enable-logging=stderr"
        )
        profile = f"--user-data-dir={self.folder / 'profile'}"
        alone = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        command = [self.command, *flags.split(), profile, alone, *options, url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout, done.stderr

    def inspect(self, page: Path, width: int) -> "Seen":
        """Open a page in a window of this width, with all details expanded."""
        frame, log = self.folder / "frame.html", self.folder / "net.json"
        frame.write_text(
            f"<iframe id=f width={width} height=800 style='border:0' src='{page.as_uri()}'></iframe>"
            "<pre id=widths></pre><script>f.onload = () => { const d = f.contentDocument.documentElement;"
            " for (const one of d.querySelectorAll('details')) one.open = true;"
            " widths.textContent = `widths:${d.scrollWidth},${d.clientWidth};` }</script>"
        )
        options = ("--dump-dom", f"--log-net-log={log}", "--allow-file-access-from-files", "--window-size=1200,900")
        dom, errors = self.run(frame.as_uri(), *options)
        whole, window = dom.split("widths:")[1].split(";")[0].split(",")
        console = tuple(line for line in errors.splitlines() if ":CONSOLE" in line)
        return Seen(console, tuple(requests(log)), int(whole), int(window))

    def picture(self, page: Path, name: str, width: int, height: int, *options: str) -> Path:
        """A screenshot, in a file next to the page."""
        shot = page.with_name(name)
        self.run(page.as_uri(), f"--screenshot={shot}", f"--window-size={width},{height}", *options)
        return shot

    def printed(self, page: Path) -> Path:
        """The page printed to a PDF file."""
        sheet = page.with_suffix(".pdf")
        self.run(page.as_uri(), f"--print-to-pdf={sheet}", "--no-pdf-header-footer")
        return sheet
