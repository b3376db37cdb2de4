"""ML Programs: every operation that is translated, compressed weights, and whole networks, against numpy."""

import logging

from . import program_elementwise, program_images, program_layers, program_networks, program_recurrent, program_refusals, program_tensors, program_weights
from .program_cases import CASES, Package, operations

MODULES = [
    program_elementwise, program_layers, program_tensors, program_images, program_recurrent, program_weights, program_networks,
]


def make(fixtures):
    logging.disable(logging.WARNING)
    CASES.clear()
    for module in MODULES:
        for family in module.FAMILIES:
            family()
    for case in CASES:
        model = case.model()
        covers = operations(model.get_spec())
        fixtures.add(case.name, Package(model), [(case.inputs, case.answers())], covers, case.tolerance, oracle="numpy, scipy")
    program_refusals.make(fixtures.folder.parent / "programs_refused")
