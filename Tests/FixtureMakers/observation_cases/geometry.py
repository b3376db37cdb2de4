"""Where a model's tensor lies in a picture, from the descriptions in docs/model-json.md."""
import math


def half_even(value):
    return int(round(value))


class Input:
    """The picture's tensor: its size, and the keys of model.json that say how a picture gets there."""

    def __init__(self, rng, width=None, height=None):
        self.width = width or int(rng.integers(16, 161))
        self.height = height or int(rng.integers(16, 161))
        self.layout = str(rng.choice(["NCHW", "NHWC"]))
        self.format = str(rng.choice(["RGB", "BGR", "GRAY"], p=[0.6, 0.25, 0.15]))
        self.keys = {"crop_and_scale": str(rng.choice(["center", "fit", "fill"]))}
        if rng.random() < 0.3:
            self.keys["centering"] = str(rng.choice(["floor", "half_even"]))
        if self.keys["crop_and_scale"] == "fit" and rng.random() < 0.5:
            self.keys["fit_alignment"] = str(rng.choice(["center", "top_left"]))
        if self.keys["crop_and_scale"] == "center" and rng.random() < 0.6:
            kind = rng.integers(0, 4)
            if kind == 0:
                self.keys["resize_shorter_side"] = int(rng.integers(16, 200))
            elif kind == 1:
                self.keys["resize_exactly"] = [int(v) for v in rng.integers(16, 200, 2)]
            elif kind == 2:
                self.keys["resize_contain"] = [int(v) for v in rng.integers(16, 200, 2)]
            else:
                self.keys["resize_cover"] = [int(v) for v in rng.integers(16, 200, 2)]

    @property
    def channels(self):
        return 1 if self.format == "GRAY" else 3

    def manifest(self):
        return {"name": "image", "type": "image", "shape": [self.height, self.width, self.channels], "format": self.format,
                "layout": self.layout, **self.keys}

    def axes(self, width, height, crop=None):
        """For a displayed picture: ((scale, start), (scale, start)), picture = tensor * scale + start, and what is seen of each."""
        crop = crop or self.keys["crop_and_scale"]
        floor = self.keys.get("centering") == "floor"
        if crop == "fill":
            return (width / self.width, 0.0), (height / self.height, 0.0)
        if crop == "fit":
            across = width * self.height - height * self.width
            if floor:
                scale = min(self.width / width, self.height / height)
                scaled = [half_even(width * scale), half_even(height * scale)]
            elif across >= 0:
                # As Pillow's ImageOps.contain rounds.
                scaled = [self.width, half_even(height / width * self.width)]
            else:
                scaled = [half_even(width / height * self.height), self.height]
            scaled = [max(1, min(scaled[0], self.width)), max(1, min(scaled[1], self.height))]
            result = []
            for length, size, side in zip((width, height), scaled, (self.width, self.height)):
                free = side - size
                start = 0 if self.keys.get("fit_alignment") == "top_left" else free // 2 if floor else half_even(free / 2)
                result.append((length / size, -start * length / size))
            return tuple(result)
        size = self.scaled(width, height)
        if size is None:
            scale = max(self.width / width, self.height / height)
            return ((1 / scale, width / 2 - self.width / 2 / scale), (1 / scale, height / 2 - self.height / 2 / scale))
        result = []
        for length, scaled, side in zip((width, height), size, (self.width, self.height)):
            if scaled > side:
                start = (scaled - side) // 2 if floor else half_even((scaled - side) / 2)
            else:
                free = side - scaled
                start = -((free + 1) // 2 if floor else free // 2)
            result.append((length / scaled, start * length / scaled))
        return tuple(result)

    def scaled(self, width, height):
        if side := self.keys.get("resize_shorter_side"):
            if width <= height:
                return side, side if width == height else max(1, side * height // width)
            return max(1, side * width // height), side
        if size := self.keys.get("resize_exactly"):
            return size[1], size[0]
        for key, choose in (("resize_contain", max), ("resize_cover", min)):
            if size := self.keys.get(key):
                ratio = choose(height / size[0], width / size[1])
                return max(1, half_even(width / ratio)), max(1, half_even(height / ratio))
        return None


def seen(axis, side, length):
    """The part of the picture that the tensor shows."""
    low, high = axis[1], axis[1] + side * axis[0]
    return max(0.0, low), min(float(length), high)


def on_picture(box, axes, width, height):
    """Left, top, width, height in the picture; None where nothing of it is there."""
    (ax, bx), (ay, by) = axes
    left, right = (min(max(v * ax + bx, 0), width) for v in (box[0], box[2]))
    top, bottom = (min(max(v * ay + by, 0), height) for v in (box[1], box[3]))
    return [left, top, right - left, bottom - top] if right > left and bottom > top else None


def is_unsure(box, axes, width, height):
    """Whether single precision may decide if a box is in the picture."""
    x, y, w, h = on_picture(box, axes, width, height) or (0, 0, 0, 0)
    inside = box[2] > box[0] and box[3] > box[1]
    return inside and min(w, h) < 0.05 and math.isfinite(box[0])
