# Toolchain file: builds for aarch64 on another machine, and runs what is to be run in QEMU.
# `make check-aarch64` uses it; Debian's packages are in scripts/setup.sh.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
# Headers without code (and Python) are the host's; what has code is built here or left out.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
