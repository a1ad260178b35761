#!/usr/bin/env python3
"""Checks the names of mpi.h beyond the header of the standard ABI: they are exactly those that
docs/beyond_the_standard.md lists, usable in strict C90, C99 and C++ without warnings, and hidden by the
documented macros.

    beyond_header.py FOLDER_OF_MPI_H C_COMPILER CXX_COMPILER
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "api"))

from generator import beyond, table  # noqa: E402

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wundef", "-Wshadow"]

CONVERTS = """
#include <mpi.h>
MPI_Fint number(MPI_Comm comm);
int both_ways(MPI_Status *status, MPI_Fint *words);
int new_ways(MPI_Status *status, MPI_Fint *words, MPI_F08_status *other);
MPI_Fint number(MPI_Comm comm) { return MPI_Comm_c2f(MPI_Comm_f2c(MPI_Comm_c2f(comm))); }
int both_ways(MPI_Status *status, MPI_Fint *words) {
  return MPI_Status_c2f(status, words) || MPI_Status_f2c(words, status) || words == MPI_F_STATUS_IGNORE;
}
int new_ways(MPI_Status *status, MPI_Fint *words, MPI_F08_status *other) {
  return MPI_Status_c2f08(status, other) || MPI_Status_f082c(other, status) ||
         MPI_Status_f2f08(words, other) || MPI_Status_f082f(other, words) ||
         other == MPI_F08_STATUS_IGNORE || other == MPI_F08_STATUSES_IGNORE;
}
"""
REMOVED = """
#include <mpi.h>
int place(MPI_Aint *address) { return MPI_Address(address, address); }
"""
# A tool that defines a function which is inline in the header.
TOOL = """
#include <mpi.h>
#ifdef __cplusplus
extern "C"
#endif
MPI_Fint MPI_Comm_c2f(MPI_Comm comm) { return PMPI_Comm_c2f(comm); }
"""
# A program that uses these names for itself.
OWN = """
#include <mpi.h>
typedef long MPI_Fint;
int MPI_Address(void);
double MPI_Comm_c2f(double value);
"""
OWN_REMOVED = """
#include <mpi.h>
int MPI_Address(void);
"""
LANGUAGES = [(0, ".c", "-std=c90"), (0, ".c", "-std=c99"), (0, ".c", "-std=gnu17"), (1, ".cpp", "-std=c++98"),
             (1, ".cpp", "-std=c++11"), (1, ".cpp", "-std=c++20")]


def compiled(compiler, folder, suffix, source, flags):
    """(whether it compiled, the compiler's output)"""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"program{suffix}"
        path.write_text(source, encoding="utf-8")
        result = subprocess.run([compiler, *flags, f"-I{folder}", "-c", str(path), "-o", str(path) + ".o"],
                                capture_output=True, text=True, check=False)
    return result.returncode == 0, result.stderr


def identifiers(compiler, folder, *flags):
    """MPI's names in the header: declarations and macros."""
    text = ""
    for mode in ("-dM", "-P"):
        command = [compiler, "-E", mode, *flags, f"-I{folder}", "-include", "mpi.h", "-x", "c", "/dev/null"]
        text += subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"\bP?MPI_\w+", text))


def check_names(compiler, folder, problems):
    _, functions = table.read_functions(ROOT / "api" / "functions.txt")
    removed = (ROOT / "api" / "mpi_removed.in.h").read_text(encoding="utf-8")
    listed = set(beyond.names(functions, removed))
    all_names = identifiers(compiler, folder)
    standard = identifiers(compiler, folder, "-DHEARTH_MPI_STANDARD_ONLY")
    if all_names - standard != listed:
        problems.append(f"the section and the list differ: {sorted((all_names - standard) ^ listed)}")
    page = (ROOT / "docs" / "beyond_the_standard.md").read_text(encoding="utf-8")
    problems += [f"docs/beyond_the_standard.md lacks {name}" for name in sorted(listed)
                 if not name.startswith("PMPI_") and f"`{name}`" not in page]
    return len(listed)


def main():
    folder, *compilers = sys.argv[1:4]
    problems = []

    def expect(works, label, *arguments):
        done, printed = compiled(*arguments)
        if done != works:
            problems.append(f"{label}: {'does not compile' if works else 'compiles'}\n{printed[:1500]}")

    for which, suffix, standard in LANGUAGES:
        compiler = compilers[which]
        flags = [standard, *STRICT]
        where = f"{compiler} {standard}"
        expect(True, f"{where}, conversions", compiler, folder, suffix, CONVERTS, flags)
        expect(True, f"{where}, -D work-arounds", compiler, folder, suffix, "#include <mpi.h>\n",
               [*flags, "-DMPI_Fint=int", "-DMPI_Comm_f2c=MPI_Comm_fromint", "-DMPI_Address=MPI_Get_address",
                "-DMPI_Type_struct=MPI_Type_create_struct"])
        expect(True, f"{where}, standard only", compiler, folder, suffix, OWN,
               [standard, "-Werror", "-DHEARTH_MPI_STANDARD_ONLY"])
        expect(True, f"{where}, without the removed", compiler, folder, suffix, OWN_REMOVED,
               [standard, "-Werror", "-DHEARTH_MPI_NO_REMOVED"])
        expect(True, f"{where}, a tool", compiler, folder, suffix, TOOL,
               [standard, "-DHEARTH_MPI_NO_INLINE"])
        expect(True, f"{where}, removed", compiler, folder, suffix, REMOVED, [standard])
        expect(False, f"{where}, removed with -Werror", compiler, folder, suffix, REMOVED,
               [standard, "-Werror"])
        if "use MPI_Get_address" not in compiled(compiler, folder, suffix, REMOVED, [standard])[1]:
            problems.append(f"{where}: no warning names the replacement of MPI_Address")
    count = check_names(compilers[0], folder, problems)
    for problem in problems:
        print(problem)
    print(f"{count} names beyond the standard's header, {len(LANGUAGES)} language versions, "
          f"{len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
