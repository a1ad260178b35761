"""Ranks that a notebook keeps: `%load_ext hearth_mpi`, then cells that begin with `%%mpi -n 4`.

The notebook's process, which is no rank, starts the ranks by mpiexec; they connect to its local socket and
run each cell. Their variables stay until `%mpi_stop`. The ranks end with the notebook's process, however that
ends.
"""

import atexit
import os
import pickle
import secrets
import shlex
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection, wait

from hearth_mpi import prefix
from hearth_mpi.rank import KEY_VARIABLE

__all__ = ["RankError", "Ranks", "RemoteObject"]

START_S_MAX = 60.0
GREETING_S_MAX = 5.0  # from the acceptance of a connection to the end of its greeting
GREETING_BYTES_MAX = 200
INTERRUPT_S = 2.0  # for ranks to leave a cell; those in a blocking MPI call do not see the interrupt
STOP_S = 5.0
NOTE_S = 3.0  # from the first failed rank to the line that names the ranks that still run the cell


class RankError(RuntimeError):
    """A cell failed on some ranks, or the job ended. `failures`: {rank: (type's name, text, traceback)}."""

    def __init__(self, text, failures=None):
        super().__init__(text)
        self.failures = failures or {}

    def _render_traceback_(self):
        """For IPython: the ranks' tracebacks, without the notebook's own calls."""
        return f"RankError: {self}".splitlines()


class RemoteObject:
    """Placeholder for an object that could not be pickled, or whose class this process does not have."""

    def __init__(self, rank, text):
        self.rank = rank
        self.text = text

    def __repr__(self):
        return f"<on rank {self.rank}: {self.text}>"


def _words(ranks):
    ranks = sorted(ranks)
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def _unpacked(rank, contents, text):
    if contents is None:
        return RemoteObject(rank, text)
    try:
        return pickle.loads(contents)
    except Exception:
        return RemoteObject(rank, text)


def _write(name, text):
    stream = sys.stderr if name == "stderr" else sys.stdout
    stream.write(text)
    stream.flush()


class _Greeting:
    """The first message on an accepted connection, as far as it has arrived. The process at the other end may
    be no rank and may send anything, so reading neither blocks nor trusts the announced length."""

    def __init__(self, accepted):
        self._socket = accepted
        self._socket.setblocking(False)
        self._end = time.monotonic() + GREETING_S_MAX
        self._received = b""

    def fileno(self):
        return self._socket.fileno()

    def close(self):
        self._socket.close()

    def connection(self):
        """The connection, for the messages after the greeting."""
        self._socket.setblocking(True)
        return Connection(self._socket.detach())

    def read(self):
        """The words of the greeting, None until all of it has arrived. Raises ValueError or OSError if the
        connection must be closed: invalid length, early end, or a greeting that is too late."""
        # The format of multiprocessing.connection: the length, then the message. Nothing beyond it is read.
        while True:
            missing = 4 - len(self._received)
            if missing <= 0:
                length = struct.unpack_from("!i", self._received)[0]
                if not 0 <= length <= GREETING_BYTES_MAX:
                    raise ValueError(f"a greeting of {length} bytes")
                missing += length
            if missing == 0:
                return self._received[4:].split()
            try:
                received = self._socket.recv(missing)
            except BlockingIOError:
                if time.monotonic() > self._end:
                    raise ValueError("an incomplete greeting") from None
                return None
            if not received:
                raise ValueError("the connection ended")
            self._received += received


class _Job:
    """mpiexec, and the connections to its ranks."""

    def __init__(self, count, options):
        self.count = count
        self.connections = {}
        self._pids = {}
        self._lifelines = {}
        self._last_lines = []
        address = f"hearth-notebook-{os.getpid()}-{secrets.token_hex(8)}"
        key = secrets.token_hex(32)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind("\0" + address)
            listener.listen(2 * count)
            self._start(options, address, key)
            try:
                self._accept_ranks(listener, key)
            except BaseException:
                self.kill()
                raise

    def _start(self, options, address, key):
        command = [
            str(prefix() / "bin" / "mpiexec"),
            "-n",
            str(self.count),
            "--stdin",
            "none",
            *options,
            sys.executable,
            "-m",
            "hearth_mpi.rank",
            address,
        ]
        # A session of its own: Ctrl-C in a terminal reaches the ranks by interrupt() alone.
        self._process = subprocess.Popen(
            command,
            env={**os.environ, KEY_VARIABLE: key},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read_output, daemon=True)
        self._reader.start()

    def _read_output(self):
        """Shows the output of mpiexec and of code that is not Python."""
        for line in self._process.stdout:
            self._last_lines = [*self._last_lines[-20:], line]
            _write("stdout", line)

    def _accept_ranks(self, listener, key):
        listener.setblocking(False)
        end = time.monotonic() + START_S_MAX
        greetings = set()
        try:
            while len(self.connections) + len(self._lifelines) < 2 * self.count:
                if self._process.poll() is not None:
                    raise RankError(self.end_text("the ranks did not start"))
                if time.monotonic() > end:
                    raise RankError(
                        f"hearth_mpi: {len(self.connections)} of {self.count} ranks have connected after "
                        f"{START_S_MAX:.0f} s. Likely cause: an overloaded machine, or mpiexec's option "
                        "--host, which a notebook cannot use"
                    )
                if listener in wait([listener, *greetings], 0.1):
                    try:
                        greetings.add(_Greeting(listener.accept()[0]))
                    except BlockingIOError:
                        pass  # the peer has closed the connection
                greetings = {greeting for greeting in greetings if not self._greet(greeting, key)}
        finally:
            for greeting in greetings:
                greeting.close()

    def _greet(self, greeting, key):
        """Accepts a rank's connection; closes any other one before anything is unpickled. Returns whether
        either was done."""
        try:
            words = greeting.read()
        except (OSError, ValueError):
            greeting.close()
            return True
        if words is None:
            return False
        if len(words) != 4 or not secrets.compare_digest(words[0], key.encode()):
            greeting.close()
            return True
        rank = int(words[2])
        self._pids[rank] = int(words[3])
        (self.connections if words[1] == b"cells" else self._lifelines)[rank] = greeting.connection()
        return True

    def signal(self, ranks, number):
        for rank in ranks:
            try:
                os.kill(self._pids[rank], number)
            except ProcessLookupError:
                pass

    def reports(self):
        """The output of `hearth why` about the ranks' waits."""
        command = [str(prefix() / "bin" / "hearth"), "why", str(self._process.pid)]
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout
        except (OSError, subprocess.TimeoutExpired):
            return ""

    def end_text(self, what):
        """Waits for the end of a job whose ranks are gone, and returns a description of it."""
        try:
            code = self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.returncode
        self._reader.join(STOP_S)
        lines = "".join(self._last_lines).rstrip()
        return f"hearth_mpi: {what}: mpiexec ended with code {code}" + (f":\n{lines}" if lines else "")

    def stop(self):
        """Asks the ranks to exit normally; kills them after STOP_S."""
        for connection in self.connections.values():
            try:
                connection.send(("stop",))
            except OSError:
                pass
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            pass
        self.kill()

    def kill(self):
        if self._process.poll() is None:
            self._process.kill()  # its ranks end with it
            self._process.wait()
        for connection in [*self.connections.values(), *self._lifelines.values()]:
            connection.close()
        self._reader.join(STOP_S)


class Ranks:
    """`count` ranks that wait for cells; `options` are further words for mpiexec. For one thread at a time.

    run(), get() and put() raise RankError if ranks fail. If the job has ended, the next call starts a new
    one.
    """

    def __init__(self, count, options=()):
        if count < 1:
            raise ValueError(f"hearth_mpi: {count} ranks: at least 1 is needed")
        self.count = count
        self.options = list(options)
        self._cells = 0
        self._job = _Job(count, self.options)

    def run(self, code):
        """Runs Python code on all ranks. Returns the values of its last expression in the ranks' order."""
        self._cells += 1
        return self._ask("run", code, f"<mpi cell {self._cells}>")

    def get(self, name):
        """The values of a variable, in the ranks' order."""
        return self._ask("get", name)

    def put(self, **variables):
        """Sets variables on all ranks."""
        self._ask("put", pickle.dumps(variables))

    def stop(self):
        """Ends the ranks. The next cell starts new ones, without the variables."""
        job, self._job = self._job, None
        if job is not None:
            job.stop()

    def _ask(self, *request):
        if self._job is None:
            self._job = _Job(self.count, self.options)
        answers = {}
        try:
            for connection in self._job.connections.values():
                connection.send(request)
            self._collect(answers)
        except KeyboardInterrupt:
            self._interrupt(answers)
        except (EOFError, OSError):
            self._lose("a rank ended")
        failures = {rank: answer[1:] for rank, answer in answers.items() if answer[0] == "error"}
        if failures:
            self._raise(failures)
        return [_unpacked(rank, *answers[rank][1:]) for rank in range(self.count)]

    def _collect(self, answers, seconds=None):
        """Shows the ranks' output until all have answered, or until a timeout."""
        end = None if seconds is None else time.monotonic() + seconds
        note = None  # time at which the ranks that still run the cell are named
        while len(answers) < self.count:
            open_ones = {self._job.connections[r]: r for r in range(self.count) if r not in answers}
            if end is not None and time.monotonic() > end:
                return
            ready = wait(list(open_ones), 0.2)
            for connection in ready:
                rank = open_ones[connection]
                message = connection.recv()
                if message[0] == "output":
                    self._show(rank, *message[1:])
                    continue
                answers[rank] = message
                if message[0] == "error" and note is None and seconds is None:
                    note = time.monotonic() + NOTE_S
            if note is not None and time.monotonic() > note and len(answers) < self.count:
                note = float("inf")
                failed = [r for r, answer in answers.items() if answer[0] == "error"]
                running = [r for r in range(self.count) if r not in answers]
                _write(
                    "stderr",
                    f"hearth_mpi: {_words(failed)} failed, {_words(running)} still run the cell. "
                    "Likely cause: they wait for a message. Remedy: interrupt the cell\n",
                )

    def _show(self, rank, name, text):
        for line in text.splitlines(True):
            _write(name, f"[{rank}] {line}")

    def _interrupt(self, answers):
        """Interrupts the cell. Ranks in a blocking MPI call cannot leave it: then the job is ended."""
        self._job.signal([r for r in range(self.count) if r not in answers], signal.SIGINT)
        try:
            self._collect(answers, INTERRUPT_S)
        except (EOFError, OSError):
            self._lose("a rank ended at the interrupt")
        stuck = [r for r in range(self.count) if r not in answers]
        if stuck:
            waits = self._job.reports()
            job, self._job = self._job, None
            job.kill()
            raise RankError(
                f"hearth_mpi: interrupted; {_words(stuck)} did not leave the cell in {INTERRUPT_S:.0f} s, "
                "so all ranks were ended and their variables are lost. Likely cause: a blocking MPI "
                f"call. The next cell starts new ranks\n{waits}".rstrip()
            )
        other = {r: a[1:] for r, a in answers.items() if a[0] == "error" and a[1] != "KeyboardInterrupt"}
        if other:
            self._raise(other)
        raise KeyboardInterrupt("hearth_mpi: all ranks left the cell; their variables are kept")

    def _lose(self, what):
        job, self._job = self._job, None
        text = job.end_text(what)
        job.kill()
        raise RankError(
            f"{text}\nThe variables of the ranks are lost; the next cell starts new ranks"
        ) from None

    def _raise(self, failures):
        """One traceback for all ranks with the same failure."""
        alike = {}
        for rank, failure in sorted(failures.items()):
            alike.setdefault(failure, []).append(rank)
        parts = []
        for (_, _, trace), ranks in alike.items():
            parts.append(f"{_words(ranks)}:\n{trace.rstrip()}")
        first = min(failures)
        head = f"{_words(failures)} failed; rank {first}: {failures[first][0]}: {failures[first][1]}"
        raise RankError("\n".join([head, *parts]), failures) from None


class _Magics:
    """The commands of the extension, for one IPython shell."""

    def __init__(self):
        self.ranks = None

    def _prepare(self, words):
        """The ranks for a cell with these words after %%mpi."""
        options = shlex.split(words)
        count = None
        if options[:1] and options[0] in ("-n", "-np", "--np"):
            if len(options) < 2 or not options[1].isdigit() or options[1] == "0":
                raise ValueError(f"%%mpi {words}: {options[0]} needs a number of ranks, as in %%mpi -n 4")
            count, options = int(options[1]), options[2:]
        wanted = (count or (self.ranks.count if self.ranks else 2), options or None)
        if self.ranks is not None and (
            wanted[0] != self.ranks.count or wanted[1] not in (None, self.ranks.options)
        ):
            _write(
                "stderr",
                f"hearth_mpi: ends the {self.ranks.count} ranks and their variables: the cell asks for other "
                "ones\n",
            )
            self.stop()
        if self.ranks is None:
            self.ranks = Ranks(wanted[0], wanted[1] or [])
        return self.ranks

    def cell(self, line, cell):
        """%%mpi [-n N [options of mpiexec]]: runs the cell on N ranks (2, or as many as there are)."""
        values = self._prepare(line).run(cell)
        return None if all(value is None for value in values) else values

    def get(self, line):
        """%mpi_get NAME: the values of a variable, in the ranks' order."""
        return self._running("mpi_get").get(line.strip())

    def stop(self, _line=""):
        """%mpi_stop: ends the ranks."""
        ranks, self.ranks = self.ranks, None
        if ranks is not None:
            ranks.stop()

    def _running(self, command):
        if self.ranks is None:
            raise RankError(f"%{command}: there are no ranks yet. Remedy: a cell that begins with %%mpi -n 4")
        return self.ranks


def load(shell):
    """Adds %%mpi, %mpi_get and %mpi_stop to an IPython shell, and mpi_put(name=value, ...)."""
    magics = _Magics()
    shell.register_magic_function(magics.cell, "cell", "mpi")
    shell.register_magic_function(magics.get, "line", "mpi_get")
    shell.register_magic_function(magics.stop, "line", "mpi_stop")
    shell.push({"mpi_put": lambda **variables: magics._running("mpi_put").put(**variables)})
    shell.hearth_mpi = magics
    atexit.register(magics.stop)


def unload(shell):
    """Ends the ranks and removes the commands."""
    magics = shell.__dict__.pop("hearth_mpi", None)
    if magics is None:
        return
    magics.stop()
    atexit.unregister(magics.stop)
    for kind, name in (("cell", "mpi"), ("line", "mpi_get"), ("line", "mpi_stop")):
        shell.magics_manager.magics[kind].pop(name, None)
    shell.drop_by_id({"mpi_put": shell.user_ns.get("mpi_put")})
