"""See what happened: a journal becomes one HTML page that opens from disk, without a network.

What one learns: a journal is the whole story of a run. `AgentRun.load` gives the state, and the
lines themselves, one JSON object each with its `time`, give the course of it. The page shows each
request with its tokens, each call with its arguments, observation and status, and when it all was.
Everything in it is escaped, and its content policy lets it load nothing and run no script but its
own: what a tool brought home from a web page stays text.

    python3 trace_viewer.py                      # a small run, and the page of it in numbers
    python3 trace_viewer.py --out trace.html     # keep that page, and open it
    python3 trace_viewer.py run.jsonl            # your journal; writes run.html
    python3 trace_viewer.py --model NAME --base-url http://127.0.0.1:8080/v1 --out trace.html

Keys: `/` search, `j` and `k` next and previous step, Enter folds, `x` next failure, `a` all open or
shut, Escape everything again. What to change: the colours are variables at the top of `STYLE`.
"""

import argparse
import base64
import collections
import hashlib
import html
import json
import re
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

LONGEST = 20_000  # characters of one observation on the page
PAUSE = 600  # seconds; a longer silence (the run slept until the next day) is drawn as this
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1c1e21; --soft: #5c636b; --line: #d5d9de;
  --box: #f4f5f7; --ok: #1a7f4b; --bad: #c0271d; --odd: #9a5b00; --model: #3b6fd4;
  --cached: #9db8ea; --output: #8a4fc2; }
@media (prefers-color-scheme: dark) { :root { --page: #15171a; --ink: #e6e8eb; --soft: #a3abb5;
  --line: #383d44; --box: #1f2328; --ok: #4cc38a; --bad: #ff7b70; --odd: #e5a54b;
  --model: #7ba7f7; --cached: #4a67a3; --output: #c397f0; } }
.ok { --tone: var(--ok); } .bad { --tone: var(--bad); } .odd { --tone: var(--odd); }
.model { --tone: var(--model); } .cached { --tone: var(--cached); }
.output { --tone: var(--output); } .open { --tone: var(--soft); }
* { box-sizing: border-box; } [hidden] { display: none !important; }
body { margin: 0 auto; max-width: 70rem; padding: 0 .8rem 4rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.2rem; margin: .8rem 0 .2rem; } h2 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .2rem 0; } .soft { color: var(--soft); } i, nav span, .item b { color: var(--tone); }
nav, header, summary { display: flex; flex-wrap: wrap; gap: .1rem .6rem; align-items: baseline; }
nav { position: sticky; top: 0; z-index: 1; background: var(--page); padding: .4rem 0; }
@media (max-width: 40rem), (max-height: 30rem) { nav { position: static; } }
nav input { flex: 1 1 9rem; min-width: 0; }
nav input, nav button { font: inherit; color: inherit; background: var(--box); margin: .1rem 0;
  border: 1px solid var(--line); border-radius: .4rem; }
nav [aria-pressed=true] { background: var(--line); border-color: var(--ink); }
:focus-visible { outline: 2px solid var(--model); outline-offset: 1px; }
section { content-visibility: auto; contain-intrinsic-size: auto 5rem; padding: .4rem 0;
  border-top: 1px solid var(--line); }
.item { margin: .2rem 0; padding: .15rem .5rem; background: var(--box); border-radius: .4rem;
  border-left: .3rem solid var(--tone); scroll-margin: 6rem 0 1rem; }
summary { cursor: pointer; }
summary::before { content: "+"; } [open] > summary::before { content: "-"; }
summary code { flex: 1 1 12rem; } code, pre { font: 13px/1.45 monospace; } img { max-width: 100%; }
pre { white-space: pre-wrap; margin: .1rem 0 .5rem; } rect { fill: var(--tone); }
svg { display: block; width: 100%; height: .5rem; margin: .15rem 0; background: var(--box); }
svg.all { height: 1.2rem; }
"""

SCRIPT = """
const all = s => [...document.querySelectorAll(s)], search = document.querySelector('input');
const items = all('.item'), found = document.querySelector('output'), texts = [];
const buttons = all('nav [data-status]'), only = new Set();
let waiting;
items.forEach((item, n) => { item.number = n; });
function filter() {
  const word = search.value.toLowerCase();
  items.forEach((item, n) => {
    const text = word && (texts[n] = texts[n] || item.textContent.toLowerCase());
    item.hidden = only.size && !only.has(item.dataset.status) || word && !text.includes(word);
  });
  const some = word || only.size;
  all('section').forEach(s => { s.hidden = some && !s.querySelector('.item:not([hidden])'); });
  found.textContent = some ? items.filter(i => !i.hidden).length + ' found' : '';
}
function press(button, on) {
  only[on ? 'add' : 'delete'](button.dataset.status);
  button.setAttribute('aria-pressed', on);
}
function fold() {
  const open = items.some(i => !i.open);
  items.forEach(i => { i.open = open; });
}
function move(by, list) {
  const here = document.activeElement.closest('.item'), at = here ? here.number : -1;
  list = list.filter(i => !i.hidden && (i.number - at) * by > 0);
  const next = list[by > 0 ? 0 : list.length - 1];
  if (next) { next.firstChild.focus(); next.scrollIntoView({block: 'nearest'}); }
}
search.addEventListener('input', () => {
  clearTimeout(waiting); waiting = setTimeout(filter, 120);
});
buttons.forEach(b => press(b, false));
buttons.forEach(b => b.addEventListener('click', () => {
  press(b, !only.has(b.dataset.status)); filter();
}));
document.querySelector('#fold').addEventListener('click', fold);
document.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key == 'Escape') {
    search.value = ''; search.blur(); buttons.forEach(b => press(b, false)); filter();
  } else if (e.target == search) {
    if (e.key == 'Enter') { filter(); search.blur(); move(1, items); }
  } else if (e.key == '/') { e.preventDefault(); search.focus(); }
  else if (e.key == 'j') move(1, items);
  else if (e.key == 'k') move(-1, items);
  else if (e.key == 'x') move(1, items.filter(i => i.matches('.bad, .odd')));
  else if (e.key == 'a') fold();
});
"""

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:;
 style-src 'unsafe-inline'; script-src 'sha256-%(digest)s'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%(title)s</title><style>%(style)s</style></head><body>
<h1>%(title)s</h1><p>%(facts)s</p>
<nav><input type="search" placeholder="search ( / )" aria-label="search"><output></output>
%(buttons)s<button id="fold" title="a">fold</button></nav>
%(timeline)s<p class="soft">Keys: / search, j k step, x failure, a fold, Escape.
<i class="model">&#9632;</i> request, input <i class="cached">&#9632;</i> from a cache
<i class="output">&#9632;</i> output</p>
%(body)s
<script>%(script)s</script></body></html>
"""


# Read: a journal's lines, beside the run that they tell.


def new_request(number, begin):
    """What the page needs to know of a request; `items`: (step or action, status, begin, end)."""
    return SimpleNamespace(number=number, begin=begin, end=None, tokens={}, items=[])


def read(path):
    """The turns in a journal, with times counted from its beginning; and how long it all took."""
    last = agentloop.AgentRun.load(path)
    runs, turns, clock, before = iter(last.history + [last]), [], 0.0, None
    for line in Path(path).read_bytes().split(b"\n")[:-1]:  # what has no newline was cut off
        event = json.loads(line.decode("utf-8"))
        now = event["time"]
        clock += min(max(0, now - (before or now)), PAUSE)  # clocks are sometimes put back
        before, kind = now, event["event"]
        if kind == "turn":
            run = next(runs)
            turns.append(SimpleNamespace(run=run, steps=iter(run.steps), begun={}, usage={}))
            turns[-1].requests = [new_request(0, clock)]  # 0: what it brought into the journal
        turn = turns[-1]
        request = turn.requests[-1]
        for name, count in event.get("usage", {}).items():  # the sum so far
            spent = count - turn.usage.get(name, 0)
            request.tokens[name], turn.usage[name] = request.tokens.get(name, 0) + spent, count
        if kind == "requested":
            turn.requests.append(new_request(event["requests"], clock))
        elif request.end is None and kind in ("proposed", "done", "finished"):
            request.end = clock
        if kind == "started":
            turn.begun.update((call_id, clock) for call_id in event["call_ids"])
        if kind == "done":
            step = next(turn.steps)
            begin = turn.begun.get(step.action.call_id, clock)
            request.items.append((step, step.status, begin, clock))
    for turn in turns:
        for action in turn.run.pending:
            status = "started" if action.call_id in turn.run.started else "pending"
            begin = turn.begun.get(action.call_id, clock)
            turn.requests[-1].items.append((action, status, begin, clock))
    return turns, clock


# Show: everything that comes from the journal goes through `text`.


def text(value, most=LONGEST):
    """Any value as HTML: escaped, cut where it is long, what is invisible made visible."""
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, indent=1)
    if len(value) > most:
        value = "%s\n[... %d characters more ...]" % (value[:most], len(value) - most)
    unseen = "[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
    return html.escape(re.sub(unseen, lambda c: "\\u%04x" % ord(c.group()), value))


def block(name, value):
    """A piece of the run under its name: text, a picture, or a list of both."""
    if value in ("", None, {}):
        return ""
    parts = value if isinstance(value, list) else [value]
    if not any(isinstance(part, agentloop.Image) for part in parts):
        return '<div class="soft">%s</div><pre>%s</pre>' % (name, text(value))
    return "".join(picture(p) if isinstance(p, agentloop.Image) else block(name, p) for p in parts)


def picture(image):
    """A picture as part of the page, if it is of a kind that cannot hold a script."""
    if image.media_type not in PICTURES:
        return "<p>[a picture: %s]</p>" % text(image.media_type)
    data = base64.b64encode(image.data).decode("ascii")
    return '<img alt="a picture" src="data:%s;base64,%s">' % (image.media_type, data)


def colour(status):
    """The colour of a status: it went well, is open, went wrong, or (odd) somebody decided."""
    known = {"ok": "ok", "task": "model", "finish": "output", "pending": "open", "started": "open"}
    wrong = re.match("invalid_|unknown_tool|tool_error|duplicate", status)
    return known.get(status, "bad" if wrong else "odd")


def bars(spans, total, kind=""):
    """Coloured stretches (colour, begin, end) on a line from 0 to `total`."""
    scale, drawn = 1000 / (total or 1), []
    for name, begin, end in spans:
        left, width = min(scale * begin, 996), max(scale * (end - begin), 4)
        drawn.append('<rect class="%s" x="%.1f" width="%.1f" height="9"/>' % (name, left, width))
    head = '<svg class="%s" viewBox="0 0 1000 9" preserveAspectRatio="none" aria-hidden="true">'
    return head % kind + "".join(drawn) + "</svg>"


def spans_of(request):
    """When the model was asked and when its calls ran, for `bars`."""
    spans = [("model", request.begin, request.end or request.begin)]
    return spans + [(colour(status), begin, end) for _, status, begin, end in request.items]


def item(status, facts, inside, more=""):
    """Something that folds, is searched and has a status; `facts` and `inside` are HTML."""
    head = (
        '<details class="item %s" data-status="%s"%s><summary><b>%s</b>%s</summary>%s</details>\n'
    )
    return head % (colour(status), text(status), more, text(status), facts, inside)


def call_html(found, status, begin, end):
    """One call and what came of it."""
    action = getattr(found, "action", found)
    name = text(str(found).replace(" -> %s: " % status, " -> ", 1))
    facts = '<code>%s</code><span class="soft">%.2f s</span>' % (name, end - begin)
    inside = block("said with it", action.log) + block("arguments", action.tool_input)
    inside += block("observation", getattr(found, "observation", ""))
    return item(status, facts, inside + block("call id", action.call_id))


def tokens(request):
    """Tokens of a request: read in all, of them from a cache, and written."""
    return [request.tokens.get(name + "_tokens", 0) for name in ("input", "cached", "output")]


def request_html(request, total, most):
    """One request: its place in time, its tokens, its calls."""
    facts, bar = "at %.2f s, " % request.begin, ""
    facts += "no reply" if request.end is None else "took %.2f s" % (request.end - request.begin)
    if request.tokens:
        read, cached, written = tokens(request)
        facts += "; tokens: %d in, %d of them cached, %d out" % (read, cached, written)
        parts = [("cached", 0, cached), ("model", cached, read), ("output", read, read + written)]
        bar = bars([part for part in parts if part[1] < part[2]], most)
    name = "request %d" % request.number if request.number else "brought along"
    head = '<section><header><b>%s</b><span class="soft">%s</span></header>' % (name, facts)
    calls = "".join(call_html(*found) for found in request.items)
    return head + bars(spans_of(request), total) + bar + calls + "</section>\n"


def page(path):
    """The whole page for a journal."""
    turns, total = read(path)
    body, buttons, every = [], [], []
    for turn in turns:
        every += [request for request in turn.requests if request.number or request.items]
    most = max([tokens(request)[0] + tokens(request)[2] for request in every] + [1])
    for number, turn in enumerate(turns, 1):
        body.append("<h2>turn %d: %s</h2>" % (number, text(turn.run.state)))
        body.append(item("task", "", block("", turn.run.task), " open"))
        body.extend(request_html(r, total, most) for r in turn.requests if r.number or r.items)
        if turn.run.finish:
            body.append(item("finish", "", block("", turn.run.output), " open"))
    counts = collections.Counter(found[1] for request in every for found in request.items)
    for name in sorted(counts):
        label = '<span class="%s">%s</span> %d' % (colour(name), text(name), counts[name])
        buttons.append('<button data-status="%s">%s</button>\n' % (text(name), label))
    task, told = turns[0].run.task, (turn.run.state, len(every), sum(counts.values()), total)
    return PAGE % {
        "digest": base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode("ascii"),
        "style": STYLE,
        "script": SCRIPT,
        "title": text(task if isinstance(task, str) else "a task with pictures", 80),
        "facts": "%s: %d requests, %d steps, %.2f s" % told,
        "buttons": "".join(buttons),
        "timeline": bars([s for r in every for s in spans_of(r)], total, "all"),
        "body": "".join(body),
    }


# The offline run: a bit of everything that can happen.


def reserve(quantity: int) -> dict:
    """Reserve some pieces of A1."""
    time.sleep(0.001)
    if quantity > 3:
        raise ValueError("only 3 are left")
    return {"reserved": quantity, "note": "<script>alert(1)</script>"}


def scripted(more):
    """A model that goes through what can happen, and then makes `more` calls."""
    calls = [agentloop.AgentAction("reserve", {"quantity": n}) for n in (1, 2, 9, "many", 0)]
    decisions = [
        calls[:2],
        calls[2:4] + [agentloop.AgentAction("book", {"quantity": 3}, log="Let me try.")],
        calls[4],
        agentloop.InvalidResponse("That could not be read.", log="hm"),
        agentloop.AgentFinish("Done."),
    ]
    script = agentloop.Scripted(
        decisions + [calls[n % 2] for n in range(more)] + [agentloop.AgentFinish("3 are reserved.")]
    )

    def model(run, tools):
        known = 40 * len(run.steps)
        for name, count in ("input", 300 + known), ("cached", known), ("output", 25):
            run.usage[name + "_tokens"] = run.usage.get(name + "_tokens", 0) + count
        return script(run, tools)

    return model


def record(model, path, max_requests):
    """A run with a journal: one call is refused, and the first claim to be done is rejected."""

    def accept(run):
        return None if "reserved" in str(run.output) else "Say what is reserved."

    run = agentloop.AgentRun("Reserve 3 A1 & say so.")
    options = {"max_requests": max_requests, "accept": accept, "journal": str(path)}
    for event in agentloop.stream(model, run, [reserve], **options):
        if isinstance(event, agentloop.AgentAction) and event.tool_input == {"quantity": 0}:
            run.close(event, "Somebody at the desk said no.", "denied")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("journal", nargs="?", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--steps", type=int, default=1, help="of the run made where none is given")
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        journal = options.journal or Path(folder) / "run.jsonl"
        if not options.journal:
            model = scripted(options.steps)
            if options.model:
                model = agentloop.OpenAIChat(
                    options.model, base_url=options.base_url, max_tokens=2000
                )
            record(model, journal, options.steps + 10)
        made = page(journal)
    print("%d requests," % made.count("<section>"), "%d calls" % made.count("<code>"))
    print("states:", ", ".join(sorted(set(re.findall('data-status="(.*?)"', made)))))
    print("scripts: %d, its own" % made.count("<script"))
    out = options.out or options.journal and options.journal.with_suffix(".html")
    if out:
        out.write_bytes(made.encode("utf-8"))
        print("written:", out)


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
