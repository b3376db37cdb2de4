"""wrk as a closed loop: a script that sends one body, and the figures of a run."""
import json
import pathlib
import re
import subprocess

# The end of every script. Times in milliseconds.
DONE = """
function done(summary, latency)
  local errors = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  print(string.format("REPORT %d %d %d %.3f %.3f", summary.requests, summary.duration, errors, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
"""


def script(path, body, fields=()):
    """Writes a script that posts the file `body`. No answer is shared with an equal request: each costs what it costs."""
    lines = [f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}" for name, value in [("Cache-Control", "no-store"), *dict(fields).items()]]
    pathlib.Path(path).write_text(
        f'local file = io.open({json.dumps(str(body))}, "rb")\nwrk.method, wrk.body = "POST", file:read("*a")\n' + "\n".join(lines) + DONE)
    return path


def run(url, script, connections, seconds, timeout=30):
    """One thread of wrk with so many connections: requests, requests a second, failures, p50 and p99 in milliseconds."""
    out = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--timeout", f"{timeout}s", "-s", script, url],
        capture_output=True, check=True, text=True).stdout
    requests, microseconds, errors, p50, p99 = map(float, re.search(r"REPORT (.*)", out)[1].split())
    return {"requests": int(requests), "rate": requests / microseconds * 1e6, "errors": int(errors), "p50": p50, "p99": p99}
