/// The pooling of a tensor with a vector for each token of a picture, or each cell of a map, to one vector.
package enum EmbeddingPooling: String, Sendable, CaseIterable {
    /// The first token's vector; the mean of all vectors; all numbers, unchanged.
    case cls, mean, none
}

/// A description of an output with an embedding.
package struct EmbeddingDecoding: Sendable, Hashable {
    package var normalization: EmbeddingNormalization
    /// The pooling; nil if it is not specified: all numbers are used.
    package var pooling: EmbeddingPooling?
    /// The axis of a vector's numbers; nil: the last one for tokens, the first one for a map.
    package var channels: ChannelPlace?
    /// The vectors that are those of patches; nil if it is not stated.
    package var patches: PatchPlaces?

    /// Creates a description; nil takes the defaults above.
    package init(
        _ normalization: EmbeddingNormalization = .l2, pooling: EmbeddingPooling? = nil, channels: ChannelPlace? = nil,
        patches: PatchPlaces? = nil
    ) {
        (self.normalization, self.pooling, self.channels) = (normalization, pooling, channels)
        self.patches = patches
    }
}

/// Reads the embedding of an output.
package struct EmbeddingDecoder: Sendable {
    package let decoding: EmbeddingDecoding
    /// The length of the embedding.
    package let dimension: Int
    /// The vectors of patches among its numbers.
    package let patches: PatchReader.Finding
    /// The tensor's extents, the number of its elements, and the number of its vectors, of tokens or cells.
    private let shape: [Int], count: Int, vectors: Int
    private let isFirst: Bool

    /// The length above which an embedding is probably an unpooled tensor: usual models have 128 to 4,096 numbers.
    package static let usualLimit = 8_192

    /// Prepares to decode an output of this shape. Throws `unexpected` if it does not fit.
    package init(_ decoding: EmbeddingDecoding, shape: [Int]) throws(ObservationError) {
        self.decoding = decoding
        let pooling = decoding.pooling ?? .none
        let count = OutputTensor.count(of: shape) ?? 0
        guard count > 0, count <= 1 << 24 else {
            throw .unexpected(role: "output", expected: "numbers", found: "\(shape)")
        }
        let isBatch = shape.count > 2 && shape[0] == 1, isMap = shape.count == 4
        isFirst = (decoding.channels ?? (isMap ? .first : .last)) == .first
        let width = isBatch ? shape[isFirst ? 1 : shape.count - 1] : count
        (self.shape, self.count, vectors) = (shape, count, count / width)
        dimension = pooling == .none ? count : width
        patches = try PatchReader.find(
            decoding.patches,
            in: PatchReader.Tensor(shape: shape, vectors: count / width, width: width, isFirst: isFirst))
        let fits =
            switch pooling {
            case .none: true
            case .cls: isBatch && shape.count == 3
            case .mean: isBatch && shape.count <= 4
            }
        guard fits else {
            let map = pooling == .mean ? ", or [1, width, rows, columns]" : ""
            throw .unexpected(
                role: "output", expected: "[1, tokens, width]\(map), for \"pooling\": \"\(pooling.rawValue)\"",
                found: "\(shape)")
        }
    }

    /// The vector of one tensor, before normalization.
    package func vector(_ tensor: OutputTensor) throws(ObservationError) -> [Float] {
        let values = tensor.values
        guard values.count == count else {
            throw .unexpected(role: "output", expected: "\(count) values", found: "\(tensor.shape)")
        }
        let vectors = vectors, (step, next) = isFirst ? (vectors, 1) : (1, dimension)
        switch decoding.pooling {
        case .none?, nil: return Array(values)
        case .cls?: return (0..<dimension).map { values[$0 * step] }
        case .mean?:
            return (0..<dimension).map { number in
                let sum = (0..<vectors).reduce(0.0) { $0 + Double(values[number * step + $1 * next]) }
                return Float(sum / Double(vectors))
            }
        }
    }

    /// The embedding of one tensor.
    package func embedding(_ tensor: OutputTensor) throws(ObservationError) -> [Float] {
        let normalized = try vector(tensor).withUnsafeBufferPointer { decoding.normalization.apply($0) }
        guard let normalized else { throw .notNumbers(role: "output") }
        return normalized
    }

    /// A probable mistake in the description; nil if there is no sign of one.
    /// - Parameter name: the output's name.
    package func advice(_ name: String) -> String? {
        let isUnsaid = decoding.pooling == nil && shape.filter { $0 > 1 }.count > 1
        guard isUnsaid || dimension > Self.usualLimit else { return nil }
        let large = dimension > Self.usualLimit ? ": usual ones have up to \(Self.usualLimit)" : ""
        let why =
            isUnsaid
            ? "its tensor is \(shape), and nothing says how the vectors in it become one: set \"pooling\" to \"cls\" (the first), "
                + "\"mean\", or \"none\" (all numbers)"
            : "comparing and teaching take time and memory in proportion"
        return "the embedding \"\(name)\" has \(dimension) numbers\(large); \(why)"
    }
}
