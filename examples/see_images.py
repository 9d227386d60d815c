"""Pictures: one in the task, and one that a tool returns.

What you learn: a task may be a list of texts and Images, and a tool may return an Image. Where the
picture goes is the adapter's business: Chat Completions takes none in a tool's result, so there it
follows in a user message. It is sent whole or not at all, and it survives to_json().

    python3 see_images.py
    python3 see_images.py --model NAME --base-url http://127.0.0.1:8080/v1      # one that sees
    python3 see_images.py --model NAME --picture photo.jpg

The offline model is a function that looks at the first pixel: a model is any callable. Change and
try: return [Image, "taken at noon"] from the tool; use agentloop.AnthropicMessages in main() and
look where the picture stands.
"""

import argparse
import json
import mimetypes
import struct
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # agentloop.py lies one folder up
import agentloop  # noqa: E402

COLOURS = {"red": (200, 30, 30), "green": (30, 160, 60), "blue": (30, 60, 200)}
ROOMS = {"kitchen": "green", "cellar": "blue"}


def square(colour, size=64):
    """A PNG of one colour, made by hand so that this file needs no package and no picture."""

    def chunk(kind, data):
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes(COLOURS[colour]) * size) * size
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    return agentloop.Image(b"\x89PNG\r\n\x1a\n" + b"".join(parts), "image/png")


@agentloop.tool(read_only=True)
def take_photo(room: str) -> agentloop.Image:
    """Take a photo of a room's wall.

    Args:
        room: "kitchen" or "cellar".
    """
    return square(ROOMS[room])


def colour_in(image):
    """What the offline model sees: the colour of the first pixel."""
    start = image.data.index(b"IDAT") + 4
    pixel = tuple(zlib.decompressobj().decompress(image.data[start:])[1:4])
    return next(name for name, value in COLOURS.items() if value == pixel)


def looking_model(run, tools):
    """Compare the picture in the task with a photo of the kitchen."""
    if not run.steps:
        return agentloop.AgentAction("take_photo", {"room": "kitchen"})
    card = next(part for part in run.task if isinstance(part, agentloop.Image))
    wall = run.steps[-1].observation  # the Image itself, not a text about it
    return agentloop.AgentFinish(f"Your card is {colour_in(card)}, the wall {colour_in(wall)}.")


def shorten(value):
    """The same JSON with long texts cut, so that a picture fits on the screen."""
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shorten(item) for item in value]
    return value[:60] + "..." if isinstance(value, str) and len(value) > 100 else value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--picture", type=Path, help="a picture instead of the red card")
    options = parser.parse_args()
    if options.picture and not options.model:
        parser.error("--picture needs --model: the offline model sees single colours only")
    adapter = agentloop.OpenAIChat(
        options.model or "any", base_url=options.base_url, max_tokens=1000
    )
    model = adapter if options.model else looking_model

    card = square("red")
    if options.picture:
        kind = mimetypes.guess_type(options.picture.name)[0] or "image/png"
        try:
            card = agentloop.Image(options.picture.read_bytes(), kind)
        except (OSError, ValueError) as error:
            sys.exit(f"--picture: {error}")
    task = ["What colour is this card? Has the kitchen's wall the same?", card]

    tools, run, body = agentloop.registry([take_photo]), agentloop.AgentRun(task), {}
    for event in agentloop.stream(model, run, tools):
        print(event)
        if isinstance(event, agentloop.AgentStep):
            body = adapter.body(run, tools)  # the next request, as it would go out now
    print("What a Chat Completions server is sent in the last request:")
    for message in body.get("messages", []):
        print("  ", json.dumps(shorten(message)))
    again = agentloop.from_json(json.loads(json.dumps(agentloop.to_json(run))))
    print("The pictures survive as JSON:", again.task == run.task and again.steps == run.steps)


if __name__ == "__main__":
    try:
        main()
    except agentloop.ModelError as error:
        sys.exit(f"No answer from the model: {error}")
