#!/usr/bin/env python3
"""Checks the allowed dependencies in the manifest: `swift package dump-package | dependencies.py`.

Core targets depend only on Core targets. An app that uses only the client builds nothing of the server or the tool.
"""
import json
import sys

CLIENT_PRODUCT = "Holdfast"
# swift-atomics comes with SwiftNIO.
CLIENT_PACKAGES = {
    "swift-nio", "swift-nio-ssl", "swift-nio-http2", "swift-nio-transport-services", "swift-collections", "swift-atomics",
    # The interfaces that all kinds of backends share. Each is small and has no dependencies.
    "swift-log", "swift-metrics", "swift-distributed-tracing",
}
SERVER_OR_TOOLS = ("Sources/Server/", "Sources/Tools/", "Interop/", "Benchmarks/")


def dependencies(target, known):
    """The direct dependencies of a target: (targets of this package, packages)."""
    targets, packages = set(), set()
    for dependency in target["dependencies"]:
        (kind, value), = dependency.items()
        if kind == "product":
            packages.add(value[1])
        else:
            (targets if value[0] in known else packages).add(value[0])
    return targets, packages


def problems(package):
    targets = {target["name"]: target for target in package["targets"]}
    core = {name for name, target in targets.items() if (target.get("path") or "").startswith("Sources/Core/")}
    if not core:
        yield "no target in Sources/Core"
    for name in sorted(core):
        here, elsewhere = dependencies(targets[name], targets)
        for other in sorted((here - core) | elsewhere):
            yield f"the Core target {name} depends on {other}"

    products = {product["name"]: product["targets"] for product in package["products"]}
    if CLIENT_PRODUCT not in products:
        yield f"no product {CLIENT_PRODUCT}"
    waiting, closure = list(products.get(CLIENT_PRODUCT, [])), set()
    while waiting:
        name = waiting.pop()
        if name in closure:
            continue
        closure.add(name)
        here, elsewhere = dependencies(targets[name], targets)
        waiting += here
        for other in sorted(elsewhere - CLIENT_PACKAGES):
            yield f"the client builds {other}, because of {name}"
        if (targets[name].get("path") or "").startswith(SERVER_OR_TOOLS):
            yield f"the client builds {name}"


if __name__ == "__main__":
    found = list(problems(json.load(sys.stdin)))
    print("\n".join(found) or "as it should be")
    sys.exit(bool(found))
