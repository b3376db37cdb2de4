"""Values that networks are given."""
import numpy as np

from .harness import random

F = np.float32


def values(name, *shape, low=-2.0, high=2.0):
    return random(name).uniform(low, high, shape).astype(F)
