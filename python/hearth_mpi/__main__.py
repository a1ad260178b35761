"""`python -m hearth_mpi ...` is `mpiexec ...` of this environment."""

import os
import sys

from hearth_mpi import overwritten, prefix


def main():
    try:
        program = str(prefix() / "bin" / "mpiexec")
        changed = overwritten()
    except FileNotFoundError as error:
        sys.exit(str(error))
    if changed:
        path, owner = changed[0]
        package = owner or "another package"
        sys.exit(
            f"hearth_mpi: {path} is not Hearth's any more: {package} was installed over it. "
            f"Remedy: pip uninstall {owner or 'that package'}; pip install --force-reinstall hearth-mpi"
        )
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
