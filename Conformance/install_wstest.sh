#!/bin/bash
# The Autobahn test suite 25.10.1, unmodified, on Debian 12 without touching the system:
# a private CPython 2.7.18 unpacked from Debian 11 .debs + the suite's own pins from PyPI, by hash.
# usage: install_wstest.sh DIR      -> DIR/wstest (listens on 127.0.0.1 only)
# needs: apt-get, dpkg-deb, a Python 3 with pip (PYTHON3=… names another); gcc for the accelerator (wsaccel)
set -euo pipefail
PYTHON3=${PYTHON3:-python3}
LISTS=$(cd "$(dirname "$0")" && pwd)/python2
D=$(realpath -m "$1"); P=$D/py27; B=$D/dl
mkdir -p "$P" "$B/lists/partial" "$B/debs" "$B/boot"
# the mirror of this machine's own package sources; MIRROR=… overrides
MIRROR=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | head -n 1)}
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${MIRROR%/} bullseye main" > "$B/sources.list"
O=(-o "Dir::Etc::SourceList=$B/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::lists=$B/lists"
   -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root
   -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false)
apt-get "${O[@]}" update -qq
(cd "$B/debs" && apt-get "${O[@]}" download -qq python2.7-minimal libpython2.7-minimal libpython2.7-stdlib libpython2.7-dev libssl1.1 libffi7)
for d in "$B"/debs/*.deb; do dpkg-deb -x "$d" "$P"; done

cat > "$P/python2" <<EOF
#!/bin/sh
export LD_LIBRARY_PATH=$P/usr/lib/$(uname -m)-linux-gnu\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} PYTHONHOME=$P/usr PYTHONNOUSERSITE=1
exec $P/usr/bin/python2.7 -W ignore "\$@"
EOF
chmod +x "$P/python2"

# pip refuses a file whose hash is not in the lists.
"$PYTHON3" -m pip download -q --disable-pip-version-check --no-deps --python-version 2.7 --only-binary=:all: --require-hashes -d "$B/boot" -r "$LISTS/bootstrap.txt"
pip2() { "$P/python2" "$B/boot/pip-20.3.4-py2.py3-none-any.whl/pip" "$@" -q --disable-pip-version-check --no-warn-script-location --no-deps --no-build-isolation; }
pip2 install --no-index "$B"/boot/setuptools-*.whl "$B"/boot/wheel-*.whl
pip2 install --prefer-binary --require-hashes -r "$LISTS/requirements.txt"
CPATH=$P/usr/include/python2.7:$P/usr/include CFLAGS=-O2 pip2 install --no-use-pep517 --require-hashes -r "$LISTS/accelerator.txt" ||
    echo "no wsaccel: 9.*, 12.* and 13.* will be slow" >&2

cat > "$D/wstest_loopback.py" <<'EOF'
# Python 2: the unchanged wstest, but every listening socket is bound to 127.0.0.1
# (wstest itself binds 0.0.0.0, whatever host the "url" names).
import sys
from autobahntestsuite import wstest
from twisted.internet import reactor
_listen = reactor.listenTCP
def listen(port, factory, backlog=50, interface=''):
    return _listen(port, factory, backlog, interface or '127.0.0.1')
reactor.listenTCP = listen
sys.argv[0] = 'wstest'
wstest.run()
EOF
cat > "$D/wstest" <<EOF
#!/bin/sh
exec $P/python2 -u $D/wstest_loopback.py "\$@"
EOF
chmod +x "$D/wstest"
rm -rf "$B"
"$D/wstest" -a
