internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import WireFormats

/// Writes the answer to an `infer` request: JSON, followed by the binary data.
struct InferAnswer: Sendable {
    let modelName: String
    let modelVersion: String
    let id: String?
    /// The requested outputs, in the request's order, with their indices in the model.
    let outputs: [(output: InferBody.Output, index: Int, description: FeatureDescription)]
    /// True if outputs are binary by default.
    let isBinary: Bool

    init(
        request: InferBody, model: ModelDescription, name: String, version: String
    ) throws(ServiceError) {
        modelName = name
        modelVersion = version
        id = request.id
        isBinary = request.isBinary
        let requestedOutputs = request.outputs ?? model.outputs.map { InferBody.Output(name: $0.name) }
        outputs = requestedOutputs.compactMap { output in
            model.outputs.firstIndex { $0.name == output.name }.map { (output, $0, model.outputs[$0]) }
        }
        for (output, _, description) in outputs
        where output.classes == 0 && !(output.isBinary ?? isBinary) && !description.elementType.isInJSON {
            let type = description.elementType.datatype
            throw .invalidInput(
                "output \"\(output.name)\": \(type) cannot be sent as JSON; request it as binary data "
                    + "(parameter \"binary_data\" of the output, or \"binary_data_output\" of the request)")
        }
    }

    /// True if the answer has only tensors as binary data; they are then copied from the engine's memory straight into
    /// the answer.
    var isPlainBinary: Bool {
        outputs.allSatisfy { $0.output.classes == 0 && ($0.output.isBinary ?? isBinary) }
    }

    /// The answer for outputs; their memory is valid during the call only.
    /// - Throws: if classes are requested of values of which one is NaN.
    func checkedResponse(_ views: [TensorView]) throws(ServiceError) -> HTTPResponse {
        for (output, index, description) in outputs where output.classes != 0 {
            guard let view = views.first(where: { $0.index == index }) else { continue }
            var isNaN = false
            ElementConversion.read(view.bytes, as: description.elementType) { isNaN = isNaN || $1.isNaN }
            if isNaN { throw ServiceError(.invalidOutput(name: output.name, reason: "a value is NaN")) }
        }
        return response(views)
    }

    /// The answer for outputs without classes, or with classes of numbers.
    func response(_ views: [TensorView]) -> HTTPResponse {
        var data: [[UInt8]?] = []
        var writer = JSONWriter(capacity: 1024)
        var binaryCount = 0
        writer.object { writer in
            writer.key("model_name")
            writer.string(modelName)
            writer.key("model_version")
            writer.string(modelVersion)
            if let id {
                writer.key("id")
                writer.string(id)
            }
            writer.key("outputs")
            writer.array { writer in
                for (output, index, description) in outputs {
                    guard let view = views.first(where: { $0.index == index }) else { continue }
                    let asBinary = output.isBinary ?? isBinary
                    let classes = output.classes == 0 ? nil : Classes(view, description, count: output.classes)
                    let bytes = asBinary ? classes?.bytes : nil
                    let size = asBinary ? bytes?.count ?? view.bytes.count : nil
                    write(view, description, classes: classes, binarySize: size, to: &writer)
                    data.append(bytes)
                    binaryCount += size ?? 0
                }
            }
        }
        let isJSON = outputs.allSatisfy { !($0.output.isBinary ?? isBinary) }
        guard !isJSON else {
            return HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: writer.bytes)
        }
        let length = writer.bytes.count
        var body: [UInt8] = []
        body.reserveCapacity(length + binaryCount)
        body += writer.bytes
        for ((output, index, _), bytes) in zip(outputs, data) where output.isBinary ?? isBinary {
            if let bytes {
                body += bytes
            } else if let view = views.first(where: { $0.index == index }) {
                body.append(contentsOf: view.bytes)
            }
        }
        return HTTPResponse(
            status: .ok,
            fields: [
                ("Content-Type", "application/octet-stream"), ("Inference-Header-Content-Length", String(length)),
            ], body: body)
    }

    private func write(
        _ view: TensorView, _ description: FeatureDescription, classes: Classes?, binarySize: Int?,
        to writer: inout JSONWriter
    ) {
        writer.object { writer in
            writer.key("name")
            writer.string(description.name)
            writer.key("datatype")
            writer.string(classes == nil ? description.elementType.datatype : "BYTES")
            writer.key("shape")
            writer.array { writer in
                for extent in classes?.shape ?? view.shape.dimensions { writer.integer(extent) }
            }
            if let binarySize {
                writer.key("parameters")
                writer.object { writer in
                    writer.key("binary_data_size")
                    writer.integer(binarySize)
                }
                return
            }
            writer.key("data")
            if let classes {
                writer.array { writer in for text in classes.texts { writer.string(text) } }
            } else if description.elementType == .string {
                writer.array { writer in
                    // Each string follows its length.
                    var place = 0
                    while place + 4 <= view.bytes.count {
                        let length = Int(
                            UInt32(littleEndian: view.bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
                        let end = min(view.bytes.count, place + 4 + length)
                        writer.string(String(decoding: view.bytes[(place + 4)..<end], as: UTF8.self))
                        place = end
                    }
                }
            } else {
                let count =
                    description.elementType.byteCount == 0
                    ? 0 : view.bytes.count / description.elementType.byteCount
                NumberWriter(elementType: description.elementType).write(view.bytes, extents: [count], to: &writer)
            }
        }
    }
}

/// An output in the form of the classification extension: for each item of the batch the classes with the greatest
/// values, as `value:index:label`. Values are the tensor's own.
private struct Classes {
    let texts: [String]
    let shape: [Int]

    init(_ view: TensorView, _ description: FeatureDescription, count: Int) {
        let type = description.elementType
        let total = type.byteCount == 0 ? 0 : view.bytes.count / type.byteCount
        // The outermost axis is the batch, if the tensor has another axis.
        let isBatched = view.shape.dimensions.count > 1
        let rows = isBatched ? max(view.shape.dimensions[0], 1) : 1
        let width = total / rows
        let count = min(count, width)
        var values = [Double](repeating: 0, count: total)
        ElementConversion.read(view.bytes, as: type) { index, value in values[index] = value }
        var texts: [String] = []
        for row in 0..<rows {
            let first = row * width
            let order = (0..<width).sorted { (values[first + $1], $0) < (values[first + $0], $1) }
            for index in order.prefix(count) {
                let value = values[first + index]
                let text =
                    if !type.isFloatingPoint {
                        String(Int64(exactly: value) ?? 0)
                    } else if type == .float64 { value.description } else { Float(value).description }
                let label = description.labels.flatMap { index < $0.count ? ":" + $0[index] : nil } ?? ""
                texts.append("\(text):\(index)\(label)")
            }
        }
        self.texts = texts
        shape = isBatched ? [rows, count] : [count]
    }

    /// The texts as BYTES.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for text in texts {
            withUnsafeBytes(of: UInt32(text.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: text.utf8)
        }
        return bytes
    }
}
