#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The page of `pleat serve` in a headless browser, at 1280 and 390 pixels, by keyboard; and who gets no answer.

usage: serve_test.py PLEAT [--screenshots FOLDER]
"""
import base64
import http.client
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

import check_page

WAIT = 60


def answered(host, path, headers=None, body=None):
    connection = http.client.HTTPConnection(host, timeout=WAIT)
    connection.request("POST" if body is not None else "GET", path, body, headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def check_answers(address, expect):
    """What is sent without a browser: tokens, hosts, wrong questions."""
    parts = urllib.parse.urlsplit(address)
    token = {"X-Pleat-Token": urllib.parse.parse_qs(parts.query)["token"][0]}
    words = json.dumps({"words": ["--model", "gpt-1.7b", "--cluster", "h100-sxm", "--gpus", "8", "--seq-len", "2048",
                                  "--global-batch", "64"]})
    ask = lambda path, headers, body=None: answered(parts.netloc, path, headers, body)
    expect(ask("/", {})[0] == 200, "the page needs no token")
    for path, body in (("/api/choices", None), ("/api/predict", words), ("/api/details", words), ("/api/plan", words)):
        expect(ask(path, {}, body)[0] == 403, f"{path} without a token")
        expect(ask(path, {"X-Pleat-Token": "0" * 32}, body)[0] == 403, f"{path} with a wrong token")
        expect(ask(path, token | {"Host": "pleat.example"}, body)[0] == 403, f"{path} for another host")
    status, text = ask("/api/predict", token, words)
    expect(status == 200 and json.loads(text)["fits"], f"an estimate: {status} {text[:200]}")
    for body, part in (("[1", "not valid JSON"), ("{}", "words"), ('{"words": [1]}', "list of strings"),
                       ('{"words": ["--model", "nope"]}', "no model named"), ('{"words": ["--help"]}', "no help"),
                       ('{"words": ["--json"]}', "--json"), ("[" * 100_000, "")):
        status, text = ask("/api/predict", token, body)
        expect(status == 422 and part in json.loads(text)["problem"], f"{body[:40]}: {status} {text[:200]}")
    status, _ = ask("/api/predict", token, " " * (2 << 20))
    expect(status == 413, f"a question of 2 MiB: {status}")
    status, text = ask("/api/plan", token, words)
    last = json.loads(text.splitlines()[-1])
    expect(status == 200 and last["best"][0]["words"], f"a search: {status} {text[-200:]}")


class Page:
    def __init__(self, browser, address, width):
        self.browser, self.width = browser, width
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log"):
            browser.call(f"{domain}.enable", self.session)
        browser.call("Emulation.setDeviceMetricsOverride", self.session, width=width, height=900,
                     deviceScaleFactor=1, mobile=width < 600)
        browser.events.clear()
        browser.call("Page.navigate", self.session, url=address)

    def value(self, expression):
        return self.browser.evaluate(self.session, expression)

    def wait(self, expression):
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            if self.value(expression):
                return True
            time.sleep(0.05)
        return False

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", self.session, type=kind, key=name, code=name,
                              windowsVirtualKeyCode={"ArrowRight": 39, "End": 35, " ": 32}[name],
                              **({"text": " "} if name == " " and kind == "keyDown" else {}))

    def problems(self):
        return [w for e in self.browser.events if (w := check_page.words_of(e, ""))
                and not w.startswith("request:")]

    def shot(self, folder, name):
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        height = self.value("document.documentElement.scrollHeight")
        shot = self.browser.call("Page.captureScreenshot", self.session, captureBeyondViewport=True,
                                 clip={"x": 0, "y": 0, "width": self.width, "height": min(height, 6000), "scale": 1})
        (folder / f"{name}-{self.width}.png").write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)


def check_at(browser, address, width, folder, expect):
    page = Page(browser, address, width)
    command = "document.getElementById('command').textContent"
    expect(page.wait("document.body && document.body.dataset.ready"), f"{width}: the page is ready")
    expect(page.wait("document.body.dataset.details"), f"{width}: the details come")
    plots = page.value("document.querySelectorAll('#memory .subplot, #breakdown .subplot, #timeline .subplot').length")
    expect(plots >= 3, f"{width}: {plots} of 3 charts are drawn")
    expect(page.value("document.documentElement.scrollWidth") <= width, f"{width}: text is wider than the screen")
    expect("--ep 8" in page.value(command), f"{width}: the first plan has experts' parallelism")
    facts = page.value("document.getElementById('facts').textContent")
    expect("MFU" in facts and "fits" in facts, f"{width}: {facts}")
    # By keyboard: a step of the slider, then a switch.
    page.value("document.getElementById('option-tp').focus()")
    page.key("ArrowRight")
    expect(page.wait(f"{command}.includes('--tp 2')"), f"{width}: the right arrow doubles TP")
    expect(page.value("document.getElementById('facts').textContent") != facts, f"{width}: figures follow")
    page.value("document.getElementById('option-tp').focus()")
    page.key("End")
    expect(page.wait("!document.getElementById('problem').hidden"), f"{width}: TP 1024 is refused")
    # The link gives the state again.
    page.value("location.hash = encodeURIComponent(JSON.stringify(['gpt-1.7b', 'h100-sxm', '16', '2048', '64', '',"
               " '--tp', '2', '--recompute', 'core_attn']))")
    expect(page.wait(f"{command}.includes('gpt-1.7b') && {command}.includes('--recompute core_attn')"),
           f"{width}: a link's state is read: {page.value(command)}")
    expect(page.value("document.getElementById('option-recompute').value") == "core_attn", f"{width}: fields follow")
    # A search, and what it finds is taken.
    page.value("document.getElementById('pareto').click()")
    page.value("document.getElementById('search').focus()")
    page.key(" ")
    expect(page.wait("document.body.dataset.found"), f"{width}: {page.value('document.body.textContent')[-300:]}")
    rows = page.value("document.querySelectorAll('#best tr').length")
    expect(rows >= 2, f"{width}: {rows - 1} plans are found")
    expect(page.wait("document.querySelectorAll('#front .subplot').length === 1"), f"{width}: the frontier is drawn")
    expect(page.wait("!document.querySelector('section').classList.contains('stale')"), f"{width}: it ends")
    expect(page.value("document.documentElement.scrollWidth") <= width, f"{width}: wider than the screen, with plans")
    page.wait("document.querySelectorAll('#changes tr').length > 1")
    page.shot(folder, "serve")
    # A refused question is an answer with status 422, which the browser notes.
    wrong = [p for p in page.problems() if "422" not in p]
    expect(not wrong, f"{width}: {wrong}")
    page.close()


def main():
    pleat = sys.argv[1]
    folder = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[2] == "--screenshots" else None
    problems = []
    expect = lambda holds, what: None if holds else problems.append(what)
    server = subprocess.Popen([pleat, "serve", "--port", "0", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        address = json.loads(server.stdout.readline())["address"]
        check_answers(address, expect)
        taken = subprocess.run([pleat, "serve", "--port", address.split(":")[2].split("/")[0]], capture_output=True,
                               text=True, check=False, timeout=WAIT)
        expect(taken.returncode == 5 and "--port" in taken.stderr, f"a port that is taken: {taken}")
        if check_page.find_browser():
            with tempfile.TemporaryDirectory() as profile:
                browser = check_page.Browser(check_page.find_browser(), profile)
                try:
                    for width in check_page.WIDTHS:
                        check_at(browser, address, width, folder, expect)
                finally:
                    browser.close()
    finally:
        server.send_signal(signal.SIGINT)
        expect(server.wait(WAIT) == 130, f"Ctrl-C ends it with 130, not {server.returncode}")
    print("\n".join(problems) or ("fine" if check_page.find_browser() else "fine, without a browser"))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
