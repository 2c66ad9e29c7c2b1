"""A client of `incumbent serve` in Python, with its standard library alone.

usage: serve-client.py http://127.0.0.1:4040 ELECTION ID

Prints "work TERM TIME" every 10 ms while it leads: TIME is the machine's clock, in ns.
"""

import json
import sys
import time
import urllib.error
import urllib.request

base, election, candidacy = sys.argv[1:]
path = f"{base}/elections/{election}/candidacies/{candidacy}"
ASK_EVERY = 0.2


def call(method, path, body=None, secret=None):
    headers = {"content-type": "application/json"}
    if secret is not None:
        headers["candidacy-secret"] = secret
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=1) as answer:
        return json.load(answer)


secret, term, until = None, None, 0.0
while True:
    asked = time.monotonic()
    try:
        if secret is None:
            secret = call("PUT", path, {"renewWithinMs": 2000})["secret"]
        answer = call("GET", path, secret=secret)
        until, term = asked + answer["validForMs"] / 1000, answer.get("term")
        if answer["state"] == "stopping":
            call("POST", f"{path}/acknowledge", {"term": term}, secret)
    except urllib.error.HTTPError as error:
        # 404: the candidacy is over. 409: a former one is not over yet.
        if error.code in (404, 409):
            secret = None
    except OSError:
        pass
    while time.monotonic() < asked + ASK_EVERY:
        now = time.time_ns()
        if time.monotonic() < until:
            print(f"work {term} {now}", flush=True)
        time.sleep(0.01)
