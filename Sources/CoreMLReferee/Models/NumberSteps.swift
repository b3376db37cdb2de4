/// (x + shift) * scale (Scaler.proto).
struct ScalerStep: RefereeModel {
    private let shifts: [Double], scales: [Double]
    private let inputs: VectorInputs
    private let output: String

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        var (shifts, scales): ([Double], [Double]) = ([], [])
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: try field.append(to: &shifts)
            case 2: try field.append(to: &scales)
            default: break
            }
        }
        (self.shifts, self.scales) = (shifts, scales)
        inputs = try VectorInputs([interface.input])
        output = try interface.output.name
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        let vector = try inputs.vector(row)
        for list in [shifts, scales] where list.count > 1 && list.count != vector.count {
            throw .unjudged("a scaler has \(list.count) values for \(vector.count) numbers")
        }
        let scaled = vector.enumerated().map { position, number in
            (number + Number(shift(position))) * Number(scale(position))
        }
        return [output: .array(scaled)]
    }

    func origins(_ known: OriginTable) -> OriginTable {
        let origins = known.joined(inputs.inputs).enumerated().map { position, origin -> Origin? in
            guard var origin, scale(position) != 0 else { return nil }
            origin.shift = (origin.shift + shift(position)) * scale(position)
            origin.scale *= scale(position)
            origin.isComputed = true
            return origin
        }
        return [output: origins]
    }

    private func shift(_ position: Int) -> Double { Self.value(shifts, position) ?? 0 }
    private func scale(_ position: Int) -> Double { Self.value(scales, position) ?? 1 }

    /// One value holds for all positions.
    private static func value(_ list: [Double], _ position: Int) -> Double? {
        list.count == 1 ? list[0] : position < list.count ? list[position] : nil
    }
}

/// A vector divided by its norm (Normalizer.proto).
struct NormalizerStep: RefereeModel {
    private let norm: Int64
    private let inputs: VectorInputs
    private let output: String

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        norm = try message.last(1)?.integer() ?? 0
        guard (0...2).contains(norm) else { throw ImpossibleJudgment("the file has the unknown norm \(norm)") }
        inputs = try VectorInputs([interface.input])
        output = try interface.output.name
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        let vector = try inputs.vector(row)
        // As scikit-learn does, from which such steps are converted.
        if norm != 0, vector.allSatisfy({ $0.value == 0 && $0.slack == 0 }) { return [output: .array(vector)] }
        let divisor: Number
        switch norm {
        case 0:
            // The greatest number, not the greatest magnitude.
            divisor = vector.max { $0.value < $1.value } ?? Number(0)
        case 1:
            var sum = Total()
            for number in vector { sum.add(Number(abs(number.value), slack: number.slack)) }
            divisor = sum.number
        default:
            var sum = Total()
            for number in vector { sum.add(number * number) }
            divisor = sum.number.through { max(0, $0).squareRoot() }
        }
        let scaled = vector.map { $0 / divisor }
        guard scaled.allSatisfy(\.isKnown) else { throw .unjudged("the norm of a vector is zero or nearly zero") }
        return [output: .array(scaled)]
    }

    /// The input's numbers: examples of models after this step have its norm already.
    func origins(_ known: OriginTable) -> OriginTable {
        let origins = known.joined(inputs.inputs).map { origin -> Origin? in
            var origin = origin
            origin?.isComputed = true
            return origin
        }
        return [output: origins]
    }
}

/// Some numbers of an array, by their positions in row-major order (ArrayFeatureExtractor.proto).
struct ExtractorStep: RefereeModel {
    private let positions: [Int64]
    private let inputs: VectorInputs
    private let output: String

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        var positions: [Int64] = []
        try message.fields { (field) throws(ImpossibleJudgment) in
            if field.number == 1 { try field.append(to: &positions) }
        }
        self.positions = positions
        inputs = try VectorInputs([interface.input])
        output = try interface.output.name
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        // Whatever is missing stays so.
        let vector = try inputs.vector(row, takesMissing: true)
        guard positions.allSatisfy({ (0..<Int64(vector.count)).contains($0) }) else {
            throw .unjudged("an extractor reads a number that the array lacks")
        }
        return [output: .array(positions.map { vector[Int($0)] })]
    }

    func origins(_ known: OriginTable) -> OriginTable {
        let all = known.joined(inputs.inputs)
        return [output: positions.map { (0..<Int64(all.count)).contains($0) ? all[Int($0)] : nil }]
    }
}

/// The inputs themselves (Identity.proto), found by name, or by place if the names differ.
struct IdentityStep: RefereeModel {
    private let names: [(input: String, output: String)]

    init(_ interface: ModelInterface) throws(ImpossibleJudgment) {
        let inputs = interface.inputs.map(\.name), outputs = interface.outputs.map(\.name)
        if outputs.allSatisfy(inputs.contains) {
            names = outputs.map { ($0, $0) }
        } else if inputs.count == outputs.count {
            names = Array(zip(inputs, outputs)).map { ($0, $1) }
        } else {
            throw ImpossibleJudgment("an identity of the file has outputs that are no inputs")
        }
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        var outputs: RefereeRow = [:]
        for (input, output) in names { outputs[output] = row[input] }
        return outputs
    }

    func origins(_ known: OriginTable) -> OriginTable {
        var origins: OriginTable = [:]
        for (input, output) in names { origins[output] = known[input] }
        return origins
    }
}
