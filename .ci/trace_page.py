"""The page of examples/trace_viewer.py in Chromium: light, dark and 360 px wide, with the keyboard.

    python trace_page.py CHROMIUM [FOLDER]      in a virtual environment with playwright

The journal has a thousand steps and a tool that returns markup, which has to stay text. The
screenshots go into FOLDER.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
import agentloop  # noqa: E402

STEPS = 1000
EVIL = "<script>taken = 1</script><img src=x onerror='taken = 1'><b>bold</b>"
SHOWN = ".item:not([hidden])"


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


def make_page(folder):
    """A journal with all sorts of steps, and the page of it."""
    journal, page = Path(folder, "run.jsonl"), Path(folder, "run.html")
    task = "Look at all shelves " + EVIL
    agentloop.run(model, task, [look], max_requests=STEPS, journal=str(journal))
    viewer = [sys.executable, str(ROOT / "examples/trace_viewer.py"), str(journal)]
    subprocess.run(viewer, check=True, stdout=subprocess.DEVNULL, timeout=60, cwd=folder)
    assert page.stat().st_mode == journal.stat().st_mode, "open to others"
    return page


def check_looks(page, folder):
    def resize(width, scheme):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=str(Path(folder, "trace-%s-%d.png" % (scheme, width))))
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, "%d px wide at %d px" % (wide, width)
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert resize(1280, "light") != resize(1280, "dark"), "dark looks like light"
    expect(page.locator(".keys")).to_be_visible()
    for scheme in ("light", "dark"):
        resize(360, scheme)
        expect(page.locator(".keys")).to_be_hidden()


def check_content(page):
    for rows in page.locator("section .rows").all_text_contents():
        assert "time" in rows and "tokens" in rows.partition("time")[2], "no labels"
    expect(page.locator(".axis")).to_have_count(2)
    head = page.locator("dl").first.text_content()
    assert "251" in head and "1,000" in head, head
    assert page.locator(".item").count() >= STEPS
    assert page.evaluate("typeof taken") == "undefined", "markup from a tool was run"
    expect(page.locator(".item b img, .item script")).to_have_count(0)


def check_keyboard(page, folder):
    page.keyboard.press("/")
    expect(page.locator("input:focus")).to_have_count(1)
    page.keyboard.type("lock")
    page.wait_for_function(
        "n => document.querySelectorAll('%s').length <= n" % SHOWN, arg=STEPS // 10
    )
    assert page.locator(SHOWN).count() >= 1
    page.screenshot(path=str(Path(folder, "trace-search.png")))
    page.keyboard.press("Escape")
    page.wait_for_function("n => document.querySelectorAll('%s').length >= n" % SHOWN, arg=STEPS)

    def here(expression):
        return page.evaluate("document.activeElement.closest('.item')." + expression)

    page.keyboard.press("j")
    first = here("textContent")
    page.keyboard.press("j")
    assert here("textContent") != first, "j does not move"
    was_open = here("open")
    page.keyboard.press("Enter")
    assert here("open") != was_open, "Enter does not fold"
    page.keyboard.press("k")
    assert here("textContent") == first, "k does not move back"
    page.keyboard.press("x")
    assert not here("matches('.ok')"), "x does not go to a failure"
    page.screenshot(path=str(Path(folder, "trace-failure.png")))
    start = time.monotonic()
    page.keyboard.press("a")
    page.evaluate("new Promise(done => requestAnimationFrame(() => done(1)))")
    assert time.monotonic() - start < 3, "folding all is slow"


def main():
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = sys.argv[2] if len(sys.argv) > 2 else scratch
        browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
        page = browser.new_page()
        errors, asked = [], []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        address = make_page(scratch).as_uri()
        page.goto(address, timeout=5000)
        check_looks(page, folder)
        check_content(page)
        check_keyboard(page, folder)
        assert all(url.startswith(("file:", "data:")) for url in asked), asked
        assert not errors, errors
        browser.close()
    print("trace page: %d steps, light, dark, 360 px, keyboard" % STEPS)


if __name__ == "__main__":
    main()
