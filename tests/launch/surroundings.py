"""Surroundings that lack a feature, simulated on this machine, and programs with a shared heap.

Each has the prefix that removes the feature, and the feature's name in `hearth info --explain`.

Mounts are made in a mount namespace that ends with the command, so they are invisible outside. A control
group is removed with all its processes. As a program, it runs all tests of a build in each of the
surroundings below: surroundings.py --build FOLDER [NAME...]. test_surroundings.py has more surroundings,
with a short job for each.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

# Tests of other libraries' launchers; they need the removed features.
LEFT_OUT = r"^launch\.foreign$"


def mounted(commands):
    """Prefix that runs shell commands in a new mount namespace before the program."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", commands + ' && exec "$@"', "sh"]


def refused(tests, calls):
    """Prefix under which the kernel refuses system calls, as "name,name=ERRNO"; `tests` is the folder of
    tests/multi."""
    return [str(Path(tests) / "refuse"), calls]


def limited(*limits):
    """Prefix with resource limits in the form of prlimit's options: "nofile=8"."""
    return ["prlimit", *(f"--{limit}" for limit in limits)]


class ControlGroup:
    """A new control group below this process's own, under version 1 or 2 of the interface, whichever has the
    `controller`. If that is not permitted, no group is created and `problem` has the reason."""

    def __init__(self, controller, name, settings):
        """`settings`: {file of version 1 or 2: text}; files of the other version are skipped."""
        self.folder = self.problem = None
        try:
            self._make(controller, name, settings)
        except OSError as error:
            self.remove()
            self.problem = f"needs a control group for {controller}: {error}"

    def _make(self, controller, name, settings):
        parent = self._own_group(controller)
        folder = parent / name
        folder.mkdir()
        self.folder = folder
        done = 0
        for file, text in settings.items():
            if (folder / file).exists():
                (folder / file).write_text(text)
                done += 1
        if done == 0:
            raise OSError(f"none of {', '.join(settings)} is in {folder}")

    @staticmethod
    def _own_group(controller):
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for mount in mounts:
                kind, options = mount[mount.index("-") + 1], mount[-1].split(",")
                here = Path(mount[4] + ("" if path == "/" else path))
                if kind == "cgroup" and controller in controllers.split(",") and controller in options:
                    return here
                if kind == "cgroup2" and not controllers and (here / "cgroup.controllers").exists():
                    if controller in (here / "cgroup.subtree_control").read_text().split():
                        return here
        raise OSError("this process is in no group that hands it on")

    def prefix(self):
        """Prefix that runs a command in the group."""
        return ["sh", "-c", f'echo $$ >{self.folder}/cgroup.procs && exec "$@"', "sh"]

    def remove(self):
        """Call after all its processes have ended; retries, because the kernel may notice that late."""
        for _ in range(100):
            try:
                if self.folder is not None:
                    self.folder.rmdir()
                return
            except OSError:
                time.sleep(0.02)


class Surrounding:
    def __init__(self, words, missing, prefix, parallel=None, left_out=None):
        self.words = words  # description
        self.missing = missing  # name in `hearth info --explain`; "": nothing is missing
        self.prefix = prefix  # prefix of a command, given the folder of tests/multi
        self.parallel = parallel  # tests at the same time; None: as many as processors
        self.left_out = [LEFT_OUT] + ([left_out] if left_out else [])


SURROUNDINGS = {
    "no-single-copy": Surrounding(
        "the kernel refuses to read another process's memory", "single copy",
        lambda tests: refused(tests, "process_vm_readv,process_vm_writev"), None,
        # Tests of single copy itself, or that wait for it.
        r"^contract_single_copy$|^chaos\.kills$|^multi\.pt2pt_([a-z]*_)?denied_later"),
    "small-dev-shm": Surrounding(
        "/dev/shm has room for 1 MiB", "room in /dev/shm",
        lambda _: mounted("mount -t tmpfs -o size=1m none /dev/shm"), None,
        # Its file is in /dev/shm.
        r"^multi\.io_calls_in_memory"),
    "no-sys": Surrounding(
        "/sys is empty", "/sys",
        lambda _: mounted('mount -t tmpfs -o ro none /sys && test -z "$(ls /sys)"'), None,
        # Which processors share a cache is unknown, so no message is read from the shared heap, and it stays
        # idle.
        r"^multi\.heap_idle"),
    "one-processor": Surrounding(
        "one processor", "a second processor",
        lambda _: ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))], 1,
        # Their simulated machine has two packages with one processor each; one of the two would be unusable.
        r"^multi\.objects_hardware"),
    "shared-heap": Surrounding(
        "mpiexec shares every program's heap", "",
        lambda _: ["env", "HEARTH_SHARE_HEAP=1"], None,
        # Tests of the bounded heap; and one that limits the memory, of which an unbounded heap has a reserve.
        r"^multi\.heap_(bounded|idle)|^multi\.rma_without_memory"),
    "private-heap": Surrounding(
        "mpiexec shares no heap", "",
        lambda _: ["env", "HEARTH_SHARE_HEAP=0"], None,
        r"^launch\.heap$|^multi\.heap_bounded"),
}


def possible(prefix):
    """Whether this machine permits the prefix: namespaces need a privilege."""
    try:
        return subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def run_all(build, names):
    failed = []
    for name in names:
        surrounding = SURROUNDINGS[name]
        prefix = surrounding.prefix(Path(build, "tests/multi"))
        print(f"\n{name}: {surrounding.words}", flush=True)
        if not possible(prefix):
            print("cannot be made here: namespaces and filters need a right that this user has not")
            failed.append(name)
            continue
        parallel = surrounding.parallel or len(os.sched_getaffinity(0))
        result = subprocess.run(
            [*prefix, "ctest", "--test-dir", build, "--parallel", str(parallel), "--output-on-failure",
             "--no-label-summary", "--label-exclude", "soak|more",
             "--exclude-regex", "|".join(surrounding.left_out)], check=False)
        if result.returncode != 0:
            failed.append(name)
    print(f"\n{len(names) - len(failed)} of {len(names)} surroundings passed" +
          (f"; not: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="folder of the build")
    parser.add_argument("names", nargs="*", help="of " + ", ".join(SURROUNDINGS) + "; default: all")
    options = parser.parse_args()
    unknown = set(options.names) - set(SURROUNDINGS)
    if unknown:
        parser.error("there is no " + " or ".join(sorted(unknown)))
    return run_all(options.build, options.names or list(SURROUNDINGS))


if __name__ == "__main__":
    sys.exit(main())
