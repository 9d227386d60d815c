"""Done is a claim: a change is accepted only when its checks have run after it.

    python3 acceptance.py

What one learns: the model says "done"; whether it is done shows in the world. `accept=` is asked
about every finish and answers None (accepted: state `succeeded`) or the reason why not. The reason
is an observation like any other, so the model reads what is missing and goes on, within its
budget. The check below looks at the steps, not at the words of the answer: the last change must
have been followed by a run of the checks that passed. Checks that ran *before* the last change
prove nothing about it.

The same model runs three times: believed on its word, checked, and checked with a small budget.

To change and try: let `checked` accept any passed run of the checks, wherever it stands, and see
which wrong table gets through. Raise the budget of the third run.
For real: --model NAME --base-url URL.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

TASK = "VAT on books and e-books is now 7 %. Change the table; it is done when the checks pass."


class Shop:
    """A table of VAT rates, and the two things an agent may do with it."""

    def __init__(self):
        self.vat = {"book": 19.0, "e-book": 19.0, "bicycle": 19.0}

    def set_rate(self, article: str, percent: float) -> str:
        """Set the VAT rate of an article, in percent."""
        if article not in self.vat:
            raise LookupError("no article %r, there are: %s" % (article, ", ".join(self.vat)))
        self.vat[article] = percent
        return "%s: %g %%" % (article, percent)

    def run_checks(self) -> dict:
        """Run the checks of the table and return what fails."""
        wanted = {"book": 7.0, "e-book": 7.0, "bicycle": 19.0}
        wrong = [name for name in wanted if self.vat[name] != wanted[name]]
        return {"passed": not wrong, "wrong": wrong}

    def tools(self):
        return [self.set_rate, self.run_checks]


def checked(run):
    """Accept a finish only when the checks passed after the last change."""
    passed = None
    for step in run.steps:  # in the order in which they happened
        if step.action.tool == "set_rate" and step.status == "ok":
            passed = None  # whatever was known before is about another table
        elif step.action.tool == "run_checks" and step.status == "ok":
            passed = step.observation["passed"]
    if passed is None:
        return "The checks have not run since the last change. Run them, then answer."
    if not passed:
        return "The last run of the checks failed. Fix what it names, and run them again."
    return None


def set_rate(article, percent):
    return agentloop.AgentAction("set_rate", {"article": article, "percent": percent})


HASTY_MODEL = agentloop.Scripted(
    [
        agentloop.AgentAction("run_checks", {}),
        set_rate("book", 7),
        agentloop.AgentFinish("Done, VAT is 7 % now."),  # a claim: nothing was checked after it
        agentloop.AgentAction("run_checks", {}),
        agentloop.AgentFinish("Done, and checked."),  # checked, yes; it did not pass
        set_rate("e-book", 7),
        agentloop.AgentAction("run_checks", {}),
        agentloop.AgentFinish("Done: books and e-books are at 7 %, the checks pass."),
    ]
)


def choose_model(scripted):
    """The scripted model, or a real one where --model is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    if options.model:
        return agentloop.OpenAIChat(options.model, base_url=options.base_url, max_tokens=1000)
    return scripted


def main():
    model = choose_model(HASTY_MODEL)
    for title, options in [
        ("1. Believed on its word", {}),
        ("2. Accepted only when checked", {"accept": checked}),
        ("3. The same, with 5 requests", {"accept": checked, "max_requests": 5}),
    ]:
        print(title)
        shop = Shop()
        run = agentloop.AgentRun(TASK)
        for event in agentloop.stream(model, run, shop.tools(), **options):
            print("   %s" % event)
        rejected = sum(step.status == "not_accepted" for step in run.steps)
        print("   state: %s, rejected claims: %d" % (run.state, rejected))
        print("   output: %s" % run.output)
        print("   is the table right? %s" % ("yes" if shop.run_checks()["passed"] else "no"))


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
