"""Core ML files of feature engineering, pipelines and suppression."""

import coremltools as ct
from coremltools import proto
from coremltools.models import datatypes
import numpy as np
from sklearn import preprocessing
from sklearn.feature_extraction import DictVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline as SkPipeline

from .classical_files import write, rng, data, queries, array_model, feature
from .classical_models import ovr, fill_rows

convert = ct.converters.sklearn.convert


def preparation():
    q = queries()
    x, _ = data()
    scaler = preprocessing.StandardScaler().fit(x)
    write("scaler", convert(scaler, [("x", datatypes.Array(3))], "y"), ["scaler"], "scikit-learn StandardScaler",
          [({"x": row}, {"y": v}) for row, v in zip(q, scaler.transform(q))])
    spec = array_model("x", 3, "y", datatypes.Array(3))
    spec.scaler.shiftValue.append(-0.5)
    spec.scaler.scaleValue.append(4)
    write("scaler_one_number", spec, ["scaler"], "numpy", [({"x": row}, {"y": (row - 0.5) * 4}) for row in q])
    for kind in ("l1", "l2"):
        normalizer = preprocessing.Normalizer(norm=kind).fit(x)
        rows = np.concatenate([q, np.zeros((1, 3))])
        write(f"normalizer_{kind}", convert(normalizer, [("x", datatypes.Array(3))], "y"), ["normalizer"], "scikit-learn Normalizer",
              [({"x": row}, {"y": v}) for row, v in zip(rows, normalizer.transform(rows))])
    spec = array_model("x", 3, "y", datatypes.Array(3))
    spec.normalizer.normType = 0
    write("normalizer_max", spec, ["normalizer"], "numpy", [({"x": row}, {"y": row / row.max()}) for row in q])
    # Without NaN, which JSON lacks.
    imputer = SimpleImputer(missing_values=-1, strategy="mean").fit(np.where(x < -1, -1, x))
    rows = np.where(q < 0, -1, q)
    spec = convert(imputer, [("x", datatypes.Array(3))], "y")
    write("imputer", spec, ["imputer"], "scikit-learn SimpleImputer",
          [({"x": row}, {"y": v}) for row, v in zip(rows, imputer.transform(rows))])
    for name, kind, value, missing, others in (
        ("double", "Double", 2.5, -9.0, [0.0, 7.25]), ("int64", "Int64", 4, -9, [0, 7]),
        ("string", "String", "other", "n/a", ["a", ""]),
    ):
        spec = proto.Model_pb2.Model()
        spec.specificationVersion = 1
        feature(spec.description.input, "x", getattr(datatypes, kind)())
        feature(spec.description.output, "y", getattr(datatypes, kind)())
        setattr(spec.imputer, f"imputed{kind}Value", value)
        setattr(spec.imputer, f"replace{kind}Value", missing)
        write(f"imputer_{name}", spec, ["imputer"], "by definition",
              [({"x": missing}, {"y": value})] + [({"x": o}, {"y": o}) for o in others])
    vectorizer = DictVectorizer()
    rows = [{"bedrooms": 3, "city=Rome": 1}, {"bedrooms": 2.5, "city=Oslo": 1}, {"bathrooms": 2}]
    vectorizer.fit(rows)
    cases = rows + [{"bedrooms": 1, "unknown": 4}, {}]
    write("dict_vectorizer", convert(vectorizer, "x", "y"), ["dictVectorizer"], "scikit-learn DictVectorizer",
          [({"x": row}, {"y": v.toarray()[0]}) for row, v in zip(cases, [vectorizer.transform([c]) for c in cases])])
    one_hot()
    mapping()
    spec = array_model("x", 6, "y", datatypes.Array(3))
    spec.arrayFeatureExtractor.extractIndex.extend([5, 0, 3])
    wide = queries(columns=6)
    write("array_extractor", spec, ["arrayFeatureExtractor"], "numpy", [({"x": r}, {"y": r[[5, 0, 3]]}) for r in wide])
    spec = proto.Model_pb2.Model()
    spec.specificationVersion = 1
    for features in (spec.description.input, spec.description.output):
        feature(features, "number", datatypes.Double())
        feature(features, "count", datatypes.Int64())
        feature(features, "text", datatypes.String())
        feature(features, "array", datatypes.Array(2))
        feature(features, "words", datatypes.Dictionary(datatypes.String()))
    spec.identity.SetInParent()
    values = {"number": 0.1, "count": 9007199254740993, "text": "Grüße, 世界", "array": [1.5, -2], "words": {"a": 1.0}}
    write("identity", spec, ["identity"], "by definition", [(values, values)], 0)


def one_hot():
    for unknown in (0, 1):
        for sparse in (False, True):
            spec = proto.Model_pb2.Model()
            spec.specificationVersion = 1
            feature(spec.description.input, "color", datatypes.String())
            feature(spec.description.output, "y", datatypes.Dictionary(datatypes.Int64()) if sparse else datatypes.Array(3))
            spec.oneHotEncoder.stringCategories.vector.extend(["red", "green", "blue"])
            spec.oneHotEncoder.outputSparse = sparse
            spec.oneHotEncoder.handleUnknown = unknown
            cases = []
            for color in ["red", "blue"] + ["mauve"] * unknown:
                vector = [1.0 if color == c else 0.0 for c in ("red", "green", "blue")]
                cases.append(({"color": color}, {"y": {i: 1.0 for i, v in enumerate(vector) if v} if sparse else vector}))
            write(f"one_hot_{'ignore' if unknown else 'error'}{'_sparse' if sparse else ''}", spec, ["oneHotEncoder"],
                  "by definition", cases)
    x = np.array([[0, 1.5], [1, 2.5], [2, 0.5], [1, 4]])
    encoder = SkPipeline([("hot", preprocessing.OneHotEncoder(handle_unknown="ignore"))]).fit(x[:, :1])
    write("one_hot_scikit", convert(encoder.steps[0][1], [("x", datatypes.Array(1))], "y"),
          ["oneHotEncoder", "arrayFeatureExtractor", "featureVectorizer", "pipeline"], "scikit-learn OneHotEncoder",
          [({"x": row}, {"y": v}) for row, v in zip(x[:, :1], encoder.transform(x[:, :1]).toarray())])


def mapping():
    spec = proto.Model_pb2.Model()
    spec.specificationVersion = 1
    feature(spec.description.input, "x", datatypes.String())
    feature(spec.description.output, "y", datatypes.Int64())
    for key, value in (("a", 3), ("b", -4)):
        spec.categoricalMapping.stringToInt64Map.map[key] = value
    spec.categoricalMapping.int64Value = 99
    write("categorical_mapping_strings", spec, ["categoricalMapping"], "by definition",
          [({"x": k}, {"y": v}) for k, v in (("a", 3), ("b", -4), ("c", 99))])
    spec = proto.Model_pb2.Model()
    spec.specificationVersion = 1
    feature(spec.description.input, "x", datatypes.Int64())
    feature(spec.description.output, "y", datatypes.String())
    for key, value in ((3, "a"), (-4, "b")):
        spec.categoricalMapping.int64ToStringMap.map[key] = value
    spec.categoricalMapping.strValue = "?"
    write("categorical_mapping_integers", spec, ["categoricalMapping"], "by definition",
          [({"x": k}, {"y": v}) for k, v in ((3, "a"), (-4, "b"), (0, "?"))])


def pipelines():
    names = ["rooms", "size"]
    x, y = data(columns=2)
    q = queries(columns=2)
    model = SkPipeline([("scale", preprocessing.StandardScaler()), ("norm", preprocessing.Normalizer()),
                        ("glm", ovr())]).fit(x, np.array(["flat", "house"])[y])
    spec = convert(model, names, "kind")
    probabilities = spec.get_spec().description.predictedProbabilitiesName
    write("pipeline_scikit", spec, ["pipelineClassifier", "scaler", "normalizer", "glmClassifier"],
          "scikit-learn Pipeline",
          [(dict(zip(names, row)), {"kind": p, probabilities: dict(zip(model.classes_, s))})
           for row, p, s in zip(q, model.predict(q), model.predict_proba(q))])
    # A word, as one-hot vector, beside a number: a linear model of both, within a pipeline of its own.
    words, weights, bias = ["north", "east", "south"], np.array([[0.5, -0.25, 1.5, 2.0]]), 0.125
    hot = proto.Model_pb2.Model()
    hot.specificationVersion = 1
    feature(hot.description.input, "side", datatypes.String())
    feature(hot.description.output, "encoded", datatypes.Array(3))
    hot.oneHotEncoder.stringCategories.vector.extend(words)
    both = proto.Model_pb2.Model()
    both.specificationVersion = 1
    feature(both.description.input, "encoded", datatypes.Array(3))
    feature(both.description.input, "size", datatypes.Double())
    feature(both.description.output, "encoded", datatypes.Array(4))
    both.featureVectorizer.inputList.add(inputColumn="encoded", inputDimensions=3)
    both.featureVectorizer.inputList.add(inputColumn="size", inputDimensions=1)
    glm = array_model("encoded", 4, "price", datatypes.Double())
    fill_rows(glm.glmRegressor, weights, [bias])
    inner = proto.Model_pb2.Model()
    inner.specificationVersion = 1
    feature(inner.description.input, "side", datatypes.String())
    feature(inner.description.input, "size", datatypes.Double())
    feature(inner.description.output, "encoded", datatypes.Array(4))
    inner.pipeline.models.extend([hot, both])
    outer = proto.Model_pb2.Model()
    outer.specificationVersion = 1
    feature(outer.description.input, "side", datatypes.String())
    feature(outer.description.input, "size", datatypes.Double())
    feature(outer.description.output, "price", datatypes.Double())
    outer.description.predictedFeatureName = "price"
    outer.pipelineRegressor.pipeline.models.extend([inner, glm])
    outer.isUpdatable = True
    cases = []
    for side, size in (("north", 1.5), ("south", -2.0), ("east", 0.0)):
        vector = np.array([float(side == w) for w in words] + [size])
        cases.append(({"side": side, "size": size}, {"price": (weights @ vector)[0] + bias}))
    write("pipeline_nested", outer, ["pipelineRegressor", "pipeline", "oneHotEncoder", "featureVectorizer"], "numpy", cases)


def suppression():
    """Boxes by the definition: the best first, and what overlaps it by more than the threshold is dropped."""
    random = rng(11)
    for per_class in (False, True):
        spec = proto.Model_pb2.Model()
        spec.specificationVersion = 3
        for name, width in (("scores", 3), ("boxes", 4)):
            feature(spec.description.input, name, datatypes.Array(12, width))
        feature(spec.description.input, "iou", datatypes.Double()).type.isOptional = True
        feature(spec.description.input, "least", datatypes.Double()).type.isOptional = True
        for name, width in (("confidence", 3), ("coordinates", 4)):
            array = feature(spec.description.output, name, datatypes.Array(1)).type.multiArrayType
            del array.shape[:]
            for low, high in ((0, -1), (width, width)):
                array.shapeRange.sizeRanges.add(lowerBound=low, upperBound=high)
        nms = spec.nonMaximumSuppression
        nms.pickTop.perClass = per_class
        nms.iouThreshold, nms.confidenceThreshold = 0.4, 0.3
        nms.confidenceInputFeatureName, nms.coordinatesInputFeatureName = "scores", "boxes"
        nms.iouThresholdInputFeatureName, nms.confidenceThresholdInputFeatureName = "iou", "least"
        nms.confidenceOutputFeatureName, nms.coordinatesOutputFeatureName = "confidence", "coordinates"
        nms.stringClassLabels.vector.extend(["a", "b", "c"])
        cases = []
        for settings in ({}, {"iou": 0.7, "least": 0.1}, {"least": 2.0}):
            scores = np.round(random.uniform(size=(12, 3)), 4)
            boxes = np.round(np.concatenate([random.uniform(0.3, 0.6, (12, 2)), random.uniform(0.2, 0.5, (12, 2))], 1), 4)
            kept = suppressed(scores, boxes, settings.get("iou", 0.4), settings.get("least", 0.3), per_class)
            cases.append(({"scores": scores, "boxes": boxes, **settings},
                          {"confidence": scores[kept], "coordinates": boxes[kept]}))
        write(f"suppression{'_per_class' if per_class else ''}", spec, ["nonMaximumSuppression"], "numpy", cases)
    # As detectors are exported with their suppression: the thresholds are inputs of the pipeline, and its last model does not name them.
    pipeline = proto.Model_pb2.Model()
    pipeline.specificationVersion = 5
    pipeline.description.CopyFrom(spec.description)
    del spec.description.input[2:]
    for threshold in pipeline.description.input[2:]:
        threshold.type.isOptional = False
    pipeline.pipeline.models.add().CopyFrom(spec)
    write("suppression_pipeline", pipeline, ["pipeline", "nonMaximumSuppression"], "numpy", cases)


def suppressed(scores, boxes, iou, least, per_class):
    low, high = boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2
    best, label = scores.max(axis=1), scores.argmax(axis=1)
    left = [i for i in np.argsort(-best, kind="stable") if best[i] >= least]
    kept = []
    while left:
        top = left.pop(0)
        kept.append(top)

        def overlap(i):
            area = np.prod(np.maximum(0, np.minimum(high[top], high[i]) - np.maximum(low[top], low[i])))
            return area / (np.prod(boxes[top, 2:]) + np.prod(boxes[i, 2:]) - area)

        left = [i for i in left if overlap(i) <= iou or (per_class and label[i] != label[top])]
    return kept
