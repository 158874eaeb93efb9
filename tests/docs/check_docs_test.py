#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Each check of the documents, and of the built site, finds what it is for."""
import pathlib
import sys
import tempfile
import unittest

import check_docs
import check_samples
import command_help
import page_links

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs" / "site"))
import check_site  # noqa: E402

PROGRAM = """Plans training.
Usage: pleat [OPTIONS] SUBCOMMAND

Options:
  -h,--help                   Print this help message and exit

Subcommands:
  plan                        Find the best plans
  data                        Training data

`pleat help COMMAND` describes one command.
"""
PLAN = """Find the best plans
Usage: pleat plan [OPTIONS]

Options:
  -m,--model TEXT             Name of a model
  --collectives TEXT:{nccl,direct}=nccl Excludes: --model
                              Between several GPUs
  --device TEXT=cpu Excludes: --from-runs
                              What is measured


Pins:
  --tp INT|RANGE ...          Only these sizes

Examples:
  pleat plan --model deepseek-v3 \\
      --tp 2
"""
DATA = PROGRAM.replace("plan   ", "make   ")
MAKE = PLAN.replace("--tp", "--out")
COMMANDS = {"": command_help.parse(PROGRAM), "plan": command_help.parse(PLAN), "data": command_help.parse(DATA),
            "data make": command_help.parse(MAKE)}


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, "utf-8")

    def commands(self, text):
        self.write("README.md", text)
        return check_docs.check_commands(self.root, COMMANDS)


class Help(unittest.TestCase):
    def test_options_of_all_groups_and_long_names(self):
        plan = COMMANDS["plan"]
        self.assertEqual(plan.flags(), {"-m", "--model", "--collectives", "--device", "--tp"})
        self.assertEqual([title for title, _ in plan.groups], ["Options", "Pins"])
        self.assertEqual(plan.entries("Options")[2].text, "What is measured")
        self.assertTrue(plan.tail.startswith("Examples:"))
        self.assertEqual([entry.name for entry in COMMANDS[""].entries("Subcommands")], ["plan", "data"])


class Links(Tree):
    def test_dead_links_and_anchors(self):
        self.write("docs/A.md", "# One `x` (two)\n\n```\n# no heading\n[no](link.md)\n```\n`[no](link.md)`\n")
        self.write("README.md", "[a](docs/A.md#one-x-two) [b](docs/B.md)\n![c](docs/c.svg) [d](https://e.org/f)\n"
                   "[e](docs/A.md#no-heading) [f](#here)\n")
        self.assertEqual(check_docs.check_links(self.root), [
            "README.md:1: no file docs/B.md", "README.md:2: no file docs/c.svg",
            "README.md:3: no heading for docs/A.md#no-heading", "README.md:3: no heading for #here"])

    def test_anchors_as_github_makes_them(self):
        self.assertEqual(page_links.slug("Cluster: `configs/*.json` — `c.json`"), "cluster-configsjson--cjson")
        self.assertEqual(page_links.anchors("# A\n## A\n## B b\n"), {"a", "a-1", "b-b"})

    def test_targets_are_replaced_outside_of_code(self):
        self.assertEqual(page_links.replace_targets("[a](b.md) `[a](b.md)`\n```\n[a](b.md)\n```", str.upper),
                         "[a](B.MD) `[a](b.md)`\n```\n[a](b.md)\n```")

    def test_pipes_of_code_in_tables(self):
        self.assertEqual(page_links.plain_pipes("| `a\\|b` | c\\|d |\n`a\\|b`"), "| `a|b` | c\\|d |\n`a\\|b`")


class Commands(Tree):
    def test_commands_that_are(self):
        self.assertEqual(self.commands(
            "`pleat plan --model`, `pleat <command>`, `./pleat.sh setup --cuda`, `./pleat.sh test -R X`\n```\n"
            "$ A=1 pleat plan --model x \\\n    --tp=2 | head --lines 3\nmpirun -n 4 pleat data make -m x --out y\n"
            "```\n"), [])

    def test_wrong_commands_and_options(self):
        self.assertEqual(self.commands(
            "`pleat plam` and `./pleat.sh plan --tq 2`\n```\npleat plan --model x \\\n    --pp 2\n"
            "pleat data mak\npleat data make --tp 2\n./pleat.sh setup --gpu\n./pleat.sh docs --fast\n```\n"),
            ["README.md:3: pleat plan has no --pp", "README.md:5: no command pleat data mak",
             "README.md:6: pleat data make has no --tp", "README.md:7: ./pleat.sh setup has no --gpu",
             "README.md:8: ./pleat.sh docs has no --fast", "README.md:1: no command pleat plam",
             "README.md:1: ./pleat.sh plan has no --tq"])


class Samples(Tree):
    PAGE = ("```\n$ ./pleat.sh plan --model x \\\n    --tp 2\nfirst\n...\nlast line\n$ pleat watch x\nno\n```\n"
            "```\npleat plan\n```\n")

    def test_commands_with_what_is_shown_below(self):
        self.assertEqual(list(check_samples.samples(self.PAGE)),
                         [(2, ["plan", "--model", "x", "--tp", "2"], ["first", "...", "last line"])])

    def test_lines_in_their_places(self):
        printed = ["a", "b", "c", "d", "b"]
        self.assertIsNone(check_samples.missing(["a", "b", "...", "d", "b"], printed))
        self.assertEqual(check_samples.missing(["a", "c"], printed), "a")
        self.assertEqual(check_samples.missing(["d", "...", "c"], printed), "c")
        self.assertEqual(check_samples.missing(["x"], printed), "x")

    def test_what_the_program_does_not_print(self):
        self.write("README.md", self.PAGE)
        self.write("program", "#!/bin/sh\necho first\necho more\necho last lime\n")
        (self.root / "program").chmod(0o755)
        found, count = check_samples.problems(self.root, str(self.root / "program"), ["README.md"])
        self.assertEqual((count, found), (1, ["README.md:2: exit 0, not printed: last line\n"]))

    def test_wide_samples_and_large_images(self):
        self.write("README.md", "```\n" + "x" * 101 + "\n```\n" + "y" * 200 + "\n")
        self.write("docs/images/a.svg", "x" * 200_001)
        self.write("docs/images/b.svg", "x" * 200_000)
        self.assertEqual(check_docs.check_sizes(self.root), [
            "README.md:2: 101 columns; at most 100", "docs/images/a.svg: 200001 bytes; at most 200000"])


class Navigation(Tree):
    def test_pages_that_are_missing_on_either_side(self):
        self.write("docs/index.md", "")
        self.write("docs/a/b.md", "")
        nav = [{"Home": "index.md"}, {"More": [{"C": "c.md"}, {"I": "project/README.md"}, "index.md",
                                               {"V": "reference/version.md"}]}]
        self.assertEqual(check_docs.check_navigation(self.root, nav), [
            "mkdocs.yml: index.md stands there twice", "mkdocs.yml: no page c.md",
            "mkdocs.yml: no page project/README.md", "docs/a/b.md: is not in the nav of mkdocs.yml"])


class Site(Tree):
    def test_dead_links_and_what_is_loaded_from_elsewhere(self):
        self.write("index.html", '<h1 id="top"></h1><a href="a/b.html#x"></a><a href="a/b.html#y"></a>'
                   '<a href="c.html"></a><a href="https://e.org/d"></a><script src="https://e.org/e.js"></script>'
                   '<link rel="canonical" href="https://e.org/"><img src="f.png">')
        self.write("a/b.html", '<p id="x"></p><a href="../index.html#top"></a><a href="#z"></a>')
        self.assertEqual(check_site.problems(self.root), [
            "a/b.html: no anchor #z", "index.html: loads https://e.org/e.js", "index.html: no anchor a/b.html#y",
            "index.html: no c.html", "index.html: no f.png"])

    def test_an_empty_folder_is_no_site(self):
        self.assertEqual(len(check_site.problems(self.root)), 1)


if __name__ == "__main__":
    unittest.main()
