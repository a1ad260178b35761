#!/usr/bin/env python3
"""Profile, trace, top and why on programs from other projects.

    tools_on_programs.py --bin DIR --mpicc WRAPPER --hpcc DIR --netpipe DIR --python PYTHON --suite DIR

Each program runs once on two ranks under --profile and --trace while `hearth top` and `hearth why` watch
it. In the middle one rank is stopped for a moment, which they have to report. The profile and trace are
compared with the known behaviour of the programs. Without HPCC's or NetPIPE's archive the exit code is 77:
skipped.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import hpcc

SKIPPED = 77
LIMIT_S = 100


class Failed(Exception):
    pass


def expect(condition, words):
    if not condition:
        raise Failed(words)


def look(options, *words):
    result = subprocess.run([options.bin / "hearth", *map(str, words)], text=True, capture_output=True,
                            timeout=LIMIT_S, check=False)
    expect(result.returncode == 0, f"hearth {' '.join(map(str, words))}: {result.stderr}")
    return result.stdout


def ranks_of(options, job):
    """Top's output for both ranks once both are in MPI; None if the job ended before."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end and job.poll() is None:
        result = subprocess.run([options.bin / "hearth", "top", str(job.pid), "--once", "--json"], text=True,
                                capture_output=True, timeout=LIMIT_S, check=False)
        if result.returncode == 0:
            ranks = json.loads(result.stdout)["ranks"]
            if all(rank["state"] not in ("outside", "ended", "finalized") for rank in ranks):
                return ranks
    return None


def watch(options, job, name):
    """Watches the running job and stops one of its ranks for a moment."""
    ranks = ranks_of(options, job)
    expect(ranks is not None, f"{name} was over before top saw both ranks in MPI")
    expect(look(options, "top", job.pid, "--once").count("\n") == 4, f"{name}: top shows two ranks")
    stopped = ranks[1]["pid"]
    os.kill(stopped, signal.SIGSTOP)
    try:
        time.sleep(1.5)
        seen = ranks_of(options, job)
        expect(seen is not None and seen[1]["state"] == "stopped", f"{name}: top sees no stopped rank")
        said = look(options, "why", job.pid)
        expect("rank 1 " in said and "stopped" in said, f"{name}: why names no stopped rank:\n{said}")
        expect(not said.startswith("deadlock"), f"{name}: a stopped rank is no deadlock:\n{said}")
    finally:
        os.kill(stopped, signal.SIGCONT)
    return said


def run(options, name, command, folder, environment=None, place=None):
    """Runs a program; returns its profile and trace."""
    files = {kind: folder / f"{name}.{kind}" for kind in ("html", "json", "trace.json")}
    launch = [options.bin / "mpiexec", "-n", "2", "--oversubscribe", "--profile", files["html"],
              "--profile", files["json"], "--trace", files["trace.json"], *command]
    with open(folder / f"{name}.out", "w+", encoding="latin-1") as output:
        with subprocess.Popen(launch, cwd=place or folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=output, stderr=subprocess.STDOUT) as job:
            try:
                said = watch(options, job, name)
                code = job.wait(timeout=LIMIT_S)
            finally:
                job.terminate()
        output.seek(0)
        expect(code == 0, f"{name} ended with {code}:\n{output.read()[-3000:]}")
    page = files["html"].read_text(encoding="utf-8")
    expect(page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>"), f"{name}: half a page")
    expect("http" not in page, f"{name}: the page fetches something")
    profile = json.loads(files["json"].read_text(encoding="utf-8"))
    trace = json.loads(files["trace.json"].read_text(encoding="utf-8"))
    events = trace["traceEvents"]
    flows = {kind: {event["id"] for event in events if event["ph"] == kind} for kind in "sf"}
    traced = {event.get("pid") for event in events if event["ph"] == "X"}
    expect(traced == {0, 1}, f"{name}: not both ranks are traced, but {traced}")
    expect(flows["s"] & flows["f"], f"{name}: no message is drawn from its send to its receive")
    print(f"{name}: {profile['verdict']} {profile['messages']} messages, {len(events)} events; why: "
          f"{said.splitlines()[0]}", flush=True)
    return profile


def calls(profile):
    return {call["call"]: call["calls"] for call in profile["calls"]}


def netpipe(options, folder):
    with tarfile.open(next(options.netpipe.glob("netpipe_*.orig.tar.*"))) as archive:
        archive.extractall(folder)
    source = next(folder.glob("NetPIPE*"))
    subprocess.run(["make", "mpi", f"MPICC={options.mpicc}", "CFLAGS=-O2 -w"], cwd=source, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    profile = run(options, "netpipe", [source / "NPmpi", "-n", "2000", "-u", "65536"], folder)
    sent = calls(profile)
    expect(sent.get("MPI_Send", 0) > 1000 and sent.get("MPI_Recv", 0) > 1000, f"NetPIPE sends: {sent}")
    # The rank was stopped for 1.5 s, and the other rank waited for it.
    waited = [sum(wait["seconds"] for wait in rank["waits"].values()) for rank in profile["ranks"]]
    expect(max(waited) > 1, f"NetPIPE's profile does not know of the wait for the stopped rank: {waited}")
    ways = {way["protocol"] for way in profile["protocols"] if way["messages"] > 0}
    expect({"inline", "eager", "bounce buffers"} <= ways, f"NetPIPE's messages of all lengths went by {ways}")


def run_hpcc(options, folder):
    program = hpcc.build(options.hpcc, options.mpicc, folder)
    text = hpcc.INPUT.format(order=1600, block=32, rows=1, columns=2, transposed=900)
    (folder / "hpccinf.txt").write_text(text, encoding="ascii")
    profile = run(options, "hpcc", [program], folder)
    complaints = hpcc.verdicts((folder / "hpccoutf.txt").read_text(errors="replace"), 2)
    expect(not complaints, f"HPCC under the tools: {complaints}")
    made = calls(profile)
    expect(made.get("MPI_Iprobe", 0) > 0 and made.get("MPI_Alltoall", 0) > 0, f"HPCC calls: {made}")


def run_mpi4py(options, folder):
    """mpi4py's own tests of messages."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(options.bin.parent / "lib")}
    tests = r"^(test_p2p_obj|test_p2p_buf|test_cco_buf)\.py$"
    command = [options.python, "-B", "test/main.py", "-i", tests]
    profile = run(options, "mpi4py", command, folder, environment, options.suite)
    made = calls(profile)
    expect(made.get("MPI_Isend_c", made.get("MPI_Isend", 0)) > 0, f"mpi4py calls: {made}")


def main():
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    for name in ("bin", "hpcc", "netpipe", "suite"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("mpicc", "python"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    archives = [list(options.hpcc.glob("hpcc_*.orig.tar.*")),
                list(options.netpipe.glob("netpipe_*.orig.tar.*"))]
    if not all(archives):
        print("skipped: no source archive of HPCC or NetPIPE (scripts/setup.sh hpcc and netpipe)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as place:
        try:
            for program in (netpipe, run_hpcc, run_mpi4py):
                folder = Path(place) / program.__name__
                folder.mkdir()
                program(options, folder)
        except Failed as problem:
            print(problem)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
