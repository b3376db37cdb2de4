/// Classifies by the nearest samples (NearestNeighbors.proto); both kinds of index have the same meaning.
struct NeighborModel: RefereeModel {
    private let samples: VectorListOfFloats
    /// The position of each sample's class in `classes`.
    private let owners: [Int]
    private let neighbors: Int
    private let weighsByDistance: Bool
    /// True if the weight of a neighbor is the reciprocal of Euclid's distance itself, not of its square.
    private var takesRoot = false
    private let inputs: VectorInputs
    private let classes: ClassTable?
    /// The outputs without samples.
    private let fallback: RefereeRow

    /// Distances that differ by less, relative to the larger one, are equal: the format stores samples as 32-bit floats
    /// and does not say in which precision they are compared.
    private static let closeness = 1e-6

    /// The samples, row by row.
    private struct VectorListOfFloats: Sendable {
        var rows: [[Double]] = []
        var width = 0
    }

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        var samples = VectorListOfFloats()
        var labels: [Key] = []
        var (count, weighsByDistance): (Int64, Bool) = (0, false)
        var fallback: Key?
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: samples = try Self.samples(field.message())
            case 3: count = try field.message().last(1)?.integer() ?? 0
            case 100, 101: labels = try ClassTable.labels(field, areTexts: field.number == 100)
            case 110: fallback = .text(try field.bytes())
            case 111: fallback = .integer(try field.integer())
            case 200, 210: weighsByDistance = field.number == 210
            default: break
            }
        }
        guard labels.count == samples.rows.count else {
            throw ImpossibleJudgment("the file has \(samples.rows.count) samples and \(labels.count) labels")
        }
        guard count >= 1 || labels.isEmpty else { throw ImpossibleJudgment("the file asks for \(count) neighbors") }
        var positions: [Key: Int] = [:]
        var distinct: [Key] = []
        owners = labels.map { label in
            if let position = positions[label] { return position }
            positions[label] = distinct.count
            distinct.append(label)
            return distinct.count - 1
        }
        self.samples = samples
        self.weighsByDistance = weighsByDistance
        neighbors = Int(min(count, Int64(labels.count)))
        inputs = try VectorInputs(interface.inputs)
        classes = distinct.isEmpty ? nil : try ClassTable(distinct, interface)
        self.fallback = Self.outputs(withoutSamples: fallback, interface)
    }

    /// The default label, and probabilities of no class.
    private static func outputs(withoutSamples label: Key?, _ interface: ModelInterface) -> RefereeRow {
        var row: RefereeRow = [:]
        if let label, !interface.predicted.isEmpty { row[interface.predicted] = .label([label]) }
        if !interface.probabilities.isEmpty { row[interface.probabilities] = .dictionary(keys: [], values: []) }
        return row
    }

    private static func samples(_ message: WireMessage) throws(ImpossibleJudgment) -> VectorListOfFloats {
        var list = VectorListOfFloats()
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: list.width = Int(try field.integer())
            case 2:
                try field.text.keep(1)
                var row: [Float] = []
                try field.message().fields { (field) throws(ImpossibleJudgment) in
                    if field.number == 1 { try field.append(to: &row) }
                }
                list.rows.append(row.map(Double.init))
            default: break
            }
        }
        guard list.rows.allSatisfy({ $0.count == list.width }) else {
            throw ImpossibleJudgment("the file's samples do not have \(list.width) numbers")
        }
        return list
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        guard let classes else { return fallback }
        let vector = try inputs.vector(row, count: samples.width)
        let distances = samples.rows.map { VectorKernel.squaredDistance(vector, $0) }
        guard distances.allSatisfy(\.isKnown) else { throw .unjudged("a distance is not finite") }
        let order = distances.indices.sorted { (distances[$0].value, $0) < (distances[$1].value, $1) }
        let nearest = Array(order.prefix(neighbors))
        try requireClearCut(nearest, order, distances)
        var votes = [Total](repeating: Total(), count: classes.labels.count)
        for sample in weighsByDistance ? hits(nearest, distances) : nearest {
            let isWeighed = weighsByDistance && distances[sample].value > 0
            let weight = isWeighed ? Number(1) / reach(distances[sample]) : Number(1)
            guard weight.isKnown else { throw .unjudged("rounding decides whether a sample is hit") }
            votes[owners[sample]].add(weight)
        }
        guard let shares = votes.map(\.number).shares else { throw .unjudged("no neighbor votes") }
        return try classes.outputs(shares)
    }

    private func reach(_ distance: Number) -> Number {
        takesRoot ? distance.through { max(0, $0).squareRoot() } : distance
    }

    /// The format names the square of Euclid's distance, and weights of 1 / distance; files are also meant for the
    /// distance itself.
    var otherReading: (any RefereeModel)? {
        guard weighsByDistance, !takesRoot else { return nil }
        var other = self
        other.takesRoot = true
        return other
    }

    /// The nearest samples at distance 0, which have infinite weight; all of them if no sample is hit.
    private func hits(_ nearest: [Int], _ distances: [Number]) -> [Int] {
        let hits = nearest.filter { distances[$0].value == 0 }
        return hits.isEmpty ? nearest : hits
    }

    /// Throws if samples of different classes have nearly the same distance, and only some of them are neighbors.
    private func requireClearCut(_ nearest: [Int], _ order: [Int], _ distances: [Number]) throws(RowProblem) {
        guard let last = nearest.last.map({ distances[$0] }) else { return }
        func isClose(_ sample: Int) -> Bool {
            let distance = distances[sample]
            return abs(distance.value - last.value)
                <= Self.closeness * max(distance.value, last.value) + distance.slack + last.slack
        }
        let out = order.dropFirst(neighbors).prefix(while: isClose)
        guard let first = out.first else { return }
        for sample in nearest.filter(isClose) + out where owners[sample] != owners[first] {
            throw .unjudged("neighbors of different classes have the same distance")
        }
    }

    /// Samples, and for each the middle to the nearest sample of another class, where both have the same distance, and
    /// a point closer to it.
    func landmarks(limit: Int) -> [Landmark] {
        let rows = samples.rows, count = min((limit + 2) / 3, rows.count)
        let chosen = (0..<count).map { $0 * rows.count / count }
        // Not for large files: all samples are searched for each.
        guard count * rows.count * samples.width <= 1 << 25 else { return chosen.map { Landmark(rows[$0]) } }
        return chosen.flatMap { one -> [Landmark] in
            func distance(_ other: Int) -> Double {
                zip(rows[one], rows[other]).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }
            }
            let others = rows.indices.lazy.filter { owners[$0] != owners[one] }
            guard let other = others.min(by: { distance($0) < distance($1) }) else { return [Landmark(rows[one])] }
            return [0, 0.5, 0.4].map { share in
                Landmark(zip(rows[one], rows[other]).map { $0 + share * ($1 - $0) })
            }
        }
    }
}
