"""What NeuralNetwork.proto says layers compute, written out in numpy."""
import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def same_padding(extent, kernel, stride, dilation, mode="BOTTOM_RIGHT_HEAVY"):
    total = max(0, (-(-extent // stride) - 1) * stride + (kernel - 1) * dilation + 1 - extent)
    small = total // 2
    return (small, total - small) if mode == "BOTTOM_RIGHT_HEAVY" else (total - small, small)


def conv(x, w, b, stride=(1, 1), pads=((0, 0), (0, 0)), dilation=(1, 1), groups=1):
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), *pads))
    n, c, h, v = x.shape
    o, i, kh, kw = w.shape
    oh = (h - (kh - 1) * dilation[0] - 1) // stride[0] + 1
    ow = (v - (kw - 1) * dilation[1] - 1) // stride[1] + 1
    y = np.zeros((n, o, oh, ow))
    for g in range(groups):
        part, filters = x[:, g * i:(g + 1) * i], w[g * o // groups:(g + 1) * o // groups].astype(np.float64)
        for r in range(oh):
            for s in range(ow):
                top, left = r * stride[0], s * stride[1]
                window = part[:, :, top:top + (kh - 1) * dilation[0] + 1:dilation[0],
                              left:left + (kw - 1) * dilation[1] + 1:dilation[1]]
                y[:, g * o // groups:(g + 1) * o // groups, r, s] = np.einsum("nchw,ochw->no", window, filters)
    if b is not None:
        y += b[None, :, None, None]
    return y.astype(np.float32)


def deconv(x, w, b, stride, groups=1):
    n, c, h, v = x.shape
    _, o, kh, kw = w.shape
    y = np.zeros((n, o * groups, (h - 1) * stride[0] + kh, (v - 1) * stride[1] + kw))
    size = c // groups
    for g in range(groups):
        for r in range(h):
            for s in range(v):
                part = np.einsum("nc,cohw->nohw", x[:, g * size:(g + 1) * size, r, s].astype(np.float64),
                                 w[g * size:(g + 1) * size].astype(np.float64))
                y[:, g * o:(g + 1) * o, r * stride[0]:r * stride[0] + kh, s * stride[1]:s * stride[1] + kw] += part
    if b is not None:
        y += b[None, :, None, None]
    return y.astype(np.float32)


def pool(x, kernel, stride, kind, pads=((0, 0), (0, 0)), counted=None):
    """counted: as much of the padding behind as counts as elements; all of it where it is None."""
    padded = np.pad(x.astype(np.float64), ((0, 0), *pads), constant_values=np.nan)
    (top, bottom), (left, right) = pads
    limits = [x.shape[1] + top + (bottom if counted is None else counted),
              x.shape[2] + left + (right if counted is None else counted)]
    c, h, w = padded.shape
    oh, ow = (h - kernel[0]) // stride[0] + 1, (w - kernel[1]) // stride[1] + 1
    y = np.zeros((c, oh, ow))
    for r in range(oh):
        for s in range(ow):
            rows, columns = r * stride[0], s * stride[1]
            window = padded[:, rows:rows + kernel[0], columns:columns + kernel[1]].reshape(c, -1)
            if kind == "max":
                y[:, r, s] = np.nanmax(window, 1)
            elif kind == "average-exclude":
                y[:, r, s] = np.nanmean(window, 1)
            elif kind == "average":
                area = (min(rows + kernel[0], limits[0]) - rows) * (min(columns + kernel[1], limits[1]) - columns)
                y[:, r, s] = np.nansum(window, 1) / area
            else:
                y[:, r, s] = np.sqrt(np.nansum(window * window, 1))
    return y.astype(np.float32)


def lrn(x, alpha, beta, size, k):
    squares = x.astype(np.float64) ** 2
    sums = np.stack([squares[max(0, c - (size - 1) // 2):c + size // 2 + 1].sum(0) for c in range(len(x))])
    return (x / (k + alpha / size * sums) ** beta).astype(np.float32)


def positions(extent, count, mode):
    index = np.arange(count, dtype=np.float64)
    if mode == "STRICT_ALIGN_ENDPOINTS_MODE":
        return index * (extent - 1) / (count - 1) if count > 1 else np.zeros(1)
    if mode in ("ALIGN_ENDPOINTS_MODE", "ALIGN_CORNERS_TRUE"):
        return index * (extent - 1) / (count - 1) if count > 1 else np.full(1, (extent - 1) / 2)
    if mode in ("UPSAMPLE_MODE", "DEFAULT"):
        return index * extent / count
    if mode == "ALIGN_CORNERS_FALSE":
        return (index + 0.5) * extent / count - 0.5
    # The middles of equal parts of 0...extent - 1.
    return (index + 0.5) * (extent - 1) / count


def bilinear(x, size, mode):
    y = x.astype(np.float64)
    for axis, count in ((1, size[0]), (2, size[1])):
        extent = y.shape[axis]
        place = np.clip(positions(extent, count, mode), 0, extent - 1)
        low = np.floor(place).astype(int)
        high = np.minimum(low + 1, extent - 1)
        share = (place - low).reshape([-1 if a == axis else 1 for a in range(3)])
        y = np.take(y, low, axis) * (1 - share) + np.take(y, high, axis) * share
    return y.astype(np.float32)


def clip50(x):
    return np.clip(x, -50, 50)


def simple_rnn(x, wx, wh, b, f):
    h, out = np.zeros(len(b)), []
    for step in x:
        h = f(clip50(wx @ step + wh @ h + b))
        out.append(h)
    return np.stack(out)


def gru(x, wx, wh, b, f, g):
    """Gates in the order update, reset, output."""
    h, out = np.zeros(len(b[0])), []
    for step in x:
        z = f(clip50(wx[0] @ step + wh[0] @ h + b[0]))
        r = f(clip50(wx[1] @ step + wh[1] @ h + b[1]))
        o = g(clip50(wx[2] @ step + wh[2] @ (h * r) + b[2]))
        h = (1 - z) * o + z * h
        out.append(h)
    return np.stack(out)


def lstm(x, wx, wh, b, f, g, k, peep=None, forget_bias=False, coupled=False, clip=50, h=None, c=None):
    """Gates in the order i, f, z, o; peepholes i, f, o. Outputs and cell states of each step."""
    size = len(b[0])
    h = np.zeros(size) if h is None else h.astype(np.float64)
    c = np.zeros(size) if c is None else c.astype(np.float64)
    peep = peep if peep is not None else [np.zeros(size)] * 3
    outputs, cells = [], []
    for step in x:
        i = f(clip50(wx[0] @ step + wh[0] @ h + peep[0] * c + b[0]))
        forget = f(clip50(wx[1] @ step + wh[1] @ h + peep[1] * c + b[1] + (1 if forget_bias else 0)))
        z = g(clip50(wx[2] @ step + wh[2] @ h + b[2]))
        c = np.clip(c * ((1 - i) if coupled else forget) + i * z, -clip, clip)
        o = f(clip50(wx[3] @ step + wh[3] @ h + peep[2] * c + b[3]))
        h = k(c) * o
        outputs.append(h)
        cells.append(c)
    return np.stack(outputs), np.stack(cells)
