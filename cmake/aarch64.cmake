# Toolchain file: cross-compiles for aarch64 and runs programs in QEMU.
# `make check-aarch64` uses it; scripts/setup.sh lists Debian's packages.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
# Header-only libraries (and Python) are the host's, after the target's own headers; all other libraries are
# built here or left out.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
file(GLOB description /usr/lib/*/cmake/fmt)
set(fmt_DIR ${description} CACHE PATH "fmt, of which only the headers are used")
set(CMAKE_C_FLAGS_INIT "-idirafter /usr/include")
set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include")
