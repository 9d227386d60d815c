"""See what happened: a journal becomes one HTML page that opens from disk, without a network.

What one learns: a journal is the whole story of a run. `AgentRun.load` gives the state, and the
lines themselves, one JSON object each with its `time`, give the course of it. The page shows each
request with its tokens, each call with its arguments, observation and status, and when it all was.
Everything in it is escaped, and its content policy lets it load nothing and run no script but its
own: what a tool brought home from a web page stays text. The page can be read by those who may
read the journal, and by nobody else.

    python3 trace_viewer.py                      # a small run, and the page of it in numbers
    python3 trace_viewer.py --out trace.html     # keep that page, and open it
    python3 trace_viewer.py run.jsonl            # your journal; writes run.html
    python3 trace_viewer.py run.jsonl --label "qwen3, second prompt"    # says it in the head
    python3 trace_viewer.py --model NAME --base-url http://127.0.0.1:8080/v1 --out trace.html

Keys: `/` search, `j` and `k` next and previous step, Enter folds, `x` next failure, `a` all open or
shut, Escape everything again. What to change: the colours are variables at the top of `STYLE`.
"""

import argparse
import base64
import collections
import contextlib
import hashlib
import html
import json
import os
import re
import stat
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
:root { color-scheme: light dark; --page: #fbfbfc; --ink: #1c1e21; --soft: #5c636b; --line: #dfe3e8;
  --box: #fff; --track: #eceff2; --ok: #1a7f4b; --bad: #c0271d; --odd: #9a5b00; --model: #3b6fd4;
  --cached: #9db8ea; --output: #8a4fc2; }
@media (prefers-color-scheme: dark) { :root { --page: #15171a; --ink: #e6e8eb; --soft: #a3abb5;
  --line: #33383f; --box: #1d2024; --track: #2a2e34; --ok: #4cc38a; --bad: #ff7b70; --odd: #e5a54b;
  --model: #7ba7f7; --cached: #4a67a3; --output: #c397f0; } }
.ok { --tone: var(--ok); } .bad { --tone: var(--bad); } .odd { --tone: var(--odd); }
.model { --tone: var(--model); } .cached { --tone: var(--cached); }
.output { --tone: var(--output); } .open { --tone: var(--soft); }
* { box-sizing: border-box; } [hidden] { display: none !important; }
body { margin: 0 auto; max-width: 68rem; padding: 0 1rem 4rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 1.4rem 0 .3rem; }
h2 { font-size: 1rem; margin: 1.8rem 0 .5rem; } p { margin: .2rem 0; }
.soft { color: var(--soft); } i, nav span, .item b, .state { color: var(--tone); }
i { font-style: normal; margin-right: .25rem; }
.state { font-weight: 600; }
dl { display: flex; flex-wrap: wrap; gap: .6rem 2.2rem; margin: .9rem 0 1rem; }
dt { color: var(--soft); font-size: .8rem; } dd { margin: 0; font-size: 1.15rem; }
dd small { color: var(--soft); font-size: .8rem; }
nav { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: .4rem;
  background: var(--page); padding: .5rem 0; }
nav input { flex: 1 1 12rem; min-width: 0; } nav output { align-self: center; color: var(--soft); }
nav output:empty { display: none; }
nav input, nav button { font: inherit; font-size: .9rem; color: inherit; background: var(--box);
  padding: .2rem .65rem; border: 1px solid var(--line); border-radius: 1rem; }
nav button { cursor: pointer; } nav button:hover { border-color: var(--soft); }
nav [aria-pressed=true] { background: var(--track); border-color: var(--ink); }
:focus-visible { outline: 2px solid var(--model); outline-offset: 1px; }
.legend { font-size: .85rem; display: flex; flex-wrap: wrap; gap: .1rem .8rem; }
.rows { display: grid; grid-template-columns: 3.6rem minmax(0, 1fr) 17rem; gap: .25rem .8rem;
  align-items: center; font-size: .85rem; margin: .3rem 0 .5rem; }
.axis { display: flex; justify-content: space-between; border-top: 1px solid var(--line);
  padding-top: .1rem; color: var(--soft); font-size: .75rem; font-variant-numeric: tabular-nums; }
section { content-visibility: auto; contain-intrinsic-size: auto 8rem; padding: .6rem 0 .5rem;
  border-top: 1px solid var(--line); }
section h3 { font-size: .95rem; margin: 0; }
h2::first-letter, h3::first-letter { text-transform: uppercase; }
.item { margin: .25rem 0; padding: .25rem .6rem; background: var(--box); border-radius: .4rem;
  border: 1px solid var(--line); border-left: .25rem solid var(--tone); scroll-margin: 6rem 0 1rem; }
summary { cursor: pointer; display: flex; flex-wrap: wrap; gap: .1rem .6rem;
  align-items: baseline; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::before { content: "\\25b8"; color: var(--soft); width: .7rem; }
[open] > summary::before { content: "\\25be"; }
summary code { flex: 1 1 12rem; } code, pre { font: 13px/1.45 ui-monospace, monospace; }
summary .soft { font-size: .85rem; font-variant-numeric: tabular-nums; }
pre { white-space: pre-wrap; margin: .1rem 0 .6rem; } img { max-width: 100%; }
.item div { font-size: .8rem; margin-top: .2rem; }
svg { display: block; width: 100%; height: .6rem; background: var(--track); border-radius: .2rem; }
svg.all { height: 1.3rem; } rect { fill: var(--tone); }
@media (pointer: coarse), (max-width: 44rem) { .keys { display: none; } }
@media (max-width: 44rem), (max-height: 30rem) {
  h1 { font-size: 1.15rem; margin-top: .9rem; } dl { gap: .4rem 1.4rem; } dd { font-size: 1rem; }
  nav { flex-wrap: nowrap; overflow-x: auto; scrollbar-width: none; } nav input { flex: 0 0 8.5rem; }
  nav button { flex: none; }
  .rows { grid-template-columns: 3.2rem minmax(0, 1fr); } .rows .facts { grid-column: 2; }
  .rows .facts:empty { display: none; } .item { scroll-margin-top: 4rem; } }
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
 style-src 'sha256-%(style_digest)s'; script-src 'sha256-%(script_digest)s'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%(title)s</title><style>%(style)s</style></head><body>
<h1>%(title)s</h1>
<p class="soft">%(about)s</p>
<dl>%(sums)s</dl>
<nav><input type="search" placeholder="search" aria-label="search"><output></output>
%(buttons)s<button id="fold">fold all</button></nav>
<p class="legend soft keys">Keys: / search, j k step, x failure, a fold, Escape</p>
<div class="rows"><span class="soft">time</span>%(timeline)s
<span class="legend soft facts">%(time_legend)s</span>
%(axes)s</div>
%(body)s
<script>%(script)s</script></body></html>
"""


# Read: a journal's lines, beside the run that they describe.


def new_request(number, begin):
    """What the page needs to know of a request; `items`: (step or action, status, begin, end), where
    `begin` is None for what never ran."""
    return SimpleNamespace(number=number, begin=begin, end=None, tokens={}, items=[])


def moment(event):
    """The time of a journal's line, in seconds since 1970; None where it holds anything else."""
    value = event.get("time")
    if type(value) not in (int, float) or not 0 < value < 32_000_000_000:
        return None
    return value


def read(path):
    """The turns in a journal, with times counted from its beginning; how long it all took; when it
    began, in seconds since 1970, or None."""
    last = agentloop.AgentRun.load(path)
    runs, turns, clock, before, began = iter(last.history + [last]), [], 0.0, None, None
    for line in Path(path).read_bytes().split(b"\n")[:-1]:  # what has no newline was cut off
        event = json.loads(line.decode("utf-8"))
        now, kind = moment(event), event["event"]
        if now is not None:
            clock += min(max(0, now - (before or now)), PAUSE)  # clocks are sometimes put back
            before, began = now, began or now
        if kind == "turn":
            run = next(runs)
            turns.append(SimpleNamespace(run=run, steps=iter(run.steps), begun={}, usage={}))
            turns[-1].requests = [new_request(0, clock)]  # 0: what it brought into the journal
        turn = turns[-1]
        request = turn.requests[-1]
        for name, count in event.get("usage", {}).items():  # the sum so far
            if type(count) is not int:
                continue
            spent = count - turn.usage.get(name, 0)
            request.tokens[name], turn.usage[name] = request.tokens.get(name, 0) + spent, count
        if kind == "requested":
            number = event.get("requests")
            number = number if type(number) is int else len(turn.requests)
            turn.requests.append(new_request(number, clock))
        elif request.end is None and kind in ("proposed", "done", "finished"):
            request.end = clock
        if kind == "started":
            turn.begun.update((str(call_id), clock) for call_id in event["call_ids"])
        if kind == "done":
            step = next(turn.steps)
            begin = turn.begun.get(step.action.call_id)  # None: it never ran
            request.items.append((step, step.status, begin, clock))
    for turn in turns:
        for action in turn.run.pending:
            status = "started" if action.call_id in turn.run.started else "pending"
            begin = turn.begun.get(action.call_id)
            turn.requests[-1].items.append((action, status, begin, clock))
    return turns, clock, began


# Show: everything that comes from the journal goes through `text`.


def text(value, most=LONGEST):
    """Any value as HTML: escaped, cut where it is long, what is invisible made visible."""
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, indent=1)
    if len(value) > most:
        value = "%s\n[... %s more ...]" % (value[:most], counted(len(value) - most, "character"))
    unseen = "[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
    return html.escape(re.sub(unseen, lambda c: "\\u%04x" % ord(c.group()), value))


def counted(number, noun):
    """1, "request" -> "1 request"; 1200, "token" -> "1,200 tokens"."""
    return "{:,} {}{}".format(number, noun, "" if number == 1 else "s")


def lasting(seconds):
    """0.0123 -> "12 ms"; 9.5 -> "9,500 ms"; 75.25 -> "75.2 s"; 600 -> "10 min 0 s"."""
    if seconds < 10:
        return f"{round(seconds * 1000):,} ms"
    return "%.1f s" % seconds if seconds < 600 else "%d min %d s" % divmod(round(seconds), 60)


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


def row(label, bar, facts):
    """A bar with its name on the left and what it shows, in words, on the right."""
    return '<span class="soft">%s</span>%s<span class="facts">%s</span>\n' % (label, bar, facts)


def axis(marks):
    return '<span class="axis">%s</span>' % "".join("<span>%s</span>" % mark for mark in marks)


def legend(*pairs):
    return "".join('<span><i class="%s">&#9632;</i>%s</span>' % pair for pair in pairs)


TIME_LEGEND = legend(("model", "model"), ("ok", "call"), ("bad", "failed"), ("odd", "decided"))
TOKEN_LEGEND = legend(("cached", "cached input"), ("model", "input"), ("output", "output"))


def spans_of(request):
    """When the model was asked and when its calls ran, for `bars`."""
    spans = [("model", request.begin, request.end or request.begin)]
    for _, status, begin, end in request.items:
        spans.append((colour(status), end if begin is None else begin, end))
    return spans


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
    took = "" if begin is None else lasting(end - begin)
    facts = '<code>%s</code><span class="soft">%s</span>' % (name, took)
    arguments = action.tool_input if action.arguments is None else action.arguments
    inside = block("said with it", action.log) + block("arguments", arguments)
    inside += block("observation", getattr(found, "observation", ""))
    return item(status, facts, inside + block("call id", action.call_id))


def tokens(usage):
    """How many were read in all, how many of them came from a cache, and how many were written."""
    return [usage.get(name + "_tokens", 0) for name in ("input", "cached", "output")]


def request_html(request, total, most):
    """One request: its place in time, its tokens, its calls."""
    name = "request %d" % request.number if request.number else "brought along"
    took = "no reply"
    if request.end is not None:
        took = "took " + lasting(request.end - request.begin)
    time_facts = "at %s, %s" % (lasting(request.begin), took)
    rows = row("time", bars(spans_of(request), total), time_facts)
    if request.tokens:
        read, cached, written = tokens(request.tokens)
        parts = [("cached", 0, cached), ("model", cached, read), ("output", read, read + written)]
        bar = bars([part for part in parts if part[1] < part[2]], most)
        from_cache = f" ({cached:,} cached)" if cached else ""
        rows += row("tokens", bar, f"{read:,} in{from_cache}, {written:,} out")
    calls = "".join(call_html(*found) for found in request.items)
    return '<section><h3>%s</h3><div class="rows">%s</div>%s</section>\n' % (name, rows, calls)


def sums(turns, every, total):
    """The figures in the head of the page."""
    usage = collections.Counter()
    for turn in turns:
        usage.update(turn.usage)
    read, cached, written = tokens(usage)
    actions = [getattr(found[0], "action", found[0]) for r in every for found in r.items]
    figures = [("requests", len(every), ""), ("calls", sum(bool(a.tool) for a in actions), "")]
    if usage:
        figures += [("tokens in", read, f"{cached:,} from a cache" if cached else "")]
        figures += [("tokens out", written, "")]
    form = "<div><dt>{}</dt><dd>{:,} <small>{}</small></dd></div>"
    html = "".join(form.format(*figure) for figure in figures)
    return html + "<div><dt>time</dt><dd>%s</dd></div>" % lasting(total)


def about(turns, began, label):
    """The line under the title: how it ended, when it was, and which model it was."""
    state = turns[-1].run.state
    tone = {"succeeded": "ok", "model_ended": "ok", "budget_exhausted": "bad"}.get(state, "odd")
    found = ['<span class="state %s">%s</span>' % (tone, text(state))]
    if began:
        found.append(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(began)))
    said = [step.action.message for turn in turns for step in turn.run.steps]
    said += [turn.run.finish.message for turn in turns if turn.run.finish]
    named = [message.get("model") for message in said if isinstance(message, dict)]
    names = [label] if label else sorted({name for name in named if isinstance(name, str)})
    found += [text(name, 80) for name in names]
    if len(turns) > 1:
        found.append(counted(len(turns), "turn"))
    return " &middot; ".join(found)


def page(path, label=""):
    """The whole page for a journal. `label`: for its head, the model's name for example, which a
    journal does not hold."""
    turns, total, began = read(path)
    body, buttons, every = [], [], []
    for turn in turns:
        every += [request for request in turn.requests if request.number or request.items]
    most = max([tokens(r.tokens)[0] + tokens(r.tokens)[2] for r in every] + [1])
    for number, turn in enumerate(turns, 1):
        body.append("<h2>turn %d: %s</h2>" % (number, text(turn.run.state)))
        body.append(item("task", "", block("", turn.run.task), " open"))
        body.extend(request_html(r, total, most) for r in turn.requests if r.number or r.items)
        if turn.run.finish:
            body.append(item("finish", "", block("", turn.run.output), " open"))
    counts = collections.Counter(found[1] for request in every for found in request.items)
    for name in sorted(counts):
        label_html = '<span class="%s">%s</span> %d' % (colour(name), text(name), counts[name])
        buttons.append('<button data-status="%s">%s</button>\n' % (text(name), label_html))
    task = turns[0].run.task
    parts = task if isinstance(task, list) else [task]
    title = " ".join(part for part in parts if isinstance(part, str)) or "a task with pictures"
    title = text(title if len(title) <= 80 else title[:80] + " ...")
    axes = row("", axis([lasting(total * part / 2) for part in range(3)]), "")
    if any(request.tokens for request in every):
        scale = axis([f"{round(most * part / 2):,}" for part in range(3)])
        axes += row("tokens", scale, '<span class="legend soft">%s</span>' % TOKEN_LEGEND)
    return PAGE % {
        "script_digest": digest(SCRIPT),
        "style_digest": digest(STYLE),
        "style": STYLE,
        "script": SCRIPT,
        "title": title,
        "about": about(turns, began, label),
        "sums": sums(turns, every, total),
        "buttons": "".join(buttons),
        "timeline": bars([s for r in every for s in spans_of(r)], total, "all"),
        "time_legend": TIME_LEGEND,
        "axes": axes,
        "body": "".join(body),
    }


def digest(source):
    return base64.b64encode(hashlib.sha256(source.encode()).digest()).decode("ascii")


def write(made, out, journal):
    """Write the page for those who may read the journal: it says the same."""
    mode = stat.S_IMODE(os.stat(str(journal)).st_mode) & 0o666
    with contextlib.suppress(FileNotFoundError):
        os.remove(str(out))  # an older page may be open to more people
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(str(out), flags, 0o600), "wb") as file:
        file.write(made.encode("utf-8"))
    os.chmod(str(out), mode)


# The offline run: a bit of everything that can happen.


def reserve(quantity: int) -> dict:
    """Reserve some pieces of A1."""
    time.sleep(0.01)
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
        time.sleep(0.02)
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
    parser.add_argument("--label", default="", help="for the head of the page, as the model's name")
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
                    options.model, base_url=options.base_url, max_tokens=1000
                )
            record(model, journal, options.steps + 10)
        try:
            made = page(journal, options.label or options.model or "")
        except (OSError, ValueError) as error:  # no file, or not a journal
            sys.exit("%s: %s" % (journal, error))
        out = options.out or options.journal and options.journal.with_suffix(".html")
        if out:
            write(made, out, journal)
    requests, calls = made.count("<section>"), made.count("<code>")
    print("%s, %s" % (counted(requests, "request"), counted(calls, "call")))
    print("states:", ", ".join(sorted(set(re.findall('data-status="(.*?)"', made)))))
    print("scripts: %d, its own" % made.count("<script"))
    if out:
        print("written:", out)


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
