# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The wheel in an empty environment: the command, README's examples, the module, the page of it."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def commands_of_pages() -> "list[str]":
    """Give the examples of plan, capacity and export that need no files of others."""
    pages = (ROOT / "README.md", ROOT / "docs" / "examples.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    found = []
    for m in re.finditer(r"^\$ (?:\./pleat\.sh|pleat) ((?:.*\\\n)*.*)$", text, re.M):
        command = m.group(1).replace("\\\n", " ").split(" #")[0]
        if command.split()[0] in ("plan", "capacity", "export") and command not in found:
            found.append(command)
    return found


class Wheel(unittest.TestCase):
    """Built by pleat.sh, installed with pip, used from a folder that has nothing."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        given = os.environ.get("PLEAT_WHEEL")
        if given is None:
            subprocess.run([str(ROOT / "pleat.sh"), "wheel"], check=True, stdout=subprocess.DEVNULL)
            (wheel,) = (ROOT / "build" / "wheel").glob("*.whl")
        else:
            wheel = Path(given)
        cls.wheel = wheel
        cls.home = Path(cls.folder.name)
        cls.bin = cls.home / "env" / "bin"
        venv.create(cls.home / "env", with_pip=True)
        subprocess.run([cls.bin / "python", "-m", "pip", "install", "-q", str(wheel)], check=True)
        cls.environment = {"PATH": "/usr/bin:/bin", "HOME": cls.folder.name}

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def run_in_folder(self, *words: str, code: int = 0, **more: str) -> str:
        ran = subprocess.run(
            [str(self.bin / words[0]), *words[1:]],
            capture_output=True,
            text=True,
            cwd=self.folder.name,
            env={**self.environment, **more},
            check=False,
        )
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran.stdout + ran.stderr

    def test_name_says_what_it_needs(self) -> None:
        self.assertRegex(
            self.wheel.name, r"^pleat-[0-9.]+-cp3\d+-(cp3\d+|abi3)-manylinux_2_\d+_x86_64"
        )

    def test_finds_every_library(self) -> None:
        where = self.run_in_folder("python", "-c", "import pleat; print(pleat.__path__[0])").strip()
        for file in (Path(where) / "installed" / "bin" / "pleat", *Path(where).glob("_core*.so")):
            linked = subprocess.run(
                ["ldd", file], capture_output=True, text=True, check=True
            ).stdout
            self.assertNotIn("not found", linked)
            for line in linked.splitlines():
                name = line.split()[0]
                ours = self.folder.name in line
                system = re.match(
                    r"(/lib64/ld-|linux-vdso|lib(c|m|z|dl|rt|pthread|stdc\+\+|gcc_s)\.so)", name
                )
                self.assertTrue(ours or system, line)

    def test_command(self) -> None:
        self.assertIn("mixtral-8x7b", self.run_in_folder("pleat", "models"))
        self.assertIn("error: ", self.run_in_folder("pleat", "plan", code=2))
        self.assertIn("mixtral-8x7b", self.run_in_folder("python", "-m", "pleat", "models"))
        self.run_in_folder(
            "pleat",
            "predict",
            "--model",
            "mixtral-8x7b",
            "--cluster",
            "h100-sxm",
            "--gpus",
            "64",
            "--seq-len",
            "4096",
            "--global-batch",
            "256",
            "--ep",
            "8",
            "--html",
            "page.html",
        )
        self.assertIn("Plotly", (self.home / "page.html").read_text(encoding="utf-8"))

    def test_examples_of_the_pages(self) -> None:
        commands = commands_of_pages()
        self.assertGreaterEqual(len(commands), 2)
        where = self.run_in_folder("python", "-c", "import pleat; print(pleat.__path__[0])").strip()
        configs = Path(where) / "installed" / "share" / "pleat" / "configs"
        (self.home / "configs").symlink_to(configs)
        for command in commands:
            with self.subTest(command=command):
                self.run_in_folder("pleat", *shlex.split(command))

    def test_module(self) -> None:
        self.run_in_folder("python", str(ROOT / "tests" / "python" / "documents_test.py"))
        pleat = str(self.bin / "pleat")
        for name in ("answers_test", "errors_test", "estimates_test"):
            with self.subTest(name=name):
                self.run_in_folder(
                    "python", str(ROOT / "tests" / "python" / f"{name}.py"), PLEAT_BINARY=pleat
                )


if __name__ == "__main__":
    if sys.platform != "linux":
        sys.exit("the wheel is for Linux")
    unittest.main()
