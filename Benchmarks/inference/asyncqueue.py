"""OpenVINO's own AsyncInferQueue on a model: a round of inferences for each line of standard input. See measure.py."""

import sys
import time

import numpy as np
import openvino as ov

path, seconds, requests, threads, streams = sys.argv[1], float(sys.argv[2]), *map(int, sys.argv[3:6])
core = ov.Core()
model = core.read_model(path)
compiled = core.compile_model(
    model, "CPU",
    {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads,
     "NUM_STREAMS": streams})
port = compiled.inputs[0]
zeros = np.zeros(list(port.shape), dtype=port.element_type.to_dtype())
results = []


def done(request, _):
    # The answer is taken out of the engine's memory, as Model does.
    results.append(request.get_output_tensor(0).data.copy())


queue = ov.AsyncInferQueue(compiled, requests)
queue.set_callback(done)
print("ready", flush=True)
for _ in sys.stdin:
    results.clear()
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        queue.start_async({0: zeros})
    queue.wait_all()
    print(len(results) / (time.perf_counter() - start), flush=True)
