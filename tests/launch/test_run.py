#!/usr/bin/env python3
"""mpiexec: starting programs, options of Open MPI and Hydra, environment, standard input, exit codes."""

import json
import os
import pty
import re
import resource
import socket
import subprocess
import sys
import time
import unittest

from common import LIMIT_S, MPIEXEC, LaunchTest, python, shell, wait_until

RANK = "$OMPI_COMM_WORLD_RANK"


class Start(LaunchTest):
    def test_number_of_ranks(self):
        for option in ("-n", "-np", "--np", "-c", "--n", "-ppn"):
            self.assertEqual(len(self.lines(option, 3, "--oversubscribe", "echo", "x")), 3, option)
        for option in ("-n3", "-np3", "--np=3", "-c3", "-N3"):
            self.assertEqual(len(self.lines(option, "--oversubscribe", "echo", "x")), 3, option)
        for option in ("-n3x", "-x3", "-3"):
            self.assertIn("unknown option", self.run_mpiexec(option, "true", code=2).stderr, option)
        self.assertEqual(self.lines("echo", "x"), ["x"])

    def test_several_programs(self):
        lines = self.lines(
            "-n",
            2,
            "--oversubscribe",
            *shell(f"echo a {RANK} $HEARTH_APP $OMPI_COMM_WORLD_SIZE"),
            ":",
            "-n",
            1,
            *shell(f"echo b {RANK} $HEARTH_APP $OMPI_COMM_WORLD_SIZE"),
        )
        self.assertEqual(lines, ["a 0 0 3", "a 1 0 3", "b 2 1 3"])

    def test_arguments_arrive_unchanged(self):
        words = ["", " a  b", "*", "-n", "--", "ü", "x=y"]
        out = self.run_mpiexec("-n", 1, *python("import sys", "print(sys.argv[1:])"), *words).stdout
        self.assertEqual(out.strip(), repr(words))

    def test_working_folder(self):
        (self.folder / "inner").mkdir()
        self.assertEqual(
            self.lines("-wdir", self.folder / "inner", *shell("pwd; echo $PWD")),
            [str(self.folder / "inner")] * 2,
        )
        self.script("inner/program", "#!/bin/sh\necho here\n")
        self.assertEqual(self.lines("--wd", "inner", "./program"), ["here"])
        self.assertEqual(self.lines("-wdir", "inner", "program"), ["here"])
        self.assertEqual(self.lines("-gwdir", "inner", "program", ":", "program"), ["here", "here"])
        out = self.run_mpiexec("-wdir", "nowhere", "true", code=1).stderr
        self.assertIn("cannot enter the folder 'nowhere': No such file", out)

    def test_program_in_the_working_folder_needs_no_slash(self):
        self.script("program", "#!/bin/sh\necho here\n")
        self.assertEqual(self.lines("program"), ["here"])

    def test_script_without_interpreter_line(self):
        self.script("plain", "echo from $0 $1\n")
        self.assertEqual(self.lines("./plain", "one"), ["from ./plain one"])

    def test_empty_program_name(self):
        self.assertIn("name is empty", self.run_mpiexec("-n", 2, "", code=2).stderr)

    def test_missing_program(self):
        out = self.run_mpiexec("-n", 1, "no-such-program", code=127).stderr
        self.assertRegex(
            out, r"^mpiexec: cannot start 'no-such-program': No such file \(searched PATH .*\)\n$"
        )
        out = self.run_mpiexec("-n", 1, "./no-such-program", code=127).stderr
        self.assertEqual(out, "mpiexec: cannot start './no-such-program': No such file\n")

    def test_nothing_starts_when_one_of_two_programs_is_missing(self):
        self.run_mpiexec("touch", "started", ":", "no-such-program", code=127)
        self.assertFalse((self.folder / "started").exists())

    def test_program_that_cannot_be_executed(self):
        self.script("data", "not a program\n", mode=0o644)
        self.assertIn("'./data': Permission denied", self.run_mpiexec("./data", code=126).stderr)
        self.assertIn("not an executable file", self.run_mpiexec("data", code=126).stderr)
        self.script("broken", "#!/no/such/interpreter\n")
        self.assertIn(
            "interpreter or loader that it names is not", self.run_mpiexec("./broken", code=127).stderr
        )
        self.run_mpiexec(str(self.folder), code=126)

    def test_only_segment_and_arena_are_inherited(self):
        lines = self.lines(
            "-n",
            1,
            *python(
                "import os",
                "for d in sorted(map(int, os.listdir('/proc/self/fd'))):",
                "  try: print(d, os.readlink('/proc/self/fd/%d' % d).split(':')[0])",
                "  except OSError: pass",
            ),
        )
        self.assertEqual(lines, ["0 /dev/null", "1 pipe", "2 pipe", "200 /memfd", "201 /memfd"])

    def test_descriptors_of_the_caller_pass_through(self):
        read_end, write_end = os.pipe()
        self.run_mpiexec("-n", 1, *shell(f"echo through >&{write_end}"), pass_fds=(write_end,))
        os.close(write_end)
        with os.fdopen(read_end) as pipe:
            self.assertEqual(pipe.read(), "through\n")

    def test_many_ranks(self):
        lines = self.lines("-n", 300, "--oversubscribe", *shell(f"echo {RANK}"))
        self.assertEqual(sorted(map(int, lines)), list(range(300)))

    def test_started_with_closed_descriptors(self):
        result = subprocess.run(
            ["sh", "-c", f"{MPIEXEC} -n 2 sh -c 'echo out; cat' <&- 2>&-"],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
            env=self.environment(),
        )
        self.assertEqual(result.stdout, "out\nout\n")

    def test_inside_a_rank(self):
        lines = self.lines(
            "-n",
            2,
            "--oversubscribe",
            *shell(f"{MPIEXEC} -n 2 --oversubscribe sh -c 'echo {RANK} $OMPI_COMM_WORLD_SIZE $HEARTH_RANK'"),
        )
        self.assertEqual(lines, ["0 2 0", "0 2 0", "1 2 1", "1 2 1"])


class Shortage(LaunchTest):
    """A job that cannot be started completely ends, and a remedy is named."""

    def test_of_descriptors(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

        out = self.run_mpiexec("-n", 40, "--oversubscribe", "sleep", 300, code=1, preexec_fn=limit).stderr
        self.assertEqual(
            out,
            "mpiexec: cannot make a pipe: Too many open files. "
            "Remedy: raise the limit on open files (ulimit -n)\n",
        )

    def test_soft_limit_on_descriptors_is_raised(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

        lines = self.lines("-n", 40, "--oversubscribe", *shell("ulimit -n"), preexec_fn=limit)
        self.assertEqual(lines, ["64"] * 40)


class Environment(LaunchTest):
    def test_rank_variables(self):
        names = [
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_LOCAL_RANK",
            "OMPI_COMM_WORLD_NODE_RANK",
            "PMI_RANK",
            "PMIX_RANK",
            "MPI_LOCALRANKID",
            "HEARTH_RANK",
        ]
        sizes = ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"]
        text = "echo " + " ".join("$" + name for name in names + sizes)
        self.assertEqual(
            self.lines("-n", 2, "--oversubscribe", *shell(text)),
            [" ".join(["0"] * 7 + ["2"] * 4), " ".join(["1"] * 7 + ["2"] * 4)],
        )

    def test_no_server_is_pretended(self):
        outer = {
            "PMI_FD": "7",
            "PMI_PORT": "x:1",
            "PMIX_NAMESPACE": "ns",
            "PMIX_SERVER_URI41": "tcp://127.0.0.1:1",
        }
        out = self.run_mpiexec("-n", 1, "env", env=outer).stdout
        for name in outer:
            self.assertNotIn(name + "=", out)

    def test_setting(self):
        text = "echo $A-$B-$C"
        self.assertEqual(self.lines("-x", "A=1", "-genv", "B", "2", "-env", "C=3", *shell(text)), ["1-2-3"])
        self.assertEqual(
            self.lines("-genv", "A", "all", "-env", "B", "one", *shell(text), ":", *shell(text)),
            ["all--", "all-one-"],
        )
        self.assertEqual(
            self.lines("-x", "A", "-genvlist", "B,C", *shell(text), env={"A": "x", "B": "y", "C": "z"}),
            ["x-y-z"],
        )

    def test_nothing_but_what_is_named(self):
        out = self.run_mpiexec(
            "-genvnone", "-x", "PATH", "-x", "HEARTH_TEST_MARK", "env", env={"SECRET": "1"}
        ).stdout
        self.assertNotIn("SECRET", out)
        self.assertIn("PATH=", out)
        self.assertIn("SECRET=1", self.run_mpiexec("-genvall", "env", env={"SECRET": "1"}).stdout)

    def test_program_is_searched_in_the_path_that_the_ranks_get(self):
        (self.folder / "tools").mkdir()
        self.script("tools/special", "#!/bin/sh\necho special\n")
        self.assertEqual(
            self.lines("-x", f"PATH={self.folder}/tools:{os.environ['PATH']}", "special"), ["special"]
        )


class Options(LaunchTest):
    def test_unknown_option(self):
        out = self.run_mpiexec("--bind-too", "core", "true", code=2).stderr
        self.assertEqual(
            out,
            "mpiexec: unknown option '--bind-too'; did you mean '--bind-to'? 'mpiexec --help' lists "
            "what there is\n",
        )
        self.assertIn("unknown option '-zzz'", self.run_mpiexec("-zzz", "true", code=2).stderr)

    def test_options_without_a_meaning_are_named_in_one_line(self):
        out = self.run_mpiexec(
            "--mca", "btl", "self,vader", "-launcher", "fork", "-iface", "lo", "true"
        ).stderr
        self.assertEqual(
            out,
            "mpiexec: note: without a meaning here, ignored: --mca btl self,vader, -launcher fork, "
            "-iface lo\n",
        )

    def test_quiet_about_what_needs_no_word(self):
        result = self.run_mpiexec(
            "--allow-run-as-root", "--oversubscribe", "-n", 5, "-bind-to", "none", "true"
        )
        self.assertEqual(result.stderr, "")

    def test_more_ranks_than_processors(self):
        count = len(os.sched_getaffinity(0)) + 1
        out = self.run_mpiexec("-n", count, *python("import os", "print(len(os.sched_getaffinity(0)))"))
        self.assertRegex(out.stderr, rf"^mpiexec: note: {count} ranks share \d+ processors? .*\n$")
        self.assertEqual(set(out.stdout.split()), {str(count - 1)})
        self.run_mpiexec("-n", count, "--nooversubscribe", "true", code=2)

    def test_wrong_values(self):
        for arguments in (
            ["-n", "0", "true"],
            ["-n", "two", "true"],
            ["-n"],
            ["-n", "2"],
            [],
            [":", "true"],
            ["true", ":"],
            ["--timeout", "soon", "true"],
            ["--bind-to", "chair", "true"],
            ["--map-by", "ppr:core", "true"],
            ["-hostfile", "nowhere", "true"],
        ):
            out = self.run_mpiexec(*arguments, code=2).stderr
            self.assertRegex(out, r"^mpiexec: .+\n$", arguments)
        self.run_mpiexec("true", env={"MPIEXEC_TIMEOUT": "x"}, code=2)

    def test_hosts(self):
        own = socket.gethostname()
        self.script("hosts", f"# ours\n{own} slots=2\n\nlocalhost\n", mode=0o644)
        self.assertEqual(len(self.lines("--oversubscribe", "-hostfile", "hosts", "echo", "x")), 2)
        for names in ("localhost", own, f"{own.split('.')[0]}:3", "127.0.0.1,localhost"):
            self.run_mpiexec("-n", 1, "--host", names, "true")

    def test_other_hosts_need_a_launcher_that_reaches_them(self):
        nothing = {"PATH": str(self.folder)}
        out = self.run_mpiexec("-H", "localhost,elsewhere", "true", code=2, env=nothing).stderr
        self.assertIn("'elsewhere' is not this machine", out)
        self.assertIn("install PRRTE, MPICH's Hydra (Debian and PyPI: mpich) or Slurm's srun", out)

    def test_a_job_for_other_hosts_is_handed_over(self):
        self.script("prterun", "#!/bin/sh\necho prterun \"$@\"\nexit 7\n")
        result = self.run_mpiexec(
            "-H", "here,there", "-x", "A=b c", "-n", 2, "--genvnone", "p", code=7,
            env={"PATH": f"{self.folder}:{os.environ['PATH']}"},
        )
        told = re.sub(r" -x HEARTH_\w+", "", result.stdout)  # variables that the test itself was started with
        self.assertEqual(told, "prterun --allow-run-as-root --host here,there -n 2 -x A=b c p\n")
        self.assertEqual(
            result.stderr,
            f"mpiexec: 'here' is not this machine: PRRTE starts the job ({self.folder}/prterun); it is not "
            "told --genvnone\n",
        )

    def test_help_and_version(self):
        out = self.run_mpiexec("--help").stdout
        self.assertEqual(out.count("--disable-auto-cleanup"), 1)
        for option in ("--bind-to", "--timeout", "--tag-output", "--genv", "-x"):
            self.assertIn(option, out)
        self.assertRegex(self.run_mpiexec("--version").stdout, r"^mpiexec \(Hearth MPI\) \d+\.\d+\.\d+\n$")


class Binding(LaunchTest):
    SHOW = python("import os", "print(os.environ['PMI_RANK'], *sorted(os.sched_getaffinity(0)))")

    def affinity(self, *arguments, **options):
        return {
            int(line.split()[0]): [int(word) for word in line.split()[1:]]
            for line in self.lines(*arguments, *self.SHOW, **options)
        }

    def test_default_spreads_evenly_over_what_was_given(self):
        mine = sorted(os.sched_getaffinity(0))
        seats = self.affinity("-n", 2, "--oversubscribe")
        if len(mine) >= 2 and seats[0] != mine:  # two ranks on at least two cores
            self.assertEqual(sorted(seats[0] + seats[1]), mine)
            self.assertFalse(set(seats[0]) & set(seats[1]))

    def test_starts_from_the_mask_that_it_was_given(self):
        one = {min(os.sched_getaffinity(0))}
        out = self.run_mpiexec("-n", 2, *self.SHOW, preexec_fn=lambda: os.sched_setaffinity(0, one))
        self.assertIn("2 ranks share 1 processor ", out.stderr)
        self.assertEqual(set(out.stdout.splitlines()), {f"{rank} {min(one)}" for rank in (0, 1)})

    def test_none(self):
        mine = sorted(os.sched_getaffinity(0))
        self.assertEqual(self.affinity("-n", 2, "--oversubscribe", "--bind-to", "none"), {0: mine, 1: mine})

    def test_hwthread(self):
        mine = sorted(os.sched_getaffinity(0))
        seats = self.affinity("-n", len(mine), "--bind-to", "hwthread", "--map-by", "hwthread")
        self.assertEqual(sorted(seat for (seat,) in seats.values()), mine)

    def test_report(self):
        out = self.run_mpiexec(
            "-n", 2, "--oversubscribe", "--report-bindings", "--bind-to", "core", "true"
        ).stderr
        self.assertRegex(
            out,
            r"mpiexec: rank 0 \(true\) (not )?bound.* processors? \d.*\n"
            r"mpiexec: rank 1 \(true\) (not )?bound.* processors? \d.*\n",
        )
        self.assertIn("+--", out)

    def test_another_machine_is_drawn(self):
        machine = {"HWLOC_SYNTHETIC": "pack:2 [numa(memory=1073741824)] l3:2 core:2 pu:1"}
        result = self.run_mpiexec(
            "-n", 4, "--map-by", "spread", "--do-not-launch", "--report-bindings", "false", env=machine
        )
        self.assertEqual(result.stdout, "")
        self.assertIn(
            "+- package 1 ----------+\n"
            "| memory node 1, 1 GiB |\n"
            "|   l3 2  [1][1]       |\n"
            "|   l3 3  [3][3]       |\n"
            "+----------------------+\n",
            result.stderr,
        )

    def test_only_some_processors(self):
        one = min(os.sched_getaffinity(0))
        for more in ([], ["--bind-to", "core"], ["--bind-to", "none"]):
            seats = self.affinity("-n", 2, "--oversubscribe", "--cpu-set", one, *more)
            self.assertEqual(seats, {0: [one], 1: [one]})
        for option in (["--cpu-set", "77777"], ["--bind-to", "user:77777"]):
            out = self.run_mpiexec("-n", 2, *option, "true", code=2).stderr
            self.assertRegex(out, r"processor 77777 is not one that this job may use; these are [\d,-]+\n")

    def test_placed_by_a_matrix(self):
        rows = [[9 * (abs(one - other) == 2) for other in range(4)] for one in range(4)]
        matrix = self.folder / "matrix.json"
        matrix.write_text(json.dumps({"ranks": 4, "bytes": rows}))
        machine = {"HWLOC_SYNTHETIC": "pack:2 [numa] core:2 pu:1"}
        out = self.run_mpiexec(
            "-n", 4, "--place-by", matrix, "--do-not-launch", "--report-bindings", "x", env=machine
        ).stderr
        self.assertRegex(out, r"--place-by: bytes by distance: \d+ in the default order, \d+ in this one")
        self.assertRegex(out, r"\[0\]\[2\]|\[2\]\[0\]")
        self.assertRegex(out, r"\[1\]\[3\]|\[3\]\[1\]")
        out = self.run_mpiexec("-n", 3, "--place-by", matrix, "true", code=2).stderr
        self.assertIn("is about 4 ranks, this job has 3", out)
        out = self.run_mpiexec("-n", 2, "--place-by", "nowhere.json", "true", code=2).stderr
        self.assertIn("cannot read 'nowhere.json'", out)

    def test_every_level_is_accepted(self):
        for level in (
            "core",
            "hwthread",
            "l2",
            "l3cache",
            "numa",
            "socket",
            "package",
            "core:2",
            "core:overload-allowed",
            "rr",
            "board",
        ):
            self.run_mpiexec("-n", 2, "--oversubscribe", "--bind-to", level, "true")
        for level in (
            "core",
            "slot",
            "hwthread",
            "numa",
            "socket",
            "ppr:2:socket",
            "socket:PE=1",
            ":oversubscribe",
            "spread",
            "node:SPAN",
        ):
            self.run_mpiexec("-n", 2, "--oversubscribe", "--map-by", level, "true")


class StandardInput(LaunchTest):
    def test_goes_to_rank_0_alone(self):
        lines = self.lines("-n", 3, "--oversubscribe", *shell(f"echo {RANK} $(cat)"), input="a b\nc\n")
        self.assertEqual(lines, ["0 a b c", "1", "2"])

    def test_goes_to_another_rank_by_option(self):
        self.assertEqual(
            self.lines("-n", 2, "-s", "1", *shell(f"echo {RANK} $(cat)"), input="x"), ["0", "1 x"]
        )
        self.assertEqual(
            self.lines("-n", 1, "--stdin", "none", *shell(f"echo {RANK} $(cat)"), input="x"), ["0"]
        )


    def test_input_for_a_rank_that_is_not_there(self):
        err = self.run_mpiexec("--stdin", 7, "-n", 2, "--oversubscribe", "true", code=2).stderr
        self.assertEqual(err, "mpiexec: --stdin 7: the ranks of this job are 0 to 1\n")
    def test_large(self):
        size = 5_000_000
        self.assertEqual(self.lines("-n", 1, *shell("wc -c"), input="x" * size), [str(size)])

    def test_is_left_to_the_caller_when_the_rank_does_not_read(self):
        result = subprocess.run(
            ["sh", "-c", f"while read -r line; do {MPIEXEC} -n 1 echo got $line; done"],
            input="1\n2\n3\n",
            text=True,
            capture_output=True,
            timeout=LIMIT_S,
            check=True,
            env=self.environment(),
        )
        self.assertEqual(result.stdout, "got 1\ngot 2\ngot 3\n")

    def test_terminal(self):
        """A terminal is forwarded, a prompt without a newline is shown, and ^D ends the input."""
        pid, terminal = pty.fork()
        if pid == 0:
            question = (
                "import sys",
                "print('name? ', end='', flush=True)",
                "name = sys.stdin.readline().strip()",
                "print('hello', name, 'rest', repr(sys.stdin.read()), flush=True)",
            )
            os.execve(MPIEXEC, [MPIEXEC, "-n", "1", *python(*question)], self.environment())
        text = b""
        os.set_blocking(terminal, False)

        def read():
            nonlocal text
            try:
                text += os.read(terminal, 4096)
            except BlockingIOError:
                pass
            except OSError:
                return True  # the other side is closed
            return False

        def shows(words):
            read()
            return words in text

        self.assertTrue(wait_until(lambda: shows(b"name? ")), text)
        os.write(terminal, b"ann\n\x04")
        wait_until(read)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertIn(b"hello ann rest ''", text)
        os.close(terminal)


class ExitCode(LaunchTest):
    def test_success(self):
        self.assertEqual(self.run_mpiexec("-n", 4, "--oversubscribe", "true").stderr, "")

    def test_of_the_first_that_failed(self):
        out = self.run_mpiexec(
            "-n", 3, "--oversubscribe", *shell(f"if [ {RANK} = 2 ]; then exit 42; fi; sleep 30"), code=42
        ).stderr
        self.assertRegex(
            out,
            r"^mpiexec: rank 2 \(sh, process \d+\) ended with exit code 42\n"
            r"mpiexec: ending 2 other ranks\n$",
        )

    def test_of_a_signal(self):
        out = self.run_mpiexec(
            "-n",
            2,
            "--oversubscribe",
            *shell(f"if [ {RANK} = 0 ]; then kill -SEGV $$; fi; sleep 30"),
            code=139,
        ).stderr
        self.assertRegex(
            out, r"^mpiexec: rank 0 \(sh, process \d+\) was killed by SIGSEGV: it touched memory"
        )

    def test_timeout(self):
        for arguments, env in ((["--timeout", "0.3"], {}), ([], {"MPIEXEC_TIMEOUT": "0.3"})):
            start = time.monotonic()
            out = self.run_mpiexec(
                "-n", 2, "--oversubscribe", *arguments, "sleep", "60", env=env, code=124
            ).stderr
            self.assertEqual(out, "mpiexec: the time limit of 0.3 s is over\nmpiexec: ending 2 ranks\n")
            self.assertLess(time.monotonic() - start, 30)
        self.run_mpiexec("--timeout", "60", "true")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
