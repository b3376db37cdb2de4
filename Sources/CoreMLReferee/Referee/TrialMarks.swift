/// The numbers and categories of a file that belong to its inputs, and combinations of them at which mistakes show.
struct TrialMarks {
    /// Numbers of the file, by input and position; and the categories of each input.
    private(set) var numbers: [[[Double]]]
    private(set) var categories: [[Key]]
    private(set) var marks: [Mark] = []
    /// The places of numbers that may be missing, because a model of the file says how it treats them.
    private(set) var mayBeMissing: [[Bool]]
    /// The places of numbers that are categories: others have no meaning.
    private(set) var areWhole: [[Bool]]

    /// Numbers for some places of the inputs; the place that lies on an edge.
    struct Mark {
        var numbers: [(place: Place, number: Double)] = []
        var edge: Place?
        /// True if the number on the edge is computed from that of the input, and therefore rounded.
        var isRounded = false

        /// The sides of the edge on which rows are made. Rounding decides for a computed number that lies on it.
        var sides: [Side] { edge == nil ? [.on] : isRounded ? [.above, .below] : Side.allCases }
    }

    struct Place: Equatable { let input: Int, element: Int }

    /// The side of an edge.
    enum Side: CaseIterable { case on, above, below }

    /// The most numbers that are kept for a place, and the most categories for an input.
    private static let maximumNumbers = 32, maximumCategories = 256
    /// The numbers of features of which the origins were found so far, and the most of them.
    private var followed = 0
    private static let maximumFollowed = 1 << 20

    /// Collects the landmarks of all models of a file, as far as their inputs are inputs of the file.
    init(_ part: ModelPart, inputs: [RefereeFeature], limit: Int) {
        numbers = inputs.map { [[Double]](repeating: [], count: $0.width ?? 0) }
        mayBeMissing = inputs.map { [Bool](repeating: false, count: $0.width ?? 0) }
        areWhole = mayBeMissing
        categories = inputs.map { _ in [] }
        var origins: OriginTable = [:]
        for (index, input) in inputs.enumerated() {
            origins[input.name] = (0..<(input.width ?? 1)).map { Origin(input: index, element: $0) }
        }
        collect(part, limit: limit, &origins)
    }

    private mutating func collect(_ part: ModelPart, limit: Int, _ origins: inout OriginTable) {
        switch part {
        case .step(let step):
            add(step, limit: limit, origins)
            let results = step.model.origins(origins)
            for output in step.interface.outputs {
                let result = results[output.name]
                followed += result?.count ?? 0
                origins[output.name] = followed <= Self.maximumFollowed ? result : nil
            }
        case .pipeline(let interface, let parts):
            var inner: OriginTable = [:]
            for input in interface.inputs { inner[input.name] = origins[input.name] }
            for part in parts { collect(part, limit: limit, &inner) }
            for output in interface.outputs { origins[output.name] = inner[output.name] }
        }
    }

    private mutating func add(_ step: RefereeStep, limit: Int, _ table: OriginTable) {
        if let input = step.interface.inputs.first, let origin = (table[input.name] ?? []).first ?? nil {
            for key in step.model.categories.prefix(Self.maximumCategories) {
                if categories[origin.input].count < Self.maximumCategories { categories[origin.input].append(key) }
                guard case .integer(let number) = key else { continue }
                keep(Double(number), origin)
                if hasNumber(origin) { areWhole[origin.input][origin.element] = true }
            }
        }
        let origins = table.joined(step.interface.inputs)
        if step.model.takesMissing {
            for case let origin? in origins where hasNumber(origin) && !origin.isComputed {
                mayBeMissing[origin.input][origin.element] = true
            }
        }
        for landmark in step.model.landmarks(limit: limit) {
            var mark = Mark()
            for (position, value) in landmark.values {
                guard position < origins.count, let origin = origins[position],
                    let number = origin.number(for: value)
                else { continue }
                let place = Place(input: origin.input, element: origin.element)
                mark.numbers.append((place, number))
                if landmark.edge == position { (mark.edge, mark.isRounded) = (place, origin.isComputed) }
                keep(number, origin)
            }
            if !mark.numbers.isEmpty { marks.append(mark) }
        }
    }

    /// True if the origin is a number, not a string or a dictionary.
    private func hasNumber(_ origin: Origin) -> Bool { numbers[origin.input].indices.contains(origin.element) }

    private mutating func keep(_ number: Double, _ origin: Origin) {
        guard number.isFinite, hasNumber(origin),
            numbers[origin.input][origin.element].count < Self.maximumNumbers
        else { return }
        numbers[origin.input][origin.element].append(number)
    }
}
