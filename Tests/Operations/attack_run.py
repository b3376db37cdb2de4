"""Runs attacks beside good clients, and judges and reports what those get."""

import argparse
import collections
import dataclasses
import multiprocessing
import os
import pathlib
import resource
import tempfile
import time

from attacks import ATTACKS, png, run as run_attack
from daemon import MODELS, Daemon, binary, pictures
from wire import Connection, Lost, request

MIB = 1 << 20
# What bodies and answers may take, as configured, and what may come on top: slots, and 16 MiB.
BODIES = 64 * MIB
ANSWERS = 32 * MIB
SLOTS = 32 * MIB
SLACK = 16 * MIB
# What the kernel may take for an attack that leaves answers in socket buffers: three times the answers (pieces are rounded up:
# 26 to 97 MiB were measured, the most on a machine that also compiled), and the buffers of the clients' side. Closed sockets that it may keep: those of the good clients.
KERNEL = 3 * ANSWERS + 32 * MIB
ORPHANS = 50


@dataclasses.dataclass
class Figures:
    """What a good client got: requests per second, and milliseconds of the 99th percentile and of the slowest answer."""

    rate: float
    p99: float
    slowest: float
    answers: int
    # What came instead of a right answer: how often each status, or why the connection ended.
    wrong: dict

    def __str__(self):
        reasons = "; ".join(f"{count} x {reason}" for reason, count in sorted(self.wrong.items()))
        return f"{self.rate:,.0f}/s, {self.p99:,.1f} ms, slowest {self.slowest:,.0f} ms" + (f", {sum(self.wrong.values())} wrong ({reasons})" if reasons else "")


def good_client(port, seconds, data, reconnects, result):
    """One request at a time, for so long; a refusal (503) is waited out and counted as wrong."""
    times, wrong = [], collections.Counter()
    connection = None
    end = time.monotonic() + seconds
    while (start := time.monotonic()) < end:
        try:
            if connection is None:
                connection = Connection(port, timeout=max(5.0, seconds))
            answer = connection.ask(data)
            if answer.status == 200:
                times.append(time.monotonic() - start)
            else:
                wrong[f"status {answer.status}"] += 1
                time.sleep(0.05)
            if reconnects or not answer.keeps:
                connection.close()
                connection = None
        except (Lost, OSError) as error:
            wrong[str(error)] += 1
            if connection:
                connection.close()
            connection = None
            time.sleep(0.05)
    times.sort()
    p99 = times[min(len(times) - 1, int(len(times) * 0.99))] if times else float("inf")
    slowest = times[-1] if times else float("inf")
    result.put((data[:4] == b"POST", Figures(len(times) / seconds, p99 * 1000, slowest * 1000, len(times), dict(wrong))))


def upload(size):
    """A request whose picture has about `size` bytes and comes in chunks of 64 KiB."""
    picture = png(28, 28, comment=size)
    pieces = [picture[at : at + 65_536] for at in range(0, len(picture), 65_536)]
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    return b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n" + body


def measure(port, seconds, attack):
    """/healthz's figures and /v1/classify's, at the same time."""
    result = multiprocessing.Queue()
    picture = next(data for data, label in pictures() if label == "7")
    post = upload(attack.good_upload) if attack.good_upload else request("POST", "/v1/classify", picture)
    asked = [request("GET", "/healthz"), post]
    clients = [
        multiprocessing.Process(target=good_client, args=(port, seconds, data, attack.good_reconnects, result))
        for data in asked]
    for client in clients:
        client.start()
    found = dict(result.get(timeout=seconds * 4 + 60) for _ in clients)
    for client in clients:
        client.join()
    return found[False], found[True]


def kernel_memory():
    """What the kernel holds for TCP's buffers, in bytes, and closed sockets that still hold something: of the whole machine."""
    for line in pathlib.Path("/proc/net/sockstat").read_text().splitlines():
        if line.startswith("TCP:"):
            words = line.split()
            return int(words[words.index("mem") + 1]) * resource.getpagesize(), int(words[words.index("orphan") + 1])
    return 0, 0


@dataclasses.dataclass
class Result:
    name: str
    alone: tuple
    beside: tuple
    grown: int
    kernel: int
    note: str
    problems: list

    @property
    def row(self):
        cells = [self.name] + [str(f) for pair in zip(self.alone, self.beside) for f in pair]
        cells += [f"{self.grown / MIB:,.0f} MiB", f"{self.kernel / MIB:,.0f} MiB", self.note]
        return "| " + " | ".join(cells) + " |"


HEADER = (
    "| attack | /healthz alone | beside | /v1/classify alone | beside | RSS above base | TCP | |\n"
    "| --- | --- | --- | --- | --- | --: | --: | --- |")


def options(attack):
    """The daemon's settings; one that an older daemon does not know is left out."""
    wanted = {"--max-total-body": f"{BODIES // MIB}MiB" if attack.fills_memory else None,
              "--max-total-answers": f"{ANSWERS // MIB}MiB" if attack.fills_memory or attack.fills_sockets else None}
    help_text = os.popen(f"{binary()} serve --help").read()
    return [f"{k}={v}" for k, v in wanted.items() if v and k in help_text]


def one(name, seconds, is_long):
    attack = ATTACKS[name]
    count = attack.long_connections if is_long else attack.connections
    daemon = Daemon(["--listen=127.0.0.1:0", f"--models={MODELS}", "--access-log=false", *attack.settings, *options(attack)])
    folder = tempfile.TemporaryDirectory()
    report = pathlib.Path(folder.name, "report")
    report.touch()
    os.environ["ATTACK_REPORT"] = str(report)
    attacker = multiprocessing.Process(target=run_attack, args=(name, daemon.port, count), daemon=True)
    try:
        alone = measure(daemon.port, seconds, attack)
        base, (kernel, orphans) = daemon.resident(), kernel_memory()
        attacker.start()
        peak, peak_kernel, most_orphans = base, kernel, orphans

        def watch(until):
            nonlocal peak, peak_kernel, most_orphans
            while time.monotonic() < until:
                memory, count = kernel_memory()
                peak, peak_kernel = max(peak, daemon.resident()), max(peak_kernel, memory)
                most_orphans = max(most_orphans, count)
                time.sleep(0.02)

        watch(time.monotonic() + attack.head_start)
        used, before = daemon.processor_seconds(), counts(report)
        began = time.monotonic()
        beside = measure(daemon.port, seconds, attack)
        used = daemon.processor_seconds() - used
        answers, connections = (now - then for now, then in zip(counts(report), before))
        watch(began + seconds + (2 if is_long else 0.5))
        text = f"{used / max(0.1, time.monotonic() - began):.2f} CPU"
        if answers:
            text += f", {answers / seconds:,.0f} refusals/s ({connections / seconds:,.0f} connections/s)"
        grown = (peak - base) * 1024
        problems = [f"{who}: no right answer beside the attack" for who, figures in zip(("/healthz", "/v1/classify"), beside)
                    if not figures.answers]
        if attack.fills_memory and grown > (bound := BODIES + ANSWERS + SLOTS + SLACK):
            problems.append(f"memory grew by {grown / MIB:.0f} MiB, more than {bound / MIB:.0f}")
        if attack.fills_sockets and peak_kernel - kernel > KERNEL:
            problems.append(f"the kernel's TCP memory grew by {(peak_kernel - kernel) / MIB:.0f} MiB, more than {KERNEL / MIB:.0f}")
        if attack.fills_sockets and most_orphans - orphans > ORPHANS:
            problems.append(f"{most_orphans - orphans} closed sockets still held something, more than {ORPHANS}")
        if not daemon.is_running():
            problems.append("the daemon has ended")
        return Result(name, alone, beside, grown, max(0, peak_kernel - kernel), text, problems)
    finally:
        if attacker.is_alive():
            attacker.kill()
            attacker.join()
        daemon.kill()


def counts(path):
    words = path.read_text().split()
    return (int(words[0]), int(words[1])) if len(words) == 2 else (0, 0)


def main(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK")
    parser.add_argument("--list", action="store_true", help="name the attacks, and end")
    parser.add_argument("--long", action="store_true", help="ten times as long, with more connections")
    parser.add_argument("--seconds", type=float, help="how long each measurement takes (default 1.5, with --long 15)")
    parser.add_argument("--save", type=pathlib.Path, help="append the table to this file")
    parser.add_argument("--title", default="attacks", help="the table's heading in that file")
    arguments = parser.parse_args()
    if arguments.list:
        for name, attack in ATTACKS.items():
            print(f"{name:15} {attack.summary}")
        return 0
    for name in arguments.attacks:
        if name not in ATTACKS:
            parser.error(f"there is no attack '{name}': there are {', '.join(ATTACKS)}")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16_384), hard))
    seconds = arguments.seconds or (15 if arguments.long else 1.5)
    lines, problems = [HEADER], []
    print(HEADER, flush=True)
    for name in arguments.attacks or ATTACKS:
        result = one(name, seconds, arguments.long)
        print(result.row, flush=True)
        lines.append(result.row)
        problems += [f"{name}: {problem}" for problem in result.problems]
    for problem in problems:
        print(f"PROBLEM {problem}", flush=True)
    if arguments.save:
        with arguments.save.open("a") as file:
            file.write(f"## {arguments.title}\n\n" + "\n".join(lines) + "\n\n")
    return 1 if problems else 0
