"""Skills: folders of instructions that the model reads when it needs them.

What you learn: a skill is a folder with a SKILL.md, whose front matter has a name and a description
(the form of the open Agent Skills). Only these two lines are in the system text; the body, and the
files beside it, are read through a tool, on demand. So a hundred skills cost a hundred lines. A
path that leads out of the skill's folder is refused, also through `..` or a link.

    python3 skills.py
    python3 skills.py --folder skills --model NAME --base-url http://127.0.0.1:8080/v1

Change and try: a skill of your own; --folder. Skills are instructions: load only those you trust.
Scripts in them are text here; coding_agent.py shows how to let an agent run commands.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402


def split_front_matter(text):
    """ "---\\nname: tea\\n---\\nBoil it." -> {"name": "tea"}, "Boil it." Of YAML: `key: text` only."""
    head, end, body = text.partition("\n---")
    if not head.startswith("---") or not end:
        return {}, text
    fields, key = {}, ""
    for line in head.splitlines()[1:]:
        if line.startswith(" "):  # a long text goes on in the next line
            fields[key] = f"{fields.get(key, '')} {line.strip()}".strip()
        elif ":" in line:
            key, _, value = line.partition(":")
            fields[key] = value.strip(" '\">|")
    return fields, body.strip()


def load_skills(folder):
    """{"tea": {"name": "tea", "description": "How to make it.", "folder": Path("skills/tea")}}"""
    skills = {}
    for path in sorted(Path(folder).resolve().glob("*/SKILL.md")):
        fields, _ = split_front_matter(path.read_text("utf-8-sig"))
        if not fields.get("name") or not fields.get("description") or fields["name"] in skills:
            raise ValueError(f"{path}: a name of its own and a description are needed")
        skills[fields["name"]] = {**fields, "folder": path.parent}
    return skills


def system_text(skills):
    lines = [f"- {skill['name']}: {skill['description']}" for skill in skills.values()]
    return "\n".join(["Before you begin, read the skill that fits, with read_skill:", *lines])


def skill_reader(skills):
    @agentloop.tool(read_only=True)
    def read_skill(name: str, file: str = "SKILL.md") -> str:
        """Read a skill's instructions, or another file of its folder that they mention."""
        if name not in skills:
            raise LookupError(f"no skill {name}; there are: {', '.join(skills)}")
        folder = skills[name]["folder"]
        path = (folder / file).resolve()  # `..` and links are followed before the place is checked
        if folder not in path.parents:
            raise PermissionError(f"{file} is outside the skill's folder")
        text = path.read_text("utf-8-sig", "replace")
        return split_front_matter(text)[1] if file == "SKILL.md" else text

    return read_skill


EXAMPLES = {
    "letters/SKILL.md": """---
name: letters
description: How we write to customers,
  also to those who complain.
---
Be short. Sign as "Your shop". For complaints read complaints.md first.
""",
    "letters/complaints.md": "Say sorry once. Offer to pay the postage.",
    "invoices/SKILL.md": "---\nname: invoices\ndescription: 'How an invoice looks.'\n---\nTwo pages.",
    "secret.txt": "the key of the safe",
}
SCRIPT = [
    agentloop.AgentAction("read_skill", {"name": "letters"}),
    agentloop.AgentAction("read_skill", {"name": "letters", "file": "complaints.md"}),
    agentloop.AgentAction("read_skill", {"name": "letters", "file": "../secret.txt"}),
    agentloop.AgentFinish("Sorry that the lamp is broken. We pay the postage. Your shop"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--folder", help="a folder of skills")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in EXAMPLES.items():
            path = Path(folder) / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        skills = load_skills(options.folder or folder)
        system = system_text(skills)
        print(system)
        model = agentloop.Scripted(SCRIPT)
        if options.model:
            settings = {"base_url": options.base_url, "max_tokens": 2000, "system": system}
            model = agentloop.OpenAIChat(options.model, **settings)
        task = "Answer the customer who writes: the lamp came broken!"
        for event in agentloop.stream(model, task, [skill_reader(skills)]):
            print(event)


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
