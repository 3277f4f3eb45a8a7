"""A webhook that checks signatures with the library that Standard Webhooks publishes."""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks import Webhook, WebhookVerificationError


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            Webhook(os.environ["SIGNING_KEY"]).verify(body, dict(self.headers))
            status = 200
        except WebhookVerificationError:
            status = 401
        answer = b'{"decision":"allow"}'
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
print(f"listening on {server.server_port}", flush=True)
server.serve_forever()
