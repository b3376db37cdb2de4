"""Core ML files of the classical model types, and what scikit-learn, scipy or numpy compute for the same inputs.

The converters of coremltools write the files where it has one;
the others are written field by field. Every expected value comes from the model that was converted, or from numpy: never
from what reads the files.
"""

from . import classical_features, classical_files, classical_models


def make(fixtures):
    classical_files.folder = fixtures.folder
    for family in (
        classical_models.linear_models, classical_models.trees, classical_models.support_vectors, classical_models.nearest_neighbors,
        classical_features.preparation, classical_features.pipelines, classical_features.suppression,
    ):
        family()
    files = list(fixtures.folder.glob("*.mlmodel"))
    fixtures.names.update(file.stem for file in files)
    fixtures.size += sum(file.stat().st_size for file in files)
