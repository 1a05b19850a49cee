#!/usr/bin/env python3
"""Measures what an app with only `Holdfast` fetches, builds and ships, against SwiftNIO alone and a C client; see ../README.md.

Benchmarks/footprint/run.py [--share | --lean] [--report FILE]

Builds the last commit in .build/footprint as an app that names this repository. Fails if a figure exceeds its limit. With --share
the programs with SwiftNIO come from this package's own release build. It includes HTTP/2, and no build time is printed.
With --lean all programs are built so that the linker removes unused code.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

from websockets.sync.server import serve

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / ".build/footprint"
# SwiftPM names a package after its repository.
REPOSITORY = WORK / "holdfast.git"
# The limits: packages besides Holdfast itself, and sizes as multiples of SwiftNIO alone. The goals for sizes are 1.3, and
# 0.43 without SwiftNIO. A limit is a twentieth above the size reached so far.
LIMITS = {"packages": 12, "packages without NIO": 6, "size": 1.58, "size with HTTP/2": 1.9, "size without NIO": 0.61}
# Swift marks public symbols as used. In a program no one else can use them.
LEAN = "-Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -Xfrontend -Xswiftc -internalize-at-link".split()


def attempt(*words, folder, **environment):
    return subprocess.run([str(word) for word in words], cwd=folder, env=os.environ | environment, text=True, capture_output=True)


def run(*words, folder, **environment):
    result = attempt(*words, folder=folder, **environment)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{(result.stdout + result.stderr)[-3000:]}")
    return result.stdout.strip()


def megabytes(path):
    """The files of a checkout, without git's own."""
    return sum(file.lstat().st_size for file in path.rglob("*") if file.is_file() and ".git" not in file.parts) / 1e6


class Package:
    """An app with the dependencies of one variant of Package.swift, resolved anew."""

    def __init__(self, variant, flags):
        self.folder = WORK / variant
        self.release = ["-c", "release", *flags]
        self.environment = {"FOOTPRINT": variant, "HOLDFAST_REPOSITORY": REPOSITORY.as_uri(),
                            "HOLDFAST_COMMIT": run("git", "rev-parse", "HEAD", folder=ROOT)}
        shutil.copytree(HERE, self.folder, ignore=shutil.ignore_patterns("run.*", "*.c"))
        self.swift("package", "resolve")
        checkouts = sorted((self.folder / ".build/checkouts").iterdir())
        self.packages = [checkout.name for checkout in checkouts if checkout.name != REPOSITORY.stem]
        self.checkouts = sum(map(megabytes, checkouts))

    def swift(self, *words):
        return run("swift", *words, folder=self.folder, **self.environment)

    def build(self, product):
        """A release build. Returns the stripped program and the build time in seconds."""
        start = time.monotonic()
        self.swift("build", *self.release, "--product", product)
        seconds = time.monotonic() - start
        return stripped(pathlib.Path(self.swift("build", *self.release, "--show-bin-path")) / product, self.folder), seconds

    def complaint(self, product):
        """The compiler's error for a program that must not build. Empty if it builds."""
        result = attempt("swift", "build", *self.release, "--product", product, folder=self.folder, **self.environment)
        return result.stdout + result.stderr if result.returncode else ""


def stripped(program, folder):
    copy = folder / program.name.lower()
    shutil.copy(program, copy)
    run("strip", copy, folder=folder)
    return copy


def shared(product):
    """A program of this package's own release build."""
    options = ["-c", "release", "--scratch-path", ".build/probe"]
    run("swift", "build", *options, "--product", product, folder=ROOT)
    return stripped(pathlib.Path(run("swift", "build", *options, "--show-bin-path", folder=ROOT)) / product, WORK), None


def c_client():
    """The program with libwebsockets, with OpenSSL as a shared library and linked statically, because SwiftNIO contains its own TLS."""
    programs = []
    for name, tls in ("c", ["-lssl", "-lcrypto"]), ("c-with-tls", ["-l:libssl.a", "-l:libcrypto.a"]):
        program = WORK / name
        run("gcc", "-Os", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / "connect.c", "-l:libwebsockets.a", *tls, "-lz", "-lcap",
            folder=WORK)
        run("strip", program, folder=WORK)
        programs.append(program)
    return programs


def hears(program, *words):
    """The output of a program that connects."""
    return subprocess.run([program, *words], text=True, capture_output=True, timeout=30).stdout.strip()


class Checks:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def __call__(self, name, holds, *found):
        print("ok     " if holds else "not ok ", name, *found)
        self.passed, self.failed = self.passed + holds, self.failed + (not holds)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--report", type=pathlib.Path, help="also writes the figures there, as JSON")
    way = arguments.add_mutually_exclusive_group()
    way.add_argument("--share", action="store_true", help="programs of this package's own release build")
    way.add_argument("--lean", action="store_true", help="without what the programs do not use")
    given = arguments.parse_args()
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    run("git", "clone", "--bare", "--quiet", ROOT, REPOSITORY, folder=ROOT)
    # SwiftPM's repository cache fetches only named references.
    run("git", "update-ref", "refs/heads/footprint", run("git", "rev-parse", "HEAD", folder=ROOT), folder=REPOSITORY)

    ours, small, bare, peer = (Package(name, LEAN if given.lean else []) for name in ("default", "without-nio", "bare", "peer"))
    small_program, small_seconds = small.build("Connect")
    if given.share:
        (bare_program, bare_seconds), (our_program, our_seconds) = shared("FootprintBare"), shared("FootprintConnect")
    else:
        # SwiftNIO alone is built first in the same place. Its time is a part of Holdfast's.
        bare_program, bare_seconds = ours.build("Bare")
        our_program, more_seconds = ours.build("Connect")
        our_seconds = bare_seconds + more_seconds
    c_program, c_program_with_tls = c_client()
    size = {program: program.stat().st_size for program in (our_program, small_program, bare_program, c_program, c_program_with_tls)}

    our_name, our_limit = ("Holdfast with HTTP/2", "size with HTTP/2") if given.share else ("Holdfast", "size")
    rows = [(our_name, ours, our_seconds, our_program), ("Holdfast without SwiftNIO", small, small_seconds, small_program),
            ("bare NIOWebSocket and NIOSSL", bare, bare_seconds, bare_program), ("libwebsockets", None, None, c_program),
            ("libwebsockets, OpenSSL within", None, None, c_program_with_tls)]
    print(f"{'':31} {'packages':>8} {'checkouts':>10} {'build':>7} {'stripped':>9}  x bare")
    for name, package, seconds, program in rows:
        fetched = f"{len(package.packages):8} {package.checkouts:7.0f} MB" if package else f"{'':19}"
        fetched += f" {seconds:5.0f} s" if seconds else f"{'':8}"
        print(f"{name:31} {fetched} {size[program] / 1e6:6.2f} MB {size[program] / size[bare_program]:7.2f}")
    print("Holdfast fetches", ", ".join(ours.packages))
    print("Without SwiftNIO", ", ".join(small.packages))
    print(f"swift-websocket's client would fetch {len(peer.packages) + 1}: compress-nio, {', '.join(peer.packages)}")
    if given.report:
        given.report.write_text(json.dumps([
            {"name": name, "packages": package and package.packages, "checkouts": package and package.checkouts, "seconds": seconds,
             "bytes": size[program]} for name, package, seconds, program in rows], indent=1) + "\n")

    check = Checks()
    check("packages", len(ours.packages) <= LIMITS["packages"], len(ours.packages), "of", LIMITS["packages"])
    check("packages without SwiftNIO", len(small.packages) <= LIMITS["packages without NIO"], len(small.packages))
    check("without SwiftNIO none of it is fetched", not [name for name in small.packages if "nio" in name])
    for name, program in (our_limit, our_program), ("size without NIO", small_program):
        ratio = size[program] / size[bare_program]
        check(name, ratio <= LIMITS[name], f"{ratio:.2f} x bare, allowed are {LIMITS[name]}")
    with serve(lambda connection: connection.send("hello from a server"), "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = str(server.socket.getsockname()[1])
        check("Holdfast connects", "hello from a server" in hears(our_program, f"ws://127.0.0.1:{port}"))
        for name, program in ("bare SwiftNIO", bare_program), ("libwebsockets", c_program), ("libwebsockets with TLS", c_program_with_tls):
            check(f"{name} connects", hears(program, "ws", "127.0.0.1", port) == "hello from a server")
        check("without SwiftNIO it says why it cannot, on Linux", "SwiftNIO" in hears(small_program, f"ws://127.0.0.1:{port}"))
        if not given.share:
            check("without HTTP/2 it says so", "trait HTTP2" in hears(our_program, f"ws://127.0.0.1:{port}", "http2"))
            check("a trait that was forgotten is named", 'traits: [.defaults, "Protobuf"]' in ours.complaint("Forgotten"))
        server.shutdown()
    print(f"{check.passed} passed, {check.failed} failed")
    sys.exit(check.failed > 0)


if __name__ == "__main__":
    main()
