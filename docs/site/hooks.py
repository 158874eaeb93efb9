# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""What mkdocs.yml cannot say: pages that are made when the site is built, and links out of docs/.

The command reference and the page of the version are what the built program prints (PLEAT_BINARY, else
build/cli/pleat). A file outside of docs/ that a page links to is part of the site, below project/.
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mkdocs.structure.files import File  # noqa: E402

import command_help  # noqa: E402
import command_pages  # noqa: E402
import notebook_pages  # noqa: E402
import page_links  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PLEAT_BINARY", str(ROOT / "build/cli/pleat"))
COMMANDS = "reference/commands"
VERSION = "reference/version.md"
OUTSIDE = "project/"


def on_config(config):
    config.mdx_configs.setdefault("toc", {})["slugify"] = lambda text, _: page_links.slug(text)
    config.extra["commands"] = command_help.read_commands(BINARY)
    config.extra["pleat_version"] = _output("version").strip()
    config.copyright = f"{config.extra['pleat_version']}. The Pleat authors. Apache-2.0."
    _list_commands(config.nav, config.extra["commands"])
    return config


def _output(*words):
    return subprocess.run([BINARY, *words], capture_output=True, text=True, check=True).stdout


def _list_commands(nav, commands):
    """Puts a page for each command below the entry of their list."""
    for entry in nav:
        for title, value in entry.items():
            if isinstance(value, list):
                _list_commands(value, commands)
            elif value == f"{COMMANDS}/index.md":
                entry[title] = [{"All": value}] + [{f"pleat {name}": f"{COMMANDS}/{name}.md"}
                                           for name in commands if name and " " not in name]


def on_files(files, config):
    commands = config.extra["commands"]
    for name, text in command_pages.pages(commands).items():
        files.append(File.generated(config, f"{COMMANDS}/{name}.md", content=text))
    files.append(File.generated(config, VERSION, content=command_pages.version_page(
        config.extra["pleat_version"], _output("version", "--json").strip())))
    for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md",
                                    content=notebook_pages.page(path.read_text("utf-8"), path.name)))
    waiting = [file for file in files.documentation_pages()]
    while waiting:
        page = waiting.pop()
        for _, target in page_links.links(page.content_string):
            path = _in_project(page.src_uri, target)
            uri = _in_site(path)
            if not uri.startswith(OUTSIDE) or files.get_file_from_path(uri) or not (ROOT / path).is_file():
                continue
            added = File.generated(config, uri, abs_src_path=str(ROOT / path))
            files.append(added)
            if added.is_documentation_page():
                waiting.append(added)
    return files


def _in_project(page, target):
    """The path from the project's root to what a page of the site links to."""
    own = page.removeprefix(OUTSIDE) if page.startswith(OUTSIDE) else f"docs/{page}"
    path = target.split("#")[0]
    return os.path.normpath(os.path.join(os.path.dirname(own), path)) if path else own


def _in_site(path):
    return path.removeprefix("docs/") if path.startswith("docs/") else OUTSIDE + path


def on_page_markdown(markdown, page, config, files):
    def change(target):
        path, mark, anchor = target.partition("#")
        if not path:
            return target
        uri = _in_site(_in_project(page.file.src_uri, target))
        if uri.startswith("notebooks/"):
            uri = uri.removesuffix(".ipynb") + ".md" if uri.endswith(".ipynb") else uri
        return os.path.relpath(uri, os.path.dirname(page.file.src_uri) or ".") + mark + anchor

    return page_links.plain_pipes(page_links.replace_targets(markdown, change))
