"""Virtual machines with the topology that a test needs: packages, dies, memory nodes, distances, fast memory.

A guest is QEMU without hardware support (TCG), a stock Debian kernel, and this machine's own files,
read-only, as its root, so every program that was built here runs there. It starts in a few seconds. Times
measured in it are meaningless: a guest shows decisions and the real location of memory.

    guest.py prepare                       fetches a kernel and makes the guest's first files
    guest.py run [QEMU OPTIONS] -- COMMAND runs a command in a guest
"""

import lzma
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = Path(os.environ.get("HEARTH_LAB", ROOT / ".cache" / "lab"))
TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "cpio": "cpio", "busybox": "busybox-static"}

# Modules that the guest needs to access this machine's files, in the order of loading.
MODULES = """virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci netfs fscache 9pnet
    9pnet_virtio 9p""".split()

# Linux detects dies and separate third-level caches only on processors that report Intel as their vendor. The
# level is the highest one that this QEMU supports well.
PROCESSOR = "max,vendor=GenuineIntel,family=6,model=85,stepping=4,level=0x20"

INIT = """#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t devtmpfs dev /dev
for module in @MODULES@; do $b insmod /lib/$module.ko || echo "cannot load $module"; done
share="trans=virtio,version=9p2000.L,msize=512000"
$b mount -t 9p -o ro,cache=loose,$share root /host || exec $b poweroff -f
for kind in proc:proc sysfs:sys devtmpfs:dev tmpfs:run; do
  $b mount -t ${kind%:*} none /host/${kind#*:}
done
$b mkdir -p /host/dev/shm /host/run/guest
$b mount -t tmpfs none /host/dev/shm
$b mount -t 9p -o $share exchange /host/run/guest || exec $b poweroff -f
$b ip link set lo up
$b chroot /host /bin/sh /run/guest/command >/host/run/guest/output 2>&1
echo $? >/host/run/guest/status
$b sync
$b poweroff -f
"""


class NoGuest(Exception):
    """A guest cannot be made or did not start; the text says why."""


def missing_packages():
    return sorted(package for tool, package in TOOLS.items() if shutil.which(tool) is None)


def kernel_package():
    """The package of Debian's standard kernel."""
    words = subprocess.run(
        ["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True, check=True
    ).stdout.split()
    names = [word for word in words if word.startswith("linux-image-") and word != "linux-image-amd64"]
    if not names:
        raise NoGuest("apt-cache knows no kernel; run apt-get update")
    return names[0]


def unpack_kernel(image):
    """The kernel from its self-extracting file: booting it directly takes half the time."""
    data = image.read_bytes()
    setup_sectors = data[0x1F1] or 4
    offset, length = struct.unpack_from("<II", data, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = data[start : start + length]
    if not payload.startswith(b"\xfd7zXZ\0"):
        raise NoGuest("the kernel is not packed by xz")
    return lzma.LZMADecompressor().decompress(payload)


def make_first_files(modules_folder):
    """The archive that the kernel unpacks at boot: busybox, modules, and the script above."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in ("bin", "lib", "proc", "dev", "host"):
            (folder / each).mkdir()
        shutil.copy(shutil.which("busybox"), folder / "bin")
        for module in MODULES:
            found = next(modules_folder.rglob(f"{module}.ko"))
            subprocess.run(
                ["objcopy", "--strip-debug", found, folder / "lib" / found.name], check=True
            )
        init = folder / "init"
        init.write_text(INIT.replace("@MODULES@", " ".join(MODULES)))
        init.chmod(0o755)
        files = "\n".join(str(path.relative_to(folder)) for path in folder.rglob("*"))
        archive = subprocess.run(
            ["cpio", "--create", "--format=newc", "--quiet"], input=files.encode(), cwd=folder,
            capture_output=True, check=True,
        ).stdout
        (LAB / "first_files").write_bytes(archive)


def prepare():
    """Makes the files that all guests share, once."""
    if (LAB / "first_files").exists() and (LAB / "kernel").exists():
        return
    if missing_packages():
        raise NoGuest("missing, to be had by apt-get install: " + " ".join(missing_packages()))
    LAB.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=LAB) as name:
        folder = Path(name)
        subprocess.run(["apt-get", "download", "-q", kernel_package()], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["dpkg", "-x", next(folder.glob("*.deb")), folder / "kernel"], check=True)
        make_first_files(folder / "kernel" / "lib" / "modules")
        image = next((folder / "kernel" / "boot").glob("vmlinuz-*"))
        (LAB / "kernel").write_bytes(unpack_kernel(image))


def run(qemu_options, command, memory_mib=1024, limit_s=120, environment=None):
    """Runs a shell command in a fresh guest; (exit status, output). QEMU's options define the topology."""
    prepare()
    options = list(qemu_options)
    standard = {
        "-machine": "q35",
        "-cpu": PROCESSOR,
        "-smp": "2",
        "-m": str(memory_mib),
        "-accel": "tcg,thread=multi",
    }
    for name, value in standard.items():
        if name not in options:
            options += [name, value]
    with tempfile.TemporaryDirectory(prefix="hearth-guest-") as name:
        exchange = Path(name)
        variables = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", **(environment or {})}
        lines = [f"export {key}={shlex.quote(str(value))}" for key, value in variables.items()]
        (exchange / "command").write_text("\n".join([*lines, command, ""]))
        share = "security_model=none"
        words = [
            "qemu-system-x86_64", *options, "-nodefaults", "-no-user-config", "-nographic", "-no-reboot",
            "-net", "none", "-serial", f"file:{exchange}/console",
            "-kernel", str(LAB / "kernel"), "-initrd", str(LAB / "first_files"),
            "-append", "console=ttyS0 quiet panic=-1 mitigations=off nokaslr no_timer_check tsc=reliable "
                       "clocksource=tsc cryptomgr.notests rcupdate.rcu_expedited=1 random.trust_cpu=on",
            "-virtfs", f"local,path=/,mount_tag=root,{share},readonly=on,multidevs=remap",
            "-virtfs", f"local,path={exchange},mount_tag=exchange,{share}",
        ]
        try:
            qemu = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=limit_s, check=False)
        except subprocess.TimeoutExpired:
            raise NoGuest(f"the guest did not end within {limit_s} s\n" + text_of(exchange)) from None
        status = exchange / "status"
        if not status.exists():
            raise NoGuest("the guest did not run the command\n" + qemu.stderr + text_of(exchange))
        return int(status.read_text()), (exchange / "output").read_text(errors="replace")


def text_of(exchange):
    """The console and the output of a guest that failed."""
    return "".join(
        f"--- {name}\n{(exchange / name).read_text(errors='replace')[-4000:]}\n"
        for name in ("console", "output") if (exchange / name).exists()
    )


def main(words):
    try:
        if words[:1] == ["prepare"]:
            prepare()
            return 0
        if words[:1] == ["run"] and "--" in words:
            split = words.index("--")
            status, output = run(words[1:split], " ".join(words[split + 1 :]))
            sys.stdout.write(output)
            return status
    except NoGuest as problem:
        print(f"guest.py: {problem}", file=sys.stderr)
        return 125
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
