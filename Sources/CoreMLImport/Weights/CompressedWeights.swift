/// Decodes the weights of the `constexpr_…` operations of ML Programs (coremltools: ops/defs/iOS16/constexpr_ops.py,
/// iOS18/compression.py).
///
/// `limit`: the maximum size of the decoded weights in bytes.
///
/// Decoded weights are 16-bit floats if scales or tables are, which saves memory, else 32-bit floats; tables of
/// integers give integers.
package enum CompressedWeights {
    /// (data − zero point) · scale. Each has one value, or one for each index along `axis`.
    package static func affine(_ data: BlobTensor, scale: BlobTensor, zeroPoint: BlobTensor?, axis: Int) throws(Problem)
        -> BlobTensor
    {
        let axis = try positiveAxis(axis, rank: max(data.shape.count, 1))
        func spread(_ tensor: BlobTensor, _ what: String) throws(Problem) -> BlobTensor {
            var tensor = tensor
            var shape = data.shape.map { _ in 1 }
            if tensor.count != 1 {
                guard data.shape.indices.contains(axis), tensor.count == data.shape[axis] else {
                    throw Problem(
                        "\(tensor.count) \(what) do not match weights of shape \(data.shape) along axis \(axis)")
                }
                shape[axis] = tensor.count
            }
            tensor.shape = shape
            return tensor
        }
        let scales = try spread(scale, "scales")
        guard let zeroPoint else { return try blockwise(data, scale: scales, offset: nil) }
        var zeros = try spread(zeroPoint, "zero points")
        if zeros.count != scales.count {
            // If one of the two has a single value, it applies to all.
            let count = max(zeros.count, scales.count)
            func repeated(_ tensor: BlobTensor, like other: BlobTensor) throws(Problem) -> BlobTensor {
                guard tensor.count == 1 else { return tensor }
                let value = try tensor.floats()[0]
                return try BlobTensor(
                    .float32, shape: other.shape, bytes: Bytes(of: [Float](repeating: value, count: count)))
            }
            zeros = try repeated(zeros, like: scales)
            var widened = try repeated(scales, like: zeros)
            if widened.element != scales.element, scales.element == .float16 {
                widened = try BlobTensor(
                    .float16, shape: widened.shape, bytes: Bytes(of: widened.floats().map { Float16($0) }))
            }
            return try blockwise(data, scale: widened, offset: zeros)
        }
        return try blockwise(data, scale: scales, offset: zeros)
    }

    /// (data − offset) · scale, if the extents of scale and offset divide those of the data.
    package static func blockwise(_ data: BlobTensor, scale: BlobTensor, offset: BlobTensor?) throws(Problem)
        -> BlobTensor
    {
        guard scale.element == .float16 || scale.element == .float32 else {
            throw Problem("expected scales of type float16 or float32, found \(scale.element)")
        }
        if let offset, offset.shape != scale.shape {
            throw Problem("offsets of shape \(offset.shape) do not match scales of shape \(scale.shape)")
        }
        let runs = try BlockRuns(shape: data.shape, groups: scale.shape)
        let scales = try scale.floats()
        let offsets = try offset?.floats() ?? [Float](repeating: 0, count: scales.count)
        let bytes: Bytes
        if data.element.bits <= 8, !data.element.isFloat {
            let (codes, signed) = (try data.codes(), data.element.isSigned)
            bytes = filled(data.count, scale.element) { target in
                runs.forEach { run in
                    let (factor, zero) = (scales[run.group], offsets[run.group])
                    for index in run.start..<run.start + run.count {
                        let code = signed ? Float(Int8(bitPattern: codes[index])) : Float(codes[index])
                        target.store((code - zero) * factor, at: index)
                    }
                }
            }
        } else {
            let values = try data.floats()
            bytes = filled(data.count, scale.element) { target in
                runs.forEach { run in
                    for index in run.start..<run.start + run.count {
                        target.store((values[index] - offsets[run.group]) * scales[run.group], at: index)
                    }
                }
            }
        }
        return try BlobTensor(scale.element, shape: data.shape, bytes: bytes)
    }

    /// The table entries at packed indices. A table of 2, 4, 16, 64 or 256 entries has indices of 1, 2, 4, 6 or 8 bits.
    package static func palette(packed indices: BlobTensor, table: BlobTensor, shape: [Int], limit: Int) throws(Problem)
        -> BlobTensor
    {
        let bits: MILDataType
        switch table.count {
        case 2: bits = .uint1
        case 4: bits = .uint2
        case 8: bits = .uint3
        case 16: bits = .uint4
        case 64: bits = .uint6
        case 256: bits = .uint8
        default: throw Problem("unsupported lookup table of \(table.count) entries")
        }
        let codes = try located("indices") { () throws(Problem) in
            try BlobTensor(bits, shape: shape, bytes: indices.bytes)
        }
        var table = table
        table.shape = shape.map { _ in 1 } + [table.count, 1]
        return try palette(codes, table: table, vectorAxis: nil, limit: limit)
    }

    /// The entries of tables [groups…, entries, vector] at indices; the numbers of a vector follow each other along
    /// `vectorAxis`.
    package static func palette(_ indices: BlobTensor, table: BlobTensor, vectorAxis: Int?, limit: Int) throws(Problem)
        -> BlobTensor
    {
        let rank = indices.shape.count
        guard table.shape.count == rank + 2, table.shape[rank] > 0, table.shape[rank + 1] > 0 else {
            throw Problem("a lookup table of shape \(table.shape) does not match indices of shape \(indices.shape)")
        }
        let (entries, vector) = (table.shape[rank], table.shape[rank + 1])
        guard vector == 1 || vectorAxis != nil else { throw Problem("a lookup table of vectors needs vector_axis") }
        let axis = rank == 0 ? 0 : try positiveAxis(vectorAxis ?? 0, rank: rank)
        let runs = try BlockRuns(shape: indices.shape, groups: Array(table.shape[..<rank]))
        let codes = try indices.codes()
        if let largest = codes.max(), Int(largest) >= entries {
            throw Problem("index \(largest) is out of range: the lookup table has \(entries) entries")
        }
        var shape = indices.shape
        if vector > 1 { shape[axis] *= vector }
        let width = table.element.bits / 8
        guard width > 0 else { throw Problem("unsupported lookup table of \(table.element)") }
        guard let count = elementCount(shape), let size = checkedProduct(count, width), size <= limit else {
            throw Problem("weights of shape \(shape) are far larger than the file")
        }
        let inner = vector > 1 ? indices.shape[(axis + 1)...].reduce(1, *) : 1
        let bytes = Bytes(count: count * width) { target in
            table.bytes.withUnsafeBytes { source in
                runs.forEach { run in
                    for index in run.start..<run.start + run.count {
                        let entry = (run.group * entries + Int(codes[index])) * vector
                        for part in 0..<vector {
                            let place = (index / inner * vector + part) * inner + index % inner
                            for byte in 0..<width {
                                target[place * width + byte] = source[(entry + part) * width + byte]
                            }
                        }
                    }
                }
            }
        }
        return try BlobTensor(table.element, shape: shape, bytes: bytes)
    }

    /// The values where the mask (1 bit for each element) is set, zeros elsewhere.
    package static func dense(_ values: BlobTensor, mask: BlobTensor, limit: Int) throws(Problem) -> BlobTensor {
        let bits = try mask.codes()
        let set = bits.reduce(0) { $0 + ($1 != 0 ? 1 : 0) }
        guard set == values.count else {
            throw Problem("a mask of \(set) set bits does not match \(values.count) values")
        }
        var values = values
        if values.element.bits < 8 {
            let element: MILDataType = values.element.isSigned ? .int8 : .uint8
            values = try BlobTensor(element, shape: [values.count], bytes: Bytes(of: values.codes()))
        }
        let width = values.element.bits / 8
        guard let size = checkedProduct(bits.count, width), size <= limit else {
            throw Problem("weights of shape \(mask.shape) are far larger than the file")
        }
        let bytes = Bytes(count: size) { target in
            values.bytes.withUnsafeBytes { source in
                var next = 0
                for (index, bit) in bits.enumerated() where bit != 0 {
                    for byte in 0..<width { target[index * width + byte] = source[next * width + byte] }
                    next += 1
                }
            }
        }
        return try BlobTensor(values.element, shape: mask.shape, bytes: bytes)
    }

    /// The elements where the mask is set, concatenated.
    package static func sparse(_ dense: BlobTensor, mask: BlobTensor) throws(Problem) -> BlobTensor {
        let bits = try mask.codes()
        let width = dense.element.bits / 8
        guard bits.count == dense.count, width > 0 else {
            throw Problem("a mask of shape \(mask.shape) does not match weights of shape \(dense.shape)")
        }
        let places = bits.indices.filter { bits[$0] != 0 }
        let bytes = Bytes(count: places.count * width) { target in
            dense.bytes.withUnsafeBytes { source in
                for (next, place) in places.enumerated() {
                    for byte in 0..<width { target[next * width + byte] = source[place * width + byte] }
                }
            }
        }
        return try BlobTensor(dense.element, shape: [places.count], bytes: bytes)
    }

    /// Repeats each element `count` times along an axis: expands the mask of vector-palettized weights.
    package static func repeated(_ mask: BlobTensor, along axis: Int, count: Int, limit: Int) throws(Problem)
        -> BlobTensor
    {
        let axis = try positiveAxis(axis, rank: mask.shape.count)
        let codes = try mask.codes()
        var shape = mask.shape
        guard let extent = checkedProduct(shape[axis], count), let total = checkedProduct(codes.count, count),
            total <= limit
        else { throw Problem("a mask of shape \(shape), repeated \(count) times, is too large") }
        shape[axis] = extent
        let inner = mask.shape[(axis + 1)...].reduce(1, *)
        var result = [UInt8](repeating: 0, count: total)
        for (index, code) in codes.enumerated() {
            for part in 0..<count { result[(index / inner * count + part) * inner + index % inner] = code }
        }
        return try BlobTensor(.uint8, shape: shape, bytes: Bytes(of: result))
    }

    /// Memory for floats of 16 or 32 bits.
    private struct FloatTarget {
        let memory: UnsafeMutableRawBufferPointer
        let isHalf: Bool

        func store(_ value: Float, at index: Int) {
            if isHalf {
                memory.storeBytes(of: Float16(value), toByteOffset: index * 2, as: Float16.self)
            } else {
                memory.storeBytes(of: value, toByteOffset: index * 4, as: Float.self)
            }
        }
    }

    private static func filled(_ count: Int, _ type: MILDataType, _ body: (FloatTarget) -> Void) -> Bytes {
        Bytes(count: count * type.bits / 8) { body(FloatTarget(memory: $0, isHalf: type == .float16)) }
    }
}
