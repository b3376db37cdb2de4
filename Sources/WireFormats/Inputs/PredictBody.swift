package import Inference
package import JSON
internal import SystemSupport

/// The inputs of a `predict` request, read from its JSON body:
///
/// ```
/// {"inputs": {"name": value, ...}}     by name
/// {"inputs": [value, ...]}             by order
/// [value, ...]                         by order
/// {"items": [inputs, inputs, ...]}     several predictions: each what "inputs" takes
/// {"name": value, ...}                 by name, where some are numbers, strings or dictionaries
/// ```
/// With one input, `"inputs"` may be that input's value itself.
package struct PredictBody {
    /// The values of one prediction.
    package typealias Item = DictionaryFeatureProvider

    /// One item, or several if the body has `items`.
    package let items: [Item]
    /// True if the answer is a list.
    package let isBatch: Bool

    /// - Parameters:
    ///   - isWhole: whether every required input must be present, if inputs are given by name.
    ///   - maximum: the maximum number of items.
    ///
    /// Long: the members of a body in the order in which they may come.
    package init(
        _ text: UnsafeRawBufferPointer, inputs: [FeatureDescription], isWhole: Bool = true, maximum: Int
    ) throws(JSONError) {
        var scanner = JSONScanner(text)
        let reader = ItemReader(inputs: inputs, isWhole: isWhole)
        switch try scanner.kind() {
        case .array:
            items = [try reader.read(&scanner)]
            isBatch = false
        case .object:
            var single: Item?
            var several: [Item]?
            var flat = NamedValues(inputs)
            try scanner.object { (key, scanner) throws(JSONError) in
                switch key {
                case "inputs": single = try reader.read(&scanner)
                case "items":
                    guard try scanner.kind() == .array else {
                        throw .value(
                            "\"items\": expected an array with the inputs of one prediction each, found "
                                + "\(try scanner.kind().rawValue)")
                    }
                    var found: [Item] = []
                    try scanner.array { (index, scanner) throws(JSONError) in
                        guard index < maximum else {
                            throw .value(
                                "\"items\" has more than \(maximum) elements, the limit (max_batch)")
                        }
                        do throws(JSONError) {
                            found.append(try reader.read(&scanner))
                        } catch {
                            throw error.prefixed("item \(index + 1): ")
                        }
                    }
                    several = found
                case _ where reader.isFlat && inputs.contains { $0.name == key }: try flat.read(key, &scanner)
                default:
                    throw .value(
                        "member \"\(key.prefix(60))\" is unknown\(Spelling.hint(for: key, among: ["inputs", "items"]))"
                            + "; expected {\"inputs\": {\"NAME\": VALUE}} with \(reader.names)")
                }
            }
            if single == nil, several == nil {
                if reader.isFlat { single = try flat.item(isWhole: isWhole) }
            } else if let name = flat.first {
                throw .value(
                    "input \"\(name.prefix(60))\" cannot be combined with \"\(single == nil ? "items" : "inputs")\": give all inputs in one place"
                )
            }
            guard (single == nil) != (several == nil) else {
                throw .value(
                    "expected either \"inputs\" or \"items\", found \(single == nil ? "neither" : "both")")
            }
            if let several, several.isEmpty {
                throw .value("\"items\" is empty")
            }
            items = several ?? single.map { [$0] } ?? []
            isBatch = several != nil
        case let kind:
            throw .value(
                "expected {\"inputs\": {\"NAME\": VALUE}} or [VALUE, ...] with \(reader.names), found \(kind.rawValue)")
        }
        try scanner.end()
    }
}

/// The inputs of one prediction so far, by name.
package struct NamedValues {
    private let inputs: [FeatureDescription]
    private let pictures: PictureFiles?
    private var values: [FeatureValue?]
    /// The name of the first input with a value; nil if no input has one.
    var first: String? { zip(inputs, values).first { $0.1 != nil }?.0.name }

    package init(_ inputs: [FeatureDescription], pictures: PictureFiles? = nil) {
        self.inputs = inputs
        self.pictures = pictures
        values = [FeatureValue?](repeating: nil, count: inputs.count)
    }

    /// Reads the value of a name.
    mutating func read(_ key: String, _ scanner: inout JSONScanner) throws(JSONError) {
        guard let index = inputs.firstIndex(where: { $0.name == key }) else {
            let hint = Spelling.hint(for: key, among: inputs.map(\.name))
            throw .value(
                "input \"\(key.prefix(200))\": the model has no input of this name\(hint); "
                    + "it has \(ItemReader(inputs: inputs).names)")
        }
        guard values[index] == nil else { throw .value("input \"\(key.prefix(200))\": is given twice") }
        if inputs[index].isOptional, try scanner.takesNull() { return }
        values[index] = try InputValueReader(input: inputs[index], pictures: pictures).read(&scanner)
    }

    /// Sets the value of an input by name; ignores unknown names.
    package mutating func set(_ name: String, _ value: FeatureValue) {
        if let index = inputs.firstIndex(where: { $0.name == name }) { values[index] = value }
    }

    /// The inputs so far.
    /// - Parameter isWhole: whether every required input must be present.
    package func item(isWhole: Bool) throws(JSONError) -> PredictBody.Item {
        let missing = zip(inputs, values).filter { $0.1 == nil && !$0.0.isOptional }.map { "\"\($0.0.name)\"" }
        guard missing.isEmpty || !isWhole else {
            throw .value(
                "input \(missing.joined(separator: ", ")): is missing; the model has \(ItemReader(inputs: inputs).names)"
            )
        }
        return DictionaryFeatureProvider(
            zip(inputs, values).compactMap { input, value in value.map { (name: input.name, value: $0) } })
    }
}

/// Reads the value of `"inputs"` in any of its forms.
struct ItemReader {
    let inputs: [FeatureDescription]
    var isWhole = true
    /// The folder of pictures that are given by file name; nil if they are base64 text.
    var pictures: PictureFiles?

    /// The inputs, for errors.
    var names: String {
        "the input\(inputs.count == 1 ? "" : "s") " + inputs.map { "\"\($0.name)\"" }.joined(separator: ", ")
    }

    func read(_ scanner: inout JSONScanner) throws(JSONError) -> PredictBody.Item {
        let kind = try scanner.kind()
        if kind == .object { return try byName(&scanner) }
        if inputs.count == 1, let input = inputs.first {
            // One array of numbers in any wrapping: `[1, 2]` by value and `[[1, 2]]` by order mean the same.
            let isPlain = input.kind == .array || input.kind == .scalar
            if isPlain || kind != .array {
                return DictionaryFeatureProvider([(name: input.name, value: try value(input, &scanner))])
            }
        }
        guard kind == .array else {
            throw .value(
                "expected the values of \(names), by name in an object or by order in an array, found \(kind.rawValue)")
        }
        return try byOrder(&scanner)
    }

    /// True if the inputs may be members of the body itself: some are numbers, strings or dictionaries, and none is a
    /// picture, which would have to be base64 text. The inputs of a model with only tensors are members of "inputs",
    /// where a misspelt name is noticed.
    var isFlat: Bool {
        inputs.contains { [.scalar, .text, .dictionary].contains($0.kind) }
            && inputs.allSatisfy { $0.kind != .image && $0.kind != .string }
    }

    private func byName(_ scanner: inout JSONScanner) throws(JSONError) -> PredictBody.Item {
        var values = NamedValues(inputs, pictures: pictures)
        try scanner.object { (key, scanner) throws(JSONError) in try values.read(key, &scanner) }
        return try values.item(isWhole: isWhole)
    }

    private func byOrder(_ scanner: inout JSONScanner) throws(JSONError) -> PredictBody.Item {
        var values: [(name: String, value: FeatureValue)] = []
        var count = 0
        try scanner.array { (index, scanner) throws(JSONError) in
            count += 1
            guard index < inputs.count else {
                throw .value(
                    "expected \(inputs.count) value\(inputs.count == 1 ? "" : "s") in order (\(names)), found more")
            }
            if inputs[index].isOptional, try scanner.takesNull() { return }
            values.append((inputs[index].name, try value(inputs[index], &scanner)))
        }
        // Optional inputs at the end may be omitted.
        guard inputs.dropFirst(count).allSatisfy(\.isOptional) else {
            throw .value(
                "expected \(inputs.count) value\(inputs.count == 1 ? "" : "s") in order (\(names)), found \(count)")
        }
        return DictionaryFeatureProvider(values)
    }

    private func value(_ input: FeatureDescription, _ scanner: inout JSONScanner) throws(JSONError) -> FeatureValue {
        try InputValueReader(input: input, pictures: pictures).read(&scanner)
    }
}
