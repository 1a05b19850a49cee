"""The settings from the environment, and the paths."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".cache" / "bench"
SWIFT_PROGRAMS = pathlib.Path(os.environ.get("HOLDFAST_BENCH_BIN_DIR") or PROGRAMS / "swift" / "release").absolute()
RESULTS = ROOT / ".build" / "bench"
LOGS = RESULTS / "logs"

ROUNDS = int(os.environ.get("ROUNDS") or "5")
SECONDS = float(os.environ.get("SECONDS_EACH") or "0.5")
ROW = os.environ.get("ROW") or ""
CHART = os.environ.get("CHART") or ""

# The cores of the measured and of the measuring program. With a single core both share it.
CORES = sorted(os.sched_getaffinity(0))
MEASURED_CORE, LOAD_CORE = CORES[0], CORES[-1]
