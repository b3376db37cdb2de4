/// The extents of a tensor's axes, outermost first. An axis without a fixed extent is ``Shape/dynamic``.
public struct Shape: Sendable, Hashable, ExpressibleByArrayLiteral, CustomStringConvertible {
    /// Marks an axis with an extent that each prediction may choose.
    public static let dynamic = -1

    /// One extent for each axis: ``dynamic``, or at least 0.
    public var dimensions: [Int]

    /// A shape of the given extents.
    public init(_ dimensions: [Int]) {
        self.dimensions = dimensions
    }

    /// A shape written as an array literal.
    public init(arrayLiteral elements: Int...) {
        self.init(elements)
    }

    /// True if every axis has a fixed extent.
    public var isStatic: Bool { dimensions.allSatisfy { $0 >= 0 } }

    /// The number of elements; nil if an axis is dynamic or the product does not fit in an `Int`.
    public var elementCount: Int? {
        var count = 1
        for dimension in dimensions {
            guard dimension >= 0 else { return nil }
            let (product, overflow) = count.multipliedReportingOverflow(by: dimension)
            guard !overflow else { return nil }
            count = product
        }
        return count
    }

    /// The extents without leading axes of extent 1 or of dynamic extent: those of one item of a batch.
    package var withoutBatch: [Int] {
        Array(dimensions.drop { $0 == 1 || $0 == Self.dynamic })
    }

    /// Height and width of a tensor with one number for each position: `[h, w]`, `[1, h, w]`, `[1, 1, h, w]` or
    /// `[1, h, w, 1]`, where the first 1 may be dynamic; nil for other shapes.
    package var plane: (height: Int, width: Int)? {
        var extents = dimensions
        if extents.count == 4, extents[3] == 1, extents[1] != 1 { extents.removeLast() }
        if extents.count > 2, extents[0] == 1 || extents[0] == Self.dynamic { extents.removeFirst() }
        if extents.count == 3, extents[0] == 1 { extents.removeFirst() }
        return extents.count == 2 && !extents.contains(0) ? (extents[0], extents[1]) : nil
    }

    /// The usual notation: `[1,224,224,3]`, with `-1` for a dynamic axis.
    public var description: String {
        "[" + dimensions.map(String.init).joined(separator: ",") + "]"
    }
}

/// The shapes that a model file allows for an input with open axes.
package enum ShapeLimits: Sendable {
    /// One of these shapes.
    case shapes([[Int]])
    /// Each extent is in the range from the first to the second number; nil for no upper limit.
    case ranges([(lower: Int, upper: Int?)])

    package func allows(_ shape: Shape) -> Bool {
        let extents = shape.dimensions
        switch self {
        case .shapes(let shapes): return shapes.contains(extents)
        case .ranges(let ranges):
            return ranges.count == extents.count
                && zip(ranges, extents).allSatisfy { $0.lower <= $1 && $1 <= $0.upper ?? .max }
        }
    }

    /// True if more than one shape is allowed.
    var allowsSeveral: Bool {
        switch self {
        case .shapes(let shapes): shapes.count > 1
        case .ranges(let ranges): ranges.contains { $0.lower != $0.upper }
        }
    }

    /// The limits in words, for messages.
    package var description: String {
        switch self {
        case .shapes(let shapes):
            let shown = shapes.prefix(8).map { "\(Shape($0))" }.joined(separator: ", ")
            return "one of the shapes \(shown)\(shapes.count > 8 ? " and \(shapes.count - 8) more" : "")"
        case .ranges(let ranges):
            let extents = ranges.map { range in
                range.lower == range.upper ? "\(range.lower)" : "\(range.lower)...\(range.upper.map(String.init) ?? "")"
            }
            return "a shape of [\(extents.joined(separator: ", "))]"
        }
    }
}
