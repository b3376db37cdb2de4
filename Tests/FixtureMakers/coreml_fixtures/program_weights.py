"""ML Programs: weights that are compressed, by hand and by coremltools.optimize."""

import coremltools as ct
import coremltools.optimize.coreml as cto
import numpy as np
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil.types.type_mapping import string_to_nptype

from .program_cases import IOS16, IOS18, case, integers, normal, uniform

ROWS, COLUMNS = 6, 8


def whole_numbers(kind, *shape, seed=1):
    bits = int("".join(c for c in kind if c.isdigit()))
    low, high = (0, 2**bits) if kind.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return np.random.RandomState(seed).randint(low, high, shape).astype(string_to_nptype(kind))


def packed(codes, bits):
    """Numbers of a few bits each in bytes, the first in the lowest bits."""
    flat = codes.astype(np.uint8).ravel()
    return np.packbits(np.unpackbits(flat[:, None], axis=1, bitorder="little")[:, :bits].ravel(), bitorder="little")


def spread(groups, shape):
    for axis, extent in enumerate(shape):
        groups = np.repeat(groups, extent // groups.shape[axis], axis)
    return groups


def products(x, weights):
    return {name: x @ np.asarray(weight, np.float64).reshape(-1, x.shape[1]).T for name, weight in weights.items()}


def linears(x, weights):
    """One linear layer a weight; those of more axes are reshaped."""
    return {name: mb.linear(x=x, weight=weight) for name, weight in weights.items()}


def tables16():
    x = normal(3, COLUMNS)
    bytes_, signed = whole_numbers("uint8", ROWS, COLUMNS), whole_numbers("int8", ROWS, COLUMNS, seed=2)
    scales, zeros = uniform(ROWS, low=0.01, high=0.1, seed=3), whole_numbers("int8", ROWS, seed=4)
    by_column = uniform(COLUMNS, low=0.01, high=0.1, seed=5)
    bits = {1: 2, 2: 4, 4: 16, 6: 64, 8: 256}
    codes = {n: integers(ROWS, COLUMNS, low=0, high=size, seed=n) for n, size in bits.items()}
    tables = {n: normal(size, seed=10 + n) for n, size in bits.items()}
    mask = uniform(ROWS, COLUMNS, seed=6) > 0.6
    kept = normal(int(mask.sum()), seed=7)

    def build(x):
        affine, shape = mb.constexpr_affine_dequantize, np.uint32([ROWS, COLUMNS])
        weights = {
            "affine_one": affine(quantized_data=bytes_, zero_point=np.uint8(120), scale=np.float32(0.02), axis=0),
            "affine_rows": affine(quantized_data=signed, zero_point=zeros, scale=scales, axis=0),
            "affine_columns": affine(quantized_data=signed, zero_point=np.int8(3), scale=by_column, axis=1),
            "sparse": mb.constexpr_sparse_to_dense(nonzero_data=kept, mask=packed(mask, 1), shape=shape),
        }
        for n in bits:
            weights[f"table_{n}"] = mb.constexpr_lut_to_dense(indices=packed(codes[n], n), lut=tables[n], shape=shape)
        half = mb.constexpr_cast(source_val=normal(ROWS, COLUMNS, seed=8).astype(np.float16), output_dtype="fp32")
        return linears(x, weights | {"cast": half})

    def expect(x):
        dense = np.zeros((ROWS, COLUMNS))
        dense[mask] = kept
        weights = {
            "affine_one": (bytes_.astype(int) - 120) * 0.02, "affine_rows": (signed.astype(int) - zeros.astype(int)[:, None]) * scales[:, None],
            "affine_columns": (signed.astype(int) - 3) * by_column, "sparse": dense, "cast": normal(ROWS, COLUMNS, seed=8).astype(np.float16),
        }
        return products(x, weights | {f"table_{n}": tables[n][codes[n]] for n in bits})

    case("weights_ios16", {"x": x}, build, expect, opset=IOS16)


def tables18():
    x = normal(3, COLUMNS)
    kinds = ["int4", "uint4", "int8", "uint8"]
    data = {kind: whole_numbers(kind, ROWS, COLUMNS, seed=1) for kind in kinds}
    scales, shifts = uniform(3, 2, low=0.02, high=0.2, seed=2), {kind: whole_numbers(kind, 3, 2, seed=3) for kind in kinds}
    half_scales = uniform(ROWS, 1, low=0.02, high=0.2, seed=4).astype(np.float16)
    codes = {n: whole_numbers(f"uint{n}", ROWS, COLUMNS, seed=n) for n in (1, 2, 3, 4, 6, 8)}
    tables = {n: normal(2, 1, 2**n, 1, seed=10 + n) for n in codes}
    vectors = whole_numbers("uint2", 3, COLUMNS, seed=5), normal(1, 2, 4, 2, seed=6)
    across = whole_numbers("uint3", ROWS, 2, seed=7), normal(3, 1, 8, 4, seed=8)
    mask = (uniform(ROWS, COLUMNS, seed=9) > 0.5).astype(string_to_nptype("uint1"))
    count = int(mask.sum())
    kept, kept_codes, kept_ints = normal(count, seed=20), whole_numbers("uint3", count, seed=21), whole_numbers("int4", count, seed=22)
    kept_table, int_table = normal(2, 1, 8, 1, seed=23), whole_numbers("int8", 1, 1, 16, 1, seed=24)
    small_mask = (uniform(3, COLUMNS, seed=25) > 0.4).astype(string_to_nptype("uint1"))
    small_codes, small_table = whole_numbers("uint2", int(small_mask.sum()), seed=26), normal(1, 1, 4, 2, seed=27)

    def build(x):
        blockwise, palette = mb.constexpr_blockwise_shift_scale, mb.constexpr_lut_to_dense
        weights = {"blocks_" + kind: blockwise(data=data[kind], scale=scales, offset=shifts[kind]) for kind in kinds}
        weights["half_scales"] = mb.cast(x=blockwise(data=data["int4"], scale=half_scales), dtype="fp32")
        weights["no_offset"] = blockwise(data=data["int4"], scale=scales)
        for n in codes:
            weights[f"table_{n}"] = palette(indices=codes[n], lut=tables[n])
        weights["vectors"] = palette(indices=vectors[0], lut=vectors[1], vector_axis=0)
        weights["vectors_across"] = palette(indices=across[0], lut=across[1], vector_axis=1)
        weights["sparse"] = mb.constexpr_sparse_to_dense(nonzero_data=kept, mask=mask)
        m, v = mb.constexpr_lut_to_sparse(indices_mask=mask, indices_nonzero_data=kept_codes, lut=kept_table)
        weights["table_sparse"] = mb.constexpr_sparse_to_dense(nonzero_data=v, mask=m)
        m, v = mb.constexpr_sparse_blockwise_shift_scale(data_mask=mask, nonzero_data=kept_ints, scale=scales, offset=shifts["int4"])
        weights["blockwise_sparse"] = mb.constexpr_sparse_to_dense(nonzero_data=v, mask=m)
        m, v = mb.constexpr_lut_to_sparse(indices_mask=small_mask, indices_nonzero_data=small_codes, lut=small_table, vector_axis=0)
        weights["vectors_sparse"] = mb.constexpr_sparse_to_dense(nonzero_data=v, mask=m)
        weights["table_of_integers"] = blockwise(data=palette(indices=codes[4], lut=int_table), scale=scales)
        return {
            name: mb.linear(x=x, weight=weight) if name != "half_scales" else mb.matmul(x=x, y=weight, transpose_y=True)
            for name, weight in weights.items()
        }

    def expect(x):
        shape = (ROWS, COLUMNS)
        scale = spread(scales, shape)
        pick = lambda table, code: np.take_along_axis(spread(table[..., 0], code.shape), code.astype(int)[..., None], 2)[..., 0]
        weights = {"blocks_" + kind: (data[kind].astype(int) - spread(shifts[kind].astype(int), shape)) * scale for kind in kinds}
        weights["half_scales"] = (data["int4"].astype(np.float32) * half_scales.astype(np.float32)).astype(np.float16)
        weights["no_offset"] = data["int4"].astype(int) * scale
        weights |= {f"table_{n}": pick(tables[n], codes[n]) for n in codes}
        tall, wide = np.zeros(shape), np.zeros(shape)
        for r in range(3):
            for c in range(COLUMNS):
                tall[2 * r : 2 * r + 2, c] = vectors[1][0, c // 4, vectors[0][r, c]]
        for r in range(ROWS):
            for c in range(2):
                wide[r, 4 * c : 4 * c + 4] = across[1][r // 2, 0, across[0][r, c]]
        on = mask.astype(bool)
        sparse, table_sparse, block_sparse = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        sparse[on] = kept
        group = np.repeat([0, 1], 3)[:, None] * np.ones(COLUMNS, int)
        table_sparse[on] = kept_table[group[on], 0, kept_codes.astype(int), 0]
        block_sparse[on] = (kept_ints.astype(int) - spread(shifts["int4"].astype(int), shape)[on]) * scale[on]
        few = np.zeros(shape)
        few[np.repeat(small_mask.astype(bool), 2, 0)] = 0
        for (r, c), code in zip(np.argwhere(small_mask), small_codes):
            few[2 * r : 2 * r + 2, c] = small_table[0, 0, code]
        weights |= {"vectors": tall, "vectors_across": wide, "sparse": sparse, "table_sparse": table_sparse, "blockwise_sparse": block_sparse,
                    "vectors_sparse": few, "table_of_integers": pick(int_table, codes[4]) * scale}
        return products(x, weights)

    case("weights_ios18", {"x": x}, build, expect, opset=IOS18)


def optimized():
    """One linear layer and one convolution, compressed by coremltools; the answers from the weights that it says it wrote."""
    x, image = normal(3, 32), normal(1, 8, 5, 5, seed=2)
    w, k, bias = normal(32, 32, seed=3), normal(32, 8, 3, 3, seed=4), normal(32, seed=5)
    everything = dict(weight_threshold=0)
    quantize = lambda **a: lambda m: cto.linear_quantize_weights(m, cto.OptimizationConfig(cto.OpLinearQuantizerConfig(**everything, **a)))
    palettize = lambda **a: lambda m: cto.palettize_weights(m, cto.OptimizationConfig(cto.OpPalettizerConfig(**everything, **a)))
    prune = lambda m: cto.prune_weights(m, cto.OptimizationConfig(cto.OpMagnitudePrunerConfig(target_sparsity=0.6, weight_threshold=0)))
    chain = lambda first, then: lambda m: then(first(m))
    joint = lambda f, config: lambda m: f(m, cto.OptimizationConfig(config), joint_compression=True)
    ways = {
        "linear_8": (IOS16, quantize(mode="linear_symmetric")), "linear_8_asymmetric": (IOS16, quantize(mode="linear")),
        "linear_8_tensor": (IOS16, quantize(granularity="per_tensor")),
        "linear_4_blocks": (IOS18, quantize(dtype="int4", granularity="per_block", block_size=8)),
        "linear_4_unsigned": (IOS18, quantize(mode="linear", dtype="uint4")), "linear_8_ios18": (IOS18, quantize()),
        **{f"palette_{n}": (IOS16, palettize(mode="uniform", nbits=n)) for n in (1, 2, 4, 6, 8)},
        "palette_3_ios18": (IOS18, palettize(mode="uniform", nbits=3)),
        "palette_4_groups": (IOS18, palettize(mode="kmeans", nbits=4, granularity="per_grouped_channel", group_size=8)),
        "palette_2_vectors": (IOS18, palettize(mode="kmeans", nbits=2, cluster_dim=4)),
        "palette_4_scales": (IOS18, palettize(mode="kmeans", nbits=4, enable_per_channel_scale=True)),
        "pruned": (IOS16, prune), "pruned_ios18": (IOS18, prune),
        "pruned_linear_8": (IOS18, chain(prune, joint(cto.linear_quantize_weights, cto.OpLinearQuantizerConfig(**everything)))),
        "pruned_palette_4": (IOS18, chain(prune, joint(cto.palettize_weights, cto.OpPalettizerConfig(mode="kmeans", nbits=4, **everything)))),
        "palette_4_linear_8": (IOS18, chain(palettize(mode="kmeans", nbits=4), joint(cto.linear_quantize_weights, cto.OpLinearQuantizerConfig(granularity="per_tensor", **everything)))),
    }
    for name, (opset, change) in ways.items():
        add_optimized(name, opset, change, x, image, w, k, bias)


def add_optimized(name, opset, change, x, image, w, k, bias):
    from .program_oracles import convolve

    written = {}

    def build(x, image):
        return {"product": mb.linear(x=x, weight=w, bias=bias, name="product_"), "picture": mb.conv(x=image, weight=k, bias=bias, name="picture_")}

    def changed(model):
        compressed = change(model)
        # What coremltools itself decodes.
        for operation in cto.decompress_weights(compressed)._mil_program.functions["main"].operations:
            if operation.op_type in ("linear", "conv"):
                written[operation.op_type] = np.asarray(operation.weight.val, np.float64)
        return compressed

    def expect(x, image):
        assert written["linear"].shape == w.shape and np.abs(written["linear"] - w).max() < 4.5, name
        return {"product": x @ written["linear"].T + bias, "picture": convolve(image, written["conv"], bias)}

    case("optimized_" + name, {"x": x, "image": image}, build, expect, opset=opset, change=changed, tolerance=1e-3)


FAMILIES = [tables16, tables18, optimized]
