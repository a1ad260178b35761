"""One rank of a notebook: runs the cells that hearth_mpi.notebook sends over a local socket.

mpiexec starts `python -m hearth_mpi.rank ADDRESS`. The process needs no package but this one; a cell that
uses MPI imports mpi4py itself."""

import ast
import fcntl
import io
import linecache
import os
import pickle
import signal
import socket
import sys
import threading
import traceback
import types
from multiprocessing.connection import Connection

KEY_VARIABLE = "NOTEBOOK_RANKS_KEY"  # mpiexec reports unknown names that begin with HEARTH


class Output(io.TextIOBase):
    """sys.stdout or sys.stderr of a rank: whole lines, as messages to the notebook."""

    def __init__(self, send, name):
        self._send = send
        self._name = name
        self._text = ""
        self._lock = threading.Lock()

    def writable(self):
        return True

    def write(self, text):
        with self._lock:
            lines, line_end, rest = (self._text + text).rpartition("\n")
            self._text = rest
        if line_end:
            self._send("output", self._name, lines + "\n")
        return len(text)

    def finish(self):
        """Sends a line without an end."""
        with self._lock:
            rest, self._text = self._text, ""
        if rest:
            self._send("output", self._name, rest + "\n")


def die_with(lifeline):
    """Makes Linux kill this process when the notebook's process ends, whatever the cell does: the socket
    carries no data, so its only event is its end, for which the requested signal is SIGKILL."""
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    try:
        os.read(lifeline, 1)
        os._exit(1)  # the socket was closed before the signal was requested
    except BlockingIOError:
        pass


def packed(value):
    """(pickle or None, repr): the notebook shows the repr if it cannot unpickle the object."""
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__} whose repr failed: {error}>"
    try:
        return pickle.dumps(value), text
    except Exception:
        return None, text


def run_cell(code, name, variables):
    """Executes the cell; the value of its last expression, or None."""
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), variables)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), variables)


def connect(address, greeting):
    """A connection to the notebook's abstract socket. The greeting is not pickled: the notebook unpickles
    only data of processes whose greeting it has checked."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    end.connect("\0" + address)
    connection = Connection(end.detach())
    connection.send_bytes(greeting.encode())
    return connection


class Rank:
    def __init__(self, address):
        key = os.environ.pop(KEY_VARIABLE)
        number = int(os.environ["HEARTH_RANK"])
        self._lifeline = connect(address, f"{key} lifeline {number} {os.getpid()}")
        die_with(self._lifeline.fileno())
        self._connection = connect(address, f"{key} cells {number} {os.getpid()}")
        self._lock = threading.Lock()
        self._outputs = [Output(self._send, name) for name in ("stdout", "stderr")]
        sys.stdout, sys.stderr = self._outputs
        # Classes that cells define belong to __main__, as in a program.
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self._variables = module.__dict__

    def _send(self, *message):
        with self._lock:
            self._connection.send(message)

    def _run(self, code, name):
        try:
            value = run_cell(code, name, self._variables)
        except SystemExit as end:
            raise RuntimeError(f"the cell called sys.exit({end.code!r}), which would end the rank") from end
        return packed(value)

    def _get(self, name):
        if name not in self._variables:
            raise NameError(f"name '{name}' is not defined")
        return packed(self._variables[name])

    def _put(self, contents):
        self._variables.update(pickle.loads(contents))
        return packed(None)

    def _do(self, kind, *arguments):
        """Executes a request and sends the answer. Interrupts have an effect only while a cell runs."""
        try:
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                answer = ("value", *{"run": self._run, "get": self._get, "put": self._put}[kind](*arguments))
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        except BaseException as error:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            shown = error.__traceback__
            while shown is not None and shown.tb_frame.f_code.co_filename == __file__:
                shown = shown.tb_next
            text = "".join(traceback.format_exception(type(error), error, shown))
            answer = ("error", type(error).__name__, str(error), text)
        for output in self._outputs:
            output.finish()
        self._send(*answer)

    def serve(self):
        """Handles requests until the notebook sends stop."""
        while True:
            message = self._connection.recv()
            if message[0] == "stop":
                return
            self._do(*message)


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    rank = Rank(sys.argv[1])
    try:
        rank.serve()
    except (EOFError, OSError):
        os._exit(1)


if __name__ == "__main__":
    main()
