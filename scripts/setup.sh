#!/bin/sh
# Installs the packages and archives that Hearth is built and tested with, if they are missing.
#
#   scripts/setup.sh system   packages of Debian or Ubuntu, by apt as root or with sudo; otherwise prints the
#                             list to install and stops
#   scripts/setup.sh check    reports missing packages and installs nothing
#   scripts/setup.sh python   mpi4py from its source archive, built in .venv with build/install's mpicc
#   scripts/setup.sh foreign  the same, and once more in .cache/foreign with the standard-ABI compiler wrapper
#                             of another MPI library, for the tests
#   scripts/setup.sh netpipe  the source archive of NetPIPE, into .cache/netpipe, if apt has it
#   scripts/setup.sh lab      packages for virtual machines (make check-lab)
#   scripts/setup.sh hpcc     the source archive of HPCC and a BLAS, into .cache/hpcc, if apt has them
#   scripts/setup.sh programs the source archives of FFTW, LAMMPS and PETSc, into .cache/programs, if apt
#                             has them (make check-programs)
#   scripts/setup.sh clang    Clang, by apt as above (make check-clang)
#   scripts/setup.sh fuzz     clang with its libFuzzer, by apt as above (make fuzz)
#   scripts/setup.sh slurm    Slurm, by apt as above (make check-hosts)
#   scripts/setup.sh valgrind valgrind, by apt as above (make check-valgrind)
#   scripts/setup.sh models   SPIN, by apt as above (make check-models)
#   scripts/setup.sh aarch64  a cross compiler and an emulator, by apt as above
#   scripts/setup.sh wheel    the symbols of glibc 2.28, into .cache/wheel (make wheel, make deb)
#   scripts/setup.sh wheel-aarch64  the same for aarch64, and hwloc's library (make wheel MACHINE=aarch64)
#   scripts/setup.sh notebook Jupyter's kernel and ipyparallel, into .cache/notebook
#   scripts/setup.sh debian   Debian's MPICH and Open MPI, and programs that were built for them, into
#                             .cache/debian (make check-facade)
#   scripts/setup.sh flang    LLVM's compiler for Fortran, unpacked into .cache/flang, if apt has it (make
#                             check-fortran)
#   scripts/setup.sh packages the tools of make check-packages, by apt as above
set -eu
cd "$(dirname "$0")/.."
root=$PWD

mpi4py_version=4.1.2
mpich_version=5.0.2
ziglang_version=0.17.1
flang_version=19
matplotlib_version=3.11.2
packages="make cmake ninja-build gcc g++ python3 python3-venv python3-dev libhwloc-dev libgtest-dev
  nlohmann-json3-dev libfmt-dev libcli11-dev libboost-dev libfabric-dev
  pkg-config binutils clang-format xz-utils procps"
# For tests only: nothing that is installed needs them.
test_packages="gfortran"
# Programs in C, C++, Fortran and Python that Debian builds for MPICH or Open MPI.
debian_programs="netpipe-mpich2 scalapack-mpi-test nwchem-mpich netpipe-openmpi hpcc abyss ray lammps
  nwchem-openmpi python3-mpi4py python3-h5py-mpi python3-petsc4py-real"

say() { printf 'setup: %s\n' "$*"; }
stop() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

# Downloads fail occasionally: three attempts.
try_thrice() {
  for pause_s in 3 10 0; do
    if "$@"; then return 0; fi
    [ "$pause_s" = 0 ] || { say "'$1' failed; once more in $pause_s s"; sleep "$pause_s"; }
  done
  return 1
}

# Hearth's C++20 needs GCC 12; Ubuntu 22.04 offers it in addition to its default GCC 11.
compiler_is_recent() {
  for name in "${CXX:-g++}" g++-12 g++-13 g++-14; do
    version=$("$name" -dumpversion 2>/dev/null | cut -d. -f1) || continue
    if [ "${version:-0}" -ge 12 ]; then return 0; fi
  done
  return 1
}

missing_packages() {
  for package in $packages; do
    case $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) in
      "install ok installed") ;;
      *) printf '%s ' "$package" ;;
    esac
  done
  # Checked only if a g++ exists: otherwise setup_system() checks after it has installed the package g++.
  if command -v g++ >/dev/null 2>&1 && ! compiler_is_recent; then printf 'g++-12 '; fi
}

install_packages() {
  if [ "$(id -u)" = 0 ]; then as_root=
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then as_root=sudo
  else stop "please install, then try again:  apt-get install $*"; fi
  say "installing $*"
  try_thrice $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update ||
    stop "apt-get update failed: is there a network?"
  try_thrice $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@" ||
    stop "apt-get could not install: $*"
}

setup_system() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    for tool in cmake ninja g++ python3 pkg-config; do
      command -v $tool >/dev/null 2>&1 ||
        stop "no '$tool', and this is neither Debian nor Ubuntu; install the counterparts of:" $packages
    done
    return 0
  fi
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  [ "$1" = install ] || stop "missing: $missing(scripts/setup.sh system installs them, as 'make test' does)"
  install_packages $missing
  # On a machine without g++, it has been installed just now.
  compiler_is_recent || install_packages g++-12
}

# Downloads the archive once for both builds.
fetch_mpi4py() {
  archive=$root/.cache/mpi4py/mpi4py-$mpi4py_version.tar.gz
  if [ ! -f "$archive" ]; then
    mkdir -p .cache/mpi4py
    say "fetching the source archive of mpi4py $mpi4py_version"
    try_thrice .venv/bin/python -m pip -q download --no-deps --no-binary mpi4py --dest .cache/mpi4py \
      "mpi4py==$mpi4py_version" || stop "pip could not fetch mpi4py: is there a network?"
  fi
  source=$root/.cache/mpi4py/mpi4py-$mpi4py_version
  if [ ! -f "$source/test/main.py" ]; then tar -xzf "$archive" -C .cache/mpi4py; fi
}

# mpi4py as the package index has it, for tests of the facades: one folder, without a virtual environment.
fetch_wheel() {
  if [ -d .cache/wheels/mpi4py ]; then return 0; fi
  say "fetching the wheel of mpi4py $mpi4py_version"
  try_thrice .venv/bin/python -m pip -q --disable-pip-version-check install --no-deps --only-binary mpi4py \
    --target .cache/wheels "mpi4py==$mpi4py_version" ||
    stop "pip could not fetch the wheel of mpi4py: is there a network?"
}

make_venv() {
  # A broken environment (missing Python, interrupted set-up) is recreated.
  if ! "$1/bin/python" -m pip --version >/dev/null 2>&1; then
    rm -rf "$1"
    "$python" -m venv "$1"
  fi
}

pip_install() {
  venv=$1
  shift
  try_thrice "$venv/bin/python" -m pip -q --disable-pip-version-check install "$@" ||
    stop "pip could not install $* into $venv"
}

# Builds mpi4py in a virtual environment with a compiler wrapper; prints the log on failure. mpi4py is one
# huge C file: a low optimisation level saves build time, none saves more for an environment of tests.
build_mpi4py() {
  venv=$1
  wrapper=$2
  level=$([ "$venv" = .venv ] && echo 1 || echo 0)
  say "building mpi4py $mpi4py_version with $wrapper (a minute or two)"
  if ! MPICC=$wrapper CFLAGS="-O$level -g0" "$venv/bin/python" -m pip --disable-pip-version-check install \
    --no-deps --no-cache-dir --force-reinstall "$archive" >"$venv/mpi4py.log" 2>&1; then
    tail -40 "$venv/mpi4py.log" >&2
    stop "mpi4py did not build with $wrapper"
  fi
}

# The inputs of a build; if they are those of the last set-up, there is nothing to do.
stamp_of() { printf '%s\n' "$root" "$("$python" --version)" "$(sha256sum <"$root/scripts/setup.sh")" "$@"; }

setup_python() {
  # Prefer the system's Python, whose headers python3-dev provides.
  python=$(command -v /usr/bin/python3 || command -v python3) || stop "no python3"
  header=$root/build/install/include/mpi.h
  [ -x "$root/build/install/bin/mpicc" ] && [ -f "$header" ] || stop "no build/install: run 'make' first"
  own=$(stamp_of "$(sha256sum <"$header")" "$(sha256sum <"$root/build/install/bin/mpicc")")
  foreign=$(stamp_of "mpich $mpich_version")

  have_own=$([ "$(cat .venv/hearth.stamp 2>/dev/null)" = "$own" ] && echo yes || echo no)
  have_foreign=$([ "$(cat .cache/foreign/hearth.stamp 2>/dev/null)" = "$foreign" ] && echo yes || echo no)
  [ "$1" = both ] || have_foreign=yes
  if [ $have_own$have_foreign = yesyes ]; then return 0; fi

  mkdir -p .cache
  make_venv .venv
  fetch_mpi4py
  [ "$1" != both ] || fetch_wheel
  # Two builds of a minute or two each run at the same time.
  second=
  if [ $have_foreign = no ]; then
    make_venv .cache/foreign
    set_up_venv .cache/foreign "$foreign" "$root/.cache/foreign/bin/mpicc_abi" "mpich==$mpich_version" &
    second=$!
  fi
  code=0
  if [ $have_own = no ]; then
    (set_up_venv .venv "$own" "$root/build/install/bin/mpicc") || code=1
  fi
  if [ -n "$second" ]; then wait $second || code=1; fi
  return $code
}

# set_up_venv VENV STAMP WRAPPER package...: installs the packages, then mpi4py, and then writes the stamp.
set_up_venv() {
  venv=$1 stamp=$2 wrapper=$3
  shift 3
  rm -f "$venv/hearth.stamp"
  pip_install "$venv" numpy cffi pyyaml setuptools wheel "$@"
  build_mpi4py "$venv" "$wrapper"
  printf '%s\n' "$stamp" >"$venv/hearth.stamp"
}

own_apt_get() {
  apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources" \
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

# fetch_by_apt NAME step...: fetches NAME's files into .cache/NAME from the system's package sources, with
# package lists in a separate folder: the system's lists and settings stay unchanged, no rights are needed.
# A step is a command of apt-get as one word.
fetch_by_apt() {
  folder=$root/.cache/$1
  if ! command -v apt-get >/dev/null 2>&1; then
    say "no apt-get: what belongs into .cache/$1 cannot be fetched"
    return 1
  fi
  apt=$folder/apt
  mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial"
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [ -f "$list" ] || continue
    sed -E 's/^Types:.*/Types: deb deb-src/; /^deb-src /d; /^deb /{p; s/^deb /deb-src /}' "$list" \
      >"$apt/sources/$(basename "$list")"
  done
  shift
  say "fetching into ${folder#"$root/"}"
  try_thrice own_apt_get update >"$apt/log" 2>&1 || { cat "$apt/log"; say "apt-get update failed"; return 1; }
  for step in "$@"; do
    (cd "$folder" && try_thrice own_apt_get $step >"$apt/log" 2>&1) ||
      { cat "$apt/log"; say "failed: apt-get $step"; return 1; }
  done
  rm -rf "$apt"
}

setup_netpipe() {
  if ls .cache/netpipe/netpipe_*.orig.tar.* >/dev/null 2>&1; then return 0; fi
  fetch_by_apt netpipe "source --download-only --tar-only netpipe" || stop "no NetPIPE"
}

# HPCC needs a BLAS. Its package is unpacked, not installed. Without HPCC and BLAS, tests of HPCC are skipped.
setup_hpcc() {
  if [ -f .cache/hpcc/libopenblas.a ]; then return 0; fi
  fetch_by_apt hpcc "source --download-only --tar-only hpcc" "download libopenblas-serial-dev" || return 0
  (cd .cache/hpcc && dpkg -x libopenblas-serial-dev_*.deb blas &&
    cp -L "$(find blas -name libopenblas.a | head -1)" libopenblas.a.new && rm -rf blas ./*.deb &&
    mv libopenblas.a.new libopenblas.a) || say "no BLAS in libopenblas-serial-dev: no tests of HPCC"
}

# The archives have several tens of megabytes and are fetched only once.
setup_programs() {
  if ls .cache/programs/petsc_*.orig.tar.* >/dev/null 2>&1; then return 0; fi
  fetch_by_apt programs "source --download-only --tar-only fftw3" "source --download-only --tar-only lammps" \
    "source --download-only --tar-only petsc" || stop "no source archives of FFTW, LAMMPS and PETSc"
}

# tests/lab/guest.py fetches the kernel of the virtual machines.
setup_lab() {
  packages="$packages qemu-system-x86 cpio busybox-static"
  setup_system install
}

setup_clang() {
  packages="$packages clang"
  setup_system install
}

# The run-time library of the sanitizers is a separate package of the same version.
setup_fuzz() {
  packages="$packages clang"
  setup_system install
  if ! printf 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    clang++ -x c++ -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null; then
    install_packages "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
  fi
}

setup_valgrind() {
  packages="$packages valgrind"
  setup_system install
}

# srun --mpi=pmix opens libpmix by a name that only the developers' package has.
setup_slurm() {
  packages="$packages slurm-wlm libpmix-dev iproute2"
  setup_system install
}

setup_models() {
  packages="gcc python3 spin"
  setup_system install
}

setup_aarch64() {
  if command -v aarch64-linux-gnu-g++ >/dev/null 2>&1 &&
    command -v qemu-aarch64 >/dev/null 2>&1; then return 0; fi
  install_packages g++-aarch64-linux-gnu qemu-user
}

# Zig's package has the symbols of every glibc; scripts/glibc_stubs.py makes libraries of them.
setup_wheel() {
  machine=${1:-$(uname -m)}
  stubs=.cache/wheel/glibc-$machine
  stamp="ziglang $ziglang_version $(sha256sum <scripts/glibc_stubs.py)"
  if [ "$(cat "$stubs/stamp" 2>/dev/null)" = "$stamp" ]; then return 0; fi
  python=$(command -v /usr/bin/python3 || command -v python3) || stop "no python3"
  mkdir -p .cache/wheel
  make_venv .cache/wheel/venv
  say "fetching ziglang, a hundred megabytes, for glibc's symbols"
  pip_install .cache/wheel/venv "ziglang==$ziglang_version" auditwheel
  .cache/wheel/venv/bin/python scripts/glibc_stubs.py "$machine" "$stubs"
  printf '%s\n' "$stamp" >"$stubs/stamp"
}

# hwloc's package is unpacked, not installed.
setup_wheel_aarch64() {
  setup_aarch64
  setup_wheel aarch64
  if [ -f .cache/hwloc-aarch64/libhwloc.a ]; then return 0; fi
  fetch_by_apt hwloc-aarch64 "-o APT::Architecture=arm64 -o APT::Architectures=arm64 update" \
    "-o APT::Architecture=arm64 -o APT::Architectures=arm64 download libhwloc-dev:arm64" ||
    stop "no hwloc for aarch64"
  (cd .cache/hwloc-aarch64 && dpkg -x libhwloc-dev_*_arm64.deb unpacked &&
    mkdir -p include && cp -r unpacked/usr/include/aarch64-linux-gnu/hwloc include &&
    cp -L "$(find unpacked -name libhwloc.a | head -1)" libhwloc.a.new && rm -rf unpacked ./*.deb &&
    mv libhwloc.a.new libhwloc.a)
}

setup_notebook() {
  python=$(command -v /usr/bin/python3 || command -v python3) || stop "no python3"
  stamp=$(stamp_of notebook)
  if [ "$(cat .cache/notebook/hearth.stamp 2>/dev/null)" = "$stamp" ]; then return 0; fi
  make_venv .cache/notebook
  say "fetching Jupyter's kernel"
  pip_install .cache/notebook ipykernel ipyparallel "mpi4py==$mpi4py_version"
  printf '%s\n' "$stamp" >.cache/notebook/hearth.stamp
}

# Nothing of it is installed. MPI libraries with headers and modules of GNU Fortran are in .cache/debian/mpi;
# programs with all that they depend on, except MPI libraries, in .cache/debian/programs.
setup_debian() {
  if [ "$(cat .cache/debian/stamp 2>/dev/null)" = "$debian_programs" ]; then return 0; fi
  rm -rf .cache/debian
  archives=$root/.cache/debian/archives
  mkdir -p "$archives/partial"
  fetch_by_apt debian "download libmpich12 libmpich-dev libopenmpi3 libopenmpi-dev" \
    "-y --no-install-recommends --download-only -o Debug::NoLocking=1 -o Dir::Cache::archives=$archives \
      install $debian_programs" || stop "no packages of MPI programs"
  (cd .cache/debian &&
    for package in ./*.deb; do dpkg -x "$package" mpi; done &&
    for package in archives/*.deb; do
      case ${package##*/} in
        libmpich* | libopenmpi* | mpich* | openmpi-* | openssh-*) ;;
        *) dpkg -x "$package" programs ;;
      esac
    done && rm -rf archives ./*.deb) || stop "the packages could not be unpacked"
  printf '%s\n' "$debian_programs" >.cache/debian/stamp
}

# A hundred megabytes, not installed. .cache/flang/flang starts the compiler with its libraries.
setup_flang() {
  if [ -x .cache/flang/flang ]; then return 0; fi
  archives=$root/.cache/flang/archives
  mkdir -p "$archives/partial"
  fetch_by_apt flang "-y --no-install-recommends --download-only -o Debug::NoLocking=1 \
    -o Dir::Cache::archives=$archives install flang-$flang_version" || stop "no flang-$flang_version"
  (cd .cache/flang && for package in archives/*.deb; do dpkg -x "$package" .; done && rm -rf archives) ||
    stop "the packages could not be unpacked"
  home=$root/.cache/flang/usr/lib/llvm-$flang_version
  cat >.cache/flang/flang.new <<END
#!/bin/sh
export LD_LIBRARY_PATH=$home/lib:$root/.cache/flang/usr/lib/$(uname -m)-linux-gnu
exec $home/bin/flang-new "\$@"
END
  chmod +x .cache/flang/flang.new
  mv .cache/flang/flang.new .cache/flang/flang
}

setup_packages() {
  packages="$packages mmdebstrap debian-archive-keyring lintian"
  setup_system install
  python=$(command -v /usr/bin/python3 || command -v python3) || stop "no python3"
  make_venv .cache/installers
  pip_install .cache/installers uv pipx
}

# Draws the pictures of bench/performance.
setup_performance() {
  python=$(command -v /usr/bin/python3 || command -v python3) || stop "no python3"
  make_venv .cache/matplotlib
  pip_install .cache/matplotlib "matplotlib==$matplotlib_version"
}

case ${1:-} in
  system) packages="$packages $test_packages"; setup_system install ;;
  check) setup_system look ;;
  python) setup_python own ;;
  foreign) setup_python both ;;
  netpipe) setup_netpipe ;;
  hpcc) setup_hpcc ;;
  lab) setup_lab ;;
  models) setup_models ;;
  programs) setup_programs ;;
  clang) setup_clang ;;
  fuzz) setup_fuzz ;;
  slurm) setup_slurm ;;
  valgrind) setup_valgrind ;;
  aarch64) setup_aarch64 ;;
  wheel) setup_wheel ;;
  wheel-aarch64) setup_wheel_aarch64 ;;
  notebook) setup_notebook ;;
  debian) setup_debian ;;
  flang) setup_flang ;;
  packages) setup_packages ;;
  performance) setup_performance ;;
  *) stop "usage: scripts/setup.sh system | check | python | foreign | netpipe | hpcc | programs | lab |" \
    "models | clang | fuzz | slurm | valgrind | aarch64 | wheel | wheel-aarch64 | notebook | debian |" \
    "flang | packages | performance" ;;
esac
