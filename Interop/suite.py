"""Shared by the suites of the pages: counted checks, independent parts, and programs in the background."""
import asyncio
import contextlib
import signal
import socket
import subprocess
import sys

PATIENCE = 60  # seconds; limits failures only
passed = failed = 0


def report(good, name, why=""):
    global passed, failed
    if good:
        passed += 1
        print(f"ok {name}", flush=True)
    else:
        failed += 1
        print(f"not ok {name}: {why}", flush=True)


async def run(parts, *arguments):
    """Runs all parts in order. If one fails completely, the others still run."""
    for part in parts:
        try:
            await part(*arguments)
        except Exception as error:
            report(False, part.__name__.replace("_", " "), f"{type(error).__name__}: {error}"[:600])


def finish():
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Program:
    """A program in the background, ready when its port accepts connections. It may be restarted."""

    def __init__(self, port, *command, errors=None):
        """`errors`: the file for its standard error."""
        self.port, self.command, self.errors, self.process = port, command, errors, None

    async def start(self):
        with contextlib.ExitStack() as files:
            errors = files.enter_context(self.errors.open("ab")) if self.errors else subprocess.DEVNULL
            self.process = await asyncio.create_subprocess_exec(
                *self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        for _ in range(10 * PATIENCE):
            if self.process.returncode is not None:
                break
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return
            await asyncio.sleep(0.1)
        raise RuntimeError(f"does not start: {' '.join(map(str, self.command))}")

    @property
    def has_ended(self):
        return self.process is None or self.process.returncode is not None

    async def kill(self):
        self.process.kill()
        await self.process.wait()

    async def stop(self):
        """Ends it with SIGTERM, if it ends in time."""
        if self.has_ended:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), PATIENCE)
        except TimeoutError:
            await self.kill()


@contextlib.asynccontextmanager
async def running(program):
    await program.start()
    try:
        yield program
    finally:
        await program.stop()
