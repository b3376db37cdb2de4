/// The memory layout of rows in a detector's outputs, derived from the shapes before any values exist.
struct HeadPlan: Sendable {
    /// The description of a ``Plane`` in tensor `index` of a role.
    struct Field: Sendable {
        let role: Int, index: Int, offset: Int, rowStride: Int, step: Int, count: Int

        /// The plane in memory; nil if the tensor is smaller than planned.
        func plane(_ tensor: OutputTensor, rows: Int) -> Plane? {
            Plane(tensor, offset: offset, rows: rows, rowStride: rowStride, count: count, step: step)
        }
    }

    /// Rows with equal strides.
    struct Level: Sendable {
        let rows: Int
        /// The number of cells in a row of the map; 0 for a table.
        let across: Int
        /// The prior of row r is `firstPrior + r * priorStep`.
        let firstPrior: Int, priorStep: Int
        private(set) var boxes: Field?, sizes: Field?, objectness: Field?, scores: Field?
        private(set) var label: Field?, end: Field?, angle: Field?, extras: Field?

        fileprivate mutating func set(_ part: RowPart, _ field: Field) {
            switch part {
            case .box, .centers: boxes = field
            case .sizes: sizes = field
            case .objectness: objectness = field
            case .scores, .score: scores = field
            case .label: label = field
            case .picture: end = field
            case .angle: angle = field
            case .extras: extras = field
            case .unread: break
            }
        }
    }

    private(set) var levels: [Level] = []
    /// The roles of the tensors that it reads.
    private(set) var roles: [String] = []
    /// The number of classes without background.
    private(set) var classes = 0

    /// The number of rows in all levels.
    var rows: Int { levels.reduce(0) { $0 + $1.rows } }

    private let decoding: BoxDecoding, grid: [PriorBoxes.Level], width: Int, height: Int
    /// The number of background classes, 0 or 1.
    private let background: Int
    /// The number of scores in a row with background, once known.
    private var columns: Int?
    private var firstPrior = 0

    /// The maximum number of classes, for models that output class numbers: there may be more than labels, and the
    /// number is then the label.
    private static let maximumClasses = 1 << 20

    /// Plans the reading of tensors of these shapes, by role. `classes`: the number of labels without background; nil
    /// if it is not known.
    init(
        _ decoding: BoxDecoding, shapes: [String: [[Int]]], width: Int, height: Int, classes: Int?
    ) throws(ObservationError) {
        (self.decoding, self.width, self.height, grid) = (decoding, width, height, decoding.grid)
        background = decoding.background == .none ? 0 : 1
        columns = classes.map { $0 + background }
        for role in shapes.keys.sorted() {
            for shape in shapes[role] ?? [] {
                guard let count = OutputTensor.count(of: shape), count <= 1 << 31 else {
                    throw .unexpected(role: role, expected: "at most \(1 << 31) elements", found: "\(shape)")
                }
            }
        }
        var read: [(tensor: HeadTensor, shapes: [[Int]])] = []
        for tensor in decoding.tensors where !tensor.parts.isEmpty {
            let isUnused = tensor.parts == [.extras] && decoding.extras == 0
            var given = shapes[tensor.role] ?? []
            if isUnused || tensor.isOptional && given.isEmpty && tensor.parts != [.extras] { continue }
            if read.isEmpty, given.isEmpty { given = [[]] }
            if let first = read.first, given.count != first.shapes.count {
                throw .unexpected(
                    role: tensor.role,
                    expected: "as many tensors as \"\(first.tensor.role)\": \(first.shapes.count)",
                    found: "\(given.count)")
            }
            read.append((tensor, given))
        }
        roles = read.map(\.tensor.role)
        for index in 0..<(read.first?.shapes.count ?? 0) {
            let tensors = read.map { ($0.tensor, $0.shapes[index]) }
            if isMap(tensors[0].1, tensors[0].0) { try map(tensors, index) } else { try table(tensors, index) }
        }
        let parts = read.flatMap(\.tensor.parts)
        // Without a tensor of class numbers, all boxes are of class 0.
        self.classes =
            parts.contains(.label)
            ? Self.maximumClasses : parts.contains(.score) ? classes ?? 1 : (columns ?? 0) - background
        guard rows <= PriorBoxes.maximum else {
            throw .unexpected(role: "tensors", expected: "at most \(PriorBoxes.maximum) rows", found: "\(rows)")
        }
    }

    // MARK: Rows

    /// The number of numbers in a part; nil for scores if it is not known yet.
    private func count(_ part: RowPart) -> Int? {
        switch part {
        case .box: 4 * decoding.coding.bins
        case .centers, .sizes: 2
        case .scores: columns
        case .extras: decoding.extras
        case .objectness, .score, .label, .picture, .angle, .unread: 1
        }
    }

    /// The number of numbers in a row; nil if it is not known yet.
    private func values(_ tensor: HeadTensor) -> Int? {
        tensor.parts.contains(.scores) && columns == nil
            ? nil : others(tensor) + (tensor.parts.contains(.scores) ? columns ?? 0 : 0)
    }

    /// The number of numbers in a row without its scores.
    private func others(_ tensor: HeadTensor) -> Int {
        tensor.parts.reduce(0) { $0 + ($1 == .scores ? 0 : count($1) ?? 0) }
    }

    /// The expected row, for messages: `4 box + 1 objectness + 3 classes`.
    private func text(_ tensor: HeadTensor) -> String {
        let words = tensor.parts.compactMap { part -> String? in
            switch part {
            case .scores:
                (background == 1 ? "1 background + " : "") + "\(columns.map { "\($0 - background)" } ?? "n") classes"
            case .extras: decoding.extras > 0 ? "\(decoding.extras) others" : nil
            default: "\(count(part) ?? 0) \(part.rawValue)"
            }
        }
        return words.count > 1 ? " (\(words.joined(separator: " + ")))" : ""
    }

    /// The arrangement of a level's rows in a tensor.
    private struct Placement {
        /// `block`: the distance between the blocks of anchors.
        let values: Int, block: Int, rowStride: Int, step: Int
    }

    private mutating func add(
        _ placed: [(tensor: HeadTensor, place: Placement)], rows: Int, across: Int, anchors: Int, _ index: Int
    ) throws(ObservationError) {
        for (tensor, place) in placed where tensor.parts.contains(.scores) && columns == nil {
            columns = place.values - others(tensor)
        }
        for anchor in 0..<anchors {
            var level = Level(rows: rows, across: across, firstPrior: firstPrior + anchor, priorStep: anchors)
            for (role, (tensor, place)) in placed.enumerated() {
                var offset = anchor * place.block
                for part in tensor.parts {
                    guard let count = count(part), count > 0 else { continue }
                    let field = Field(
                        role: role, index: index, offset: offset, rowStride: place.rowStride, step: place.step,
                        count: count)
                    level.set(part, field)
                    offset += count * place.step
                }
            }
            levels.append(level)
        }
        firstPrior += rows * anchors
    }

    /// True if a row can have this length. If the number of scores is not known, at least one class must remain.
    private func fits(_ values: Int, _ tensor: HeadTensor) -> Bool {
        let scores = columns ?? values - others(tensor)
        return (self.values(tensor) ?? values) == values && (!tensor.parts.contains(.scores) || scores > background)
    }

    // MARK: Tables

    private mutating func table(
        _ tensors: [(tensor: HeadTensor, shape: [Int])], _ index: Int
    ) throws(ObservationError) {
        guard decoding.suppression != .peaks else {
            throw .unexpected(
                role: tensors[0].tensor.role, expected: "a map of cells, which \"peaks\" are found in",
                found: "\(tensors[0].shape)")
        }
        var rows: Int?
        var placed: [(HeadTensor, Placement)] = []
        for (tensor, shape) in tensors {
            guard let found = place(tensor, shape, rows: rows) else {
                let values = values(tensor).map(String.init) ?? "values"
                throw .unexpected(
                    role: tensor.role,
                    expected: (rows.map { "[1, \($0), \(values)]" } ?? "[1, \(values), rows] or [1, rows, \(values)]")
                        + text(tensor), found: "\(shape)")
            }
            rows = found.rows
            placed.append((tensor, found.place))
        }
        try add(placed, rows: rows ?? 0, across: 0, anchors: 1, index)
    }

    /// Places consecutive rows or, as `columns`, consecutive values. Caffe's detectors output flat vectors of rows.
    private func place(_ tensor: HeadTensor, _ shape: [Int], rows: Int?) -> (rows: Int, place: Placement)? {
        let dense = OutputTensor.withoutBatch(shape, rank: 2), known = values(tensor)
        let total = OutputTensor.count(of: shape) ?? 0
        func fits(_ count: Int, _ values: Int) -> Bool {
            count > 0 && (rows ?? count) == count && self.fits(values, tensor)
        }
        if dense.count == 2 {
            let (first, last) = (dense[0], dense[1])
            let areRows = fits(first, last), areColumns = fits(last, first)
            if areRows || areColumns {
                // Boxes without objectness are usually in columns (YOLOv8).
                let usual = tensor.parts.starts(with: [.box, .scores]) && rows == nil
                let isFree = rows == nil && known == nil && first != last
                let isColumn =
                    decoding.order.map { $0 == .columns }
                    ?? (areRows != areColumns ? areColumns : isFree ? first < last : usual)
                guard isColumn ? areColumns : areRows else { return nil }
                let (count, values) = isColumn ? (last, first) : (first, last)
                return (
                    count,
                    isColumn && values > 1
                        ? Placement(values: values, block: 0, rowStride: 1, step: count)
                        : Placement(values: values, block: 0, rowStride: values, step: 1)
                )
            }
        }
        let isFlat = dense.count == 1 || dense.first == 1 && known != nil
        guard let count = rows ?? (isFlat ? known.map { $0 > 0 ? total / $0 : 0 } : nil), count > 0,
            total % count == 0, fits(count, total / count)
        else { return nil }
        return (count, Placement(values: total / count, block: 0, rowStride: total / count, step: 1))
    }

    // MARK: Maps

    /// True for feature maps. With channels last, a map of a single row of cells looks like a table.
    private func isMap(_ shape: [Int], _ tensor: HeadTensor) -> Bool {
        let dense = OutputTensor.withoutBatch(shape, rank: 2)
        return dense.count >= 3
            || shape.count == 4 && dense.count == 2 && dense.first != 1
                && values(tensor).map { dense.last != $0 } ?? false
    }

    /// Plans feature maps of convolutions: `[1, anchors * values, h, w]`, with channels last, or with a separate axis
    /// for anchors.
    private mutating func map(
        _ tensors: [(tensor: HeadTensor, shape: [Int])], _ index: Int
    ) throws(ObservationError) {
        let first = tensors[0].tensor.role
        guard index < grid.count, grid[index].stride > 0, !grid[index].boxes.isEmpty else {
            throw .unexpected(role: first, expected: "a stride for each level", found: "none for level \(index + 1)")
        }
        let level = grid[index], anchors = level.boxes.count
        let down = PriorBoxes.cells(height, level.stride), across = PriorBoxes.cells(width, level.stride)
        let (cells, overflow) = down.multipliedReportingOverflow(by: across)
        // If the numbers of cells and channels are equal, the other tensors determine the axis order.
        var misfit = tensors[0]
        for isFirst in [true, false] where !overflow && cells <= PriorBoxes.maximum {
            var placed: [(HeadTensor, Placement)] = []
            for one in tensors {
                if let place = place(one.tensor, one.shape, [down, across], anchors, isFirst) {
                    placed.append((one.tensor, place))
                } else if placed.count > 0 || one.tensor.role != first {
                    misfit = one
                    break
                } else {
                    break
                }
            }
            if placed.count == tensors.count {
                return try add(placed, rows: cells, across: across, anchors: anchors, index)
            }
        }
        let values = values(misfit.tensor).map { "\(anchors) x \($0)" } ?? "\(anchors) x values"
        throw .unexpected(
            role: misfit.tensor.role,
            expected:
                "[1, \(values), \(down), \(across)] (stride \(level.stride)) or channels last\(text(misfit.tensor))",
            found: "\(misfit.shape)")
    }

    private func place(
        _ tensor: HeadTensor, _ shape: [Int], _ sides: [Int], _ anchors: Int, _ isFirst: Bool
    ) -> Placement? {
        var extents = OutputTensor.withoutBatch(shape, rank: 3)
        let cells = sides[0] * sides[1]
        if extents.count == 4 {
            if extents[0] == anchors, Array(extents[1...2]) == sides, fits(extents[3], tensor) {
                return Placement(
                    values: extents[3], block: cells * extents[3], rowStride: extents[3], step: 1)
            }
            // The axis of anchors is adjacent to that of channels.
            let place = isFirst ? 0 : 2
            guard extents[place] == anchors else { return nil }
            extents[place + 1] = extents[place + 1] &* anchors
            extents.remove(at: place)
        }
        guard extents.count == 3, Array(isFirst ? extents[1...] : extents[..<2]) == sides else {
            // With one number for each cell, the order does not matter.
            guard anchors == 1, values(tensor) == 1, OutputTensor.count(of: shape) == cells else { return nil }
            return Placement(values: 1, block: 0, rowStride: 1, step: 1)
        }
        let channels = isFirst ? extents[0] : extents[2], values = channels / anchors
        guard channels % anchors == 0, fits(values, tensor) else { return nil }
        return isFirst
            ? Placement(values: values, block: values * cells, rowStride: 1, step: cells)
            : Placement(values: values, block: values, rowStride: channels, step: 1)
    }
}
