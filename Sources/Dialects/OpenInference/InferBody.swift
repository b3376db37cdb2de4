internal import HTTPServer
internal import Inference
internal import JSON
internal import WireFormats
internal import SystemSupport

/// A parsed `infer` request: its inputs are read into the types that the model takes.
struct InferBody: Sendable {
    /// One input: a tensor, encoded pictures, or strings.
    struct Input: Sendable {
        let name: String
        let shape: Shape
        let content: Content

        enum Content: Sendable {
            case tensor(BorrowedArray)
            case pictures([EncodedImage])
            case strings(StringArray)
        }
    }

    /// One requested output.
    struct Output: Sendable, Hashable {
        var name: String
        /// The number of classes to answer instead of the tensor; 0 for the tensor.
        var classes = 0
        /// True if it is sent as binary data; nil for the request's default.
        var isBinary: Bool?
    }

    /// The client's identifier of the request, which the answer repeats.
    var id: String?
    var inputs: [Input] = []
    /// The requested outputs; nil for all.
    var outputs: [Output]?
    /// True if outputs are sent as binary data by default.
    var isBinary = false
    /// The timeout of the request in microseconds; nil for the server's default.
    var timeout: Int?
}

/// Reads the JSON of an `infer` request, and locates the binary data after it.
struct InferBodyReader {
    let model: ModelDescription
    let body: HTTPBody
    /// The number of bytes of JSON; binary data follows.
    let headerLength: Int
    /// The maximum number of pictures in one input.
    let maximumPictures: Int
    private var request = InferBody()
    /// The offset of the binary data of the next input.
    private var next: Int

    /// - Parameter headerLength: the value of `Inference-Header-Content-Length`; nil if the whole body is JSON.
    init(model: ModelDescription, body: HTTPBody, headerLength: Int?, maximumPictures: Int) {
        self.model = model
        self.maximumPictures = maximumPictures
        self.body = body
        self.headerLength = headerLength ?? body.count
        next = self.headerLength
    }

    /// Reads the request.
    mutating func read() throws(ServiceError) -> InferBody {
        var reader = self
        let result: Result<InferBody, JSONError> = body.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                try reader.read(UnsafeRawBufferPointer(rebasing: bytes[..<reader.headerLength]))
            }
        }
        return try result.mapError { ServiceError($0) }.get()
    }

    private mutating func read(_ text: UnsafeRawBufferPointer) throws(JSONError) -> InferBody {
        var scanner = JSONScanner(text)
        var hasInputs = false
        try scanner.object("the body") { (key, scanner) throws(JSONError) in
            switch key {
            case "id": request.id = try scanner.takesNull() ? nil : try scanner.string("\"id\"")
            case "parameters": try readParameters(&scanner)
            case "inputs":
                hasInputs = true
                try scanner.array("\"inputs\"") { (index, scanner) throws(JSONError) in
                    let input = try readInput(index, &scanner)
                    guard !request.inputs.contains(where: { $0.name == input.name }) else {
                        throw .value("input \"\(input.name)\": is given twice")
                    }
                    request.inputs.append(input)
                }
            case "outputs": try readOutputs(&scanner)
            default: try scanner.skip()
            }
        }
        try scanner.end()
        guard hasInputs else { throw .value("\"inputs\" is missing: expected an array of tensors") }
        guard next == body.count else {
            throw .value(
                "expected \(next - headerLength) bytes of binary data after the JSON, as the binary_data_size of the inputs "
                    + "says, found \(body.count - headerLength)")
        }
        let missing = model.inputs.filter { input in
            !input.isOptional && !request.inputs.contains { $0.name == input.name }
        }
        guard missing.isEmpty else {
            throw .value(
                "input \(missing.map { "\"\($0.name)\"" }.joined(separator: ", ")): is missing; the model takes "
                    + model.inputs.map { "\"\($0.name)\"" }.joined(separator: ", "))
        }
        return request
    }

    private mutating func readParameters(_ scanner: inout JSONScanner) throws(JSONError) {
        if try scanner.takesNull() { return }
        try scanner.object("\"parameters\"") { (key, scanner) throws(JSONError) in
            switch key {
            case "binary_data_output": request.isBinary = try scanner.bool("parameter \"binary_data_output\"")
            case "timeout":
                let time = try scanner.count("parameter \"timeout\"", "microseconds")
                // As in Triton, 0 means that the client sets no timeout.
                request.timeout = time == 0 ? nil : time
            case "priority":
                // Ignored: all requests of a model wait in one queue, first come, first served.
                _ = try scanner.count("parameter \"priority\"", "a priority")
            case "sequence_id":
                let kind = try scanner.kind()
                if kind == .number, try scanner.number().mantissa == 0 { return }
                throw .value("parameter \"sequence_id\": sequences of requests are not supported")
            default: try scanner.skip()
            }
        }
    }

    private mutating func readOutputs(_ scanner: inout JSONScanner) throws(JSONError) {
        if try scanner.takesNull() { return }
        var outputs: [InferBody.Output] = []
        try scanner.array("\"outputs\"") { (index, scanner) throws(JSONError) in
            let output = try readOutput(index, &scanner)
            guard !outputs.contains(where: { $0.name == output.name }) else {
                throw .value("output \"\(output.name)\": is listed twice")
            }
            outputs.append(output)
        }
        request.outputs = outputs.isEmpty ? nil : outputs
    }

    private mutating func readOutput(
        _ index: Int, _ scanner: inout JSONScanner
    ) throws(JSONError) -> InferBody.Output {
        var output = InferBody.Output(name: "")
        var hasName = false
        try scanner.object("outputs[\(index)]") { (key, scanner) throws(JSONError) in
            switch key {
            case "name":
                output.name = try scanner.string("outputs[\(index)]: \"name\"")
                hasName = true
            case "parameters":
                if try scanner.takesNull() { return }
                try scanner.object("outputs[\(index)]: \"parameters\"") { (key, scanner) throws(JSONError) in
                    switch key {
                    case "binary_data":
                        output.isBinary = try scanner.bool("outputs[\(index)]: parameter \"binary_data\"")
                    case "classification":
                        output.classes = try scanner.count(
                            "outputs[\(index)]: parameter \"classification\"", "a number of classes")
                    case "shared_memory_region": throw Self.noSharedMemory
                    default: try scanner.skip()
                    }
                }
            default: try scanner.skip()
            }
        }
        guard hasName else { throw .value("outputs[\(index)]: \"name\" is missing") }
        guard model.outputs.contains(where: { $0.name == output.name }) else {
            let names = model.outputs.map(\.name)
            throw .value(
                "output \"\(output.name.prefix(200))\": the model has no output of this name"
                    + Spelling.hint(for: output.name, among: names) + "; it has "
                    + names.map { "\"\($0)\"" }.joined(separator: ", "))
        }
        return output
    }

    static var noSharedMemory: JSONError {
        .value("shared memory is not supported: send the tensor as binary data")
    }

    // MARK: Inputs

    /// The members of an input's object, in any order.
    private struct Parts {
        var name: String?, datatype: String?, shape: Shape?
        var binarySize: Int?
        /// The offset of `data`, if it precedes a member that is needed to read it.
        var dataAt: Int?
        var content: InferBody.Input.Content?
    }

    private mutating func readInput(
        _ index: Int, _ scanner: inout JSONScanner
    ) throws(JSONError) -> InferBody.Input {
        var parts = Parts()
        // The input's name in errors, as soon as it is known.
        func label() -> String { parts.name.map { "input \"\($0.prefix(200))\"" } ?? "inputs[\(index)]" }
        try scanner.object("inputs[\(index)]") { (key, scanner) throws(JSONError) in
            switch key {
            case "name": parts.name = try scanner.string("inputs[\(index)]: \"name\"")
            case "datatype": parts.datatype = try scanner.string("\(label()): \"datatype\"")
            case "shape": parts.shape = try Self.shape(label(), &scanner)
            case "parameters":
                if try scanner.takesNull() { return }
                try scanner.object("\(label()): \"parameters\"") { (key, scanner) throws(JSONError) in
                    switch key {
                    case "binary_data_size":
                        parts.binarySize = try scanner.count("\(label()): binary_data_size", "a number of bytes")
                    case "shared_memory_region": throw Self.noSharedMemory
                    default: try scanner.skip()
                    }
                }
            case "data":
                if parts.name != nil, parts.datatype != nil, parts.shape != nil {
                    parts.content = try content(parts, at: index, &scanner)
                } else {
                    _ = try scanner.kind()
                    parts.dataAt = scanner.position
                    try scanner.skip()
                }
            default: try scanner.skip()
            }
        }
        if parts.content == nil, let place = parts.dataAt {
            var again = scanner.moved(to: place)
            parts.content = try content(parts, at: index, &again)
        }
        let (description, shape) = try described(parts, at: index)
        if let size = parts.binarySize {
            guard parts.content == nil else {
                throw .value("input \"\(description.name)\": has both \"data\" and binary data")
            }
            guard size <= body.count - next else {
                throw .value(
                    "input \"\(description.name)\": expected \(size) bytes of binary data, found \(body.count - next)")
            }
            let range = next..<next + size
            next += size
            parts.content = try InferTensor(description: description, shape: shape, maximumPictures: maximumPictures)
                .binary(
                    body, range)
        }
        guard let content = parts.content else {
            throw .value("input \"\(description.name)\": \"data\" (or binary data) is missing")
        }
        return InferBody.Input(name: description.name, shape: shape, content: content)
    }

    private func content(
        _ parts: Parts, at index: Int, _ scanner: inout JSONScanner
    ) throws(JSONError) -> InferBody.Input.Content {
        let (description, shape) = try described(parts, at: index)
        return try InferTensor(description: description, shape: shape, maximumPictures: maximumPictures).json(&scanner)
    }

    /// The model's input with the given name. Its type and shape must fit the model.
    private func described(_ parts: Parts, at index: Int) throws(JSONError) -> (FeatureDescription, Shape) {
        guard let name = parts.name else { throw .value("inputs[\(index)]: \"name\" is missing") }
        guard let input = model.inputs.first(where: { $0.name == name }) else {
            let names = model.inputs.map(\.name)
            throw .value(
                "input \"\(name.prefix(200))\": the model has no input of this name"
                    + Spelling.hint(for: name, among: names) + "; it has "
                    + names.map { "\"\($0)\"" }.joined(separator: ", "))
        }
        guard let datatype = parts.datatype else {
            throw .value(
                "input \"\(name)\": \"datatype\" is missing: expected \"\(input.elementType.datatype)\"")
        }
        guard let shape = parts.shape else {
            throw .value("input \"\(name)\": \"shape\" is missing: expected \(Shape(input.metadataShape))")
        }
        guard input.kind != .dictionary else {
            throw .value("input \"\(name)\": is a dictionary, not a tensor: POST it to /v1/models/NAME/predict")
        }
        let takesPictures = input.kind == .image
        guard datatype == input.elementType.datatype || takesPictures && datatype == "BYTES" else {
            throw .value(
                "input \"\(name)\": expected datatype \(input.elementType.datatype)"
                    + (takesPictures ? " (or BYTES, encoded pictures)" : "") + ", found \(datatype.prefix(20))")
        }
        if takesPictures, datatype == "BYTES", input.elementType != .string {
            return (input.takingPictures, shape)
        }
        try InferTensor.check(shape, for: input)
        return (input, shape)
    }

    private static func shape(_ input: String, _ scanner: inout JSONScanner) throws(JSONError) -> Shape {
        var extents: [Int] = []
        try scanner.array("\(input): \"shape\"") { (index, scanner) throws(JSONError) in
            guard index < JSONScanner.maximumRank else {
                throw .value("\(input): shape: has more than \(JSONScanner.maximumRank) axes")
            }
            extents.append(try scanner.count("\(input): shape[\(index)]", "an extent"))
        }
        return Shape(extents)
    }
}
