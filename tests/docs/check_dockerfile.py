#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The Dockerfile, without Docker: check_dockerfile.py ROOT PLEAT

The packages of its last image hold every shared library that the program itself names, what it copies from
the first image is what that one installs, and it asks pleat.sh and pleat for what they have. Skipped (77)
where there is no dpkg, which knows whose a library is.
"""
import pathlib
import re
import shutil
import subprocess
import sys

OF_EVERY_IMAGE = {"libc6", "libgcc-s1", "libstdc++6"}  # dependencies of the others


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def instructions(text):
    joined = re.sub(r"\\\n", " ", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    return [line.split(None, 1) for line in joined.splitlines() if line.strip()]


def packages_of(program):
    """{package: library} of the libraries that the program names."""
    wanted = set(re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", program)))
    places = {}  # by every spelling that dpkg may know it by
    for name, place in re.findall(r"(\S+) => (/\S+)", output("ldd", program)):
        if name in wanted:
            whole = str(pathlib.Path(place).resolve())
            places.update(dict.fromkeys({place, whole, whole.removeprefix("/usr")}, name))
    said = subprocess.run(["dpkg", "-S", *places], capture_output=True, text=True).stdout
    found, known = {}, set()
    for line in said.splitlines():
        package, _, place = line.partition(": ")
        found[package.split(":")[0]] = places.get(place.strip(), place)
        known.add(places.get(place.strip(), place))
    nobody = wanted - known - {name for name in wanted if name.startswith("ld-linux")}
    return found | {f"(none has {name})": name for name in nobody}


def problems_of(root, program):
    steps = instructions((root / "Dockerfile").read_text("utf-8"))
    runs = " && ".join(rest for word, rest in steps if word == "RUN")
    installed = set(re.search(r"install -y --no-install-recommends(.*?)&&", runs).group(1).split())
    problems = [f"the image has no package {package}, whose {library} the program needs"
                for package, library in packages_of(program).items()
                if package not in installed | OF_EVERY_IMAGE]
    prefix = re.search(r"cmake --install build --prefix (\S+)", runs).group(1)
    copies = [rest.split() for word, rest in steps if word == "COPY" and rest.startswith("--from")]
    problems += [f"copies {copy[1]}, the first image installs {prefix}" for copy in copies if copy[1] != prefix]
    for asked in re.findall(r"\./pleat\.sh (\w+)", runs):
        if asked not in ("setup", "build") and subprocess.run([program, "help", asked], capture_output=True).returncode:
            problems.append(f"pleat.sh has no {asked}")
    if not any(word == "ENTRYPOINT" and '"pleat"' in rest for word, rest in steps):
        problems.append("does not run pleat")
    return problems


def main():
    if not shutil.which("dpkg") or not shutil.which("readelf"):
        print("skipped: no dpkg or readelf")
        return 77
    problems = problems_of(pathlib.Path(sys.argv[1]), sys.argv[2])
    for problem in problems:
        print("Dockerfile:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
