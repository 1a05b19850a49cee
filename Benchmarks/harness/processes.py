"""Starts programs pinned to a core, with timeouts, and stops them by their process id."""

import contextlib
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import time

from .programs import Program
from .settings import CORES, LOGS, MEASURED_CORE, ROOT

START_SECONDS = 20
STOP_SECONDS = 3


class Failure(Exception):
    """A program failed. The message gives the reason in one line."""


def pinned(core: int, words: list[str]) -> list[str]:
    return ["taskset", "-c", str(core), *words] if len(CORES) > 1 else words


def free_port() -> int:
    """A free port below the range of client ports."""
    while True:
        port = random.randint(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def reason(text: str) -> str:
    """The line of a program's output that best explains its failure: the last one about an error, or the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["it printed nothing"])[-1][:160]


class Server:
    """A running server that accepts connections on `port`."""

    def __init__(self, name: str, program: Program, core: int = MEASURED_CORE, environment: dict[str, str] | None = None):
        missing = program.missing()
        if missing:
            raise Failure(f"not there: {pathlib.Path(missing).name}")
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log = LOGS / (re.sub(r"\W+", "-", name) + ".log")
        self.port = free_port()
        words = [*program.words, str(self.port)]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                pinned(core, words), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT, env=os.environ | (environment or {}),
                start_new_session=True,
            )  # fmt: skip
        try:
            self._wait_until_it_accepts()
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        return self.process.pid

    def _wait_until_it_accepts(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise Failure(f"ended at once: {reason(self.log.read_text(errors='replace'))}")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise Failure(f"does not listen after {START_SECONDS} s")

    def stop(self) -> None:
        """Ends it and its child processes, which are a separate process group."""
        self._signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        self._signal(signal.SIGKILL)
        self.process.wait()

    def _signal(self, which: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, which)


def result_of(core: int, words: list[str], seconds: float) -> dict[str, float]:
    """Runs a measuring program to its end and parses its line of JSON."""
    try:
        done = subprocess.run(
            pinned(core, words), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=seconds, cwd=ROOT
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"not done after {seconds:.0f} s") from None
    if done.returncode != 0:
        raise Failure(reason(done.stderr or done.stdout))
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        raise Failure(f"no JSON: {reason(done.stdout)}") from None
