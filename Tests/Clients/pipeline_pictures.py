#!/usr/bin/env python3
"""Compares answers that are pictures with Pillow's own: upright, without EXIF, drawn, blurred and filled where the finds are.

usage: pipeline_pictures.py URL PICTURES...             with the models of Tests/Fixtures/pipelines
       pipeline_pictures.py URL --deadlines             of a daemon whose body_grace is below a second
       pipeline_pictures.py URL --commands BINARY MODELS PICTURES...

Prints a line for each comparison that fails; the exit status is 0 if all hold. Needs numpy, Pillow and requests."""
import io
import json
import math
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

import numpy as np
import requests
from PIL import Image, ImageOps

from comparisons import check, end

url = sys.argv[1]


def ask(path, body, accept):
    return requests.post(url + path, data=body, headers={"Accept": accept}, timeout=120)


def upright(file):
    """The picture as it is displayed, on white."""
    picture = ImageOps.exif_transpose(Image.open(file))
    if "A" in picture.mode or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, picture)
    return np.asarray(picture.convert("RGB")).astype(int)


def covered(size, boxes):
    """Pixels of boxes that are a tenth larger on each side."""
    mask = np.zeros(size, bool)
    for box in boxes:
        x, y, width, height = (box[side] for side in ("x", "y", "width", "height"))
        left, top = max(0, math.floor(x - width / 10)), max(0, math.floor(y - height / 10))
        mask[top:math.ceil(y + height * 1.1), left:math.ceil(x + width * 1.1)] = True
    return mask


def around(mask, pixels):
    """The mask and what is at most so many pixels from it."""
    for axis in (0, 1):
        wide = mask.copy()
        for step in range(1, pixels + 1):
            shifted = np.moveaxis(mask, axis, 0)
            target = np.moveaxis(wide, axis, 0)
            target[step:] |= shifted[:-step]
            target[:-step] |= shifted[step:]
        mask = wide
    return mask


def answer(name, path, body, kind, size):
    """The pixels of an answer, and what every one of them must be."""
    said = ask(path, body, "image/" + kind)
    what = f"{name}: {kind} of {path}"
    check(what, said.status_code == 200 and said.headers["Content-Type"] == "image/" + kind, said.text[:200])
    check(what + " varies", said.headers.get("Vary") == "Accept", said.headers)
    picture = Image.open(io.BytesIO(said.content))
    picture.load()
    check(what + " has its format", picture.format == kind.upper() and picture.mode == "RGB", f"{picture.format} {picture.mode}")
    check(what + " is upright", picture.size == (size[1], size[0]), f"{picture.size} {size}")
    known = {"jfif", "jfif_version", "jfif_unit", "jfif_density", "dpi"}
    check(what + " has no metadata", not len(picture.getexif()) and set(picture.info) <= known, picture.info)
    for mark in (b"Exif", b"eXIf", b"ns.adobe.com", b"tEXt", b"iTXt", b"zTXt", b"ICC_PROFILE", b"iCCP"):
        check(f"{what} has no {mark}", mark not in said.content)
    return np.asarray(picture).astype(int)


def pictures(names):
    for name in names:
        body = open(name, "rb").read()
        before = upright(name)
        size = before.shape[:2]
        found = ask("/v1/models/spots/detect?threshold=0.9", body, "application/json").json()["detections"]
        check(f"{name}: ten finds", len(found) in (9, 10), len(found))
        even = [one["box"] for one in found if one["label"] == "even"]
        for query, boxes in (("fill=even", even), ("fill=all", [one["box"] for one in found]), ("fill=0", even),
                             ("blur=even", even), ("blur=odd&fill=even", [one["box"] for one in found])):
            for model in ("spots", "all"):
                path = f"/v1/models/{model}/detect?threshold=0.9&top=1&{query}"
                mask = covered(size, boxes)
                after = answer(name, path, body, "png", size)
                # JPEG decoders may differ by a level.
                off = np.abs(after - before).max(2)
                check(f"{name}: {query} changes nothing else", off[~mask].max(initial=0) <= 1, off[~mask].max(initial=0))
                black = covered(size, boxes if query.startswith("fill") else even if "fill=" in query else [])
                check(f"{name}: {query} is black", not after[black].any())
                if model == "spots":
                    jpeg = answer(name, path, body, "jpeg", size)
                    # Blocks of 16 pixels mix what is on both sides of an edge.
                    inside, outside = black & ~around(~black, 16), ~around(mask, 16)
                    check(f"{name}: {query} is black as a JPEG", jpeg[inside].max(initial=0) <= 8, jpeg[inside].max(initial=0))
                    near = np.abs(jpeg - before)[outside].mean() if outside.any() else 0
                    check(f"{name}: {query} as a JPEG", near < 8, near)
        # One find alone: a blur is flat blocks, each the mean of what it hides.
        one = ask("/v1/models/spots/detect?threshold=0.985", body, "application/json").json()["detections"]
        check(f"{name}: one find", len(one) == 1, len(one))
        mask = covered(size, [one[0]["box"]])
        after = answer(name, "/v1/models/spots/detect?threshold=0.985&blur=all", body, "png", size)
        rows, columns = np.nonzero(mask.any(1))[0], np.nonzero(mask.any(0))[0]
        part = after[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1]
        down = 1 + (np.abs(np.diff(part, axis=0)).max((1, 2)) > 0).sum()
        across = 1 + (np.abs(np.diff(part, axis=1)).max((0, 2)) > 0).sum()
        check(f"{name}: blocks of a blur", down <= 8 and across <= 8, f"{down} x {across}")
        off = np.abs(after[mask].mean(0) - before[mask].mean(0)).max()
        check(f"{name}: a blur is the mean", off <= 1, off)
        # Drawn: the sides of the box and a label, and not what lies within.
        after = answer(name, "/v1/models/spots/detect?threshold=0.985", body, "png", size)
        box = [one[0]["box"][side] for side in ("x", "y", "width", "height")]
        x, y = (int(box[0]), int(box[0] + box[2])), (int(box[1]), int(box[1] + box[3]))
        changed = np.abs(after - before).max(2) > 1
        check(f"{name}: a side is drawn", changed[y[0]:y[1], x[0]:x[1]].any(0).all() and changed[y[0]:y[1], x[0]:x[1]].any(1).all())
        middle = changed[(y[0] + y[1]) // 2, x[0] + 12:x[1] - 12]
        check(f"{name}: what lies within is seen", y[1] - y[0] < 40 or not middle.any())


def transparent():
    """What is transparent is on white, with alpha of a part in between."""
    rng = np.random.default_rng(34)
    file = io.BytesIO()
    pixels = rng.integers(0, 256, (90, 120, 4), np.uint8)
    Image.fromarray(pixels, "RGBA").save(file, "PNG")
    body = file.getvalue()
    before = upright(io.BytesIO(body))
    found = ask("/v1/models/spots/detect?threshold=0.985", body, "application/json").json()["detections"]
    after = answer("alpha", "/v1/models/spots/detect?threshold=0.985&fill=all", body, "png", before.shape[:2])
    off = np.abs(after - before).max(2)[~covered(before.shape[:2], [found[0]["box"]])].max()
    check("alpha is on white", off <= 1, off)


# --- deadlines -----------------------------------------------------------------------------------------------------------------
def gauges():
    text = requests.get(url + "/metrics", timeout=60).text
    names = ("ocelli_in_flight", "ocelli_queue_depth", "ocelli_decode_bytes", "ocelli_decodes_waiting", "ocelli_body_bytes", "ocelli_bodies_waiting",
             "ocelli_answer_bytes")
    return {key: value for key, value in re.findall(r"^(\S+) (\S+)$", text, re.M) if key.split("{")[0] in names and float(value)}


def unread(path, kind, body, size):
    """An answer that its client does not read counts among the answers, until the client leaves."""
    place = urllib.parse.urlsplit(url)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((place.hostname, place.port))
    client.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nAccept: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    held = 0
    for _ in range(400):
        held = max([held] + [float(value) for value in re.findall(r"^ocelli_answer_bytes (\S+)$", requests.get(url + "/metrics", timeout=60).text, re.M)])
        if held > size / 4:
            break
        time.sleep(0.05)
    check(f"{path}: an unread answer counts", held > size / 4, f"{held} of {size}")
    client.close()
    idle(path + ", an unread answer")


def idle(what):
    for _ in range(400):
        left = gauges()
        if not left:
            return
        time.sleep(0.05)
    check(f"{what}: nothing is left taken", False, left)


def deadlines():
    # A picture that takes long, on its side.
    file, exif = io.BytesIO(), Image.Exif()
    exif[0x112] = 6
    Image.fromarray(np.random.default_rng(34).integers(0, 256, (900, 1200, 3), np.uint8)).save(file, "JPEG", quality=90, exif=exif)
    body = file.getvalue()
    kinds = {"/v1/models/spots/detect?fill=all": "image/jpeg", "/v1/models/all/detect?blur=even": "image/png",
             "/v1/models/grid/detect?fill=even&threshold=0.98": "image/jpeg", "/v1/models/spots/detect?top=3": "image/png"}
    for path, kind in kinds.items():
        begin = time.monotonic()
        whole = ask(path, body, kind)
        took = (time.monotonic() - begin) * 1000
        check(f"{path}: a picture", whole.status_code == 200 and whole.headers["Content-Type"] == kind, whole.text[:200])
        statuses = set()
        # From before the decoder to the encoder, which is at the end.
        for part in [0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9]:
            said = ask(f"{path}&timeout_ms={max(1, int(took * part))}", body, kind)
            statuses.add(said.status_code)
            if said.status_code == 200:
                check(f"{path}: the whole picture", said.content == whole.content)
            else:
                check(f"{path}: an error", said.status_code == 504 and said.headers["Content-Type"] == "application/json"
                      and said.json()["code"] == "deadline_exceeded", f"{said.status_code} {said.text[:200]}")
        check(f"{path}: late ones", 504 in statuses, statuses)
        idle(path)
        after = ask(path, body, kind)
        check(f"{path}: the same afterwards", after.status_code == 200 and after.content == whole.content)
        # Clients that leave at any moment.
        place = urllib.parse.urlsplit(url)
        for part in (0.05, 0.2, 0.4, 0.6, 0.8, 0.95):
            client = socket.create_connection((place.hostname, place.port))
            client.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nAccept: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            time.sleep(took * part / 1000)
            client.close()
        idle(path + ", clients that left")
        if len(whole.content) > 1 << 20:
            unread(path, kind, body, len(whole.content))
        # One that sends too slowly.
        client = socket.create_connection((place.hostname, place.port))
        client.settimeout(60)
        client.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nAccept: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:len(body) // 2])
        text = b""
        while more := client.recv(65536):
            text += more
        client.close()
        check(f"{path}: a slow one", text.startswith(b"HTTP/1.1 408 ") and b'"code":"request_timeout"' in text.replace(b'": "', b'":"'), text[:400])
        idle(path + ", a slow one")


# --- the command ---------------------------------------------------------------------------------------------------------------
def commands(binary, models, names):
    """`ocelli detect` writes what the daemon answers, and cuts out what Pillow does."""
    with tempfile.TemporaryDirectory() as folder:
        def run(*flags):
            done = subprocess.run([binary, "detect", "--models", models, "--model", "looks", *flags], cwd=folder, capture_output=True, text=True)
            check(f"{flags[:4]}", done.returncode == 0, done.stderr[-300:])
            return done.stdout
        run("--crops", "cut", *names)
        run("--blur", "even", "--fill", "odd", "--draw", "covered", *names)
        (pathlib.Path(folder) / "list").write_text("".join(name + "\n" for name in names))
        lines = {line["file"].split("/")[-1]: line for line in map(json.loads, run("--jsonl", "list").splitlines())}
        for name in names:
            base, body = name.split("/")[-1], open(name, "rb").read()
            answer = ask("/v1/models/looks/detect", body, "application/json").json()
            before = upright(name)
            found = answer["detections"]
            for place, one in enumerate(found):
                x, y, width, height = (one["box"][side] for side in ("x", "y", "width", "height"))
                part = before[max(0, math.floor(y)):math.ceil(y + height), max(0, math.floor(x)):math.ceil(x + width)]
                file = pathlib.Path(folder) / "cut" / f"{base}-{place}-{one['label']}.png"
                check(f"{base}: crop {place}", file.exists() and np.asarray(Image.open(file)).shape == part.shape
                      and np.abs(np.asarray(Image.open(file)).astype(int) - part).max() <= 1)
            kind = "jpeg" if base.endswith(".jpg") else "png"
            file = pathlib.Path(folder) / "covered" / (base if kind == "jpeg" else base + ".png")
            said = ask("/v1/models/looks/detect?blur=even&fill=odd", body, "image/" + kind).content
            check(f"{base}: covered as the daemon does", file.exists() and file.read_bytes() == said)
            line = lines.get(base, {})
            check(f"{base}: a line has the answer", line.get("detections") == found and line.get("skipped") == answer.get("skipped")
                  and line.get("model") == "looks", str(line)[:300])
        check("a crop for each find", len(list((pathlib.Path(folder) / "cut").iterdir())) == sum(len(line.get("detections", [])) for line in lines.values()))


if __name__ == "__main__":
    if sys.argv[2] == "--deadlines":
        deadlines()
    elif sys.argv[2] == "--commands":
        commands(sys.argv[3], sys.argv[4], sys.argv[5:])
    else:
        pictures(sys.argv[2:])
        transparent()
    end()
