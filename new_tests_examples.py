"""For test_agentloop.py, class ExamplesTest. Not part of the project: to be moved there.

_EXAMPLES:

    "read_web.py": [
        'read_web(url="http://tea.example/old") -> ok: http://tea.example/tea\\nTea\\nTakes 4 minutes.',
        "tool_error: PermissionError: localhost is ",
    ],

    "course/10_read_a_framework/lesson.py": the row "a reply in no form  ValueError ..." becomes
        "a malformed reply   ValueError                  none   model_ended, 3 can be sold   2",

`test_read_web_reads_public_addresses_only`: `web.web_reader().function` becomes `web.read_web.function`.

`test_skills_stay_in_their_folder`: Wine's os.symlink says yes and makes no link, so

            os.symlink(str(root / "secret.txt"), str(root / "tea" / "link"))
            if os.path.islink(str(root / "tea" / "link")):
                outside.append("link")
"""

import concurrent.futures
import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import test_agentloop


class NewExamplesTest(unittest.TestCase):
    module = test_agentloop.ExamplesTest.module
    examples = __import__("pathlib").Path(__file__).resolve().parent / "examples"

    def test_read_web_has_limits(self):
        """Size, time, redirects, kind; and each address is looked up once and checked."""
        web = self.module("read_web")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
        plain = head.replace(b"\r\n\r\n", b"; charset=latin-1\r\nContent-Length: 6\r\n\r\n")
        moved = b"HTTP/1.1 302 Found\r\nLocation: %s\r\n\r\n"
        chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
        pages = {  # the path to what is sent, once or over and over
            "/": ([head + b"<p>A&amp;B<script>if (a < b) {}</script> c<style>d"], []),
            "/latin": ([plain + b"\xe4 <b>b"], []),
            "/long": ([head], [b"<p>word</p>" * 1000]),
            "/chunks": (
                [head.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")],
                [chunk],
            ),
            "/silent": ([head], [b""]),
            "/says_nothing": ([], [b""]),
            "/drips": ([head], [b"."]),
            "/drips_head": ([b"HTTP/1.1 200 OK\r\nX: "], [b"."]),
            "/to": ([moved % b"/?q=1"], []),
            "/round": ([moved % b"/round"], []),
            "/inside": ([moved % b"http://10.0.0.7/"], []),
            "/file": ([moved % b"file:///etc/passwd"], []),
            "/pdf": ([head.replace(b"text/html", b"application/pdf")], []),
            "/none": ([head.replace(b"200", b"404")], []),
            "/no_http": ([b"SSH-2.0-x\r\n"], []),
        }
        asked = []

        def answer(connection):
            with contextlib.suppress(OSError), connection:
                path = connection.recv(65536).split()[1].decode()
                asked.append(path)
                once, ever = pages[path.partition("?")[0]]
                connection.sendall(b"".join(once))
                end = time.monotonic() + 5
                while ever and time.monotonic() < end:
                    connection.sendall(ever[0])
                    time.sleep(0.02 if len(ever[0]) < 2 else 0)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=server.accept()[:1], daemon=True).start()

        server = socket.socket()
        self.addCleanup(server.close)
        server.bind(("127.0.0.1", 0))
        server.listen(20)
        threading.Thread(target=serve, daemon=True).start()
        url = "http://site.example:%d" % server.getsockname()[1]
        looked_up = []

        def getaddrinfo(host, port, *args, **kwargs):
            looked_up.extend([host] * host.endswith(".example"))
            address = "127.0.0.1" if host == "site.example" else host
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        read_web = web.read_web.function
        public = mock.patch.object(web, "is_public", lambda address: address == "127.0.0.1")
        with public, mock.patch.object(web, "SECONDS", 0.4), mock.patch.object(
            web.socket, "getaddrinfo", getaddrinfo
        ):
            for path, expected in [
                ("/", "/\nA&B c"),
                ("/latin", "/latin\n\xe4 b"),
                ("/to", "/?q=1\nA&B c"),
            ]:
                with self.subTest(path):
                    self.assertEqual(read_web(url + path), url + expected)
            for path in ("/long", "/chunks"):
                with self.subTest(path):
                    text = read_web(url + path)
                    self.assertTrue(90_000 < len(text) <= web.BYTES + 100, len(text))
            for path, error, words in [
                ("/silent", OSError, "takes more than 0.4 s"),
                ("/says_nothing", OSError, "takes more than 0.4 s"),
                ("/drips", OSError, "takes more than 0.4 s"),
                ("/drips_head", OSError, "takes more than 0.4 s"),
                ("/round", ConnectionError, "more than 3 redirects"),
                ("/inside", PermissionError, "10.0.0.7 is 10.0.0.7: not public"),
                ("/file", PermissionError, "only http"),
                ("/pdf", ValueError, "application/pdf"),
                ("/none", ValueError, "status 404"),
                ("/no_http", Exception, "SSH"),
            ]:
                with self.subTest(path):
                    began = time.monotonic()
                    with self.assertRaisesRegex(error, words):
                        read_web(url + path)
                    self.assertLess(time.monotonic() - began, 3)
        self.assertEqual(len(looked_up), len(asked))  # a name once for each request
        two = [(socket.AF_INET, 1, 6, "", (a, 80)) for a in ("93.184.215.14", "10.0.0.7")]
        with mock.patch.object(web.socket, "getaddrinfo", return_value=two):
            with self.assertRaisesRegex(PermissionError, "10.0.0.7"):
                read_web("http://two.example/")

    def test_fan_out_stops_where_nothing_gets_through(self):
        fan_out = self.module("fan_out")

        def job(number, folder, spec):
            return {"run": number, "state": spec["states"][number % 3], "paid": 0, "error": ""}

        with mock.patch.object(fan_out, "job", job):
            for states, count in [(["failed"] * 3, 3), (["failed", "failed", "succeeded"], 50)]:
                with concurrent.futures.ThreadPoolExecutor(1) as pool:
                    spec = {"states": states}
                    rows = fan_out.all_runs(pool, 50, "", spec, progress=lambda line: None)
                self.assertEqual(len(rows), count)

    def test_trim_context_looks_at_odd_calls(self):
        trim, calls = self.module("trim_context"), []
        for number, arguments in enumerate(('{"number": 7}', "{}", "[]", "7", "null", "{", "")):
            calls.append({"id": str(number), "function": {"arguments": arguments}})
        self.assertIn(
            "pages [7, '?', '?', '?', '?', '?', '?']",
            trim.look([{"role": "assistant", "tool_calls": calls}]),
        )

    def test_arguments_that_do_not_fit(self):
        """A message without a letter is a turn; a folder or picture that is not there is said."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        for arguments, status, words in [
            (["memory.py", ""], 0, "Noted."),
            (["memory.py", "--memory", "search", "?"], 0, "Noted."),
            (["search_documents.py", "--folder", "none"], 0, "budget_exhausted after 6 requests"),
            (["see_images.py", "--picture", "none.png"], 2, "--picture needs --model"),
            (["see_images.py", "--picture", "none.png", "--model", "m"], 1, "none.png"),
        ]:
            with self.subTest(arguments):
                line = [sys.executable, str(self.examples / arguments[0]), *arguments[1:]]
                done = subprocess.run(
                    line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60
                )
                out = done.stdout.decode("utf-8")
                self.assertEqual(done.returncode, status, out)
                self.assertIn(words, out)
                self.assertNotIn("Traceback", out)


if __name__ == "__main__":
    unittest.main()
