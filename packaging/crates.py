"""Lists the crates in the programs, for the bill of materials and the notices of licences.

The list has the crates of all architectures.
"""

import json
import os
import subprocess

TARGETS = [f"{name}-unknown-linux-musl" for name in os.environ["ALL_ARCHITECTURES"].split()]


def crates():
    """Returns the metadata of all crates in the programs, and by id the crates that each uses."""
    tree = _cargo("tree", "-p", "brain-ctl", "-p", "brain-convert", "-p", "brain-daemon",
                  "-e", "normal", "--prefix", "none", "--format", "{p}", "--no-dedupe",
                  *_each("--target"))
    linked = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    metadata = json.loads(_cargo("metadata", "--format-version", "1",
                                 *_each("--filter-platform")))
    packages = {
        package["id"]: package for package in metadata["packages"]
        if (package["name"], "v" + package["version"]) in linked
    }
    edges = {
        node["id"]: sorted(
            dependency["pkg"] for dependency in node["deps"]
            if dependency["pkg"] in packages
            and any(kind["kind"] is None for kind in dependency["dep_kinds"])
        )
        for node in metadata["resolve"]["nodes"] if node["id"] in packages
    }
    ordered = sorted(packages.values(), key=lambda package: (package["name"], package["version"]))
    return ordered, edges


def _each(option):
    return [argument for target in TARGETS for argument in (option, target)]


def _cargo(command, *arguments):
    line = ["cargo", command, "--locked", *arguments]
    return subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout
