"""The measurements of Benchmarks/inference/run: each prints a table in Markdown. Standard library only."""

import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(ROOT, "Tests/Operations"))
from daemon import serve  # noqa: E402

SHARED = os.path.join(ROOT, "../shared/data")
MOBILENET = os.path.join(SHARED, "models/mobilenet_v2_1.0_224_quant")
BENCH = os.path.join(ROOT, ".build/release/modelbench")
OCELLI = os.path.join(ROOT, ".build/release/ocelli")
QUICK = os.environ.get("QUICK") == "1"


def pictures():
    folder = os.path.join(SHARED, "images")
    names = [n for n in sorted(os.listdir(folder)) if n.endswith((".jpg", ".png")) and not n.startswith("kite")]
    exif = os.path.join(folder, "exif")
    return [os.path.join(folder, n) for n in names] + [os.path.join(exif, n) for n in sorted(os.listdir(exif))]


def bench(*arguments):
    output = subprocess.run([BENCH, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("| " + " | ".join("---" for _ in head) + " |")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def serial():
    print("## 24 pictures, one after another and all at once\n")
    print("MobileNetV2, the daemon's default sizing. One after another: the next begins when the last has been answered.\n")
    found = (pictures() * 24)[:24]
    row = bench("serial", MOBILENET, 3 if QUICK else 15, *found)[0]
    table(["one after another", "all at once", "ratio (median of rounds)", "least", "most"],
          [[f"{row['serial_ms']:.0f} ms", f"{row['concurrent_ms']:.0f} ms", f"{row['ratio']:.2f}",
            f"{row['ratio_least']:.2f}", f"{row['ratio_most']:.2f}"]])


def memory():
    print("## Memory over 500 pictures\n")
    found = pictures()
    rows = []
    for limit in (2, 0):
        row = bench("memory", MOBILENET, limit, 500, *found)[0]
        rows.append([limit or "none", f"{row['before_mib']:.0f} MiB", f"{row['peak_mib']:.0f} MiB",
                     f"{row['peak_mib'] - row['before_mib']:.0f} MiB", f"{500 / row['seconds']:.0f}"])
    table(["limit in flight", "before", "peak", "more", "pictures/s"], rows)


class Rounds:
    """A program that runs a round for each line."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline()

    def run(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def throughput():
    print("## Model beside OpenVINO's AsyncInferQueue\n")
    venv = os.path.join(ROOT, ".build/compare-venv")
    if not os.path.exists(os.path.join(venv, ".ready")):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([os.path.join(venv, "bin/pip"), "install", "--quiet", "--disable-pip-version-check",
                        "openvino==2026.4.1", "numpy", "pillow"], check=True)
        open(os.path.join(venv, ".ready"), "w").close()
    cpus = len(os.sched_getaffinity(0))
    seconds, count = (1, 4) if QUICK else (3, 10)
    rows = []
    for name in ("mobilenet_v2_1.0_224_quant", "mobilenet_v1_0.25_224_float", "squeezenet_fp16"):
        folder = os.path.join(SHARED, "models", name)
        file = next(os.path.join(folder, n) for n in os.listdir(folder) if n.endswith((".tflite", ".onnx")))
        ours = Rounds(BENCH, "rounds", folder, seconds)
        instances = json.loads(ours.first)["instances"]
        theirs = Rounds(os.path.join(venv, "bin/python"), os.path.join(os.path.dirname(__file__), "asyncqueue.py"), file,
                        seconds, instances, cpus, min(cpus, 4))
        pairs = []
        for number in range(count + 1):
            # In turns; each goes first every other time.
            if number % 2:
                a = ours.run()
                b = theirs.run()
            else:
                b = theirs.run()
                a = ours.run()
            if number:
                pairs.append((a, b))
        ours.end()
        theirs.end()
        ratios = [a / b for a, b in pairs]
        rows.append([name, instances, f"{statistics.median(a for a, _ in pairs):.1f}",
                     f"{statistics.median(b for _, b in pairs):.1f}", f"{statistics.median(ratios):.3f}",
                     f"{min(ratios):.3f} to {max(ratios):.3f}"])
    table(["model", "requests", "Model, /s", "AsyncInferQueue, /s", "ratio (median)", "range"], rows)


def batch():
    print("## Batches of one inference (`runtime.batch`) beside concurrent single inferences\n")
    rows = []
    models = [os.path.join(ROOT, "models/digits")] + [
        os.path.join(SHARED, "models", n) for n in sorted(os.listdir(os.path.join(SHARED, "models")))]
    for model in models:
        found = bench("batch", model, 5 if QUICK else 40)
        if "cannot" in found[0]:
            rows.append([os.path.basename(model)] + ["-"] * 5)
        else:
            rows.append([os.path.basename(model)] + [f"{row['ratio']:.2f}" for row in found])
    print("Time of singles over time of the batch: above 1 the batch is faster. -: the file has no batch axis.\n")
    table(["model", "1 item", "2", "4", "8", "16"], rows)


def overload():
    print("## Overload\n")
    generator = os.path.join(ROOT, ".build/openloop")
    source = os.path.join(os.path.dirname(__file__), "openloop.c")
    subprocess.run(["clang", "-O2", "-o", generator, source], check=True)
    queue = 64
    with serve("--models", os.path.join(SHARED, "models"), "--default-model", os.path.basename(MOBILENET), "--load", "lazy",
               "--access-log=false", "--queue-length", queue, program=OCELLI) as daemon:
        picture = os.path.join(SHARED, "images/burger.jpg")
        with open(picture, "rb") as file:
            body = file.read()
        for _ in range(5):
            assert daemon.ask("POST", "/v1/classify", body, [("Content-Type", "image/jpeg")]).status == 200

        def load(rate, seconds):
            command = [generator, "127.0.0.1", str(daemon.port), "/v1/classify", picture, f"{rate:.1f}", str(seconds), "4000", "0", "0", "0",
                       "Cache-Control: no-store"]
            # The generator stands for another machine: it should not wait for the daemon's threads.
            if os.geteuid() == 0:
                command = ["nice", "-n", "-10"] + command
            return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)

        seconds = 3 if QUICK else 8
        load(1000, 3)
        capacity = statistics.median(load(1000, seconds)["goodput"] for _ in range(3))
        # In turns, for a machine's speed changes from minute to minute: what overload costs is shown beside the saturated
        # rounds before and after it.
        factors = (0.7, 0.9, 1.2, 3, 1.2, 10)
        results = {factor: [] for factor in factors}
        turns = []
        for _ in range(2 if QUICK else 4):
            for factor in factors:
                before, used = int(daemon.memory()), daemon.processor_seconds()
                result = load(capacity * factor, seconds)
                result.update(factor=factor, daemon_cpu=daemon.processor_seconds() - used, before=before, after=int(daemon.memory()))
                results[factor].append(result)
                turns.append(result)

        def of_peak(index):
            neighbours = [turns[i]["goodput"] for i in (index - 1, index + 1) if 0 <= i < len(turns) and turns[i]["factor"] == 1.2]
            return turns[index]["goodput"] / statistics.fmean(neighbours) if neighbours else None

        rows = []
        for factor in sorted(results):
            found = results[factor]

            def middle(name, digits=1):
                return f"{statistics.median(r[name] for r in found):.{digits}f}"

            shares = [of_peak(i) for i, r in enumerate(turns) if r["factor"] == factor]
            shares = [share for share in shares if share is not None] if factor > 1.2 else []
            rows.append([
                factor, middle("rate", 0), middle("goodput"),
                f"{100 * statistics.median(shares):.0f} % ({100 * min(shares):.0f} to {100 * max(shares):.0f})" if shares else "",
                sum(r["refused"] for r in found), middle("refused_p50_ms"), middle("refused_p99_ms"),
                f"{min(r['retry_after_least'] for r in found)} to {max(r['retry_after_most'] for r in found)}",
                middle("good_p50_ms", 0), middle("good_p99_ms", 0), sum(r["other"] + r["broken"] + r["not_sent"] for r in found),
                f"{found[0]['before']} to {found[-1]['after']} MiB", f"{max(r['generator_late_max_ms'] for r in found):.0f}",
                f"{statistics.median(r['generator_cpu'] for r in found) / seconds:.2f}",
                f"{statistics.median(r['daemon_cpu'] for r in found) / seconds:.2f}"])
        slots = 3
        peak = statistics.median(r["goodput"] for r in results[1.2])
        print(f"MobileNetV2 over HTTP, a picture of 30 KB, open loop, {len(turns)} runs of {seconds} s in turns; a queue of "
              f"{queue}, {slots} slots. At 1.2 times capacity {peak:.1f}/s: {queue + slots} places take "
              f"{1e3 * (queue + slots) / peak:.0f} ms. Medians of the runs; times from when a request was due, in ms; "
              "Retry-After in s. 'Of peak': beside the runs at 1.2 before and after.\n")
        table(["times capacity", "offered/s", "goodput/s", "of peak", "refused", "refusal p50", "refusal p99", "Retry-After",
               "accepted p50", "accepted p99", "other", "memory", "generator late, most", "generator CPUs", "daemon CPUs"], rows)


def main():
    known = {"serial": serial, "memory": memory, "throughput": throughput, "batch": batch, "overload": overload}
    wanted = sys.argv[1:] or list(known)
    for name in wanted:
        if name not in known:
            sys.exit(f"there is no measurement {name!r}; there are {', '.join(known)}")
    if not os.path.isdir(SHARED):
        sys.exit("these measurements need the models and pictures of ../shared/data")
    load = os.getloadavg()[0]
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, {len(os.sched_getaffinity(0))} processors, load {load:.2f} at the start"
          + (" (busy: the figures are rough)" if load > 0.7 else "") + "\n")
    for name in wanted:
        known[name]()


main()
