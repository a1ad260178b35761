#!/usr/bin/env python3
"""Files of MPI in file systems and under limits that refuse them: full, read-only, limited, without mappings,
special files. Each error has its class and its sentence, no job is ended by a signal, and data of more than 2
GiB, and beyond 4 GiB, are right. files.c is the program."""

import errno
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from common import LIMIT_S, MPIEXEC, LaunchTest
from surroundings import limited, mounted, possible, refused

PROGRAM = os.environ["HEARTH_FILES_PROGRAM"]
RANDOM = os.environ["HEARTH_RANDOM_PROGRAM"]  # the property test of tests/multi/io
SKIPPED = 77  # CTest's code for a skipped test
WRITES = ("write_long", "write_strided", "write_mapped", "write_hole", "write_together", "write_later",
          "write_shared", "write_ordered")


def words(error):
    return re.escape(os.strerror(error))


class Files(LaunchTest):
    def job(self, *operations, ranks=2, prefix=(), each=(), chaos=None, path="data"):
        """The lines of operations on one file or, as (operation, path), on several. `prefix`: of mpiexec;
        `each`: of each rank's program."""
        pairs = [pair if isinstance(pair, tuple) else (pair, path) for pair in operations]
        pairs = [(operation, self.folder / name) for operation, name in pairs]
        faults = ("--chaos", chaos) if chaos else ()
        command = [*prefix, MPIEXEC, "-n", ranks, "--oversubscribe", "--timeout", LIMIT_S // 2, *faults,
                   *each, PROGRAM,
                   *(word for pair in pairs for word in pair)]
        result = subprocess.run([str(word) for word in command], cwd=self.folder, text=True, check=False,
                                capture_output=True, timeout=LIMIT_S, env=self.environment())
        self.assertNotRegex(result.stderr, "SIGBUS|SIGSEGV|SIGXFSZ")
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        return result.stdout.splitlines()

    def fail(self, operation, error_class, sentence, **options):
        """The operation fails on all ranks; returns how many bytes rank 0 had moved."""
        if isinstance(operation, str):
            return self._fail(operation, error_class, sentence, operation, options)
        return self._fail(operation, error_class, sentence, operation[0], options)

    def _fail(self, operation, error_class, sentence, name, options):
        lines = [line for line in self.job(operation, **options) if line.startswith(name + ": ")]
        self.assertEqual(len(lines), 1, lines)
        match = re.fullmatch(rf"{name}: (\w+): (\d+): (.*)", lines[0])
        self.assertTrue(match, lines[0])
        self.assertEqual(match[1], error_class, lines[0])
        self.assertRegex(match[3], sentence)
        return int(match[2])

    def succeed(self, *operations, **options):
        lines = self.job(*operations, **options)
        for operation in operations:
            name = operation if isinstance(operation, str) else operation[0]
            self.assertIn(f"{name}: success", lines)
        return lines

    def mount(self, commands):
        prefix = mounted(commands.format(folder=self.folder))
        if not possible(prefix):
            self.skipTest("mounts need a right that this user has not")
        return prefix


class Limits(Files):
    def test_full_file_system(self):
        full = self.mount("mount -t tmpfs -o size=1m none {folder}")
        sentence = words(errno.ENOSPC) + "; Remedy: free space on the file system"
        for operation in (*WRITES, "preallocate"):
            with self.subTest(operation=operation):
                moved = self.fail(operation, "MPI_ERR_NO_SPACE", sentence, prefix=full)
                self.assertLess(moved, 2 << 20)
                self.job("delete")

    def test_limit_on_the_length_of_files(self):
        # Without the library's care SIGXFSZ ends the process.
        limit = limited(f"fsize={1 << 20}")
        sentence = words(errno.EFBIG) + "; a limit on the length of files is too low. Remedy: ulimit -f"
        for operation in (*WRITES, "preallocate", "set_size"):
            if operation == "write_hole":
                continue  # its set_size fails, which is another operation here
            with self.subTest(operation=operation):
                self.fail(operation, "MPI_ERR_NO_SPACE", sentence, each=limit)
        # The part that fits is written, and the status has its length.
        self.assertEqual(self.fail("write_long", "MPI_ERR_NO_SPACE", sentence, each=limit, ranks=1), 1 << 20)

    def test_quota_and_failing_device(self):
        for operation in ("write_long", "write_later", "write_shared", "write_ordered", "write_together"):
            self.fail(operation, "MPI_ERR_QUOTA", words(errno.EDQUOT) + "; Remedy: delete files, or ask for",
                      chaos="fail=file_quota:1")
            self.fail(operation, "MPI_ERR_IO", words(errno.EIO) + "; the device failed",
                      chaos="fail=file_write:1")
        # A mapping reports no reason: the write call that replaces the stores does.
        self.fail("write_mapped", "MPI_ERR_QUOTA", words(errno.EDQUOT), chaos="fail=file_quota:1", ranks=1,
                  prefix=self.mount("mount -t ramfs none {folder}"))
        self.fail("read", "MPI_ERR_IO", "the device failed", chaos="fail=file_read:1", path=PROGRAM)
        self.fail("sync", "MPI_ERR_IO", "the device failed", chaos="fail=file_flush:1,rank=0")
        self.fail("preallocate", "MPI_ERR_NO_SPACE", "free space", chaos="fail=file_space:1,rank=0")

    def test_read_only_file_system(self):
        (self.folder / "data").write_text("0123456789")
        prefix = self.mount("mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}")
        sentence = words(errno.EROFS) + "; the file system is mounted read-only"
        for operation in ("open_both", "open_write", ("open_create", "new"), ("open_new", "new"), "delete"):
            self.fail(operation, "MPI_ERR_READ_ONLY", sentence, prefix=prefix)
        self.succeed("read", prefix=prefix)

    def test_permissions(self):
        (self.folder / "data").write_text("0123456789")
        (self.folder / "data").chmod(0)
        self.folder.chmod(0o755)
        user = []
        if os.geteuid() == 0:  # permissions do not apply to root
            user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
            if not possible([*user, "test", "-x", PROGRAM]):
                self.skipTest("the program is in a folder of this user")
        self.fail("open_read", "MPI_ERR_ACCESS",
                  words(errno.EACCES) + "; Remedy: check owner and permissions", prefix=user)


class Names(Files):
    def test_names(self):
        (self.folder / "data").write_text("0123456789")
        (self.folder / "loop").symlink_to("loop")
        for operation, path, error_class, error, sentence in (
            ("open_read", "none", "NO_SUCH_FILE", errno.ENOENT, "Remedy: check the path and its folders"),
            ("open_create", "no/folder", "NO_SUCH_FILE", errno.ENOENT, "Remedy: check the path"),
            ("open_read", "data/file", "NO_SUCH_FILE", errno.ENOTDIR, "a part of the path is a file"),
            ("open_new", "data", "FILE_EXISTS", errno.EEXIST, "MPI_MODE_EXCL asks for a new file"),
            ("open_read", ".", "BAD_FILE", errno.EISDIR, "it is a folder"),
            ("open_both", ".", "BAD_FILE", errno.EISDIR, "it is a folder"),
            ("open_create", "..", "BAD_FILE", errno.EISDIR, "it is a folder"),
            ("open_read", "n" * 300, "BAD_FILE", errno.ENAMETOOLONG, "Remedy: a shorter name"),
            ("open_read", "loop", "BAD_FILE", errno.ELOOP, "its symbolic links form a loop"),
            ("delete", "none", "NO_SUCH_FILE", errno.ENOENT, "Remedy: check the path"),
            ("delete", ".", "BAD_FILE", errno.EISDIR, "it is a folder"),
        ):
            with self.subTest(operation=operation, path=path[:20]):
                self.fail(operation, f"MPI_ERR_{error_class}", words(error) + "; " + sentence, path=path)

    def test_a_program_that_runs(self):
        copy = self.folder / "sleep"
        shutil.copy(shutil.which("sleep"), copy)
        with subprocess.Popen([copy, "60"]) as running:
            try:
                self.fail("open_write", "MPI_ERR_FILE_IN_USE",
                          words(errno.ETXTBSY) + "; it is a program that runs", path="sleep")
            finally:
                running.kill()


class SpecialFiles(Files):
    def test_null_and_standard_output(self):
        self.succeed(("write_in_sequence", "/dev/null"), ranks=3)
        lines = self.succeed(("write_in_sequence", "/dev/stdout"), ranks=3)
        self.assertEqual(sorted(line for line in lines if line.startswith("rank")),
                         [f"rank {rank} writes" for rank in range(3)])

    def test_full_device(self):
        self.fail(("write_in_sequence", "/dev/full"), "MPI_ERR_NO_SPACE", "Remedy: free space")

    def test_pipe(self):
        os.mkfifo(self.folder / "pipe")
        reader = os.open(self.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        try:
            self.succeed("write_in_sequence", path="pipe", ranks=2)
            self.assertEqual(sorted(os.read(reader, 1000).decode().splitlines()),
                             ["rank 0 writes", "rank 1 writes"])
            self.fail("view_with_holes", "MPI_ERR_TYPE", "has no positions", path="pipe")
            self.fail("set_size", "MPI_ERR_BAD_FILE", words(errno.EINVAL), path="pipe")
        finally:
            os.close(reader)


class LongFiles(Files):
    def test_offsets_beyond_4_gib(self):
        self.succeed("move_far", ranks=2)
        in_memory = f"/dev/shm/file_test_far.{os.getpid()}"
        self.addCleanup(os.unlink, in_memory)
        self.succeed("move_far", ranks=2, path=in_memory)

    def test_3_gib_in_one_call(self):
        self.succeed("move_3_gib", ranks=1)


class FileSystems(Files):
    def right(self, prefix, folder, **variables):
        for engine in ("automatic", "map", "window"):
            variables.update(IO_FOLDER=str(folder), IO_ENGINE=engine)
            result = subprocess.run([*prefix, MPIEXEC, "-n", "3", "--oversubscribe", RANDOM, "15"], text=True,
                                    capture_output=True, timeout=LIMIT_S, check=False,
                                    env=self.environment(variables))
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_overlay(self):
        base = self.folder / "base"
        base.mkdir()
        prefix = self.mount("mount -t tmpfs none {folder}/base && cd {folder}/base"
                            " && mkdir lower upper work all && mount -t overlay"
                            " -o lowerdir=lower,upperdir=upper,workdir=work none all && cd /")
        self.right(prefix, base / "all")

    def test_without_io_uring(self):
        # As in containers; and a kernel that does not know it.
        for error in ("", "=38"):
            prefix = refused(Path(RANDOM).parents[1], "io_uring_setup" + error)
            if not possible(prefix):
                self.skipTest("this machine takes no filter of system calls")
            self.right(prefix, self.folder, IO_QUEUE="ring")

    def test_without_mappings(self):
        # The library maps files of file systems that it knows; ramfs is none of them.
        self.right(self.mount("mount -t ramfs none {folder}"), self.folder)


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=2)
    if not program.result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if len(program.result.skipped) == program.result.testsRun else 0)
