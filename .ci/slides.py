"""A rendered deck in Chromium: nothing stands outside of its slide, and every picture is there.

python slides.py CHROMIUM DECK.html      in a virtual environment with playwright
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FAULTS = """sections => sections.flatMap((section, n) => {
    const found = [];
    if (section.scrollHeight > section.clientHeight + 1) found.push("too high");
    if (section.scrollWidth > section.clientWidth + 1) found.push("too wide");
    if ([...section.querySelectorAll("img")].some(i => !i.naturalWidth)) found.push("no picture");
    return found.map(words => `slide ${n + 1}: ${words}`);
})"""


def main():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(Path(sys.argv[2]).resolve().as_uri())
        slides = page.locator("section")
        count, faults = slides.count(), slides.evaluate_all(FAULTS)
        browser.close()
    print(*faults, "slides: %d, %d faults" % (count, len(faults)), sep="\n")
    return 1 if faults or not count else 0


if __name__ == "__main__":
    sys.exit(main())
