#!/usr/bin/env python3
"""The components of the tool and its hub, with versions and licences, as CycloneDX 1.6.

scripts/sbom.py            prints it
scripts/sbom.py --check    checks that the list is complete; like printing, it needs an up-to-date debug build
scripts/sbom.py --self-test    removes components, each of which must be found

It is derived from what was linked: every module of the program with its package's checkout, foreign code within those
packages, and the shared libraries that the program loads.
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / ".build/debug"
PROGRAM = "holdfast"
# Foreign code within packages: by module its name, the file with its version, and its licence from its files.
WITHIN = {
    "CNIOBoringSSL": ("BoringSSL", "hash.txt", r"revision ([0-9a-f]{40})", "Apache-2.0 AND MIT"),
    "CCryptoBoringSSL": ("BoringSSL", "hash.txt", r"revision ([0-9a-f]{40})", "Apache-2.0 AND MIT"),
    "CNIOLLHTTP": ("llhttp", "include/c_nio_llhttp.h", r"LLHTTP_VERSION_MAJOR (\d+)\s.*?MINOR (\d+)\s.*?PATCH (\d+)", "MIT"),
    "CXKCP": ("XKCP", "vendored-sources.txt", r"-g([0-9a-f]+)", "CC0-1.0"),
}
# C modules that belong to their packages. Another one may be foreign code, so it must be checked.
OWN_C = {
    "CCryptoBoringSSLShims", "CNIOAtomics", "CNIOBoringSSLShims", "CNIODarwin", "CNIOFreeBSD", "CNIOLinux", "CNIOOpenBSD", "CNIOPosix",
    "CNIOWASI", "CNIOWindows", "CSystem", "CXKCPShims", "_AtomicsShims", "_NumericsShims",
}
# Shared libraries: their projects, their licences, and how to find their versions.
LIBRARIES = {
    r"lib(swift\w*|_?Foundation\w*|dispatch|BlocksRuntime)\.so": ("Swift", "Apache-2.0 WITH Swift-exception", "swift"),
    r"libz\.so.*": ("zlib", "Zlib", ("/usr/include/zlib.h", r'#define ZLIB_VERSION "([^"]+)"')),
    r"libsqlite3\.so.*": ("SQLite", "blessing", ("/usr/include/sqlite3.h", r'#define SQLITE_VERSION\s+"([^"]+)"')),
    r"(libc|libm|ld-linux.*)\.so.*": ("glibc", "LGPL-2.1-or-later", "libc6"),
    r"lib(stdc\+\+|gcc_s)\.so.*": ("GCC runtime", "GPL-3.0-or-later WITH GCC-exception-3.1", "libgcc-s1"),
}


def licence(folder):
    """The licence of a package, from the text of its file."""
    files = sorted(folder.glob("LICEN[CS]E*"))
    text = re.sub(r"\s+", " ", files[0].read_text()) if files else ""
    if "Apache License Version 2.0" in text:
        return "Apache-2.0 WITH Swift-exception" if "Runtime Library Exception" in text else "Apache-2.0"
    if "Permission is hereby granted, free of charge" in text:
        return "MIT"
    if "Redistribution and use in source and binary forms" in text:
        return "BSD-3-Clause" if "Neither the name" in text else "BSD-2-Clause"
    return None


def linked_modules():
    """The modules of the program, each with its first source file, and whether it is C."""
    objects = (BUILD / f"{PROGRAM}.product/Objects.LinkFileList").read_text().splitlines()
    for name in sorted({match[1] for line in objects if (match := re.search(r"/([^/]+)\.build/", line))}):
        folder = BUILD / f"{name}.build"
        if (folder / "sources").exists():
            yield name, (folder / "sources").read_text().split("\n")[0].strip("'"), False
            continue
        rules = next(folder.rglob("*.d"), None)
        source = re.search(r"^\S*:\s*\\?\s*(\S+)", rules.read_text()) if rules else None
        yield name, source[1] if source else "", True


def packages():
    """The resolved packages, by the folder of their checkout."""
    state = json.loads((ROOT / ".build/workspace-state.json").read_text())["object"]["dependencies"]
    return {entry["subpath"]: (entry["packageRef"], entry["state"]["checkoutState"].get("version")) for entry in state}


def libraries():
    lines = subprocess.run(["readelf", "-d", BUILD / PROGRAM], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", lines)


def version_of(how):
    if how == "swift":
        line = subprocess.run(["swift", "--version"], check=True, capture_output=True, text=True).stdout
        return re.search(r"Swift version (\S+)", line)[1]
    if isinstance(how, str):
        return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", how], check=True, capture_output=True, text=True).stdout
    path, pattern = how
    return re.search(pattern, pathlib.Path(path).read_text())[1]


def component(kind, name, version, licensed, **more):
    entry = {"type": kind, "bom-ref": f"{name}@{version}", "name": name, "version": version}
    return entry | ({"licenses": [{"expression": licensed}]} if licensed else {}) | more


def bom(modules, resolved, needed):
    """The list, and what could not be included."""
    problems, parts, used = [], {}, {}
    for module, source, is_c in modules:
        if is_c and module not in OWN_C and module not in WITHIN:
            problems.append(f"nobody has looked whose code the module {module} is: see WITHIN and OWN_C")
        match = re.search(r"/checkouts/([^/]+)/", source)
        if match:
            used.setdefault(match[1], []).append(module)
        elif "/Sources/" not in source:
            problems.append(f"nobody knows where the module {module} is from")
    for folder, names in used.items():
        package, version = resolved.get(folder, (None, None))
        if package is None:
            problems.append(f"{folder} is linked, and was not resolved")
            continue
        licensed = licence(ROOT / ".build/checkouts" / folder)
        if not version or not licensed:
            problems.append(f"{package['identity']} has no {'licence' if version else 'version'} that is known")
        url = package["location"].removesuffix(".git")
        parts[folder] = component(
            "library", package["identity"], version, licensed, purl=f"pkg:swift/{url.removeprefix('https://')}@{version}",
            properties=[{"name": "holdfast:modules", "value": " ".join(names)}], externalReferences=[{"type": "vcs", "url": url}])
        inner = [within(name, folder, problems) for name in names if name in WITHIN]
        if inner:
            parts[folder]["components"] = inner
    shared = {}
    for name in needed:
        known = next((entry for pattern, entry in LIBRARIES.items() if re.fullmatch(pattern, name)), None)
        if known is None:
            problems.append(f"nobody knows what the shared library {name} is")
            continue
        shared.setdefault(known, []).append(name)
    for (name, licensed, how), files in shared.items():
        parts[f"lib/{name}"] = component(
            "library", name, version_of(how), licensed, properties=[{"name": "holdfast:files", "value": " ".join(files)}])
    components = [parts[key] for key in sorted(parts, key=str.lower)]
    version = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    digest = hashlib.sha256((BUILD / PROGRAM).read_bytes()).hexdigest()
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": component("application", PROGRAM, version, licence(ROOT), hashes=[{"alg": "SHA-256", "content": digest}])},
        "components": components,
        "dependencies": [{"ref": f"{PROGRAM}@{version}", "dependsOn": [part["bom-ref"] for part in components]}],
    }, problems


def within(module, folder, problems):
    name, file, pattern, licensed = WITHIN[module]
    place = next((ROOT / ".build/checkouts" / folder).glob(f"Sources/**/{module}"), None)
    found = re.search(pattern, (place / file).read_text(), re.S) if place else None
    if not found:
        problems.append(f"the version of {name} in {module} is not where it was")
    version = ".".join(found.groups()) if found else "unknown"
    return component("library", name, version, licensed) | {"bom-ref": f"{module}@{version}"}


def self_test():
    modules, resolved, needed = list(linked_modules()), packages(), libraries()
    other = {folder: package for folder, package in resolved.items() if folder != "swift-nio"}
    cases = {
        "a package that was not resolved": (modules, other, needed),
        "a package without a version": (modules, resolved | {"swift-nio": (resolved["swift-nio"][0], None)}, needed),
        "a module from nowhere": (modules + [("Odd", "/tmp/odd.swift", False)], resolved, needed),
        "a module of C that nobody has looked at": (modules + [("COdd", modules[0][1], True)], resolved, needed),
        "a library that nobody knows": (modules, resolved, needed + ["libodd.so.1"]),
    }
    missed = [what for what, case in cases.items() if not bom(*case)[1]]
    for what in missed:
        print(f"it did not see {what}")
    return not missed


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    content, problems = bom(list(linked_modules()), packages(), libraries())
    names = {entry["name"] for entry in content["components"]}
    inner = {entry["name"] for part in content["components"] for entry in part.get("components", [])}
    # Without these the list was empty.
    problems += [f"{name} is not in it" for name in ("swift-nio", "swift-protobuf", "zlib", "SQLite", "Swift") if name not in names]
    problems += [f"{name} is not in it" for name in ("BoringSSL", "llhttp") if name not in inner]
    for problem in problems:
        print(problem, file=sys.stderr)
    if sys.argv[1:] != ["--check"]:
        print(json.dumps(content, indent=2))
    return not problems


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
