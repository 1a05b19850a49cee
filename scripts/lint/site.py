#!/usr/bin/env python3
"""Checks a site made by DocC: every page, image and download that a page refers to must exist.

scripts/lint/site.py FOLDER       checks a site
scripts/lint/site.py --self-test  checks one that lacks a page and one that lacks an image: both must be found
"""
import json
import pathlib
import sys
import tempfile


def targets(node):
    """Every path of this site in a page's JSON: links to pages under `url`, media under `url` of their variants."""
    if isinstance(node, dict):
        if isinstance(node.get("url"), str) and node["url"].startswith("/"):
            yield node["url"].split("#")[0]
        for value in node.values():
            yield from targets(value)
    elif isinstance(node, list):
        for value in node:
            yield from targets(value)


def missing(site):
    """The number of pages, and their references to missing files."""
    pages, lacking = 0, set()
    for path in sorted((site / "data").rglob("*.json")):
        pages += 1
        for target in targets(json.loads(path.read_text())):
            # A page consists of its data, which the page's script shows, and an index.html for a direct visit.
            files = [f"data{target}.json", f"{target[1:]}/index.html"] if target.startswith("/documentation") else [target[1:]]
            lacking |= {f"{path.relative_to(site)} refers to {target}" for file in files if not (site / file).is_file()}
    return pages, sorted(lacking)


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder)
        for file, text in {"data/documentation/a.json": '{"references": [{"url": "/documentation/a#Overview"}, {"url": "/images/a.png"}]}',
                           "documentation/a/index.html": "", "images/a.png": ""}.items():
            (site / file).parent.mkdir(parents=True, exist_ok=True)
            (site / file).write_text(text)
        if missing(site) != (1, []):
            return ["a whole site is not found whole"]
        missed = []
        for file in ("documentation/a/index.html", "images/a.png"):
            text = (site / file).read_text()
            (site / file).unlink()
            missed += [] if missing(site)[1] else [f"it did not see that {file} is missing"]
            (site / file).write_text(text)
        return missed


def main():
    if sys.argv[1:] == ["--self-test"]:
        problems, pages = self_test(), 1
    else:
        pages, problems = missing(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or f"{pages} pages")
    return bool(problems) or not pages


if __name__ == "__main__":
    sys.exit(main())
