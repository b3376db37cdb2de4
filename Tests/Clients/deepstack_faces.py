#!/usr/bin/env python3
"""Teaches and recognizes faces as double-take (api/src/util/detectors/deepstack.js) and DeepStack's own packages do, written anew: forms
with the parts image, image1..., userid, api_key and min_confidence, deletion in both types of forms, and a list by a POST without a body.

usage: deepstack_faces.py URL MARY ANNA ASKED     with pictures of two known faces, and of one that is asked for

Prints a line for each comparison that fails; the exit status is 0 if all hold. Needs numpy and requests."""
import sys

import numpy as np
import requests

from comparisons import check, end

url = sys.argv[1] + "/v1/vision/face/"
mary, anna, asked = (open(name, "rb").read() for name in sys.argv[2:5])


def post(route, files=None, **fields):
    answer = requests.post(url + route, files=files, data=fields or None, timeout=60)
    return answer.status_code, answer.json()


def recognized(picture, **fields):
    status, answer = post("recognize", {"image": picture}, **fields)
    check("recognize succeeds", status == 200 and answer["success"] is True, answer)
    return answer["predictions"]


def similarity(a, b):
    """As DeepStack: of the first and second picture."""
    status, answer = post("match", {"image1": a, "image2": b})
    check("match succeeds", status == 200 and answer["success"] is True, answer)
    return answer["similarity"]


check("nobody is known", all(one["userid"] == "unknown" and one["confidence"] == 0 for one in recognized(asked)))
check("a face is added", post("register", {"image": mary}, userid="mary", api_key="")[1] == {
    "success": True, "message": "face added", "code": 200})
check("a face is updated", post("register", {"image1": mary, "image2": asked}, userid="mary")[1]["message"] == "face updated")
check("another face is added", post("register", {"image": ("a.png", anna, "image/png")}, userid="anna")[1]["message"] == "face added")
check("both are listed", sorted(requests.post(url + "list", timeout=60).json()["faces"]) == ["anna", "mary"])

found = recognized(asked, min_confidence=0)
areas = [(one["x_max"] - one["x_min"]) * (one["y_max"] - one["y_min"]) for one in found]
largest = found[int(np.argmax(areas))]
check("the largest find was registered", largest["userid"] == "mary" and largest["confidence"] > 0.99999, largest)
check("a picture is like itself", abs(similarity(mary, mary) - 1) < 1e-6)
check("two pictures are compared in either order", abs(similarity(mary, anna) - similarity(anna, mary)) < 1e-9)
check("similar pictures are more alike", similarity(mary, asked) > similarity(mary, anna))
# double-take: a name, a box of numbers, and the confidence in percent.
for one in recognized(asked):
    check("a prediction", isinstance(one["userid"], str) and 0 <= one["confidence"] <= 1 and one["x_min"] < one["x_max"], one)

check("a face is deleted", post("delete", userid="mary") == (200, {"success": True, "code": 200}))
answer = requests.post(url + "delete", files={"userid": (None, "anna")}, timeout=60)
check("a face is deleted by a multipart form", answer.status_code == 200, answer.text)
check("nobody is listed", requests.post(url + "list", timeout=60).json()["faces"] == [])
status, answer = post("register", {"image": mary})
check("a registration without a name is refused", status == 400 and answer["success"] is False and "userid" in answer["error"], answer)
end()
