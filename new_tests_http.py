"""Tests of the HTTP part, each in a class named like the one of test_agentloop.py it belongs to."""

import unittest

import agentloop
from test_agentloop import _Http, _http, _HttpCase, _text


class ConnectionTests(_HttpCase):
    def test_an_old_server_may_keep_the_connection(self):
        """HTTP/1.0 closes it, unless it says that it does not."""
        for header, connections in (("connection: keep-alive", 1), ("", 2)):
            with self.subTest(header):
                reply = _http(_text("chat", "ok"), 200, header).replace(b"HTTP/1.1", b"HTTP/1.0")
                with _Http(lambda n, head, body, reply=reply: reply) as server:
                    model = agentloop.OpenAIChat("m", base_url=server.url, retries=0)
                    self.assertEqual([model.complete("x") for _ in range(2)], ["ok", "ok"])
                    self.assertEqual(server.connections, connections)
                    del model

    def test_a_kept_connection_that_answers_rubbish_counts_as_a_try(self):
        """Unlike one that has died: the server may have done what was asked."""
        answers = [_http(_text("chat", "ok")), [b"SSH-2.0-OpenSSH\r\n", None]]
        with _Http(lambda n, head, body: answers[n]) as server:
            model = agentloop.OpenAIChat("m", base_url=server.url, retries=0)
            self.assertEqual(model.complete("x"), "ok")
            with self.assertRaisesRegex(agentloop.ModelError, "sent no reply of HTTP") as caught:
                model.complete("x")
            self.assertEqual((caught.exception.kind, len(server.heads)), ("connection", 2))
            del model


if __name__ == "__main__":
    unittest.main()
