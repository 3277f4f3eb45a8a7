"""A data loss prevention service as a webhook of mcpproxy. Python's standard library is enough.

Payment card numbers do not leave: a request that carries one is denied. They do not come in
either: in results and listings all but the last four digits are masked.
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WINDOW = 300  # seconds that a question may be old, or early
LARGEST = 8 << 20
CARD = re.compile(r"\b\d(?:[ -]?\d){12,18}\b")


def key_bytes(text):
    if text.startswith("whsec_"):
        return base64.b64decode(text.removeprefix("whsec_"))
    return text.encode()


class Signatures:
    """Accepts each question once, and only from who has the key."""

    def __init__(self, key, clock=time.time):
        self.key = key
        self.clock = clock
        self.seen = {}
        self.lock = threading.Lock()

    def accepts(self, headers, body):
        id, sent, given = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
        if not id or not sent.isdigit() or abs(self.clock() - int(sent)) > WINDOW:
            return False
        signed = f"{id}.{sent}.".encode() + body
        expected = "v1," + base64.b64encode(hmac.digest(self.key, signed, hashlib.sha256)).decode()
        if not any(hmac.compare_digest(expected, one) for one in given.split(" ")):
            return False
        return self.first_time(id)

    def first_time(self, id):
        with self.lock:
            oldest = self.clock() - 2 * WINDOW
            self.seen = {known: at for known, at in self.seen.items() if at > oldest}
            if id in self.seen:
                return False
            self.seen[id] = self.clock()
            return True


def is_card(digits):
    """Luhn: every second digit from the right is doubled, and the sum ends in zero."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def masked(text):
    """Returns the text with card numbers masked, and how many there were."""
    found = 0

    def mask(match):
        nonlocal found
        digits = re.sub(r"\D", "", match[0])
        if not is_card(digits):
            return match[0]
        found += 1
        return "*" * (len(digits) - 4) + digits[-4:]

    return CARD.sub(mask, text), found


def walk(value):
    """Masks every string in a JSON value."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, list):
        parts = [walk(item) for item in value]
        return [part for part, _ in parts], sum(found for _, found in parts)
    if isinstance(value, dict):
        parts = {name: walk(item) for name, item in value.items()}
        return {name: part for name, (part, _) in parts.items()}, sum(found for _, found in parts.values())
    return value, 0


def decide(question):
    if question["phase"] in ("response", "listing"):
        result, found = walk(question["response"]["body"])
        if not found:
            return {"decision": "allow"}
        return {"decision": "modify", "modification": {"result": result, "audit": {"cards_masked": found}}}
    sent = question.get("request") or question["message"]
    _, found = walk(sent["params"])
    if not found:
        return {"decision": "allow"}
    return {
        "decision": "deny",
        "violation": {
            "rule_id": "DLP-CARD",
            "severity": "high",
            "threat_type": "data_exfiltration",
            "description": "a payment card number is about to leave",
            "evidence": {"cards": found},
            "recommended_action": "remove the number from the call",
        },
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    signatures = None

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        if length > LARGEST:
            self.close_connection = True
            return self.answer(413, {})
        body = self.rfile.read(length)
        if not self.signatures.accepts(self.headers, body):
            return self.answer(401, {})
        try:
            self.answer(200, decide(json.loads(body)))
        except (KeyError, ValueError):
            self.answer(400, {})

    def do_GET(self):
        self.answer(200 if self.path == "/healthz" else 404, {})

    def answer(self, status, answer):
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8085)
    port = parser.parse_args().port
    Handler.signatures = Signatures(key_bytes(os.environ["DLP_SIGNING_KEY"]))
    Handler.wbufsize = -1  # head and body of an answer in one packet
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
