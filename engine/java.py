"""The Java on this machine. Spark 4 needs version 17 or newer, which the user must install."""

import os
import re
import shutil
import subprocess

from siltstone.engine.errors import SpecError

NEEDED_JAVA = 17
INSTALL_HINT = (
    "Install it with `sudo apt install openjdk-17-jre-headless`, `sudo dnf install java-17-openjdk-headless` "
    "or `brew install openjdk@17`, or set JAVA_HOME to one."
)


def java_program() -> str | None:
    """The java program that Spark will start: from JAVA_HOME, else from the PATH."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")  # noqa: PTH118


def java_version() -> int | None:
    """The feature version (17, 21) of the Java that Spark will start; None if there is none that runs."""
    program = java_program()
    if program is None:
        return None
    answer = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    return parse_java_version(answer.stderr) if answer.returncode == 0 else None


def parse_java_version(text: str) -> int | None:
    """The feature version in the output of `java -version`; 1.8 is 8."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


def require_java() -> None:
    """Raises SpecError if Spark would find no Java, or one that is too old."""
    version = java_version()
    if version is None:
        raise SpecError(f"Cannot start Spark: no Java found (needs {NEEDED_JAVA} or newer).", hint=INSTALL_HINT)
    if version < NEEDED_JAVA:
        raise SpecError(
            f"Cannot start Spark: Java {version} at {java_program()} is too old (needs {NEEDED_JAVA} or newer).",
            hint=INSTALL_HINT,
        )
