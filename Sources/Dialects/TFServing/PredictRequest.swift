internal import Inference
internal import JSON
internal import WireFormats
internal import SystemSupport

/// The body of a `:predict` request of TensorFlow Serving's and KServe's REST interface, version 1:
///
/// ```
/// {"instances": [VALUE, ...]}               rows: one value for each instance, for a model with one input
/// {"instances": [{"NAME": VALUE}, ...]}     rows: the inputs of each instance by name
/// {"inputs": VALUE}                         columns: the values of all instances, for a model with one input
/// {"inputs": {"NAME": VALUE, ...}}          columns by name
/// ```
/// `signature_name` is that of the one signature that a model has here; other members are ignored.
struct PredictRequest: Sendable {
    /// True for `instances`, which are answered by `predictions`; false for `inputs`, answered by `outputs`.
    private(set) var isRows = true
    /// The inputs of each prediction.
    private(set) var items: [DictionaryFeatureProvider] = []
    /// The number of instances in the one prediction of a model that takes them together; nil if each instance is a
    /// prediction.
    private(set) var joined: Int?

    /// The name of a model's only signature.
    static let signature = "serving_default"

    /// - Parameters:
    ///   - maximum: the maximum number of instances.
    ///   - takesList: whether a bare list counts as `instances`.
    init(
        _ text: UnsafeRawBufferPointer, inputs: [FeatureDescription], maximum: Int, takesList: Bool = false
    ) throws(JSONError) {
        var scanner = JSONScanner(text)
        let reader = RowsReader(inputs: inputs, maximum: maximum)
        if takesList, try scanner.kind() == .array {
            (items, joined) = try reader.rows(&scanner)
            try scanner.end()
            return
        }
        var found: Set<String> = []
        var rows = true, read: (items: [DictionaryFeatureProvider], joined: Int?) = ([], nil)
        try scanner.object("the body") { (key, scanner) throws(JSONError) in
            switch key {
            case "signature_name":
                let name = try scanner.takesNull() ? "" : try scanner.string("\"signature_name\"")
                guard name.isEmpty || name == Self.signature else {
                    throw .value(
                        "\"signature_name\": expected \"\(Self.signature)\", the only signature of a model here, found "
                            + "\"\(name.prefix(60))\"")
                }
            case "instances":
                found.insert(key)
                read = try reader.rows(&scanner)
            case "inputs":
                found.insert(key)
                rows = false
                read = (try reader.columns(&scanner), nil)
            default: try scanner.skip()
            }
        }
        try scanner.end()
        guard found.count == 1 else {
            throw .value("expected either \"instances\" or \"inputs\", found \(found.isEmpty ? "neither" : "both")")
        }
        isRows = rows
        (items, joined) = read
    }
}

/// Reads the values of `instances` and `inputs` in any of their forms.
private struct RowsReader {
    let inputs: [FeatureDescription]
    let maximum: Int

    private var names: String { inputs.map { "\"\($0.name)\"" }.joined(separator: ", ") }

    private func reader(_ input: FeatureDescription) -> InstanceReader {
        InstanceReader(input: input, maximum: maximum)
    }

    /// True if each instance is a prediction, because every input of the model can be split.
    private var isSplit: Bool { inputs.allSatisfy { reader($0).isSplit } }

    // MARK: Rows

    func rows(_ scanner: inout JSONScanner) throws(JSONError) -> (items: [DictionaryFeatureProvider], joined: Int?) {
        try scanner.expect(.array, "\"instances\"")
        if !isSplit, inputs.count == 1, let input = inputs.first, !beginsWithObject(scanner) {
            // All instances are one tensor, with their own nesting.
            let value = try reader(input).column(&scanner)
            guard let whole = value.first, case .borrowedArray(let array) = whole else {
                throw .value("\"instances\": expected numbers for input \"\(input.name)\"")
            }
            return ([DictionaryFeatureProvider([(name: input.name, value: whole)])], array.shape.dimensions.first ?? 1)
        }
        var items: [[Row]] = []
        try scanner.array { (index, scanner) throws(JSONError) in
            guard index < maximum else {
                throw .value("\"instances\" has more than \(maximum) elements, the limit (max_batch)")
            }
            do throws(JSONError) {
                let row = try row(&scanner)
                try checkNesting(of: row, as: items.first ?? row)
                items.append(row)
            } catch {
                throw error.prefixed("instance \(index + 1): ")
            }
        }
        guard !items.isEmpty else { throw .value("\"instances\" is empty") }
        guard !isSplit else {
            return (items.map { DictionaryFeatureProvider($0.map { (name: $0.name, value: $0.value) }) }, nil)
        }
        return ([try together(items)], items.count)
    }

    private func beginsWithObject(_ scanner: JSONScanner) -> Bool {
        var ahead = scanner
        return ahead.take(UInt8(ascii: "[")) && ahead.take(UInt8(ascii: "{"))
    }

    /// The value of one input of an instance, and the number of arrays around its elements.
    private typealias Row = (name: String, value: FeatureValue, rank: Int)

    /// Checks that each value is nested like that of the first instance: for clients, all instances form one tensor.
    private func checkNesting(of row: [Row], as first: [Row]) throws(JSONError) {
        func arrays(_ rank: Int) -> String { "a value in \(rank == 0 ? "no" : "\(rank)") array\(rank == 1 ? "" : "s")" }
        for value in row {
            guard let model = first.first(where: { $0.name == value.name }), model.rank != value.rank else { continue }
            throw .value(
                "input \"\(value.name)\": expected \(arrays(model.rank)), as in instance 1, found \(arrays(value.rank)): "
                    + "the arrays are not regular")
        }
    }

    /// The inputs of one instance.
    private func row(_ scanner: inout JSONScanner) throws(JSONError) -> [Row] {
        if try scanner.kindOrNumber() == .object, !isBase64(scanner) {
            var values: [Row] = []
            try named(&scanner) { (input, scanner) throws(JSONError) in
                values.append(try rowValue(input, &scanner))
            }
            return values
        }
        return [try rowValue(try only("an instance"), &scanner)]
    }

    private func rowValue(_ input: FeatureDescription, _ scanner: inout JSONScanner) throws(JSONError) -> Row {
        guard isSplit || reader(input).isSplit else {
            // One of the elements along the outermost axis: the shape is checked when all have been read.
            let open = TensorReader(
                name: input.name, elementType: input.elementType, count: input.shape.elementCount,
                takesMissing: input.takesMissing, takesNonFinite: true)
            guard input.elementType != .string else {
                throw .value("input \"\(input.name)\": cannot be given by instance: use \"inputs\"")
            }
            let (elements, extents, _) = try open.read(&scanner)
            do throws(InferenceError) {
                let array = try elements.tensor(input.elementType, shape: Shape(extents))
                return (input.name, .borrowedArray(array), extents.count)
            } catch {
                throw .value("input \"\(input.name)\": \(error.message)")
            }
        }
        let (value, rank) = try reader(input).value(&scanner)
        return (input.name, value, rank)
    }

    /// Joins the instances of a model that takes them together, input by input.
    private func together(_ rows: [[Row]]) throws(JSONError) -> DictionaryFeatureProvider {
        var values: [(name: String, value: FeatureValue)] = []
        for input in inputs {
            let found = rows.compactMap { row in row.first { $0.name == input.name }?.value }
            if found.isEmpty { continue }
            var arrays: [BorrowedArray] = []
            for case .borrowedArray(let array) in found { arrays.append(array) }
            guard arrays.count == rows.count, let first = arrays.first else {
                throw .value("input \"\(input.name)\": expected numbers of the same shape in every instance")
            }
            if let other = arrays.firstIndex(where: { $0.shape != first.shape }) {
                throw .value(
                    "instance \(other + 1): input \"\(input.name)\": expected numbers of the same shape in every instance, "
                        + "\(first.shape) as in instance 1, found \(arrays[other].shape)")
            }
            guard let whole = try joined(arrays, input) else { continue }
            try InferTensor.check(whole.shape, for: input)
            values.append((input.name, .borrowedArray(whole)))
        }
        return DictionaryFeatureProvider(values)
    }

    private func joined(_ arrays: [BorrowedArray], _ input: FeatureDescription) throws(JSONError) -> BorrowedArray? {
        do throws(InferenceError) {
            return try BorrowedArray.joining(arrays)
        } catch {
            throw .value("input \"\(input.name)\": \(error.message)")
        }
    }

    // MARK: Columns

    func columns(_ scanner: inout JSONScanner) throws(JSONError) -> [DictionaryFeatureProvider] {
        var columns: [(input: FeatureDescription, values: [FeatureValue])] = []
        if try scanner.kindOrNumber() == .object, !isBase64(scanner) {
            try named(&scanner) { (input, scanner) throws(JSONError) in
                columns.append((input, try reader(input).column(&scanner)))
            }
        } else {
            let input = try only("\"inputs\"")
            columns = [(input, try reader(input).column(&scanner))]
        }
        guard let first = columns.first else { return [DictionaryFeatureProvider([])] }
        for column in columns where column.values.count != first.values.count {
            throw .value(
                "input \"\(column.input.name)\": expected \(first.values.count) "
                    + "instance\(first.values.count == 1 ? "" : "s"), as input \"\(first.input.name)\" has, found "
                    + "\(column.values.count)")
        }
        return first.values.indices.map { index in
            DictionaryFeatureProvider(columns.map { (name: $0.input.name, value: $0.values[index]) })
        }
    }

    // MARK: Names

    /// Reads an object of values by the names of inputs; every required input must be present.
    private func named(
        _ scanner: inout JSONScanner, _ read: (FeatureDescription, inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        var given: Set<String> = []
        try scanner.object { (key, scanner) throws(JSONError) in
            guard let input = inputs.first(where: { $0.name == key }) else {
                let hint = Spelling.hint(for: key, among: inputs.map(\.name))
                throw .value(
                    "input \"\(key.prefix(200))\": the model has no input of this name\(hint); it has \(names)")
            }
            given.insert(key)
            if input.isOptional, scanner.startsWithNull, try scanner.takesNull() { return }
            try read(input, &scanner)
        }
        let missing = inputs.filter { !$0.isOptional && !given.contains($0.name) }.map { "\"\($0.name)\"" }
        guard missing.isEmpty else {
            throw .value("input \(missing.joined(separator: ", ")): is missing; the model has \(names)")
        }
    }

    /// The input for a value without a name.
    private func only(_ what: String) throws(JSONError) -> FeatureDescription {
        let needed = inputs.filter { !$0.isOptional }
        guard let input = inputs.count == 1 ? inputs.first : needed.count == 1 ? needed.first : nil else {
            throw .value("\(what): expected an object with the inputs by name: the model has \(names)")
        }
        return input
    }

    /// True if an object is base64 bytes, not inputs by name.
    private func isBase64(_ scanner: JSONScanner) -> Bool {
        var ahead = scanner
        guard !inputs.contains(where: { $0.name == "b64" }), ahead.take(UInt8(ascii: "{")),
            let name = try? ahead.string()
        else { return false }
        return name == "b64"
    }
}

extension JSONScanner {
    /// The kind of the next value; `NaN` and `Infinity` count as numbers.
    fileprivate mutating func kindOrNumber() throws(JSONError) -> Kind {
        skipSpace()
        return byte == UInt8(ascii: "N") || byte == UInt8(ascii: "I") ? .number : try kind()
    }

    fileprivate var startsWithNull: Bool {
        var ahead = self
        ahead.skipSpace()
        return ahead.byte == UInt8(ascii: "n")
    }
}
