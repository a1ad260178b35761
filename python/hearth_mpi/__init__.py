"""Hearth MPI in a Python environment: where its programs, header and libraries are.

The wheel puts mpiexec, mpicc and hearth into the environment's bin, mpi.h into include and the libraries into
lib. `python -m hearth_mpi` is mpiexec."""

import base64
import hashlib
import os
import sys
from importlib import metadata
from pathlib import Path

__all__ = ["get_config", "get_include", "overwritten", "prefix"]

_DISTRIBUTION = "hearth-mpi"
# Other MPI libraries' wheels have files of these names too.
_SHARED_NAMES = (
    "mpiexec",
    "mpirun",
    "mpicc",
    "mpicxx",
    "mpifort",
    "mpi.h",
    "mpif.h",
    "libmpi_abi.so.1",
    "libmpifort_abi.so.1",
    "libmpi.so.12",
    "libmpi.so.40",
)


def _records():
    """The recorded files whose names other wheels use as well."""
    try:
        files = metadata.files(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
    return [file for file in files if file.name in _SHARED_NAMES]


def _recorded_path(record):
    return Path(os.path.normpath(record.locate()))


def _recorded_prefix():
    """The prefix of the files in pip's record of the installation; None if there is no record."""
    for record in _records():
        if record.name == "mpiexec":
            return _recorded_path(record).parent.parent
    return None


def _prefixes():
    recorded = _recorded_prefix()
    if recorded is not None:
        yield recorded
    yield Path(sys.prefix)


def prefix():
    """The folder of bin, include and lib. Raises FileNotFoundError if the installation is incomplete."""
    for folder in _prefixes():
        if (folder / "bin" / "mpiexec").is_file() and (folder / "lib" / "libmpi_abi.so.1").is_file():
            return folder.resolve()
    raise FileNotFoundError(
        "hearth_mpi: bin/mpiexec and lib/libmpi_abi.so.1 are not there. Likely cause: another "
        "MPI package replaced them and was removed, or pip install --target, which leaves lib out. Remedy: "
        "pip install --force-reinstall hearth-mpi in a virtual environment"
    )


def get_include():
    """The folder of mpi.h."""
    return str(prefix() / "include")


def get_config():
    """Paths, by name: prefix, mpiexec, mpicc, mpicxx, mpifort, hearth, include, lib; and the version."""
    folder = prefix()
    programs = ("mpiexec", "mpicc", "mpicxx", "mpifort", "hearth")
    config = {name: str(folder / "bin" / name) for name in programs}
    config.update(prefix=str(folder), include=str(folder / "include"), lib=str(folder / "lib"))
    config["version"] = metadata.version(_DISTRIBUTION)
    return config


def _is_changed(path, record):
    try:
        contents = path.read_bytes()
    except OSError:
        return True
    if record.size is not None and record.size != len(contents):
        return True
    if record.hash is None:
        return False
    digest = hashlib.new(record.hash.mode, contents).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=") != record.hash.value


def _owner_of(path):
    """The other distribution that lists a file."""
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name == _DISTRIBUTION:
            continue
        for file in distribution.files or []:
            if file.name == path.name and Path(file.locate()).resolve() == path.resolve():
                return name
    return None


def overwritten():
    """Files of this wheel that another package has replaced: a list of (path, package's name or None)."""
    folder = prefix()
    recorded = _recorded_prefix()
    files = [(folder / _recorded_path(record).relative_to(recorded), record) for record in _records()]
    return [(str(path), _owner_of(path)) for path, record in files if _is_changed(path, record)]


def load_ipython_extension(shell):
    """`%load_ext hearth_mpi`: cells that begin with %%mpi run on several ranks (hearth_mpi.notebook)."""
    from hearth_mpi import notebook

    notebook.load(shell)


def unload_ipython_extension(shell):
    """`%unload_ext hearth_mpi`: ends the ranks."""
    from hearth_mpi import notebook

    notebook.unload(shell)
