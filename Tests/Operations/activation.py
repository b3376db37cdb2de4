"""kill -9 and restart by socket activation, under load: what a client sees.

This process holds the listening socket, as systemd does, and passes it to one daemon after the other. Each daemon is killed
with SIGKILL while clients ask it; the next is started at once. Only what a daemon had accepted may be lost; who connects
while there is none waits in the socket and is served by the next.
"""

import argparse
import os
import random
import signal
import socket
import sys
import threading
import time

import daemon
import wire

LISTENER = 3  # sd_listen_fds(3): passed descriptors begin here


class Client(threading.Thread):
    """Asks again and again, each time on a connection of its own or on a kept one."""

    def __init__(self, port, seed, index):
        super().__init__(daemon=True)
        self.port, self.keeps = port, index % 2 == 0
        self.random = random.Random(f"{seed}-{index}")
        self.over = threading.Event()
        self.answered, self.refused, self.lost, self.wrong = 0, 0, [], []

    def run(self):
        connection = None
        pictures = daemon.pictures()
        while not self.over.is_set():
            data, digit = self.random.choice(pictures)
            try:
                connection = connection or wire.Connection(self.port, timeout=60)
            except OSError as error:
                self.refused += 1
                self.wrong.append(f"connect: {error}")
                continue
            try:
                answer = connection.ask(wire.request("POST", "/v1/classify", data))
            except wire.Lost as lost:
                self.lost.append((time.monotonic(), str(lost)))
                connection.close()
                connection = None
                continue
            if answer.status == 200 and answer.json["classifications"][0]["label"] == digit:
                self.answered += 1
            else:
                self.wrong.append(f"{answer.status}: {answer.body[:200]!r}")
            if not (self.keeps and answer.keeps):
                connection.close()
                connection = None


def start():
    # The process's own number is known only in it: LISTEN_PID tells a passed socket from one that was inherited.
    return daemon.Daemon(
        [], environment={"LISTEN_FDS": "1"}, pass_fds=(LISTENER,), ready=None,
        command=["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    print(f"activation: {arguments.kills} kills, {arguments.clients} clients, seed {arguments.seed}")
    rng = random.Random(arguments.seed)

    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    port = listener.getsockname()[1]
    if listener.fileno() != LISTENER:
        os.dup2(listener.fileno(), LISTENER)
    problems, kills = [], []

    # No daemon runs yet: a request now is answered by the first one.
    early = [wire.Connection(port, timeout=60) for _ in range(20)]
    picture, digit = daemon.pictures()[0]
    for connection in early:
        connection.send(wire.request("POST", "/v1/classify", picture))
    current = start()
    waited = sum(connection.answer().status == 200 for connection in early)
    if waited != len(early):
        problems.append(f"{len(early) - waited} of {len(early)} who asked before the start were not answered")

    clients = [Client(port, arguments.seed, index) for index in range(arguments.clients)]
    for client in clients:
        client.start()
    late_answered = late = 0
    for _ in range(arguments.kills):
        time.sleep(0.5 + rng.random())
        kills.append(time.monotonic())
        current.signal(signal.SIGKILL)
        current.process.wait()
        # In between: connections that no process has accepted.
        between = [wire.Connection(port, timeout=60) for _ in range(20)]
        for connection in between:
            connection.send(wire.request("POST", "/v1/classify", picture))
        current = start()
        late += len(between)
        for connection in between:
            try:
                late_answered += connection.answer().status == 200
            except wire.Lost as lost:
                problems.append(f"a connection that waited was lost: {lost}")
            connection.close()
    time.sleep(0.5)
    for client in clients:
        client.over.set()
    for client in clients:
        client.join(60)
    status = current.stop()

    answered = sum(c.answered for c in clients)
    lost = [moment for c in clients for moment, _ in c.lost]
    wrong = [text for c in clients for text in c.wrong]
    refused = sum(c.refused for c in clients)
    # A client has one request under way: at each kill it can lose that one, and no other.
    if any(len(c.lost) > arguments.kills for c in clients):
        problems.append(f"{len(lost)} requests were lost: more than were under way")
    if any(moment < kills[0] for moment in lost):
        problems.append("a request was lost although no process was killed")
    if wrong:
        problems.append(f"{len(wrong)} answers were wrong, e.g. {wrong[0]}")
    if late_answered != late:
        problems.append(f"{late - late_answered} of {late} connections that waited were not served")
    if status != 0:
        problems.append(f"the last daemon ended with {status}")
    if answered < arguments.kills * 10:
        problems.append(f"only {answered} requests were answered: that is not a load")
    print(
        f"answered {answered}, lost with a killed process {len(lost)} (at most {arguments.clients * arguments.kills} were "
        f"under way), refused {refused}, waiting connections served {waited + late_answered} of {len(early) + late}")
    print("PASS" if not problems else "FAIL: " + "\n      ".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
