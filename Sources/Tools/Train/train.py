"""Trains a SavedModel with TensorFlow: the part of `ocelli train` that needs Python.

usage: train.py JOB.json

The job names the SavedModel, the tensors of all items, the training operations, the outputs, the epochs, the size and the order of batches, the
folder for the trained variables, the limits, and a file for the output of the libraries. Prints lines of JSON on standard output: {"epoch": ..., "outputs": {...}} for each epoch,
{"done": ...} at the end, {"missing": ...} for a package that is not installed, {"error": ...} for a failure.
"""
import ctypes
import json
import os
import random
import resource
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    JOB = json.load(file)
OUT = os.fdopen(os.dup(1), "w")
with open(JOB["log"], "wb") as log:
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)


def tell(**what):
    print(json.dumps(what), file=OUT, flush=True)


def fail(reason):
    tell(error=str(reason)[:2000])
    sys.exit(1)


def confine():
    """The graph is somebody else's: bounds for memory and files, and no network where the kernel allows it."""
    resource.setrlimit(resource.RLIMIT_DATA, (JOB["memory"], JOB["memory"]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (JOB["file_size"], JOB["file_size"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    library, user, network = ctypes.CDLL(None, use_errno=True), 0x10000000, 0x40000000
    if library.unshare(network) != 0:
        library.unshare(user | network)


confine()
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
try:
    import numpy as np
    import tensorflow as tf
    from tensorflow.python.saved_model import loader_impl
    from tensorflow.python.tools import saved_model_utils
except ImportError as error:
    tell(missing=error.name or str(error))
    sys.exit(1)
except Exception as error:
    fail(f"{type(error).__name__}: {error}")


def tags(path):
    """The tags of the graph to train: those of training, else those of serving, else the only ones."""
    found = saved_model_utils.get_saved_model_tag_sets(path)
    for wanted in (["train"], ["serve"]):
        if wanted in found:
            return wanted
    if len(found) != 1:
        fail(f"the SavedModel has the graphs {found}: expected one with the tag \"train\"")
    return found[0]


def tensor(graph, name, what):
    try:
        return graph.get_tensor_by_name(name if ":" in name else name + ":0")
    except (KeyError, ValueError):
        fail(f"the graph has no tensor \"{name}\", which is an {what} of model.json")


def operation(graph, name):
    try:
        return graph.get_operation_by_name(name)
    except (KeyError, ValueError):
        fail(f"the graph has no operation \"{name}\", which is in train.ops of model.json")


def values(entry, placeholder):
    """All values of one input, in the type of the graph."""
    if "files" in entry:
        array = np.stack([np.load(path) for path in entry["files"]])
        array = array.reshape(entry["shape"])
    else:
        array = np.array(entry["values"], dtype=np.float64).reshape(entry["shape"])
    kind = placeholder.dtype.as_numpy_dtype
    if np.issubdtype(kind, np.integer) and not np.array_equal(array, np.asarray(array).astype(kind)):
        fail(f"input \"{entry['name']}\" has numbers that do not fit {placeholder.dtype.name}")
    return array.astype(kind)


def batches(generator):
    """The items of each batch of an epoch, as lists of their numbers."""
    order = list(range(JOB["items"]))
    if JOB["shuffle"]:
        # Python promises the same numbers for a seed in every version, but not the same `shuffle`.
        keys = [generator.random() for _ in order]
        order.sort(key=keys.__getitem__)
    return [order[start:start + JOB["batch"]] for start in range(0, len(order), JOB["batch"])]


def part(entry, array, items):
    """The values of one input for some items."""
    if entry["feed"] == "whole" or len(items) == len(array) and items == sorted(items):
        return array
    return array[items[0]] if entry["feed"] == "each" else array[items]


def single(value):
    """True for a number that can be averaged over batches: a loss, an accuracy."""
    return value.size == 1 and np.issubdtype(value.dtype, np.floating)


def main():
    tf.compat.v1.disable_eager_execution()
    graph = tf.Graph()
    loader = loader_impl.SavedModelLoader(JOB["model"])
    chosen = tags(JOB["model"])
    with tf.compat.v1.Session(graph=graph) as session:
        with graph.as_default():
            saver, _ = loader.load_graph(graph, chosen)
        if saver is None:
            fail("the SavedModel has no variables: there is nothing to train")
        loader.restore_variables(session, saver)
        loader.run_init_ops(session, chosen)
        fed = []
        for entry in JOB["inputs"]:
            placeholder = tensor(graph, entry["name"], "input")
            fed.append((entry, placeholder, values(entry, placeholder)))
        outputs = {name: tensor(graph, name, "output") for name in JOB["outputs"]}
        operations = [operation(graph, name) for name in JOB["ops"]]
        generator = random.Random(JOB["seed"])
        for epoch in range(JOB["epochs"]):
            told, sums = {}, {}
            for items in batches(generator):
                feed = {placeholder: part(entry, array, items) for entry, placeholder, array in fed}
                _, found = session.run([operations, outputs], feed)
                for name, value in found.items():
                    value = np.asarray(value)
                    if np.issubdtype(value.dtype, np.floating) and not np.isfinite(value).all():
                        fail(f"output \"{name}\" of epoch {epoch + 1} is not finite: the training diverges")
                    told[name] = value.ravel()[0].item() if value.size == 1 else value.tolist()
                    if single(value) and JOB["batch"] < JOB["items"]:
                        # The mean over the epoch's items; of other outputs the last batch's.
                        sums[name] = sums.get(name, 0.0) + told[name] * len(items)
                        told[name] = sums[name] / JOB["items"]
            tell(epoch=epoch + 1, outputs=told)
        saver.save(session, os.path.join(JOB["result"], "variables"), write_meta_graph=False, write_state=False)
    tell(done=tf.__version__)


try:
    main()
except SystemExit:
    raise
except Exception as error:
    fail(f"{type(error).__name__}: {error}")
