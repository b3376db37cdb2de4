/// An input or output in the file's description (Model.proto: FeatureDescription; FeatureTypes.proto: FeatureType).
package struct RefereeFeature: Sendable, Hashable {
    package let name: String
    package let kind: Kind

    package enum Kind: Sendable, Hashable {
        case double, int64, string
        /// An array. `count` is nil if the file does not fix its shape.
        case array(ArrayNumbers, count: Int?)
        case dictionary(hasIntegerKeys: Bool)
        /// A type that the referee does not know, by its name.
        case other(String)
    }

    /// The type of the numbers of an array.
    package enum ArrayNumbers: Sendable, Hashable { case float32, float64, int32 }

    /// The most numbers in one array.
    private static let maximumWidth = 1 << 20

    init(_ message: WireMessage) throws(ImpossibleJudgment) {
        var name = ""
        var kind = Kind.other("unset type")
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: name = try field.string()
            case 3: kind = try Self.kind(field.message())
            default: break
            }
        }
        self.name = name
        self.kind = kind
    }

    private static func kind(_ message: WireMessage) throws(ImpossibleJudgment) -> Kind {
        var kind = Kind.other("unset type")
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: kind = .int64
            case 2: kind = .double
            case 3: kind = .string
            case 4: kind = .other("picture")
            case 5: kind = try array(field.message())
            case 6: kind = .dictionary(hasIntegerKeys: try field.message().last(1) != nil)
            case 7: kind = .other("sequence")
            case 8: kind = .other("state")
            default: break
            }
        }
        return kind
    }

    private static func array(_ message: WireMessage) throws(ImpossibleJudgment) -> Kind {
        var shape: [Int64] = []
        var type: Int64 = 0
        var isFlexible = false
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: try field.append(to: &shape)
            case 2: type = try field.integer()
            case 21, 31: isFlexible = true
            default: break
            }
        }
        let numbers: ArrayNumbers
        switch type {
        case 0, 65_600: numbers = .float64
        case 65_568: numbers = .float32
        case 131_104: numbers = .int32
        default: return .other("array of the data type \(type)")
        }
        return .array(numbers, count: isFlexible ? nil : count(shape))
    }

    private static func count(_ shape: [Int64]) -> Int? {
        guard !shape.isEmpty else { return nil }
        var count = 1
        for extent in shape {
            guard extent > 0, extent <= Int64(maximumWidth) else { return nil }
            count *= Int(extent)
            guard count <= maximumWidth else { return nil }
        }
        return count
    }

    /// The number of numbers in a value; nil if it is open or the value has no numbers.
    var width: Int? {
        switch kind {
        case .double, .int64: 1
        case .array(_, let count): count
        case .string, .dictionary, .other: nil
        }
    }

    /// The type in words.
    var kindName: String {
        switch kind {
        case .double: "double"
        case .int64: "int64"
        case .string: "string"
        case .array: "multi-array"
        case .dictionary: "dictionary"
        case .other(let name): name
        }
    }
}

/// The interface of a model of the file (Model.proto: ModelDescription).
struct ModelInterface: Sendable {
    private(set) var inputs: [RefereeFeature] = []
    private(set) var outputs: [RefereeFeature] = []
    /// The output with the predicted class or number; empty if the file names none.
    private(set) var predicted = ""
    /// The output with the probabilities of the classes; empty if the file names none.
    private(set) var probabilities = ""

    init(_ message: WireMessage?) throws(ImpossibleJudgment) {
        var (inputs, outputs, predicted, probabilities) = (self.inputs, self.outputs, "", "")
        try message?.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: inputs.append(try RefereeFeature(field.message()))
            case 10: outputs.append(try RefereeFeature(field.message()))
            case 11: predicted = try field.string()
            case 12: probabilities = try field.string()
            case 20: throw ImpossibleJudgment("the file has several functions")
            default: break
            }
        }
        (self.inputs, self.outputs, self.predicted, self.probabilities) = (inputs, outputs, predicted, probabilities)
    }

    /// The only input.
    var input: RefereeFeature {
        get throws(ImpossibleJudgment) {
            guard inputs.count == 1, let input = inputs.first else {
                throw ImpossibleJudgment("a model of the file has \(inputs.count) inputs instead of one")
            }
            return input
        }
    }

    /// The only output.
    var output: RefereeFeature {
        get throws(ImpossibleJudgment) {
            guard outputs.count == 1, let output = outputs.first else {
                throw ImpossibleJudgment("a model of the file has \(outputs.count) outputs instead of one")
            }
            return output
        }
    }

    /// The output of a regressor: the predicted feature, else the first output.
    var regression: RefereeFeature {
        get throws(ImpossibleJudgment) {
            guard let output = outputs.first(where: { $0.name == predicted }) ?? outputs.first else {
                throw ImpossibleJudgment("a model of the file has no outputs")
            }
            return output
        }
    }

    /// The width of all inputs together; nil if one is open.
    var width: Int? {
        var sum = 0
        for input in inputs {
            guard let width = input.width else { return nil }
            sum += width
        }
        return sum
    }
}
