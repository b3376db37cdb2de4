/// The boxes that a detector's offsets refer to: given one by one, or laid out on grids.
package enum PriorBoxes: Sendable, Hashable {
    /// Centre x, centre y, width, height of each, in fractions of the input's sides.
    case given([Float])
    /// A set of boxes round the middle of each cell, level by level, row by row.
    case grid([Level])

    /// One feature map.
    package struct Level: Sendable, Hashable {
        /// Pixels of the input from one cell to the next.
        package var stride: Int
        /// Width and height in pixels of the input, in the order of the model's offsets.
        package var boxes: [[Float]]
        /// The position within a cell on which the boxes are centred: 0.5 is its middle, 0 its top left corner.
        package var offset: Float

        /// A level.
        package init(stride: Int, boxes: [[Float]], offset: Float = 0.5) {
            self.stride = stride
            self.boxes = boxes
            self.offset = offset
        }

        /// Every size with every ratio of height to width: all sizes of the first ratio come first (torchvision's order).
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

    /// The most boxes that are laid out.
    package static let most = 4_000_000

    /// The number of boxes for an input of this size; nil above ``most``, or where a level makes no sense.
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
                guard !cells.overflow, !boxes.overflow, boxes.partialValue <= Self.most - sum else { return nil }
                sum += boxes.partialValue
            }
            return sum
        }
    }

    /// Centre x, centre y, width, height of each in pixels of the input.
    func pixels(width: Int, height: Int) -> [Float] {
        switch self {
        case .given(let numbers):
            let sides = [Float(width), Float(height)]
            return numbers.enumerated().map { $1 * sides[$0 & 1] }
        case .grid(let levels):
            guard let count = count(width: width, height: height) else { return [] }
            var pixels: [Float] = []
            pixels.reserveCapacity(count * 4)
            for level in levels {
                for row in 0..<Self.cells(height, level.stride) {
                    for column in 0..<Self.cells(width, level.stride) {
                        let x = (Float(column) + level.offset) * Float(level.stride)
                        let y = (Float(row) + level.offset) * Float(level.stride)
                        for box in level.boxes {
                            pixels.append(x)
                            pixels.append(y)
                            pixels.append(box[0])
                            pixels.append(box[1])
                        }
                    }
                }
            }
            return pixels
        }
    }

    /// The side of each one's cell in pixels of the input; none for boxes that are given one by one.
    func cells(width: Int, height: Int) -> [Float] {
        guard case .grid(let levels) = self else { return [] }
        return levels.flatMap { level in
            let count = Self.cells(width, level.stride) * Self.cells(height, level.stride) * level.boxes.count
            return [Float](repeating: Float(level.stride), count: count)
        }
    }

    /// Cells along a side: a last one that is not whole counts.
    static func cells(_ side: Int, _ stride: Int) -> Int { stride > 0 && side > 0 ? (side - 1) / stride + 1 : 0 }
}
