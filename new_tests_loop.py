# SPDX-License-Identifier: MIT
"""Tests of the loop and the journal, to be folded into the classes of these names."""

import contextlib
import copy
import json
import os
import sys
import unittest

import agentloop
from test_agentloop import (
    _LONG,
    _SECOND,
    _act,
    _bytes,
    _drain,
    _drive,
    _end,
    _FolderCase,
    _Interrupt,
    _model,
    _named,
    _Play,
    _Server,
    _statuses,
)  # fmt: skip


@agentloop.tool(name="look")
def _look(n: int) -> int:
    return n


class PendingTests(unittest.TestCase):
    def test_a_step_that_the_caller_takes_out_hides_no_other(self):
        """While the stream is suspended, run.steps is the caller's to shorten."""
        for take_out in (
            lambda steps: steps.pop(0),
            lambda steps: steps.clear(),
            lambda steps: steps.__setitem__(-1, copy.deepcopy(steps[-1])),
        ):
            run, seen = agentloop.AgentRun("go"), []
            unreadable = agentloop.InvalidResponse("unreadable")
            script = agentloop.Scripted([_act("look", n=1), _act("look", n=2), unreadable, _end()])
            for event in agentloop.stream(script, run, [_look]):
                seen.append(_named(event))
                if seen[-1] in ("look 1: ok", "look 2: ok"):
                    take_out(run.steps)
            self.assertEqual(
                seen,
                ["look 1", "look 1: ok", "look 2", "look 2: ok"]
                + ["reply: invalid_response", "finish"],
            )


class CallIdTests(unittest.TestCase):
    def test_pending_calls_without_ids(self):
        """Of a run made by hand: each gets its own, also beside a step about a reply."""
        notice = agentloop.AgentStep(
            agentloop.AgentAction("", {}), "unreadable", "invalid_response"
        )
        for steps in ([], [notice]):
            pending = [_act("look", n=1), _act("look", "c00000002", n=2), _act("look", n=3)]
            run = agentloop.AgentRun("go", list(steps), list(pending))
            run, error = _drive([_end()], run, [_look])
            done = run.steps[len(steps) :]
            self.assertIsNone(error)
            self.assertEqual([step.status for step in done], ["ok"] * 3)
            self.assertEqual(
                [step.action.call_id for step in done], ["c00000001", "c00000002", "c00000003"]
            )
            self.assertIs(done[0].action, pending[0])


class AcceptTests(unittest.TestCase):
    def test_the_model_sees_what_was_rejected(self):
        """Also where the model's finish has no log, and no message that an adapter reads."""
        for output, text in ((41, "41"), ({"n": 4}, '{"n": 4}'), ("four", "four")):
            with self.subTest(output):
                script = agentloop.Scripted([_end(output), _end(42)])
                accept = lambda run: None if run.output == 42 else "It is not 42."  # noqa: E731
                run, error = _drive(script, accept=accept)
                self.assertIsNone(error)
                self.assertEqual(run.steps[0].action.log, text)
                for protocol in ("chat", "responses", "anthropic"):
                    body = _model(protocol, _Server(protocol, [])).body(run, {})
                    self.assertIn(json.dumps(text)[1:-1], json.dumps(body))
                    self.assertNotIn("(no text)", json.dumps(body))

    def test_a_rejected_answer_of_a_call_has_no_text(self):
        """Its reply holds the call; what was rejected is the observation."""

        @agentloop.tool(return_direct=True)
        def answer(n: int) -> int:
            return n

        script = [_act("answer", n=41), _act("answer", n=42)]
        run, _ = _drive(
            script, "go", [answer], accept=lambda run: None if run.output == 42 else "No."
        )
        self.assertEqual(_statuses(run), ["ok", "not_accepted", "ok"])
        self.assertEqual(run.steps[1].action.log, "")


class InterruptTests(_FolderCase):
    def setUp(self):
        super().setUp()

        @agentloop.tool(return_direct=True)
        def answer() -> str:
            self.ran.append("answer")
            return "yes"

        self.ran, self.answer = [], answer

    def interrupted(self, at, journal):
        """The trace, and the run that a KeyboardInterrupt at that line carries."""
        del self.ran[:]
        trace, before = _Interrupt(at), sys.gettrace()
        sys.settrace(trace)
        try:
            script = agentloop.Scripted([_act("answer")])
            agentloop.run(script, "go", [self.answer], journal=journal)
        except KeyboardInterrupt as error:
            return trace, getattr(error, "agent_run", None)
        finally:
            sys.settrace(before)
        return trace, None

    def test_an_answer_that_is_there_is_not_asked_for_again(self):
        """Ctrl-C may come between the end of a call, its step, and its finish."""
        for with_journal in (False, True):
            journal = self.path("run.jsonl") if with_journal else None
            tried, forgotten = [], []
            for line, times in self.interrupted(None, journal)[0].passed.items():
                for passed in {0, times - 1}:
                    if journal and os.path.exists(journal):
                        os.unlink(journal)
                    run = self.interrupted((line, passed), journal)[1]
                    if run is None or run.requests < 1 or not self.ran:
                        continue
                    tried.append(line)
                    if _statuses(run) != ["ok"]:
                        forgotten.append(line)
                        continue
                    for task in (run, "go") if with_journal else (run,):
                        done, error = _drive([], task, [self.answer], journal=journal)
                        self.assertIsNone(error, line)
                        self.assertEqual((done.state, done.output), ("model_ended", "yes"), line)
                        self.assertEqual(done.finish.reason, "return_direct", line)
                        self.assertEqual((done.requests, self.ran), (1, ["answer"]), line)
            self.assertGreater(len(tried), 10)
            # The outcome is unknown only where the value had not been made a step yet.
            self.assertLess(len(forgotten), 6)


class JournalTest(_FolderCase):
    def setUp(self):
        super().setUp()
        self.fsync, os.fsync = os.fsync, lambda fd: None
        self.addCleanup(setattr, os, "fsync", self.fsync)
        self.plays = 0

    def play(self, *turns, **options):
        self.plays += 1
        return _Play(self.path("play%d" % self.plays), *turns, **options)

    def test_a_copy_that_was_cut_off(self):
        """A crash while a run is written to a new journal: the run given again is completed.

        And what is in the file can be resumed without it: a state has its finish.
        """
        for plan, options in (
            ((_LONG, _SECOND), {"check": True}),
            (([["look 1"], ["answer 1"]],), {}),
            (([["pay 1"], "one"], ["two"]), {}),
        ):
            whole = self.play(*plan, **options)
            run = whole.go(journal=None)
            copied = self.path("copied.jsonl")
            agentloop.run(whole.model, run, whole.tools, journal=copied)
            lines = _bytes(copied).splitlines(True)
            self.assertEqual(agentloop.AgentRun.load(copied), run)
            os.unlink(copied)
            for count in range(1, len(lines) + 1):
                with self.subTest(lines=count):
                    path = self.path("cut%d.jsonl" % count)
                    with open(path, "wb") as f:
                        f.write(b"".join(lines[:count]))
                    found = agentloop.AgentRun.load(path)
                    if found.state != "running":
                        self.assertIsNotNone(found.finish)
                    noted = whole.noted()
                    _, done = _drain(
                        agentloop.stream(whole.model, copy.deepcopy(run), whole.tools, journal=path)
                    )
                    self.assertEqual((done, whole.noted()), (run, noted))
                    self.assertEqual(agentloop.AgentRun.load(path), run)
                    os.unlink(path)

    def test_either_catches_up_with_the_other(self):
        """A run and a journal at any two places of a conversation: whichever is behind."""
        whole = self.play(_LONG, check=True)
        whole.go()
        lines = whole.data().splitlines(True)
        loaded = []
        for count in range(1, len(lines) + 1):
            whole.put_data(b"".join(lines[:count]))
            loaded.append(whole.load())
        last = loaded[-1]
        for count in range(1, len(lines) + 1, 3):
            for place in range(0, len(loaded), 2):
                with self.subTest(lines=count, run=place + 1):
                    whole.put_data(b"".join(lines[:count]))
                    run = copy.deepcopy(loaded[place])
                    events = agentloop.stream(
                        whole.model, run, whole.tools,
                        max_requests=40, accept=whole.accept, journal=whole.journal,
                    )  # fmt: skip
                    with contextlib.closing(events):
                        for _ in events:
                            break
                    if run.state == "running":
                        self.assertEqual(whole.load(), run)
                    further = loaded[max(count - 1, place)]
                    self.assertEqual(run.steps[: len(further.steps)], further.steps)
                    self.assertGreaterEqual(run.requests, further.requests)
        self.assertEqual(last.state, "succeeded")

    def test_a_start_that_one_of_them_does_not_know(self):
        """A call that had started for the run or for the file is not executed again."""
        for with_journal in (True, False):
            play = self.play([["pay 1", "look 2"], "ok"])
            play.stopped("yielded pay 1")
            run = play.load()
            run.close(run.pending[1], "Not now.", "denied")

            def stop(text):
                if text == "pay 1":
                    raise KeyboardInterrupt

            play.at_note = stop
            options = {} if with_journal else {"journal": None}
            with self.assertRaises(KeyboardInterrupt):
                play.go(run, **options)
            play.at_note = lambda text: None
            other = self.play([["pay 1", "look 2"], "ok"])
            other.journal = play.journal
            done = other.go(run)
            self.assertEqual(sorted(_statuses(done)), ["denied", "unknown_outcome"])
            self.assertEqual((other.count("pay 1"), other.load()), (0, done))

    def test_an_ended_run_that_the_file_does_not_know_to_have_ended(self):
        """It ended without the journal: it is not asked again, and the file says so."""
        play = self.play([["pay 1"], "ok"])
        play.stopped("yielded pay 1: ok")
        run = play.go(play.load(), journal=None)
        asked = play.count("asked")
        self.assertIs(play.go(run), run)
        self.assertEqual((play.count("asked"), play.load()), (asked, run))


if __name__ == "__main__":
    unittest.main()
