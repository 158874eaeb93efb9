#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Opens reports in headless Chromium at two widths and fails on anything a reader would stumble on.

usage: check_page.py PAGE.html... [--screenshots FOLDER]

For each page: console messages, exceptions, policy violations and requests (there must be none), charts
that did not draw, text wider than the screen, filters and sorting that do nothing. Speaks the DevTools
protocol over a pipe, so that nothing beside the browser is needed. Exit codes: 0 fine, 1 problems,
77 no browser.
"""
import argparse
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

WIDTHS = (1280, 390)
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
TIMEOUT = 60


def find_browser():
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    return None


class Browser:
    """One headless browser; messages are JSON texts that end in a zero byte."""

    def __init__(self, path, profile):
        to_child, self.write_end = os.pipe()
        self.read_end, from_child = os.pipe()
        # The protocol wants descriptors 3 and 4.
        script = f"exec 3<&{to_child} 4>&{from_child}; exec \"$@\""
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", script, "bash", path, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={profile}",
             "--remote-debugging-pipe", "about:blank"],
            pass_fds=(to_child, from_child), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.buffer = b""
        self.last_id = 0
        self.events = []

    def _receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_end], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.read_end, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("the browser does not answer")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def evaluate(self, session, expression):
        answer = self.call("Runtime.evaluate", session, expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']['text']}")
        return answer["result"].get("value")

    def close(self):
        self.process.terminate()
        self.process.wait(TIMEOUT)


def words_of(event, url):
    """What an event says that is a problem; None if it is none."""
    method, params = event["method"], event["params"]
    if method == "Runtime.consoleAPICalled":
        return "console: " + " ".join(str(a.get("value", a.get("description"))) for a in params["args"])
    if method == "Runtime.exceptionThrown":
        details = params["exceptionDetails"]
        return "exception: " + details.get("exception", {}).get("description", details["text"])
    if method == "Log.entryAdded":
        return f"{params['entry']['level']}: {params['entry']['text']}"
    if method == "Network.requestWillBeSent":
        asked = params["request"]["url"]
        if asked != url and not asked.startswith("data:"):
            return f"request: {asked}"
    return None


# Filters the first table that can be by a text no row has, then not; sorts it by its first title.
EXERCISE = """(() => {
  const table = document.querySelector('table.filters');
  if (!table) return [];
  const problems = [], field = table.querySelector('input');
  const shown = () => [...table.tBodies[0].rows].filter((r) => r.offsetParent !== null).length;
  const type = (text) => { field.value = text; field.dispatchEvent(new Event('input')); };
  const all = shown();
  type('no row has this text');
  if (shown() !== 0) problems.push('a filter hides nothing');
  type('');
  if (shown() !== all || all === 0) problems.push('a cleared filter hides rows');
  const head = table.tHead.rows[0].cells[0];
  for (const order of ['ascending', 'descending']) {
    head.querySelector('button').click();
    if (head.getAttribute('aria-sort') !== order) problems.push('a title does not sort ' + order);
  }
  return problems;
})()"""


# Titles of columns of plans that begin beyond the right edge of their box.
CUT = """[...document.querySelectorAll('th')].filter((cell) => /^plan/.test(cell.textContent) &&
  cell.getBoundingClientRect().right > cell.closest('.scroll').getBoundingClientRect().right + 1)
  .map((cell) => cell.textContent)"""

# The sliders of a capacity page: the arrow keys move them, and everything follows; the button brings all back.
SLIDERS = "document.querySelectorAll('#what-if input[type=range]').length"
ANSWER = "document.getElementById('what-if-answer').textContent + document.querySelector('#what-if table').textContent"


def check_sliders(browser, session):
    problems = []
    before = browser.evaluate(session, ANSWER)
    for index in range(browser.evaluate(session, SLIDERS)):
        name = browser.evaluate(session, f"(() => {{ const s = document.querySelectorAll('#what-if input')[{index}];"
                                         " s.focus(); return s.id; })()")
        for _ in range(12):
            for kind in ("keyDown", "keyUp"):
                browser.call("Input.dispatchKeyEvent", session, type=kind, key="ArrowRight", code="ArrowRight",
                             windowsVirtualKeyCode=39)
        if browser.evaluate(session, ANSWER) == before:
            problems.append(f"{name} moves nothing")
        browser.evaluate(session, "document.querySelector('#what-if button').click()")
        if browser.evaluate(session, ANSWER) != before:
            problems.append(f"{name} does not come back")
    return problems


def check_page(browser, page, width, screenshots, charts_wanted, patience):
    url = page.resolve().as_uri()
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Runtime", "Log", "Network"):
        browser.call(f"{domain}.enable", session)
    browser.call("Emulation.setDeviceMetricsOverride", session, width=width, height=900,
                 deviceScaleFactor=1, mobile=width < 600)
    browser.events.clear()
    browser.call("Page.navigate", session, url=url)
    deadline = time.monotonic() + patience
    drawn = None
    while drawn is None and time.monotonic() < deadline:
        time.sleep(0.05)
        drawn = browser.evaluate(session, "document.body && document.body.dataset.charts")
    problems = [words for event in browser.events if (words := words_of(event, url))]
    if drawn is None:
        return problems + ["the page's script did not end"]
    charts = browser.evaluate(session, "document.querySelectorAll('.chart').length")
    plots = browser.evaluate(session, "document.querySelectorAll('.chart .cartesianlayer .subplot').length")
    if charts_wanted and (charts == 0 or int(drawn) != charts or plots < charts):
        problems.append(f"{plots} of {charts} charts are drawn")
    wide = browser.evaluate(session, "document.documentElement.scrollWidth")
    if wide > width:
        problems.append(f"{wide} pixels wide")
    problems += browser.evaluate(session, EXERCISE)
    if browser.evaluate(session, SLIDERS):
        problems += check_sliders(browser, session)
    hidden = browser.evaluate(session, CUT)
    if hidden and width >= 1000:
        problems.append(f"cells are cut: {hidden}")
    if screenshots:
        screenshots.mkdir(parents=True, exist_ok=True)
        height = browser.evaluate(session, "document.documentElement.scrollHeight")
        shot = browser.call("Page.captureScreenshot", session, captureBeyondViewport=True,
                            clip={"x": 0, "y": 0, "width": width, "height": min(height, 8000), "scale": 1})
        file = screenshots / f"{page.stem}-{width}.png"
        file.write_bytes(base64.b64decode(shot["data"]))
    problems += [words for event in browser.events if (words := words_of(event, url))
                 and words not in problems]
    browser.call("Target.closeTarget", targetId=target)
    return problems


def check_pages(pages, widths=WIDTHS, screenshots=None, charts_wanted=True, patience=TIMEOUT):
    """Problems of each page, by page and width. None: there is no browser."""
    path = find_browser()
    if path is None:
        return None
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(path, profile)
        try:
            return {(page, width): check_page(browser, page, width, screenshots, charts_wanted, patience)
                    for page in pages for width in widths}
        finally:
            browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("--no-charts", action="store_true", help="the pages were written without Plotly")
    arguments = parser.parse_args()
    found = check_pages(arguments.pages, WIDTHS, arguments.screenshots, not arguments.no_charts)
    if found is None:
        print("skipped: no browser of " + ", ".join(BROWSERS))
        return 77
    for (page, width), problems in found.items():
        print(f"{page.name} at {width} pixels: " + ("\n  ".join(problems) or "fine"))
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
