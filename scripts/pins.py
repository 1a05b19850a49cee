#!/usr/bin/env python3
"""Ensures that builds of this package's own programs use exactly the dependencies of scripts/pins.json on every machine.

scripts/pins.py resolve    makes SwiftPM use the versions of pins.json, and checks the result
scripts/pins.py check      compares the resolved and checked-out versions with pins.json; changes nothing, and needs no network
scripts/pins.py update     writes the resolved versions into pins.json, after `swift package update`
scripts/pins.py python     renews the hashes of the lists of Python packages (needs uv)
scripts/pins.py --self-test     breaks a valid state in every way that `check` covers: each must be found

A pin is a version and git's name of its tree, a hash of every file's path and content. It is the same for every source of the package,
also for a mirror with other commits, so no Package.resolved is checked in. Packages that depend on our libraries resolve their
own versions and are not affected.
"""
import copy
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PINS = ROOT / "scripts/pins.json"
RESOLVED = ROOT / "Package.resolved"
STATE = ROOT / ".build/workspace-state.json"
# The requirements, and the files with the hashes of all packages they need. For the second kind the list contains everything itself.
LISTS = {folder + "/requirements.in": folder + "/requirements.txt"
         for folder in ("scripts", "Benchmarks/harness", "Benchmarks/codecs", "Benchmarks/peers/python", "Benchmarks/documents", "Interop/graphql",
                        "Interop/socketio")}
WHOLE_LISTS = ["Interop/wamp/requirements.txt"]
# Packages for Python 2.7 have no new releases: `check` reads these lists, and nothing renews them.
FINAL_LISTS = ["Conformance/python2/" + name for name in ("bootstrap.txt", "requirements.txt", "accelerator.txt")]
PYTHON = "3.11"


def git(*words, folder=None):
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def resolved():
    """The packages that SwiftPM resolved and checked out: source, version, tree, and whether the files are unchanged."""
    found = {}
    for dependency in json.loads(STATE.read_text())["object"]["dependencies"]:
        package, state = dependency["packageRef"], dependency["state"].get("checkoutState", {})
        folder = ROOT / ".build/checkouts" / dependency["subpath"]
        found[package["identity"]] = {
            "url": package["location"], "version": state.get("version"), "tree": git("rev-parse", "HEAD^{tree}", folder=folder),
            "isClean": not git("status", "--porcelain", "--untracked-files=no", folder=folder)}
    return found


def differences(pins, found):
    for name in sorted(pins.keys() | found.keys()):
        pin, package = pins.get(name), found.get(name)
        if pin is None:
            yield f"{name} is in use and not pinned"
        elif package is None:
            yield f"{name} is pinned and not in use"
        elif package["url"] != pin["url"]:
            yield f"{name} comes from {package['url']}, pinned is {pin['url']}"
        elif package["version"] != pin["version"]:
            yield f"{name} is {package['version'] or 'no release'}, pinned is {pin['version']}"
        elif package["tree"] != pin["tree"]:
            yield f"{name} {pin['version']} holds other files than when it was pinned: {package['tree']}, not {pin['tree']}"
        elif not package["isClean"]:
            yield f"{name}: files were changed in .build/checkouts"


def list_problems(text):
    """The lines that keep pip from checking every file of a list."""
    for block in re.split(r"\n(?=[A-Za-z0-9])", "\n" + re.sub(r"(?m)^#.*\n", "", text)):
        name = block.strip().split("\n")[0].rstrip(" \\")
        if name and ("==" not in name or "--hash=sha256:" not in block):
            yield f"{name} has no version or no hash"


def pip_problems(text):
    """The commands of a script in which pip takes files from an index without checking their hashes."""
    for line in text.replace("\\\n", " ").splitlines():
        if re.search(r"""\bpip[0-9.]*["',]*\s+["']?(install|download)\b""", line) and not re.search("--require-hashes|--no-index", line):
            yield f"'{line.strip()}' lacks --require-hashes"


def check():
    problems = list(differences(json.loads(PINS.read_text()), resolved()))
    if problems:
        problems.append("'scripts/pins.py resolve' takes what is pinned; 'scripts/pins.py update' pins what is in use")
    for path in [*LISTS.values(), *WHOLE_LISTS, *FINAL_LISTS]:
        problems += [f"{path}: {problem}" for problem in list_problems((ROOT / path).read_text())]
    # This file has such commands in its tests, and documentation mentions them.
    for path in git("grep", "-lIE", r"\bpip[0-9.]*\b", "--", ":!scripts/pins.py", ":!*.md", folder=ROOT).splitlines():
        problems += [f"{path}: {problem}" for problem in pip_problems((ROOT / path).read_text())]
    for path in sorted((ROOT / ".github/workflows").glob("*.y*ml")):
        for action in re.findall(r"uses:\s*([^\s#]+)", path.read_text()):
            if not re.search(r"@[0-9a-f]{40}$", action):
                problems.append(f"{path.relative_to(ROOT)}: {action} is not named by its commit")
    for problem in problems:
        print(problem)
    return not problems


def resolve():
    """SwiftPM follows a Package.resolved if the manifest allows, so one is written."""
    entries = []
    for name, pin in json.loads(PINS.read_text()).items():
        lines = git("ls-remote", "--tags", pin["url"], *(f"refs/tags/{prefix}{pin['version']}{end}" for prefix in ("", "v")
                                                      for end in ("", "^{}")))
        tags = dict(reversed(line.split("\t")) for line in lines.splitlines())
        if not tags:
            print(f"{name} has no tag for {pin['version']}")
            return False
        # For an annotated tag the commit is listed under the longer name.
        revision = tags[max(tags, key=len)]
        entries.append({"identity": name, "kind": "remoteSourceControl", "location": pin["url"],
                        "state": {"revision": revision, "version": pin["version"]}})
    RESOLVED.write_text(json.dumps({"pins": entries, "version": 2}, indent=2) + "\n")
    subprocess.run(["swift", "package", "resolve"], cwd=ROOT, check=True)
    return check()


def update():
    found = resolved()
    if unclean := [name for name, package in found.items() if not package["version"] or not package["isClean"]]:
        print(f"no releases as they came: {', '.join(unclean)}")
        return False
    pins = {name: {key: package[key] for key in ("url", "version", "tree")} for name, package in sorted(found.items())}
    PINS.write_text(json.dumps(pins, indent=2) + "\n")
    return True


def python():
    for source, target in [*LISTS.items(), *((path, path) for path in WHOLE_LISTS)]:
        names = "\n".join(re.findall(r"(?m)^[A-Za-z0-9][^\s;]*==[^\s;]+", (ROOT / source).read_text()))
        words = ["uv", "pip", "compile", "-q", "--universal", "--python-version", PYTHON, "--generate-hashes", "--no-header", "--no-annotate",
                 *(["--no-deps"] if source == target else []), "-"]
        hashes = subprocess.run(words, input=names, check=True, capture_output=True, text=True).stdout
        made = f"made from {source}" if source != target else "renewed"
        (ROOT / target).write_text(
            f"# Every file that the index has of these releases, by its hash: {made} by scripts/pins.py python.\n{hashes}")
    return True


def self_test():
    pins = {"a": {"url": "https://a", "version": "1.0.0", "tree": "t"}}
    good = {"a": pins["a"] | {"isClean": True}}
    changes = {"another package": {"b": good["a"]}, "nothing": None, "another place": {"a": good["a"] | {"url": "https://b"}},
               "another version": {"a": good["a"] | {"version": "1.0.1"}}, "a branch": {"a": good["a"] | {"version": None}},
               "other files": {"a": good["a"] | {"tree": "u"}}, "changed files": {"a": good["a"] | {"isClean": False}}}
    missed = [what for what, change in changes.items()
              if not list(differences(pins, {} if change is None else copy.deepcopy(good) | change))]
    listed = "# words\na==1 \\\n    --hash=sha256:0 \\\n    --hash=sha256:1\nb==2 ; python_version < '3' \\\n    --hash=sha256:2\n"
    missed += [text for text in (listed + "c==3\n", listed + "c \\\n    --hash=sha256:3\n", "a==1\n" + listed) if not list(list_problems(text))]
    missed += [text for text in ("pip install -r list", "x\npython -m pip download -q a==1", "pip3 install \\\n    a", '"-m", "pip", "install", "a"')
               if not list(pip_problems(text))]
    for what in missed:
        print(f"it did not see {what}")
    return not missed and not list(differences(pins, good)) and not list(list_problems(listed)) \
        and not list(pip_problems("pip install \\\n    --require-hashes -r list\npip list\npip install --no-index a.whl\n"))


if __name__ == "__main__":
    commands = {"check": check, "resolve": resolve, "update": update, "python": python, "--self-test": self_test}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    sys.exit(0 if commands[sys.argv[1]]() else 1)
