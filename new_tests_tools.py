"""New tests of the tools and of JSON, by the class in which they belong."""

import datetime
import json
import pathlib
import pickle
import unittest
from typing import Any, List, Optional

import agentloop
from test_agentloop import _source, _step_of, _tool


class JsonTests(unittest.TestCase):
    def test_a_picture_without_its_media_type(self):
        """A field that is missing takes its default, unless the bytes say what they are."""
        for data, media_type in ((b"", "image/png"), (b"GIF89a", "image/gif")):
            document = agentloop.to_json(agentloop.Image(data))
            del document["media_type"]
            found = agentloop.from_json(document)
            self.assertEqual(found, agentloop.Image(data, media_type))


def _sold(sku: str, qty: int = 1, day: Optional[datetime.date] = None):
    return sku, qty, day


class RegistryTests(unittest.TestCase):
    def test_a_tool_pickles_where_its_function_does(self):
        made = agentloop.tool(_sold)
        again = pickle.loads(pickle.dumps(made))
        self.assertEqual(again, made)
        step = _step_of(again, {"sku": 5, "qty": "2", "day": "2024-01-31"})
        self.assertEqual(step.observation, ("5", 2, datetime.date(2024, 1, 31)))


class SchemaTests(unittest.TestCase):
    def test_a_default_is_shown_as_its_annotation_reads_it(self):
        rows = [
            ("x: int = '5'", 5), ("x: int = 5.0", 5), ("x: float = 1", 1.0), ("x: bool = 1", True),
            ("x: str = 5", "5"), ("x: Literal['a'] = 'A'", "a"), ("x: Optional[int] = '5'", 5),
            ("x: Union[int, str] = '5'", "5"), ("x: List[int] = ('5', 6)", [5, 6]),
            ("x: Dict[str, int] = {'a': '5'}", {"a": 5}), ("x: Colour = 'RED'", "r"),
            ("x: datetime.date = '2024-01-31T00:00'", "2024-01-31"),
            ("x: Point = {'x': '1'}", {"x": 1}), ("x: Level = Level.HIGH", 2),
            ("x: Pair = Pair(3, 'c')", {"a": 3, "b": "c"}),
        ]  # fmt: skip
        for signature, shown in rows:
            with self.subTest(signature):
                schema = agentloop.tool(_tool(signature)).parameters["properties"]["x"]
                found = schema["default"]
                for name, value in shown.items() if isinstance(shown, dict) else ():
                    self.assertEqual(found.pop(name), value)
                if not isinstance(shown, dict):
                    self.assertEqual((type(found), found), (type(shown), shown))

    def test_a_default_that_its_annotation_does_not_read_is_left_out(self):
        for signature in (
            "x: int = 'many'", "x: int = 5.5", "x: bool = 'yes'", "x: List[int] = 5",
            "x: float = float('nan')", "x: Any = Point", "x: Any = object()", "x: Colour = 'q'",
        ):  # fmt: skip
            with self.subTest(signature):
                made = agentloop.tool(_tool(signature))
                self.assertNotIn("default", made.parameters["properties"]["x"])
                self.assertEqual(made.parameters["required"], [])

    def test_the_function_gets_its_default_as_it_is(self):
        step = _step_of(_tool("x: int = '5'"), {})
        self.assertEqual(step.observation, {"x": "5"})


class ArgumentTests(unittest.TestCase):
    def test_one_text_given_twice_becomes_two_lists(self):
        made = _tool("x: Union[List[Optional[List[int]]], int]")
        text = "[1]"
        first, second = _step_of(made, {"x": [text, text]}).observation["x"]
        self.assertEqual((first, second), ([1], [1]))
        self.assertIsNot(first, second)

    def test_texts_in_texts_of_a_recursive_union(self):
        """Each place is read once, however many alternatives may be written there as a text."""
        source = """
@dataclasses.dataclass
class And:
    below: "Term"
    tag: str = "and"
@dataclasses.dataclass
class Or:
    below: "Term"
    tag: str = "or"
    last: int = 0
Term = Union[And, Or, int]
def tool(x: Term): return x
"""
        made = _source(source)
        for bottom, status in ((1, "ok"), (None, "invalid_arguments")):
            value: Any = bottom
            for _ in range(11):  # read anew for each alternative it would take 4**11 visits
                value = json.dumps({"below": value, "last": 1})
            step = _step_of(made, {"x": value})
            self.assertEqual(step.status, status, step.observation)
        self.assertIn("args.x" + ".below" * 11, step.observation)

    def test_keys_whose_type_is_a_union(self):
        """What one key became says nothing of another, and nothing of its value."""
        name = "Union[Path, PurePath]"
        made = _tool("x: Union[Dict[%s, %s], int]" % (name, name))
        step = _step_of(made, {"x": {"a": "b", "b": "c"}})
        a, b, c = map(pathlib.Path, "abc")
        self.assertEqual(step.observation, {"x": {a: b, b: c}})

    def test_the_nearest_alternative_has_the_tag(self):
        """However many names are wrong: a tag counts before them."""
        names = "".join("    n%d: int\n" % n for n in range(60))
        source = """
@dataclasses.dataclass
class Wide:
    kind: Literal["wide"]
%s
@dataclasses.dataclass
class Narrow:
    kind: Literal["narrow"]
def tool(x: Union[Wide, Narrow]): return x
"""
        step = _step_of(_source(source % names), {"x": {"kind": "wide"}})
        self.assertIn("args.x.n0: missing", step.observation)
        self.assertIn("and 40 more", step.observation)

    def test_dates_and_times_on_every_python(self):
        zone = datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))
        rows: List[Any] = [
            ("datetime.datetime", "2024-01-31 09:30:45.5-0530",
             datetime.datetime(2024, 1, 31, 9, 30, 45, 500000, zone)),
            ("datetime.time", "09:30-05:30", datetime.time(9, 30, tzinfo=zone)),
            ("datetime.time", "T09:30", None), ("datetime.time", "0930", None),
            ("datetime.datetime", "09:30:00", None), ("datetime.datetime", "20240131T0930", None),
            ("datetime.datetime", "2024-01-31T09:30:00.1234567", None),
            ("datetime.timedelta", "01:30", None),
        ]  # fmt: skip
        for hint, text, want in rows:
            with self.subTest(text):
                step = _step_of(_tool("x: " + hint), {"x": text})
                if want is None:
                    self.assertEqual(step.status, "invalid_arguments")
                else:
                    self.assertEqual(step.observation, {"x": want})


if __name__ == "__main__":
    unittest.main()
