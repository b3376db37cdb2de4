"""Asks a running Ocelli as Frigate's detector "deepstack" does (frigate/detectors/plugins/deepstack.py), written anew: a JPEG of the
model's size as the part "image" of a form, an api_key, 0.1 s of patience, and boxes as shares of the picture's sides.

Usage: deepstack_client.py URL PICTURE LABEL [SIDE] [SECONDS] [TIMES]; prints the detections, or the times with TIMES.
"""

import io
import sys
import time

import numpy as np
import requests
from PIL import Image


def detect(url, tensor, labels, timeout):
    image = Image.fromarray(np.squeeze(tensor).astype(np.uint8))
    width, height = image.size
    with io.BytesIO() as output:
        image.save(output, format="JPEG")
        data = output.getvalue()
    answer = requests.post(url, data={"api_key": ""}, files={"image": data}, timeout=timeout).json()
    detections = np.zeros((20, 6), np.float32)
    if answer.get("predictions") is None:
        return detections
    # As there: a truck is a car, and more than 20 detections are more than it has room for.
    for index, found in enumerate(answer["predictions"]):
        label = "car" if found["label"].lower() == "truck" else found["label"].lower()
        if found["confidence"] < 0.4 or label not in labels:
            break
        detections[index] = [
            labels.index(label), float(found["confidence"]), found["y_min"] / height,
            found["x_min"] / width, found["y_max"] / height, found["x_max"] / width]
    return detections


def main():
    url, picture, label = sys.argv[1:4]
    side = int(sys.argv[4]) if len(sys.argv) > 4 else 320
    timeout = float(sys.argv[5]) if len(sys.argv) > 5 else 0.1
    tensor = np.asarray(Image.open(picture).convert("RGB").resize((side, side)))[np.newaxis]
    if len(sys.argv) > 6:
        times, late = [], 0
        for _ in range(int(sys.argv[6])):
            begun = time.perf_counter()
            try:
                detect(url, tensor, [label], timeout)
            except requests.exceptions.Timeout:
                late += 1
            times.append(time.perf_counter() - begun)
        times.sort()
        print(f"{len(times)} requests, p50 {1000 * times[len(times) // 2]:.1f} ms, "
              f"p99 {1000 * times[len(times) * 99 // 100]:.1f} ms, longest {1000 * times[-1]:.1f} ms, {late} too late")
        return
    found = detect(url, tensor, [label], timeout)
    assert found.shape == (20, 6) and found[0][1] >= 0.4, found[:3]
    for box in found[found[:, 1] > 0]:
        assert 0 <= box[2] < box[4] <= 1 and 0 <= box[3] < box[5] <= 1, box
    # Best first: the detector stops at the first that is not good enough.
    scores = found[:, 1]
    assert (np.diff(scores) <= 0).all(), scores
    print(label, int((scores > 0).sum()))


main()
