"""The page of examples/trace_viewer.py in headless Chromium: light, dark and 360 px wide, with the keyboard.

    python3 trace_page.py CHROMIUM [FOLDER]       FOLDER: where the screenshots go

The journal has a thousand steps and a tool that brought home markup, which has to stay text. Chromium is driven over a
pipe by its DevTools protocol: JSON, a NUL byte after each message.
"""

import base64
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
import agentloop  # noqa: E402

STEPS = 1000
EVIL = "<script>taken = 1</script><img src=x onerror='taken = 1'><b>bold</b>"


class Chromium:
    def __init__(self, binary, profile):
        read_in, self.to = os.pipe()
        self.back, write_out = os.pipe()

        def pipes():  # Chromium reads commands from descriptor 3 and writes to 4
            high = [os.dup(fd) for fd in (read_in, write_out)]
            for fd, place in zip(high, (3, 4)):
                os.dup2(fd, place)
                os.set_inheritable(place, True)

        self.process = subprocess.Popen(
            [
                binary, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--remote-debugging-pipe", "--user-data-dir=" + profile, "about:blank",
            ],
            preexec_fn=pipes,  # noqa: PLW1509
 close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read_in)
        os.close(write_out)
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        self.hung = threading.Timer(120, self.process.kill)
        self.hung.start()

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                data = os.read(self.back, 1 << 16)
                assert data, "Chromium has gone"
                self.rest += data
            line, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(line.decode())
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def js(self, expression):
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        self.hung.cancel()
        self.process.terminate()
        self.process.wait(10)


def make_page(folder):
    """A journal with all sorts of steps, and the page of it."""

    def look(n: int, note: str = "") -> dict:
        """Look."""
        if n % 50 == 7:
            raise ValueError("the shelf %d is broken" % n)
        return {"n": n, "note": note or EVIL, "größe": "x" * 60}

    def model(run, tools):
        run.usage["input_tokens"] = run.usage.get("input_tokens", 0) + 100 + run.requests
        run.usage["output_tokens"] = run.usage.get("output_tokens", 0) + 20
        n = len(run.steps)
        if n >= STEPS:
            return agentloop.AgentFinish("All is <b>looked</b> at.")
        calls = [agentloop.AgentAction("look", {"n": n + i}, log="I look.") for i in range(4)]
        if n % 200 == 0:
            calls[3] = agentloop.AgentAction("lock", {"n": n})
        return calls

    journal = os.path.join(folder, "run.jsonl")
    task = "Look at all shelves " + EVIL
    agentloop.run(model, task, [look], max_requests=STEPS, journal=journal)
    subprocess.run(
        [sys.executable, str(ROOT / "examples" / "trace_viewer.py"), journal],
        check=True, stdout=subprocess.DEVNULL, timeout=60, cwd=folder,
    )  # fmt: skip
    made = os.path.join(folder, "run.html")
    assert os.stat(made).st_mode & 0o777 == os.stat(journal).st_mode & 0o777, "open to others"
    return made


def main():
    folder = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as scratch:
        page = make_page(scratch)
        browser = Chromium(sys.argv[1], os.path.join(scratch, "profile"))
        try:
            look_at(browser, page, folder or scratch)
        finally:
            browser.close()
    size = "trace page: %d steps, light, dark, 360 px, keyboard" % STEPS
    print(size + (", screenshots in %s" % folder if folder else ""))


def look_at(browser, page, folder):
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)[
        "sessionId"
    ]
    for domain in ("Page", "Runtime", "Network", "Log"):
        browser.call(domain + ".enable")
    start = time.monotonic()
    browser.call("Page.navigate", url="file://" + page)
    while browser.js("document.readyState") != "complete" or "run" not in browser.js(
        "location.href"
    ):
        time.sleep(0.05)
    assert time.monotonic() - start < 5, "slow: %.1f s" % (time.monotonic() - start)

    def size(width, scheme):
        browser.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.call("Emulation.setEmulatedMedia", features=[feature])
        browser.picture(os.path.join(folder, "trace-%s-%d.png" % (scheme, width)))
        assert browser.js("document.documentElement.scrollWidth") <= width, (
            "wider than %d px" % width
        )
        return browser.js("getComputedStyle(document.body).backgroundColor")

    assert size(1280, "light") != size(1280, "dark"), "dark looks like light"
    shown_keys = "getComputedStyle(document.querySelector('.keys')).display != 'none'"
    assert browser.js(shown_keys), "no key hints on a desktop"
    size(360, "light")
    size(360, "dark")
    assert not browser.js(shown_keys), "key hints on a phone"
    rows = "[...document.querySelectorAll('section .rows')]"
    assert browser.js(rows + ".every(r => /time.*tokens/s.test(r.textContent))"), "no labels"
    assert browser.js("document.querySelectorAll('.axis').length") == 2, "no axis"
    head = browser.js("document.querySelector('dl').textContent")
    assert "251" in head and "1,000" in head, head
    items = "[...document.querySelectorAll('.item')]"
    shown = items + ".filter(i => !i.hidden).length"
    assert browser.js(items + ".length") >= STEPS, browser.js(items + ".length")
    assert browser.js("typeof taken") == "undefined", "markup from a tool was run"
    assert browser.js("document.querySelectorAll('.item b img, .item script').length") == 0
    # -- the keyboard
    browser.key("/")
    assert browser.js("document.activeElement.tagName") == "INPUT", "/ does not lead to the search"
    for letter in "lock":
        browser.key(letter)
    time.sleep(0.4)
    assert 1 <= browser.js(shown) <= STEPS // 10, browser.js(shown)
    browser.picture(os.path.join(folder, "trace-search.png"))
    browser.key("Escape")
    time.sleep(0.3)
    assert browser.js(shown) >= STEPS, "Escape does not show everything again"
    inside = "document.activeElement.closest('.item')"
    browser.key("j")
    first = browser.js(inside + ".textContent.slice(0, 80)")
    browser.key("j")
    assert browser.js(inside + ".textContent.slice(0, 80)") != first, "j does not move"
    open_before = browser.js(inside + ".open")
    browser.key("Enter")
    assert browser.js(inside + ".open") != open_before, "Enter does not fold"
    browser.key("k")
    assert browser.js(inside + ".textContent.slice(0, 80)") == first, "k does not move back"
    browser.key("x")
    assert not browser.js(inside + ".matches('.ok')"), "x does not go to a failure"
    browser.picture(os.path.join(folder, "trace-failure.png"))
    start = time.monotonic()
    browser.key("a")
    browser.js("new Promise(done => requestAnimationFrame(() => done(1)))")
    assert time.monotonic() - start < 3, "folding all is slow"
    # -- nothing went wrong, nothing was fetched
    asked = [
        e["params"]["request"]["url"]
        for e in browser.events
        if e["method"] == "Network.requestWillBeSent"
    ]
    assert all(url.startswith(("file:", "data:")) for url in asked), asked
    wrong = [e for e in browser.events if e["method"] == "Runtime.exceptionThrown"]
    assert not wrong, wrong[:2]


if __name__ == "__main__":
    main()
