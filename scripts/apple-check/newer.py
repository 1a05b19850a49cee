#!/usr/bin/env python3
"""Finds uses of the standard library that iOS 17 or macOS 14 lacks, in a build on Linux.

newer.py SYMBOLS STORE ROOT LIBRARY: the symbol graphs of the standard library, the index of the build, the folder whose files
are checked, and libIndexStore.so. Linux has no minimum version, so its compiler reports nothing, but the index has each use.
"""
import ctypes
import functools
import glob
import json
import os
import re
import sys

OLDEST = {"macOS": (14, 0), "iOS": (17, 0)}
REFERENCE_BY_COMPILER = 1 << 8  # indexstore.h: INDEXSTORE_SYMBOL_ROLE_IMPLICIT
# A requirement since then. Before, and beside it, the same function was in an extension.
ALSO_OLDER = ".&*(_:_:)"
RECORD = 2  # INDEXSTORE_UNIT_DEPENDENCY_RECORD


def newer_symbols(folder):
    """The symbols that are too new: their USR and a readable name."""
    versions = {}
    for path in glob.glob(folder + "/*.symbols.json"):
        with open(path) as file:
            symbols = json.load(file)["symbols"]
        for symbol in symbols:
            since = {
                entry["domain"]: (entry["introduced"]["major"], entry["introduced"].get("minor", 0))
                for entry in symbol.get("availability", []) if "introduced" in entry
            }
            lacking = [f"{name} {'.'.join(map(str, since[name]))}" for name in OLDEST if since.get(name, (0, 0)) > OLDEST[name]]
            # A symbol that several types share is available with the first of them.
            versions.setdefault(symbol["identifier"]["precise"], []).append((lacking, ".".join(symbol["pathComponents"])))
    return {
        usr: (found[0][1], ", ".join(found[0][0])) for usr, found in versions.items()
        if all(lacking for lacking, _ in found) and not found[0][1].endswith(ALSO_OLDER)
    }


class Text(ctypes.Structure):
    """indexstore_string_ref_t"""
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.data, self.length).decode() if self.length else ""


P, ARRIVAL, NAME = ctypes.c_void_p, ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p), \
    ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, Text)
# indexstore/indexstore.h of LLVM: results and parameters.
FUNCTIONS = {
    "store_create": (P, ctypes.c_char_p, P), "store_units_apply_f": (ctypes.c_bool, P, ctypes.c_uint, P, NAME),
    "unit_reader_create": (P, P, ctypes.c_char_p, P), "unit_reader_dispose": (None, P), "unit_reader_get_main_file": (Text, P),
    "unit_reader_dependencies_apply_f": (ctypes.c_bool, P, P, ARRIVAL), "unit_dependency_get_kind": (ctypes.c_int, P),
    "unit_dependency_get_name": (Text, P), "unit_dependency_get_filepath": (Text, P),
    "record_reader_create": (P, P, ctypes.c_char_p, P), "record_reader_dispose": (None, P),
    "record_reader_occurrences_apply_f": (ctypes.c_bool, P, P, ARRIVAL), "occurrence_get_symbol": (P, P),
    "occurrence_get_roles": (ctypes.c_uint64, P), "symbol_get_usr": (Text, P),
    "occurrence_get_line_col": (None, P, ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_uint)),
}


class Index:
    """The index of the compiler."""

    def __init__(self, library, store):
        library = ctypes.CDLL(library)
        for name, (result, *parameters) in FUNCTIONS.items():
            function = getattr(library, "indexstore_" + name)
            function.restype, function.argtypes = result, parameters
            setattr(self, name, function)
        self.store = self.store_create(store.encode(), None)

    def each(self, apply, owner, kind=ARRIVAL, *options):
        found = []
        apply(owner, *options, None, kind(lambda _, item: found.append(str(item) if kind is NAME else self.visit(item)) or True))
        return [item for item in found if item]

    def records(self, root):
        """The records of the existing files below `root`, and those files."""
        records = {}

        def note(dependency):
            path = str(self.unit_dependency_get_filepath(dependency))
            if self.unit_dependency_get_kind(dependency) == RECORD and path.startswith(root):
                records[str(self.unit_dependency_get_name(dependency))] = path

        self.visit = note
        for name in self.each(self.store_units_apply_f, self.store, NAME, 0):
            unit = self.unit_reader_create(self.store, name.encode(), None)
            main = str(self.unit_reader_get_main_file(unit)) if unit else ""
            if main.startswith(root) and not main.startswith(root + ".build/") and os.path.exists(main):
                self.each(self.unit_reader_dependencies_apply_f, unit)
            if unit:
                self.unit_reader_dispose(unit)
        return records

    def uses(self, record, symbols):
        """The line, and the name and version of the symbol, for each explicit use of a symbol that is too new."""
        def note(occurrence):
            symbol = symbols.get(str(self.symbol_get_usr(self.occurrence_get_symbol(occurrence))))
            # The compiler chooses the implicit calls of a loop by the minimum version.
            if symbol is None or self.occurrence_get_roles(occurrence) & REFERENCE_BY_COMPILER:
                return None
            line = ctypes.c_uint()
            self.occurrence_get_line_col(occurrence, ctypes.byref(line), ctypes.byref(ctypes.c_uint()))
            return line.value, *symbol

        self.visit = note
        reader = self.record_reader_create(self.store, record.encode(), None)
        if not reader:
            return []
        found = self.each(self.record_reader_occurrences_apply_f, reader)
        self.record_reader_dispose(reader)
        return found


@functools.cache
def lines(path):
    with open(path) as file:
        return file.read().split("\n")


def is_guarded(path, line):
    """Whether the line is inside an `if #available`: below one with less indentation, with nothing less indented in between."""
    indent = len(lines(path)[line - 1]) - len(lines(path)[line - 1].lstrip())
    for text in reversed(lines(path)[:line - 1]):
        depth = len(text) - len(text.lstrip())
        if text.strip() and depth < indent:
            if re.search(r"if #available\(.*(macOS|iOS) ", text):
                return True
            indent = depth
    return False


def main(symbols, store, root, library):
    if not os.path.isdir(store):
        sys.exit(f"there is no {store}: build first")
    index, newer = Index(library, store), newer_symbols(symbols)
    records = index.records(root)
    if not newer or not records:
        sys.exit("there is nothing to look at: is the build up to date?")
    found = {
        f"{os.path.relpath(path, root)}:{line}: {name} needs {version}"
        for record, path in records.items() for line, name, version in index.uses(record, newer) if not is_guarded(path, line)
    }
    print("\n".join(sorted(found)), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
