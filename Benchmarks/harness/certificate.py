"""A certificate for the row with TLS."""

import subprocess

from .settings import RESULTS


def make() -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-keyout", RESULTS / "tls.key", "-out", RESULTS / "tls.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
