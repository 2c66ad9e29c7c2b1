"""kazoo's Election. Speaks the protocol of speak.ts; stamps are CLOCK_MONOTONIC, as process.hrtime is."""

import argparse
import gc
import json
import os
import sys
import threading
import time

from kazoo.client import KazooClient, KazooState

parser = argparse.ArgumentParser()
parser.add_argument('--url')
parser.add_argument('--namespace', default='bench')
parser.add_argument('--ttl', type=int, default=10000)
parser.add_argument('--mode', default='')
start = parser.parse_args()

printing = threading.Lock()
clients = {}
clients_lock = threading.Lock()
holding = {}


def emit(event, **fields):
    line = json.dumps({**fields, 'event': event, 'at': str(time.monotonic_ns())})
    with printing:
        sys.stdout.write(line + '\n')
        sys.stdout.flush()


def client_of(name):
    """One session for the candidates of a name."""
    with clients_lock:
        if name not in clients:
            client = KazooClient(hosts=start.url, timeout=start.ttl / 1000)
            client.start()
            clients[name] = client
        return clients[name]


class HeldElection:
    def __init__(self):
        self.over = threading.Event()
        self.ended = threading.Event()
        self.leads = True


def campaign(election, name, since):
    client = client_of(name)
    held = HeldElection()

    def told(state):
        # An application that is careful latches this; to the leader's function kazoo says nothing.
        if state != KazooState.CONNECTED and held.leads:
            held.leads = False
            emit('lost', election=election, **{'as': name}, reason=str(state))

    def lead():
        client.add_listener(told)
        holding[election, name] = held
        emit('leads', election=election, **{'as': name}, since=since)
        held.over.wait()
        held.leads = False

    client.Election('/' + start.namespace + '/' + election, name).run(lead)
    client.remove_listener(told)
    held.ended.set()


def reportLeading(election, name):
    while True:
        begun = str(time.monotonic_ns())
        held = holding.get((election, name))
        if held is not None and held.leads:
            emit('leading', election=election, **{'as': name}, **{'from': begun})
        time.sleep(0.005)


def observe(election, name, times, since):
    client = client_of(name)
    path = '/' + start.namespace + '/' + election
    client.ensure_path(path)

    def watch():
        last = [None]

        @client.ChildrenWatch(path)
        def look(children):
            queue = sorted(children, key=lambda child: child[-10:])
            if not queue:
                return
            data, _ = client.get(path + '/' + queue[0])
            if queue[0] != last[0]:
                last[0] = queue[0]
                emit('told', election=election, **{'as': name}, leader=data.decode())

    for _ in range(times):
        watch()
    emit('observes', election=election, **{'as': name}, since=since)


def obey(command):
    since = str(time.monotonic_ns())
    do, election, name = command['do'], command['election'], command['as']
    try:
        if do == 'campaign':
            campaign(election, name, since)
        elif do == 'resign':
            held = holding.pop((election, name))
            held.over.set()
            held.ended.wait()
            emit('resigned', election=election, **{'as': name}, since=since)
        elif do == 'observe':
            observe(election, name, command['times'], since)
        elif do == 'reportLeading':
            reportLeading(election, name)
        elif do == 'collect':
            gc.collect()
            emit('collected')
    except Exception as error:
        emit('failed', election=election, **{'as': name}, error=repr(error))


emit('ready')
for line in sys.stdin:
    threading.Thread(target=obey, args=(json.loads(line),), daemon=True).start()
os._exit(0)
