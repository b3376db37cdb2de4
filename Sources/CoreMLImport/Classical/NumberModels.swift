/// (x + shift) * scale, with one pair for all numbers or one for each (Scaler.proto).
struct Scaler: ClassicalModel {
    private let shift: [Double], scale: [Double]
    private let inputs: NumberInputs
    private let output: FeatureSpecification

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        shift = try message.doubles(1)
        scale = try message.doubles(2)
        try requireFinite(shift, "shiftValue")
        try requireFinite(scale, "scaleValue")
        guard shift.count <= 1 || scale.count <= 1 || shift.count == scale.count else {
            throw Problem("has \(shift.count) shift values and \(scale.count) scale values")
        }
        inputs = try NumberInputs([try description.onlyInput()])
        output = try description.onlyOutput()
        if let declared = description.inputs.numberCount {
            for (what, list) in [("shift", shift), ("scale", scale)] where list.count > 1 && list.count != declared {
                throw Problem("has \(list.count) \(what) values, the input has \(declared) numbers")
            }
        }
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        var vector = try inputs.vector(table, minimum: 1)
        let maximum = max(shift.count, scale.count)
        guard maximum <= 1 || maximum == vector.count else {
            throw EvaluationError("expected \(maximum) numbers, found \(vector.count)", feature: inputs.inputs[0].name)
        }
        for index in vector.indices {
            let shift = shift.isEmpty ? 0 : shift[shift.count == 1 ? 0 : index]
            let scale = scale.isEmpty ? 1 : scale[scale.count == 1 ? 0 : index]
            vector[index] = (vector[index] + shift) * scale
        }
        return [output.name: .array(NumberArray(vector))]
    }
}

/// Divides a vector by its norm (Normalizer.proto).
struct Normalizer: ClassicalModel {
    private let norm: Norm
    private let inputs: NumberInputs
    private let output: FeatureSpecification

    private enum Norm: Int { case greatest, l1, l2 }

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        let number = try message.integer(1)
        guard let norm = Norm(rawValue: number) else { throw Problem("has the unknown norm \(number)") }
        self.norm = norm
        inputs = try NumberInputs([try description.onlyInput()])
        output = try description.onlyOutput()
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        let vector = try inputs.vector(table, minimum: 1)
        let divisor =
            switch norm {
            // The greatest value, not the greatest magnitude, as the file format requires.
            case .greatest: vector.max() ?? 0
            case .l1: vector.reduce(0) { $0 + abs($1) }
            case .l2: vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
            }
        // A vector of length zero is not changed.
        let scaled = divisor == 0 ? vector : vector.map { $0 / divisor }
        return [output.name: .array(NumberArray(scaled))]
    }
}

/// Extracts elements of an array by their indices in row-major order (ArrayFeatureExtractor.proto).
struct ArrayFeatureExtractor: ClassicalModel {
    private let indices: [Int]
    private let inputs: NumberInputs
    private let output: FeatureSpecification

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        indices = try message.integers(1)
        inputs = try NumberInputs([try description.onlyInput()])
        output = try description.onlyOutput()
        guard !indices.isEmpty else { throw Problem("extracts nothing") }
        if let wrong = indices.first(where: { $0 < 0 || $0 >= description.inputs.numberCount ?? Int.max }) {
            throw Problem(
                "extracts index \(UInt64(bitPattern: Int64(wrong))) of \(description.inputs.numberCount ?? 0) numbers")
        }
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        let vector = try inputs.vector(table, minimum: (indices.max() ?? 0) + 1)
        return [output.name: .array(NumberArray(indices.map { vector[$0] }))]
    }
}

/// Passes its inputs through (Identity.proto), matched by name, or by position if the names differ.
struct Identity: ClassicalModel {
    private let names: [(input: String, output: String)]

    init(_ description: InterfaceSpecification) throws(Problem) {
        let inputs = description.inputs.map(\.name), outputs = description.outputs.map(\.name)
        if Set(outputs).isSubset(of: inputs) {
            names = outputs.map { ($0, $0) }
        } else if inputs.count == outputs.count {
            names = Array(zip(inputs, outputs).map { ($0, $1) })
        } else {
            throw Problem("has \(inputs.count) inputs and \(outputs.count) outputs: expected as many")
        }
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        var outputs: FeatureTable = [:]
        for (input, output) in names { outputs[output] = table[input] }
        return outputs
    }
}
