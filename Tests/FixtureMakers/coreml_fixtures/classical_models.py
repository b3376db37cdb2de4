"""Core ML files of linear models, trees, support vector machines and nearest neighbors."""

import coremltools as ct
from coremltools.models import datatypes
from coremltools.models.tree_ensemble import TreeEnsembleClassifier, TreeEnsembleRegressor
import numpy as np
from scipy.stats import norm
from sklearn import ensemble, linear_model, neighbors, svm, tree

from .classical_files import write, rng, data, queries, array_model, classifier_model

convert = ct.converters.sklearn.convert


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


def neighbors_file(neighbors_count):
    """A classifier by the square of Euclid's distance in three dimensions, without samples and labels."""
    spec = classifier_model(3, ["x"], 3)
    knn = spec.kNearestNeighborsClassifier
    knn.numberOfNeighbors.defaultValue = neighbors_count
    knn.nearestNeighborsIndex.numberOfDimensions = 3
    knn.nearestNeighborsIndex.linearIndex.SetInParent()
    knn.nearestNeighborsIndex.squaredEuclideanDistance.SetInParent()
    return spec, knn


def nearest_neighbors():
    q = queries()
    x, y = data(rows=40, classes=3)
    for algorithm in ("brute", "kd_tree"):
        model = neighbors.KNeighborsClassifier(n_neighbors=5, algorithm=algorithm).fit(x, y)
        spec = convert(model, "features", "class")
        write(f"knn_{algorithm}", spec, ["kNearestNeighborsClassifier"], "scikit-learn KNeighborsClassifier",
              [({"features": row}, {"class": p}) for row, p in zip(q, model.predict(q))])
    spec, knn = neighbors_file(4)
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
    # As updatable models come: no samples, and a label for all that is not known.
    spec, knn = neighbors_file(3)
    knn.uniformWeighting.SetInParent()
    knn.stringClassLabels.SetInParent()
    knn.defaultStringLabel = "unknown"
    write("knn_untrained", spec, ["kNearestNeighborsClassifier"], "the file's default label",
          [({"x": row}, {"label": "unknown", "probabilities": {}}) for row in q[:2]])
