#!/usr/bin/env python3
"""The effect of an error on the job for each error handler: MPI 5.0 section 9.3."""

import os
import re
import sys
import unittest

from common import LaunchTest

PROGRAM = os.environ["HEARTH_ERROR_PROGRAM"]  # built from error_rank.c


class Handlers(LaunchTest):
    def ends(self, *arguments, options=()):
        """All ranks end, none continues past the error, and one message gives the reason."""
        result = self.run_mpiexec("-n", 2, "--oversubscribe", *options, PROGRAM, *arguments, code=None)
        self.assertEqual(len(re.findall("ended the job", result.stderr)), 1, result.stderr)
        return result

    def goes_on(self, *arguments, options=()):
        lines = self.lines("-n", 2, "--oversubscribe", *options, PROGRAM, *arguments)
        self.assertEqual(lines, ["went on"] * 2)

    def test_on_a_communicator(self):
        for handler in "abort", "fatal":
            result = self.ends("comm", handler)
            self.assertEqual(result.returncode, 6)  # the error class, MPI_ERR_RANK
            self.assertRegex(
                result.stderr,
                r"rank 1 ended the job with code 6: MPI_ERR_RANK: MPI_Send\(.*dest is 2, but the ranks",
            )
        self.goes_on("comm", "return")

    def test_without_an_object(self):
        for handler in "abort", "fatal":
            self.assertRegex(self.ends("self", handler).stderr, r"rank 1 ended the job .*MPI_Type_free\(")
        self.goes_on("self", "return")
        # MPI_COMM_SELF starts with the initial handler; a handler that the program sets takes precedence.
        self.ends("self")
        initial = "--initial-errhandler", "mpi_errors_return"
        self.goes_on("self", options=initial)
        self.assertRegex(self.ends("self", "fatal", options=initial).stderr, r"rank 1 .*MPI_Type_free\(")

    def test_without_an_object_or_MPI_COMM_SELF(self):
        """Without MPI_Init there is no MPI_COMM_SELF: the initial handler applies, regardless of the
        session's."""
        initial = "--initial-errhandler", "mpi_errors_return"
        for handler in "fatal", "return":
            self.assertRegex(self.ends("sessions-only", handler).stderr, r"ended the job .*MPI_Type_free\(")
            self.goes_on("sessions-only", handler, options=initial)

    def test_on_a_session(self):
        self.assertRegex(self.ends("session", "fatal").stderr, r"MPI_Group_from_session_pset\(.*NOWHERE")
        self.goes_on("session", "return")
        # Only the rank itself ends: it reports the error, and mpiexec reports its exit code.
        result = self.run_mpiexec("-n", 2, "--oversubscribe", PROGRAM, "session", "abort", code=None)
        self.assertRegex(result.stderr, r"(?m)^hearth: MPI_ERR_ARG: MPI_Group_from_session_pset\(.*NOWHERE")
        self.assertRegex(result.stderr, r"ended with exit code [1-9]")
        self.assertNotIn("ended the job", result.stderr)
        self.assertNotIn("went on", result.stdout)

    def test_initial_handler(self):
        for initial in (), ("-initial-errhandler", "mpi_errors_abort"):
            for when in "default", "after-finalize":
                self.ends(when, options=initial)
            result = self.run_mpiexec("-n", 1, *initial, PROGRAM, "before-init", code=None)
            self.assertRegex(result.stderr, r"hearth: MPI_ERR_OTHER: MPI_Comm_rank\(.*called before MPI_Init")
        for when in "default", "before-init", "after-finalize":
            self.goes_on(when, options=("--initial-errhandler", "mpi_errors_return"))

    def test_long_words_are_told_to_their_end(self):
        err = self.ends("truncation").stderr
        self.assertRegex(
            err,
            r"ended the job with code 15: MPI_ERR_TRUNCATE: MPI_Recv\(.*MPI_Probe for the length first\n",
        )

    def test_initial_handler_that_is_none(self):
        result = self.run_mpiexec("-initial-errhandler", "ignore", PROGRAM, code=None)
        self.assertIn("'ignore' is no handler", result.stderr)


class ForkedChild(LaunchTest):
    """A child that calls MPI ends or gets an error code; the job of its rank is unaffected."""

    def lines_of(self, handler):
        return self.lines("-n", 2, "--oversubscribe", PROGRAM, "fork", handler)

    def test_ends(self):
        for handler in "fatal", "abort", "user":
            self.assertEqual(self.lines_of(handler), ["child ended badly"] * 2)

    def test_gets_a_code(self):
        lines = self.lines_of("return")
        self.assertEqual(lines[0], "child ended well")
        self.assertEqual(len([line for line in lines if "made by fork after MPI_Init" in line]), 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
