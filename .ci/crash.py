"""Kill or interrupt runs with a journal at random moments, resume them, and count what was done twice or lost.

    python3 .ci/crash.py [KILLS [SEED [INTERRUPTS]]]

A script of two turns calls ordinary, idempotent and read-only tools, alone and several in a reply;
each leaves a line in a file of effects. It runs in a child process that dies of SIGKILL somewhere,
then in another one, until it ends. The same script is interrupted, as by Ctrl-C, without a pause in
its tools and without syncs, so that most interrupts come inside of agentloop, and goes on in the
same process, with the run that the exception carries or with the journal alone. Counted are

- duplicates: an ordinary call whose effect happened twice, a request that cost nothing of the budget;
- losses: steps that were in the journal once and are gone or changed, a call that is said to have
  gone well and left no effect, an end other than that of an undisturbed run.
"""

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import agentloop  # noqa: E402

BUDGET = 1000  # a request that was killed is spent, so disturbed runs need more of them
TURNS = [  # for each turn the calls of each reply
    [["pay 1"], ["look 2", "look 3", "look 4"], ["pay 5", "set 6", "pay 7"], ["set 8"], ["pay 9"]],
    [["look 10", "pay 11"], ["pay 12"], ["set 13", "look 14"]],
]


class Scene:
    """One conversation in one folder."""

    pause = 0.0004  # of a tool, before and after its effect

    def __init__(self, folder):
        self.journal, self.effects = (
            os.path.join(folder, "run.jsonl"),
            os.path.join(folder, "effects"),
        )
        Path(self.effects).touch()

    def note(self, text):
        fd = os.open(self.effects, os.O_WRONLY | os.O_APPEND)
        try:  # one write: there whole or not at all, whenever the process is killed
            os.write(fd, (text + "\n").encode())
        finally:
            os.close(fd)

    def tools(self):
        def act(kind, n):
            time.sleep(self.pause)
            self.note("%s %d" % (kind, n))
            time.sleep(self.pause)
            return {"did": n}

        def pay(n: int) -> dict:
            return act("pay", n)

        @agentloop.tool(idempotent=True)
        def set(n: int) -> dict:
            return act("set", n)

        @agentloop.tool(read_only=True)
        def look(n: int) -> dict:
            return act("look", n)

        return [pay, set, look]

    def model(self, run, tools):
        self.note("asked %d" % len(run.history))
        done = {step.action.call_id for step in run.steps}
        for calls in TURNS[len(run.history)]:
            if not done.issuperset(calls):
                words = [(call, *call.split()) for call in calls]
                return [
                    agentloop.AgentAction(tool, {"n": int(n)}, call_id=i) for i, tool, n in words
                ]
        return agentloop.AgentFinish("turn %d is done" % len(run.history))

    def play(self, run=None):
        """The script a user would run again after a crash, or from a run that was interrupted."""
        given = run or "turn 0"
        for number in range(len(run.history) if run else 0, len(TURNS)):
            given = given or run.follow_up("turn %d" % number)
            run = agentloop.run(
                self.model, given, self.tools(),
                max_requests=BUDGET, journal=self.journal, accept=lambda run: None,
            )  # fmt: skip
            given = None
        return run

    def child(self):
        """Start the script in a process of its own; returns its pid."""
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            signal.alarm(60)
            self.play()
            status = 0
        except BaseException as e:
            self.note("error %s: %s" % (type(e).__name__, e))
        finally:
            os._exit(status)

    def lines(self):
        return Path(self.effects).read_text().splitlines()

    def steps(self):
        """What the journal holds now: for each turn its steps as JSON."""
        if not os.path.exists(self.journal) or b"\n" not in Path(self.journal).read_bytes():
            return []  # no turn has begun: its line is the first one
        try:
            run = agentloop.AgentRun.load(self.journal)
        except ValueError as e:
            return [["damaged: %s" % e]]  # a loss, as the next process would find
        return [[agentloop.to_json(step) for step in turn.steps] for turn in (*run.history, run)]


def told(steps):
    return [(step["action"]["call_id"], step["status"]) for step in steps]


def disturbed(rng, limit):
    """Kill one conversation up to 12 times; returns (kills, duplicates, losses) with the latter two as texts."""
    kills, duplicates, losses, before = 0, [], [], []
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(folder)
        while True:
            pid = scene.child()
            if kills < min(12, limit):
                time.sleep(rng.random() ** 2 * TYPICAL[0])
                os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
            kills += os.WIFSIGNALED(status)
            now = scene.steps()
            for old, new in zip(before, now + [[]] * len(before)):
                if new[: len(old)] != old:
                    losses.append("recorded steps are gone: %s, now %s" % (old, new))
            before = now
            if not os.WIFSIGNALED(status):
                break
        doubled, lost = judge(scene)
    return kills, duplicates + doubled, losses + lost


def judge(scene):
    """What a conversation that has come to its end did twice, and what it lost."""
    duplicates, lines = [], scene.lines()
    losses = [line for line in lines if line.startswith("error")]
    run = agentloop.AgentRun.load(scene.journal)
    turns = [*run.history, run]
    for number, turn in enumerate(turns):
        wanted = [call for calls in TURNS[number] for call in calls]
        # Of parallel calls that were interrupted, those that had ended come first.
        found = sorted(step.action.call_id for step in turn.steps)
        if found != sorted(wanted) or turn.state != "succeeded":
            losses.append("turn %d ended otherwise: %s" % (number, turn))
        if lines.count("asked %d" % number) > turn.requests:
            duplicates.append("requests for nothing in turn %d: %s" % (number, turn.requests))
        for step in turn.steps:
            call, times = step.action.call_id, lines.count(step.action.call_id)
            ordinary = call.startswith("pay")
            if ordinary and times > 1:
                duplicates.append("%s happened %d times" % (call, times))
            if step.status == "ok" and not (
                times and step.observation == {"did": int(call.split()[1])}
            ):
                losses.append("%s is ok and happened %d times: %s" % (call, times, step))
            if step.status not in (("ok", "unknown_outcome") if ordinary else ("ok",)):
                losses.append("%s ended as %s" % (call, step.status))
    if len(turns) != len(TURNS):
        losses.append("%d turns" % len(turns))
    return duplicates, losses


class Interrupts:
    """A timer that raises KeyboardInterrupt once, while a conversation goes on."""

    def __init__(self):
        self.armed = False
        signal.signal(signal.SIGALRM, self.strike)

    def strike(self, number, frame):
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def set(self, seconds):
        self.armed = seconds > 0
        signal.setitimer(signal.ITIMER_REAL, seconds)


def interrupted(rng, timer, limit):
    """Interrupt one conversation up to 12 times; returns (interrupts, duplicates, losses)."""
    count, losses, before, run = 0, [], [], None
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(folder)
        scene.pause = 0
        while True:
            try:
                try:
                    timer.set(rng.random() * TYPICAL[1] if count < min(12, limit) else 0)
                    scene.play(run)
                finally:
                    timer.set(0)
                break
            except KeyboardInterrupt as e:
                count += 1
                run = rng.choice([None, getattr(e, "agent_run", None)])
            now = scene.steps()
            for old, new in zip(before, now + [[]] * len(before)):
                if new[: len(old)] != old:
                    losses.append("recorded steps are gone: %s, now %s" % (old, new))
            before = now
        doubled, lost = judge(scene)
    return count, doubled, losses + lost


TYPICAL = [0.0, 0.0]  # seconds that an undisturbed script takes: with pauses and syncs, without


def main():
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        scene, start = Scene(folder), time.monotonic()
        assert os.waitpid(scene.child(), 0)[1] == 0, scene.lines()
        TYPICAL[0] = time.monotonic() - start
        for number, steps in enumerate(scene.steps()):
            assert told(steps) == [(c, "ok") for calls in TURNS[number] for c in calls], steps
    bad = count("kills", wanted, seed, lambda limit: disturbed(rng, limit))
    os.fsync = lambda fd: None  # what follows is about the order, not the disk
    with tempfile.TemporaryDirectory() as folder:
        scene, start = Scene(folder), time.monotonic()
        scene.pause = 0
        scene.play()
        TYPICAL[1] = time.monotonic() - start
    timer = Interrupts()
    wanted = int(sys.argv[3]) if len(sys.argv) > 3 else wanted
    bad += count("interrupts", wanted, seed, lambda limit: interrupted(rng, timer, limit))
    return 1 if bad else 0


def count(what, wanted, seed, disturb):
    """Disturb conversations until there were so many kills or interrupts; how much went wrong."""
    done = duplicates = losses = 0
    while done < wanted:
        came, doubled, lost = disturb(wanted - done)
        done, duplicates, losses = done + came, duplicates + len(doubled), losses + len(lost)
        for text in doubled + lost:
            print("seed %d, %s %d: %s" % (seed, what, done, text))
    print("%d %s, %d duplicates, %d losses (seed %d)" % (done, what, duplicates, losses, seed))
    return duplicates + losses


if __name__ == "__main__":
    sys.exit(main())
