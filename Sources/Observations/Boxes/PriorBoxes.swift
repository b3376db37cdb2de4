/// The boxes that a detector's offsets are relative to: listed, or arranged on grids.
package enum PriorBoxes: Sendable, Hashable {
    /// Center x, center y, width, height of each, in fractions of the input's sides.
    case given([Float])
    /// A set of boxes around the center of each cell, level by level, row by row.
    case grid([Level])

    /// One feature map.
    package struct Level: Sendable, Hashable {
        /// The distance between cells in pixels of the input.
        package var stride: Int
        /// Width and height in pixels of the input, in the order of the model's offsets.
        package var boxes: [[Float]]
        /// The position of the boxes' center within a cell: 0.5 is the center of the cell, 0 its top left corner.
        package var offset: Float

        package init(stride: Int, boxes: [[Float]], offset: Float = 0.5) {
            (self.stride, self.boxes, self.offset) = (stride, boxes, offset)
        }

        /// Boxes for all sizes and ratios of height to width: all sizes of the first ratio first (torchvision's order).
        package static func boxes(sizes: [Float], ratios: [Float]) -> [[Float]] {
            ratios.flatMap { ratio in
                let root = ratio.squareRoot()
                return sizes.map { [$0 / root, $0 * root] }
            }
        }
    }

    /// RetinaNet's anchors: 3 octaves, 3 ratios, strides 8 to 128.
    package static var retinanet: PriorBoxes {
        .grid(
            [8, 16, 32, 64, 128].map { stride in
                let sizes = [1, 1.259_921, 1.587_401].map { Float(stride) * 4 * $0 }
                return Level(stride: stride, boxes: Level.boxes(sizes: sizes, ratios: [0.5, 1, 2]))
            })
    }

    /// The maximum number of boxes.
    package static let maximum = 4_000_000

    /// The number of boxes for an input of this size; nil above ``maximum``, or if a level is invalid.
    package func count(width: Int, height: Int) -> Int? {
        switch self {
        case .given(let numbers): return numbers.count % 4 == 0 ? numbers.count / 4 : nil
        case .grid(let levels):
            var sum = 0
            for level in levels {
                guard level.stride > 0, level.boxes.allSatisfy({ $0.count == 2 }) else { return nil }
                let cells = Self.cells(width, level.stride).multipliedReportingOverflow(
                    by: Self.cells(height, level.stride))
                let boxes = cells.partialValue.multipliedReportingOverflow(by: level.boxes.count)
                guard !cells.overflow, !boxes.overflow, boxes.partialValue <= Self.maximum - sum else { return nil }
                sum += boxes.partialValue
            }
            return sum
        }
    }

    /// The boxes in pixels of the input.
    func pixels(width: Int, height: Int) -> [Prior] {
        guard let count = count(width: width, height: height) else { return [] }
        switch self {
        case .given(let numbers):
            let (across, down) = (Float(width), Float(height))
            return stride(from: 0, to: 4 * count, by: 4).map {
                Prior(
                    x: numbers[$0] * across, y: numbers[$0 + 1] * down, width: numbers[$0 + 2] * across,
                    height: numbers[$0 + 3] * down)
            }
        case .grid(let levels):
            var pixels: [Prior] = []
            pixels.reserveCapacity(count)
            for level in levels {
                let side = Float(level.stride)
                for row in 0..<Self.cells(height, level.stride) {
                    for column in 0..<Self.cells(width, level.stride) {
                        let x = (Float(column) + level.offset) * side, y = (Float(row) + level.offset) * side
                        pixels += level.boxes.lazy.map { Prior(x: x, y: y, width: $0[0], height: $0[1], cell: side) }
                    }
                }
            }
            return pixels
        }
    }

    /// The number of cells along a side, including an incomplete last one.
    static func cells(_ side: Int, _ stride: Int) -> Int { stride > 0 && side > 0 ? (side - 1) / stride + 1 : 0 }
}

/// A prior in pixels of the input.
struct Prior {
    /// The center, the size, and the side of the cell (0 if it is not from a grid).
    var x: Float = 0, y: Float = 0, width: Float = 0, height: Float = 0, cell: Float = 0
}
