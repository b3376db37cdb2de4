"""Neural networks, layer by layer; the answers come from numpy formulas that follow NeuralNetwork.proto."""
from coremltools.models import datatypes
from coremltools.models.neural_network import NeuralNetworkBuilder

from . import keras_loops, network_control, network_elementwise, network_layers, network_models, network_recurrent, network_shapes


class Network:
    """One fixture: inputs by name with values, a builder, answers."""

    def __init__(self, fixtures, name, covers, inputs, outputs, build, exact=False, tolerance=1e-4, edit=None, oracle="numpy"):
        features = [(key, datatypes.Array(*given.shape)) for key, given in inputs.items()]
        builder = NeuralNetworkBuilder(
            features, [(key, None) for key in outputs], disable_rank5_shape_mapping=exact, use_float_arraytype=True
        )
        build(builder)
        spec = builder.spec
        for feature in spec.description.output:
            # As most files have it: the type, and no shape.
            feature.type.multiArrayType.dataType = 65568
        if edit:
            edit(spec)
        fixtures.add(name, spec, [(inputs, outputs)], covers, tolerance, oracle)


def make(fixtures):
    def old(name, covers, inputs, outputs, build, **options):
        Network(fixtures, name, covers, inputs, outputs, build, exact=False, **options)

    def exact(name, covers, inputs, outputs, build, **options):
        Network(fixtures, name, covers, inputs, outputs, build, exact=True, **options)

    network_layers.convolutions(old, exact)
    network_layers.pooling(old, exact)
    network_layers.activations(old)
    network_layers.products(old, exact)
    network_layers.normalizations(old, exact)
    network_layers.few_axes(exact)
    network_elementwise.elementwise(old, exact)
    network_elementwise.unary(old, exact)
    network_elementwise.reductions(old, exact)
    network_shapes.shapes(old, exact)
    network_shapes.rearrangements(old, exact)
    network_shapes.slices(old, exact)
    network_shapes.resizing(old)
    network_shapes.constants(old, exact)
    network_shapes.selections(exact)
    network_recurrent.recurrent(old)
    network_recurrent.sequences(fixtures)
    network_recurrent.weights(old)
    network_control.make(exact)
    keras_loops.networks(fixtures)
    network_models.make(fixtures)
