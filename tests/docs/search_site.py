#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Opens the built site as a file in headless Chromium and searches it.

usage: search_site.py FOLDER

The search must find a page, and nothing may be asked of the network. Exit codes: 0 fine, 1 problems,
77 no browser.
"""
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli" / "browser"))
import check_page  # noqa: E402

FOUND = "document.querySelector('.md-search-result').innerText"


def main():
    path = check_page.find_browser()
    if not path:
        print("no browser")
        return 77
    page = (pathlib.Path(sys.argv[1]) / "index.html").resolve().as_uri()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = check_page.Browser(path, profile)
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            browser.call(f"{domain}.enable", session)
        browser.call("Page.navigate", session, url=f"{page}?q=imbalance")
        found, deadline = "", time.monotonic() + 60
        while "Plan with uneven experts" not in found and time.monotonic() < deadline:
            time.sleep(0.5)
            found = str(browser.call("Runtime.evaluate", session, expression=FOUND)["result"].get("value"))
        asked = [event["params"]["request"]["url"] for event in browser.events
                 if event["method"] == "Network.requestWillBeSent"]
        thrown = [event for event in browser.events if event["method"] == "Runtime.exceptionThrown"]
        browser.close()
    problems = [f"asked for {url}" for url in asked if not url.startswith(("file:", "data:"))]
    problems += [str(event["params"]) for event in thrown]
    if "Plan with uneven experts" not in found:
        problems.append(f"not found: {found}")
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems or not asked else 0


if __name__ == "__main__":
    sys.exit(main())
