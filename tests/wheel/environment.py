"""A virtual environment with the wheel of this build, for the tests of this folder."""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Of a wheel that `make wheel` has made.
PACKED_BYTES_MAX = 4_000_000
INSTALLED_BYTES_MAX = 12_000_000


def bytes_of(wheel):
    """(packed, installed)"""
    with zipfile.ZipFile(wheel) as archive:
        return wheel.stat().st_size, sum(entry.file_size for entry in archive.infolist())


def load_script():
    """scripts/wheel.py as a module."""
    specification = importlib.util.spec_from_file_location("wheel_script", ROOT / "scripts" / "wheel.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def make_wheel(folder):
    """(path of the installation, path of its wheel), both new in `folder`; or (None, $HEARTH_WHEEL)."""
    if os.environ.get("HEARTH_WHEEL"):
        return None, Path(os.environ["HEARTH_WHEEL"])
    prefix = folder / "prefix"
    subprocess.run(
        [os.environ["HEARTH_CMAKE"], "--install", os.environ["HEARTH_BUILD"], "--prefix", prefix],
        check=True,
        capture_output=True,
    )
    return prefix, load_script().make_wheel(prefix, folder / "dist")


def pip(environment, *arguments):
    """Without the network."""
    command = [environment / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index"] if arguments[0] == "install" else []
    subprocess.run([*command, arguments[0], *offline, *arguments[1:]], check=True)


def make_environment(environment, python=sys.executable):
    subprocess.run([python, "-m", "venv", environment], check=True)
