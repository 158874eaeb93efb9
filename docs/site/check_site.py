#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Follows every link of a built site, and fails on what is not there or comes from elsewhere.

usage: check_site.py FOLDER

Links and anchors of all pages must lead somewhere, and nothing that a browser loads by itself (scripts,
styles, images, frames) may have an address of another host. Exit codes: 0 fine, 1 problems.
"""
import html.parser
import os
import pathlib
import sys
import urllib.parse

LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids.update(value for name, value in attributes if name in ("id", "name") and value)
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        is_loaded = tag != "link" or given.get("rel") not in ("canonical", "alternate", "next", "prev")
        if is_loaded and given.get(LOADS.get(tag, "")):
            self.loads.append(given[LOADS[tag]])


def problems(folder):
    pages = {path.relative_to(folder).as_posix(): Page(path.read_text("utf-8"))
             for path in sorted(folder.rglob("*.html"))}
    if not pages:
        return [f"{folder}: no pages"]
    found = []
    for name, page in pages.items():
        for load in page.loads:
            if urllib.parse.urlsplit(load).netloc:
                found.append(f"{name}: loads {load}")
        for link in page.links + page.loads:
            if name != "404.html":  # its links begin at the root of a server
                found += _follow(folder, pages, name, link)
    return found


def _follow(folder, pages, name, link):
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc:
        return []
    path = urllib.parse.unquote(parts.path)
    target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
    if (folder / target).is_dir():
        target = os.path.normpath(os.path.join(target, "index.html"))
    if not (folder / target).is_file():
        return [f"{name}: no {link}"]
    anchor = urllib.parse.unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].ids:
        return [f"{name}: no anchor {link}"]
    return []


def main():
    found = problems(pathlib.Path(sys.argv[1]))
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
