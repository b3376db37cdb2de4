/// Synthetic inputs on which answers are compared.
enum ProbePattern: String, Sendable, Codable, CodingKeyRepresentable {
    case picture, noise
    /// The smallest, the middle and the largest value of the range.
    case edges
    /// Values that quantization with steps of 1 rounds at the midpoint of two steps: arithmetic in 8 bits rounds ties.
    case ties
    /// Small integers and halves, so that many values are equal.
    case halves
    /// Corners of boxes, some of which overlap in usual thresholds exactly, for inputs that look like boxes.
    case boxes
    /// Integers that 32-bit floats cannot represent.
    case large
    /// Noise with some NaN.
    case nan
    /// Noise with some infinities.
    case infinities

    /// The patterns on which streams are compared.
    static let usual: [ProbePattern] = [.picture, .noise]

    /// True if differences of answers are a matter of degree.
    var isGradual: Bool { ![.nan, .infinities, .large].contains(self) }

    /// True if all values are finite.
    var isFinite: Bool { ![.nan, .infinities].contains(self) }

    /// True if a nudge, a fraction of the range of the values, is small. A model of which the inputs have another range
    /// than 0 to 255 takes a step between two ties for a large change.
    var isNudged: Bool { isGradual && self != .ties }

    /// The pattern in words, for messages.
    var words: String {
        switch self {
        case .picture: "a picture"
        case .noise: "noise"
        case .edges: "the edges of the value range"
        case .ties: "values between two steps"
        case .halves: "small integers and halves"
        case .boxes: "boxes"
        case .large: "large integers"
        case .nan: "noise with NaN"
        case .infinities: "noise with infinities"
        }
    }

    /// Fills an input's tensor. The values are the same on every machine.
    /// - Parameter circumstances: of an input that is filled for the comparison of two engines.
    func fill(_ tensor: any EngineTensor, plan: InputPlan, _ circumstances: ProbeInput = ProbeInput()) {
        let type = tensor.elementType, size = type.byteCount
        guard size > 0 else { return }
        if let columns = circumstances.boxColumns, self == .boxes || circumstances.isAmongOthers {
            return ProbeBoxes.fill(
                tensor, columns: columns, grid: self == .boxes ? .forwards : self == .halves ? .backwards : nil)
        }
        let table = elements(of: type, plan: plan, circumstances)
        let surface = Surface(tensor.shape), count = tensor.bytes.count / size
        for index in 0..<count {
            let noise = Self.noise(index, of: circumstances.position)
            let level = Int(self == .picture ? surface.level(index, noise) : noise)
            for byte in 0..<size { tensor.bytes[index * size + byte] = table[level * size + byte] }
        }
        guard circumstances.takesNaN, self == .nan || self == .infinities else { return }
        func write(_ value: Double, _ index: Int) {
            ElementConversion.write(value, at: index, as: type, to: tensor.bytes)
        }
        // In a long run of infinities, windows have no other values.
        if self == .infinities, circumstances.isPicture { for index in 0..<count / 4 { write(-.infinity, index) } }
        let distance = count < 4096 ? 5 : 97
        for index in stride(from: min(3 + circumstances.position, count - 1), to: count, by: distance) {
            write(self == .nan ? .nan : index % 2 == 0 ? .infinity : -.infinity, index)
        }
    }

    /// The element for each of 256 levels.
    private func elements(of type: ElementType, plan: InputPlan, _ circumstances: ProbeInput) -> [UInt8] {
        var table = [UInt8](repeating: 0, count: 256 * type.byteCount)
        table.withUnsafeMutableBytes { raw in
            for level in 0..<256 {
                let value =
                    type.isFloatingPoint
                    ? number(Double(level), plan, circumstances) : integer(level, type, circumstances)
                ElementConversion.write(value, at: level, as: type, to: raw)
            }
        }
        return table
    }

    private func number(_ level: Double, _ plan: InputPlan, _ circumstances: ProbeInput) -> Double {
        let image = plan.description.image
        var level = level
        switch self {
        // Scores of boxes: negative ones are below most thresholds.
        case .boxes,
            .halves where circumstances.isAmongBoxes:
            return (level + 1) / 256
        case .edges: level = [0, 128, 255][Int(level) % 3]
        // The range of 0 to 255 has 255 steps of 1.
        case .ties: return level == 0 || level == 255 ? level : min(level + 0.5, 255)
        case .halves where image == nil: return Double(Int(level) % 16) / 2 - 4
        case .halves: level = Double(Int(level) % 16 * 17)
        case .picture where image == nil: return level / 255
        default: break
        }
        guard let image else { return level / 127.5 - 1 }
        return level * Double(image.scale.first ?? 1) + Double(image.bias.first ?? 0)
    }

    private func integer(_ level: Int, _ type: ElementType, _ circumstances: ProbeInput) -> Double {
        let edge = self == .edges ? [0, 128, 255][level % 3] : level
        switch type {
        // Halves of odd numbers are ties.
        case .uint8: return Double(self == .ties ? level | 1 : edge)
        case .int8: return Double((self == .ties ? level | 1 : edge) - 128)
        case .bool: return Double(edge < 128 ? 0 : 1)
        default: return Double(circumstances.wideInteger(level, type, self))
        }
    }

    /// A pseudo-random number for an index: the mixing function of SplitMix64.
    static func noise(_ index: Int, of input: Int) -> UInt8 {
        var bits = (UInt64(index) &+ 1 &+ UInt64(input) << 32) &* 0x9E37_79B9_7F4A_7C15
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

        func level(_ index: Int, _ noise: UInt8) -> UInt8 {
            let x = Double(index / column % width) / Double(width), y = Double(index / row % height) / Double(height)
            let isDisc = (x - 0.6) * (x - 0.6) + (y - 0.4) * (y - 0.4) < 0.05
            return UInt8(isDisc ? 200 : 40 + 60 * x + 50 * y) &+ noise % 32
        }
    }
}
