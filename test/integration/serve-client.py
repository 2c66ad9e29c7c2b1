"""A client of `incumbent serve` in Python, with its standard library alone.

usage: serve-client.py http://127.0.0.1:4040 ELECTION ID

One thread asks, and the other one works. Prints "work TERM TIME" every 10 ms while it leads. TIME
is the reading of the clock, in ns, that the client has compared with its deadline.
"""

import json
import sys
import threading
import time
import urllib.error
import urllib.request

base, election, candidacy = sys.argv[1:]
path = f"{base}/elections/{election}/candidacies/{candidacy}"
ASK_EVERY = 0.2

secret = None
# The term and the deadline. The lock is held during each act.
lead = (None, 0.0)
acting = threading.Lock()


def call(method, path, body=None):
    headers = {"content-type": "application/json"}
    if secret is not None:
        headers["candidacy-secret"] = secret
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=1) as answer:
        return json.load(answer)


def get(path):
    return call("GET", path)


def ask():
    global secret, lead
    if secret is None:
        secret = call("PUT", path, {"renewWithinMs": 2000})["secret"]
    asked = time.monotonic()
    answer = get(path)
    until = asked + answer["validForMs"] / 1000
    with acting:
        lead = (answer.get("term"), until)
    if answer["state"] == "stopping":
        call("POST", f"{path}/acknowledge", {"term": answer["term"]})


def work():
    while True:
        with acting:
            term, until = lead
            now = time.monotonic()
            if now < until:
                print(f"work {term} {int(now * 1e9)}", flush=True)
        time.sleep(0.01)


threading.Thread(target=work, daemon=True).start()
while True:
    try:
        ask()
    except urllib.error.HTTPError as error:
        # 404: the candidacy is over. 409: a former one is not over yet.
        if error.code in (404, 409):
            secret = None
    except OSError:
        pass
    time.sleep(ASK_EVERY)
