#!/usr/bin/env python3
"""%%mpi of hearth_mpi in a Jupyter kernel, and ipyparallel's engines under Hearth's mpiexec.

Runs itself again in a virtual environment with the wheel of this build, whose other packages are those of
.cache/notebook (scripts/setup.sh notebook). Without that folder: exit code 77, which is skipped."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import environment as wheel_environment

PACKAGES = wheel_environment.ROOT / ".cache" / "notebook"
INSIDE = "NOTEBOOK_TEST_INSIDE"
CELL_S_MAX = 60


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class Notebook(unittest.TestCase):
    def setUp(self):
        from jupyter_client.manager import start_new_kernel

        self.manager, self.client = start_new_kernel(kernel_name="python3")
        self.addCleanup(self.end_kernel)
        self.run_cell("%load_ext hearth_mpi")

    def end_kernel(self):
        self.client.stop_channels()
        if self.manager.is_alive():
            self.manager.shutdown_kernel(now=True)

    def start(self, code):
        return self.client.execute(code)

    def finish(self, message):
        """(result's text or None, output, error's text or None) of a cell."""
        result, output, error = None, "", None
        end = time.monotonic() + CELL_S_MAX
        while time.monotonic() < end:
            reply = self.client.get_iopub_msg(timeout=CELL_S_MAX)
            if reply["parent_header"].get("msg_id") != message:
                continue
            content, kind = reply["content"], reply["msg_type"]
            if kind == "stream":
                output += content["text"]
            elif kind == "execute_result":
                result = content["data"]["text/plain"]
            elif kind == "error":
                error = "\n".join(content["traceback"])
            elif kind == "status" and content["execution_state"] == "idle":
                return result, output, error
        self.fail("the cell has not ended")

    def run_cell(self, code, fails=False):
        result, output, error = self.finish(self.start(code))
        self.assertEqual(error is not None, fails, f"{output}\n{error}")
        return error if fails else (result, output)

    def pids(self):
        return eval(self.run_cell("%%mpi\nimport os\nos.getpid()")[0])

    def assert_gone(self, pids, seconds=10):
        end = time.monotonic() + seconds
        while any(map(is_alive, pids)) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual([pid for pid in pids if is_alive(pid)], [])

    def test_ranks_keep_their_variables_and_objects_come_back(self):
        cell = "%%mpi -n 4\nfrom mpi4py import MPI\nw = MPI.COMM_WORLD\nx = w.rank * 10\n(w.rank, w.size)"
        self.assertEqual(self.run_cell(cell)[0], "[(0, 4), (1, 4), (2, 4), (3, 4)]")
        self.assertEqual(self.run_cell("%%mpi\nw.allreduce(x)")[0], "[60, 60, 60, 60]")
        self.assertEqual(self.run_cell("x = %mpi_get x\nsum(x)")[0], "60")
        self.run_cell("mpi_put(y={'a': [1, 2]})")
        self.assertEqual(self.run_cell("%%mpi\ny['a'][w.rank % 2]")[0], "[1, 2, 1, 2]")
        # Objects that cannot be pickled stay on their rank, and the result names them.
        self.assertIn("<on rank 1: <function f at", self.run_cell("%%mpi\ndef f(): pass\nf")[0])
        # Another number of ranks: new ones.
        result, output = self.run_cell("%%mpi -n 2\n'x' in globals()")
        self.assertEqual(result, "[False, False]")
        self.assertIn("ends the 4 ranks and their variables", output)

    def test_output_names_the_rank(self):
        _, output = self.run_cell("%%mpi -n 2\nimport os\nprint('from', os.environ['HEARTH_RANK'])")
        lines = [line for line in output.splitlines() if "(--oversubscribe silences this)" not in line]
        self.assertEqual(sorted(lines), ["[0] from 0", "[1] from 1"])
        # From code that is not Python.
        _, output = self.run_cell("%%mpi\nos.write(1, b'written\\n')\nimport time; time.sleep(0.5)")
        self.assertEqual(output.count("written"), 2)

    def test_exceptions_name_the_rank(self):
        self.run_cell("%%mpi -n 3\nimport os\nrank = int(os.environ['HEARTH_RANK'])")
        error = self.run_cell("%%mpi\nvalue = 1\nvalue // (rank - 1)", fails=True)
        self.assertIn("rank 1 failed; rank 1: ZeroDivisionError", error)
        self.assertIn("value // (rank - 1)", error)
        self.assertNotIn("notebook.py", error)
        # The other ranks and all variables are still there.
        self.assertEqual(self.run_cell("%%mpi\nvalue + rank")[0], "[1, 2, 3]")
        error = self.run_cell("%%mpi\nthis is no Python", fails=True)
        self.assertIn("ranks 0, 1, 2 failed; rank 0: SyntaxError", error)
        self.assertIn("no ranks yet", self.run_cell("%mpi_stop\n%mpi_get rank", fails=True))
        self.assertIn("needs a number of ranks", self.run_cell("%%mpi -n many\n1", fails=True))

    def test_an_interrupt_leaves_the_cell(self):
        before = self.pids()
        message = self.start("%%mpi\nn = 1\nwhile True: n += 1")
        time.sleep(1)
        self.manager.interrupt_kernel()
        self.assertIn("all ranks left the cell", self.finish(message)[2])
        self.assertEqual(self.run_cell("%%mpi\nn > 1")[0], "[True, True]")
        self.assertEqual(self.pids(), before)

    def test_an_interrupt_ends_ranks_in_a_blocking_call(self):
        pids = self.pids()
        self.run_cell("%%mpi\nfrom mpi4py import MPI")
        message = self.start("%%mpi\nMPI.COMM_WORLD.recv(source=1 - MPI.COMM_WORLD.rank)")
        time.sleep(1)
        self.manager.interrupt_kernel()
        error = self.finish(message)[2]
        self.assertIn("ranks 0, 1 did not leave the cell", error)
        self.assertIn("MPI_", error)  # the output of `hearth why`
        self.assert_gone(pids)
        self.assertEqual(self.run_cell("%%mpi\n1")[0], "[1, 1]")

    def test_a_dead_rank_is_told(self):
        pids = self.pids()
        cell = "%%mpi\nif os.environ['HEARTH_RANK'] == '1': os.kill(os.getpid(), 11)"
        error = self.run_cell(cell, fails=True)
        self.assertIn("rank 1", error)
        self.assertIn("the next cell starts new ranks", error)
        self.assert_gone(pids)
        self.assertEqual(self.run_cell("%%mpi\n2")[0], "[2, 2]")

    def test_nothing_is_left_when_the_kernel_dies(self):
        pids = self.pids()
        parent = Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[1]
        # One rank in a loop that does not release the interpreter, one that waits for a cell.
        self.start("%%mpi\nif os.environ['HEARTH_RANK'] == '1':\n    signal = sum(range(10**12))")
        time.sleep(1)
        kernel = self.manager.provisioner.pid
        os.kill(kernel, signal.SIGKILL)
        self.assert_gone([*pids, int(parent)])

    def test_stopping_ends_the_ranks(self):
        pids = self.pids()
        self.run_cell("%mpi_stop")
        self.assert_gone(pids, 1)
        pids = self.pids()
        self.run_cell("%unload_ext hearth_mpi")
        self.assert_gone(pids, 1)

    def test_ipyparallel(self):
        code = """
import ipyparallel as ipp
with ipp.Cluster(engines="mpi", n=2, log_level=30) as view:
    def total():
        from mpi4py import MPI
        return MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1)
    print(view[:].apply_sync(total))
"""
        self.assertIn("[3, 3]", self.run_cell(code)[1])


def main():
    if os.environ.get(INSIDE):
        unittest.main()
    if not (PACKAGES / "bin" / "python").exists():
        print("no .cache/notebook: scripts/setup.sh notebook installs Jupyter's kernel there")
        return 77
    with tempfile.TemporaryDirectory(prefix="hearth-notebook-") as name:
        folder = Path(name)
        _, wheel = wheel_environment.make_wheel(folder)
        inside = folder / "venv"
        wheel_environment.make_environment(inside, PACKAGES / "bin" / "python")
        wheel_environment.pip(inside, "install", wheel)
        packages = next(PACKAGES.glob("lib/python3*/site-packages"))
        next(inside.glob("lib/python3*/site-packages")).joinpath("packages.pth").write_text(f"{packages}\n")
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "HEARTH_"))}
        variables.update(
            {
                INSIDE: "1",
                "HEARTH_PROFILE": "none",
                "HOME": str(folder),
                "JUPYTER_PATH": str(PACKAGES / "share" / "jupyter"),
                "PATH": f"{inside / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            }
        )
        command = [inside / "bin" / "python", "-B", *sys.argv]
        return subprocess.run(command, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
