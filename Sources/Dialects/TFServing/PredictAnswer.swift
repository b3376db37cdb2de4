internal import Inference
internal import JSON
internal import Tasks
internal import WireFormats

/// Writes the outputs of a `:predict` request: `predictions` for rows, `outputs` for columns. The value of a model's
/// only output is written without its name; several outputs are an object by name.
struct PredictAnswer {
    let outputs: [FeatureDescription]
    let request: PredictRequest

    /// The whole answer.
    func json(_ items: [CopiedOutputs]) throws(ServiceError) -> [UInt8] {
        var writer = JSONWriter(capacity: 1024)
        var failure: ServiceError?
        writer.object { writer in
            writer.key(request.isRows ? "predictions" : "outputs")
            do throws(ServiceError) {
                if let count = request.joined, let whole = items.first {
                    try rows(whole, count: count, to: &writer)
                } else if request.isRows {
                    writer.array { writer in for item in items { instance(item, to: &writer) } }
                } else {
                    columns(items, to: &writer)
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return writer.bytes
    }

    /// Writes the value of each output: without a name if it is the only one, otherwise as a member.
    private func each(_ writer: inout JSONWriter, _ value: (Int, inout JSONWriter) -> Void) {
        guard outputs.count != 1 else { return value(0, &writer) }
        writer.object { writer in
            for (index, output) in outputs.enumerated() {
                writer.key(output.name)
                value(index, &writer)
            }
        }
    }

    // MARK: Rows

    private func instance(_ item: CopiedOutputs, to writer: inout JSONWriter) {
        each(&writer) { index, writer in
            item.withView(index) { write($0, outputs[index], withoutBatch: true, to: &writer) }
        }
    }

    /// Writes the rows of outputs that hold all instances.
    private func rows(_ item: CopiedOutputs, count: Int, to writer: inout JSONWriter) throws(ServiceError) {
        for (index, output) in outputs.enumerated() {
            let found = item.withView(index) { $0?.shape.dimensions.first }
            guard found == count else {
                throw .invalidInput(
                    "output \"\(output.name)\" has \(found.map { "\($0)" } ?? "no") rows for \(count) instances: ask with "
                        + "\"inputs\" instead of \"instances\"")
            }
        }
        writer.array { writer in
            for row in 0..<count {
                each(&writer) { index, writer in
                    item.withView(index) { view in
                        guard let view else { return writer.null() }
                        let size = view.bytes.count / count
                        let part = TensorView(
                            index: index, shape: Shape(Array(view.shape.dimensions.dropFirst())),
                            bytes: UnsafeRawBufferPointer(rebasing: view.bytes[row * size..<(row + 1) * size]))
                        write(part, outputs[index], withoutBatch: false, to: &writer)
                    }
                }
            }
        }
    }

    // MARK: Columns

    private func columns(_ items: [CopiedOutputs], to writer: inout JSONWriter) {
        each(&writer) { index, writer in
            if items.count == 1 {
                items[0].withView(index) { write($0, outputs[index], withoutBatch: false, to: &writer) }
            } else {
                writer.array { writer in
                    for item in items {
                        item.withView(index) { write($0, outputs[index], withoutBatch: true, to: &writer) }
                    }
                }
            }
        }
    }

    /// - Parameter withoutBatch: whether to omit an outermost axis of 1, which is the instance.
    private func write(
        _ view: TensorView?, _ output: FeatureDescription, withoutBatch: Bool, to writer: inout JSONWriter
    ) {
        guard let view else { return writer.null() }
        if output.elementType == .string {
            // One string, after its length.
            let text = String(decoding: view.bytes.dropFirst(4), as: UTF8.self)
            guard output.name.hasSuffix("_bytes") else { return writer.string(text) }
            return writer.object { writer in
                writer.key("b64")
                Array(text.utf8).withUnsafeBytes { writer.base64($0) }
            }
        }
        let extents = view.shape.dimensions
        NumberWriter(elementType: output.elementType, isTensorFlow: true).write(
            view.bytes, extents: withoutBatch && extents.first == 1 ? Array(extents.dropFirst()) : extents, to: &writer)
    }
}
