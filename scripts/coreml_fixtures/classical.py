"""Core ML files of the classical model types, and what scikit-learn, scipy or numpy compute for the same inputs.

The converters of coremltools write the files where it has one;
the others are written field by field. Every expected value comes from the model that was converted, or from numpy: never
from what reads the files.
"""

import json
import warnings

import numpy as np
from scipy.stats import norm

warnings.filterwarnings("ignore")

import coremltools as ct  # noqa: E402
from coremltools import proto  # noqa: E402
from coremltools.models import datatypes  # noqa: E402
from coremltools.models.pipeline import Pipeline, PipelineClassifier  # noqa: E402
from coremltools.models.tree_ensemble import TreeEnsembleClassifier, TreeEnsembleRegressor  # noqa: E402
from sklearn import ensemble, linear_model, neighbors, preprocessing, svm, tree  # noqa: E402
from sklearn.feature_extraction import DictVectorizer  # noqa: E402
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.pipeline import Pipeline as SkPipeline  # noqa: E402

folder = None
convert = ct.converters.sklearn.convert


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {str(plain(key)): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    return value


def write(name, model, covers, oracle, cases, tolerance=1e-9):
    spec = model.get_spec() if hasattr(model, "get_spec") else model
    (folder / f"{name}.mlmodel").write_bytes(spec.SerializeToString(deterministic=True))
    record = {
        "covers": covers,
        "oracle": oracle,
        "tolerance": tolerance,
        "cases": [{"inputs": plain(inputs), "outputs": plain(outputs)} for inputs, outputs in cases],
    }
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")


def rng(seed=7):
    return np.random.default_rng(seed)


def data(rows=60, columns=3, classes=2, seed=7):
    """Classes that overlap somewhat, with numbers that 32-bit floats can hold."""
    random = rng(seed)
    y = np.arange(rows) % classes
    x = random.normal(size=(rows, columns)) + y[:, None] * np.linspace(0.5, 1.5, columns)
    return np.round(x * 64) / 64, y


def queries(columns=3, count=8, seed=99):
    return np.round(rng(seed).normal(scale=1.5, size=(count, columns)) * 64) / 64 + 1 / 256


# --- Generalized linear models


def linear_models():
    names = ["goal", "backersCount", "duration"]
    x, y = data()
    q = queries()
    for label, values in (("integers", y), ("strings", np.array(["failed", "successful"])[y])):
        model = ovr().fit(x, values)
        spec = convert(model, names, "state")
        probabilities = spec.get_spec().description.predictedProbabilitiesName
        write(f"glm_classifier_{label}", spec, ["glmClassifier", "featureVectorizer", "pipelineClassifier"],
              "scikit-learn LogisticRegression",
              [(dict(zip(names, row)), {"state": p, probabilities: dict(zip(model.classes_, s))})
               for row, p, s in zip(q, model.predict(q), model.predict_proba(q))])
    x3, y3 = data(classes=3)
    model = ovr().fit(x3, y3)
    spec = convert(model, "features", "class")
    probabilities = spec.get_spec().description.predictedProbabilitiesName
    write("glm_classifier_ovr", spec, ["glmClassifier"], "scikit-learn LogisticRegression, one versus rest",
          [({"features": row}, {"class": p, probabilities: dict(zip(model.classes_, s))})
           for row, p, s in zip(q, model.predict(q), model.predict_proba(q))])
    # coremltools converts no multinomial regression: the first class is the reference of the others.
    model = linear_model.LogisticRegression(multi_class="multinomial").fit(x3, y3)
    spec = classifier_model(3, [0, 1, 2])
    fill_rows(spec.glmClassifier, model.coef_[1:] - model.coef_[0], model.intercept_[1:] - model.intercept_[0])
    spec.glmClassifier.int64ClassLabels.vector.extend([0, 1, 2])
    write("glm_classifier_multinomial", spec, ["glmClassifier"], "scikit-learn LogisticRegression, multinomial",
          [({"x": row}, {"label": p, "probabilities": dict(zip(model.classes_, s))})
           for row, p, s in zip(q, model.predict(q), model.predict_proba(q))])
    model = linear_model.LinearRegression().fit(x, x @ [1.5, -2.25, 0.125] + 3)
    write("glm_regressor", convert(model, names, "price"), ["glmRegressor", "pipelineRegressor"],
          "scikit-learn LinearRegression",
          [(dict(zip(names, row)), {"price": p}) for row, p in zip(q, model.predict(q))])
    model = linear_model.Ridge(alpha=0.5).fit(x, x @ [1.5, -2.25, 0.125] + 3)
    write("glm_ridge", convert(linear_regression_of(model), names, "price"), ["glmRegressor"], "scikit-learn Ridge",
          [(dict(zip(names, row)), {"price": p}) for row, p in zip(q, model.predict(q))])
    weights = np.array([[0.5, -1.25, 0.75], [1.5, 0.25, -0.5]])
    offset = np.array([0.25, -1])
    for code, function in ((0, lambda v: v), (1, lambda v: 1 / (1 + np.exp(-v))), (2, norm.cdf)):
        spec = array_model("x", 3, "y", datatypes.Array(2))
        fill_rows(spec.glmRegressor, weights, offset)
        spec.glmRegressor.postEvaluationTransform = code
        write(f"glm_regressor_transform{code}", spec, ["glmRegressor"], "numpy, scipy.stats.norm",
              [({"x": row}, {"y": function(weights @ row + offset)}) for row in q])
    spec = classifier_model(3, ["no", "yes"])
    fill_rows(spec.glmClassifier, weights[:1], offset[:1])
    spec.glmClassifier.postEvaluationTransform = 1
    spec.glmClassifier.stringClassLabels.vector.extend(["no", "yes"])
    cases = []
    for row in q:
        p = norm.cdf(weights[0] @ row + offset[0])
        cases.append(({"x": row}, {"label": "yes" if p > 0.5 else "no", "probabilities": {"no": 1 - p, "yes": p}}))
    write("glm_classifier_probit", spec, ["glmClassifier"], "scipy.stats.norm", cases)


def ovr():
    return linear_model.LogisticRegression(multi_class="ovr")


def linear_regression_of(model):
    """coremltools converts a linear regression of the same numbers."""
    twin = linear_model.LinearRegression()
    twin.coef_, twin.intercept_, twin.n_features_in_ = model.coef_, model.intercept_, model.n_features_in_
    return twin


def fill_rows(message, weights, offset):
    for row in weights:
        message.weights.add().value.extend(row)
    message.offset.extend(offset)


def array_model(name, count, output, output_type, version=1):
    spec = proto.Model_pb2.Model()
    spec.specificationVersion = version
    feature(spec.description.input, name, datatypes.Array(count))
    feature(spec.description.output, output, output_type)
    return spec


def feature(features, name, type):
    entry = features.add()
    entry.name = name
    datatypes._set_datatype(entry.type, type)
    return entry


def classifier_model(count, labels, version=1):
    key = datatypes.String() if isinstance(labels[0], str) else datatypes.Int64()
    spec = array_model("x", count, "label", key, version)
    feature(spec.description.output, "probabilities", datatypes.Dictionary(key))
    spec.description.predictedFeatureName = "label"
    spec.description.predictedProbabilitiesName = "probabilities"
    return spec


# --- Trees


def trees():
    q = queries(count=16)
    for classes in (2, 3):
        x, y = data(classes=classes, rows=90)
        for name, model in (
            ("decision_tree", tree.DecisionTreeClassifier(max_depth=4, random_state=1)),
            ("random_forest", ensemble.RandomForestClassifier(n_estimators=6, max_depth=3, random_state=1)),
            ("gradient_boosting", ensemble.GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=1)),
        ):
            model.fit(x, y)
            # 32-bit floats: scikit-learn's trees compare in them.
            spec = convert(model, "features", "class")
            probabilities = spec.get_spec().description.predictedProbabilitiesName
            write(f"{name}_classifier_{classes}", spec, ["treeEnsembleClassifier"],
                  f"scikit-learn {type(model).__name__}",
                  [({"features": row}, {"class": p, probabilities: dict(zip(model.classes_, s))})
                   for row, p, s in zip(q, model.predict(q), model.predict_proba(q))], 1e-6)
    x, _ = data(rows=90)
    target = np.sin(x[:, 0]) + x[:, 1] * x[:, 2]
    for name, model in (
        ("decision_tree", tree.DecisionTreeRegressor(max_depth=4, random_state=1)),
        ("random_forest", ensemble.RandomForestRegressor(n_estimators=5, max_depth=3, random_state=1)),
        ("gradient_boosting", ensemble.GradientBoostingRegressor(n_estimators=6, max_depth=2, random_state=1)),
    ):
        model.fit(x, target)
        write(f"{name}_regressor", convert(model, "features", "value"), ["treeEnsembleRegressor"],
              f"scikit-learn {type(model).__name__}",
              [({"features": row}, {"value": p}) for row, p in zip(q, model.predict(q))])
    comparisons()
    transforms()


def comparisons():
    """Every comparison on its cut, beside it, and by way of a scalar beside an array."""
    tests = {
        "LessThanEqual": np.less_equal, "LessThan": np.less, "GreaterThanEqual": np.greater_equal,
        "GreaterThan": np.greater, "Equal": np.equal, "NotEqual": np.not_equal,
    }
    builder = TreeEnsembleRegressor([("a", datatypes.Array(2)), ("b", datatypes.Double())], "y")
    builder.set_default_prediction_value(0.5)
    for number, test in enumerate(tests):
        builder.add_branch_node(number, 0, number % 3, 0.5, f"BranchOnValue{test}", 1, 2)
        builder.add_leaf_node(number, 1, 2.0 ** number)
        builder.add_leaf_node(number, 2, 0)
    cases = []
    # Beside the cut by less than 32-bit floats can tell.
    for value in (0.5, 0.5 - 2.0 ** -30, 0.5 + 2.0 ** -30, 0, 1, -5):
        row = [value, value, value]
        total = 0.5 + sum(2.0 ** n for n, f in enumerate(tests.values()) if f(row[n % 3], 0.5))
        cases.append(({"a": row[:2], "b": row[2]}, {"y": total}))
    write("tree_comparisons", builder.spec, ["treeEnsembleRegressor"], "numpy", cases, 0)


def transforms():
    x = queries(columns=2, count=6)
    softmax = lambda v: np.exp(v - v.max()) / np.exp(v - v.max()).sum()  # noqa: E731
    logistic = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731

    def build(dimensions, labels, transform):
        builder = TreeEnsembleClassifier([("x", datatypes.Array(2))], labels,
                                         [("label", datatypes.String()), ("p", datatypes.Dictionary(datatypes.String()))])
        builder.set_default_prediction_value([0.25] * dimensions)
        builder.set_post_evaluation_transform(transform)
        leaves = rng(3).normal(size=(2, 2, dimensions))
        for t in range(2):
            builder.add_branch_node(t, 0, t, 0.2, "BranchOnValueLessThan", 7, 3)
            builder.add_leaf_node(t, 7, list(leaves[t][0]))
            builder.add_leaf_node(t, 3, list(leaves[t][1]))
        return builder.spec, lambda row: 0.25 + sum(leaves[t][0 if row[t] < 0.2 else 1] for t in range(2))

    for name, dimensions, labels, transform, function in (
        ("softmax", 3, ["a", "b", "c"], "Classification_SoftMax", softmax),
        ("reference", 2, ["a", "b", "c"], "Classification_SoftMaxWithZeroClassReference",
         lambda v: softmax(np.concatenate([[0], v]))),
        ("reference_binary", 1, ["a", "b"], "Classification_SoftMaxWithZeroClassReference",
         lambda v: softmax(np.concatenate([[0], v]))),
        ("logistic", 1, ["a", "b"], "Regression_Logistic",
         lambda v: np.array([1 - logistic(v[0]), logistic(v[0])])),
    ):
        spec, sums = build(dimensions, labels, transform)
        cases = []
        for row in x:
            p = function(sums(row))
            cases.append(({"x": row}, {"label": labels[int(np.argmax(p))], "p": dict(zip(labels, p))}))
        write(f"tree_transform_{name}", spec, ["treeEnsembleClassifier"], "numpy", cases)


# --- Support vector machines


def support_vectors():
    q = queries()
    kernels = {
        "linear": {"kernel": "linear"}, "rbf": {"kernel": "rbf", "gamma": 0.25},
        "poly": {"kernel": "poly", "degree": 3, "coef0": 0.5, "gamma": 0.25},
        "sigmoid": {"kernel": "sigmoid", "coef0": 0.1, "gamma": 0.05},
    }
    for name, options in kernels.items():
        x, _ = data(rows=40)
        model = svm.SVR(C=2, **options).fit(x, np.sin(x[:, 0]) + x[:, 1])
        write(f"svr_{name}", convert(model, "features", "value"), ["supportVectorRegressor"], "scikit-learn SVR",
              [({"features": row}, {"value": p}) for row, p in zip(q, model.predict(q))])
        for classes in (2, 3):
            x, y = data(rows=30, classes=classes)
            y = np.array(["red", "green", "blue"])[y]
            model = svm.SVC(probability=True, random_state=1, **options).fit(x, y)
            spec = convert(model, "features", "class")
            probabilities = spec.get_spec().description.predictedProbabilitiesName
            scores = model.predict_proba(q)
            # A machine's probabilities come from a fit of their own: their best class is the answer.
            write(f"svc_{name}_{classes}", spec, ["supportVectorClassifier"], "scikit-learn SVC, probability=True",
                  [({"features": row}, {"class": model.classes_[int(np.argmax(s))],
                                        probabilities: dict(zip(model.classes_, s))})
                   for row, s in zip(q, scores)], 1e-6)
    x, y = data(rows=60, classes=4)
    model = svm.NuSVC(nu=0.2, gamma=0.3, decision_function_shape="ovo").fit(x, y)
    spec = convert(model, "features", "class")
    write("svc_votes", spec, ["supportVectorClassifier"], "scikit-learn NuSVC",
          [({"features": row}, {"class": p}) for row, p in zip(q, model.predict(q))])
    # libsvm's own files have sparse vectors, whose indices begin with 1.
    sparse = np.array([[0, 1.5, 0], [0.5, 0, 0], [0, 0, -2]])
    alpha, rho, gamma = np.array([0.5, -1.25, 0.75]), 0.3, 0.4
    spec = array_model("x", 3, "y", datatypes.Double())
    spec.supportVectorRegressor.kernel.rbfKernel.gamma = gamma
    for row in sparse:
        vector = spec.supportVectorRegressor.sparseSupportVectors.vectors.add()
        for index in np.nonzero(row)[0]:
            vector.nodes.add(index=int(index) + 1, value=row[index])
    spec.supportVectorRegressor.coefficients.alpha.extend(alpha)
    spec.supportVectorRegressor.rho = rho
    write("svr_sparse", spec, ["supportVectorRegressor"], "numpy",
          [({"x": row}, {"y": alpha @ np.exp(-gamma * ((sparse - row) ** 2).sum(axis=1)) - rho}) for row in q])


# --- Nearest neighbours


def nearest_neighbors():
    q = queries()
    x, y = data(rows=40, classes=3)
    for algorithm in ("brute", "kd_tree"):
        model = neighbors.KNeighborsClassifier(n_neighbors=5, algorithm=algorithm).fit(x, y)
        spec = convert(model, "features", "class")
        write(f"knn_{algorithm}", spec, ["kNearestNeighborsClassifier"], "scikit-learn KNeighborsClassifier",
              [({"features": row}, {"class": p}) for row, p in zip(q, model.predict(q))])
    spec = classifier_model(3, ["x"], 3)
    knn = spec.kNearestNeighborsClassifier
    knn.numberOfNeighbors.defaultValue = 4
    knn.nearestNeighborsIndex.numberOfDimensions = 3
    knn.nearestNeighborsIndex.linearIndex.SetInParent()
    knn.nearestNeighborsIndex.squaredEuclideanDistance.SetInParent()
    knn.inverseDistanceWeighting.SetInParent()
    names = np.array(["cedar", "ash", "birch"])[y]
    for row in x:
        knn.nearestNeighborsIndex.floatSamples.add().vector.extend(row)
    knn.stringClassLabels.vector.extend(names)
    # The file's distance is the square of Euclid's.
    model = neighbors.KNeighborsClassifier(
        n_neighbors=4, metric="sqeuclidean", weights="distance", algorithm="brute").fit(x, names)
    q = np.concatenate([q, x[:1]])
    write("knn_distance", spec, ["kNearestNeighborsClassifier"],
          "scikit-learn KNeighborsClassifier, metric=sqeuclidean, weights=distance",
          [({"x": row}, {"label": p, "probabilities": dict(zip(model.classes_, s))})
           for row, p, s in zip(q, model.predict(q), model.predict_proba(q))])


# --- What prepares features


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


# --- Pipelines


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


def make(fixtures):
    global folder
    folder = fixtures.folder
    for family in (linear_models, trees, support_vectors, nearest_neighbors, preparation, pipelines, suppression):
        family()
    files = list(folder.glob("*.mlmodel"))
    fixtures.names.update(file.stem for file in files)
    fixtures.size += sum(file.stat().st_size for file in files)
