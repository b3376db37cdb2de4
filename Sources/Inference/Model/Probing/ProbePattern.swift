/// Synthetic inputs on which answers are compared.
enum ProbePattern: String, Sendable, Codable, CodingKeyRepresentable {
    case picture, noise
    /// The smallest, the middle and the largest value of the range.
    case edges
    /// Values that quantization with steps of 1 rounds at the midpoint of two steps: arithmetic in 8 bits rounds ties.
    case ties

    /// The patterns on which streams are compared.
    static let usual: [ProbePattern] = [.picture, .noise]

    /// The pattern in words, for messages.
    var words: String {
        switch self {
        case .picture: "a picture"
        case .noise: "noise"
        case .edges: "the edges of the value range"
        case .ties: "values between two steps"
        }
    }

    /// Fills an input's tensor. The values are the same on every machine.
    func fill(_ tensor: any EngineTensor, plan: InputPlan) {
        let size = tensor.elementType.byteCount
        guard size > 0 else { return }
        let table = elements(of: tensor.elementType, plan: plan)
        let surface = Surface(tensor.shape)
        for index in 0..<tensor.bytes.count / size {
            let level = Int(self == .picture ? surface.level(index) : Self.noise(index))
            for byte in 0..<size { tensor.bytes[index * size + byte] = table[level * size + byte] }
        }
    }

    /// The element for each of 256 levels.
    private func elements(of type: ElementType, plan: InputPlan) -> [UInt8] {
        var table = [UInt8](repeating: 0, count: 256 * type.byteCount)
        table.withUnsafeMutableBytes { raw in
            for level in 0..<256 {
                ElementConversion.write(value(Double(level), type, plan), at: level, as: type, to: raw)
            }
        }
        return table
    }

    private func value(_ level: Double, _ type: ElementType, _ plan: InputPlan) -> Double {
        let level = self == .edges ? [0, 128, 255][Int(level) % 3] : level
        switch type {
        // Halves of odd numbers are ties.
        case .uint8 where self == .ties: return Double(Int(level) | 1)
        case .int8 where self == .ties: return Double(Int(level) | 1) - 128
        case .uint8: return level
        case .int8: return level - 128
        // Wider integers are often indices into a table; every table has the indices 0 and 1.
        case _ where !type.isFloatingPoint: return level < 128 ? 0 : 1
        default: break
        }
        // The range of 0 to 255 has 255 steps of 1.
        if self == .ties { return level == 0 || level == 255 ? level : min(level + 0.5, 255) }
        if let image = plan.description.image {
            return level * Double(image.scale.first ?? 1) + Double(image.bias.first ?? 0)
        }
        return self == .picture ? level / 255 : level / 127.5 - 1
    }

    /// A pseudo-random number for an index: the mixing function of SplitMix64.
    private static func noise(_ index: Int) -> UInt8 {
        var bits = (UInt64(index) &+ 1) &* 0x9E37_79B9_7F4A_7C15
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return UInt8(truncatingIfNeeded: bits >> 32)
    }

    /// A bright disc on a gradient, over the two longest axes, with a fine texture.
    private struct Surface {
        let width: Int, height: Int
        /// The distance in elements from one column to the next, and from one row to the next.
        let column: Int, row: Int

        init(_ shape: Shape) {
            let extents = shape.dimensions.map { max(1, $0) }
            let longest = extents.indices.sorted { (extents[$0], $0) > (extents[$1], $1) }.prefix(2).sorted()
            func stride(_ axis: Int) -> Int { extents[(axis + 1)...].reduce(1, &*) }
            (width, column) = longest.last.map { (extents[$0], max(1, stride($0))) } ?? (1, 1)
            (height, row) = longest.count == 2 ? (extents[longest[0]], max(1, stride(longest[0]))) : (1, 1)
        }

        func level(_ index: Int) -> UInt8 {
            let x = Double(index / column % width) / Double(width), y = Double(index / row % height) / Double(height)
            let isDisc = (x - 0.6) * (x - 0.6) + (y - 0.4) * (y - 0.4) < 0.05
            return UInt8(isDisc ? 200 : 40 + 60 * x + 50 * y) &+ ProbePattern.noise(index) % 32
        }
    }
}
