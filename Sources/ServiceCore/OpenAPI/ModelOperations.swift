internal import JSON
internal import WireFormats

/// The operations of one model: without the parameters, bodies and answers that it does not have.
struct ModelOperations {
    let model: ModelInterface

    init(_ model: ModelInterface) { self.model = model }

    /// Adapts an operation.
    func fill(_ operation: inout JSONValue, name: String) {
        if case .string(let summary) = operation["summary"] {
            operation["summary"] = .string(summary.replacing(" a model", with: " \(model.name)"))
        }
        operation["tags"] = .null
        if name == "predict" { fillPredict(&operation) }
        if name == "classify", !model.isCalibrated { Self.remove(["coverage"], from: &operation) }
    }

    private static func remove(_ names: Set<String>, from operation: inout JSONValue) {
        guard case .array(let parameters) = operation["parameters"] else { return }
        let gone = names.map { ModelDocument.reference("parameters", $0) }
        operation["parameters"] = .array(parameters.filter { !gone.contains($0) })
    }

    private func fillPredict(_ operation: inout JSONValue) {
        var removed: Set<String> = []
        if !model.outputs.contains(where: { $0.labels != nil }) { removed.formUnion(["top", "threshold"]) }
        let takesPictures = model.inputs.contains { $0.form == .picture }
        if !takesPictures { removed.formUnion(["crop", "orientation", "page", "explain"]) }
        Self.remove(removed, from: &operation)
        if case .object(var content) = operation["requestBody"]["content"] {
            if model.pictureInput == nil {
                content = content.filter { !$0.key.hasPrefix("image/") && $0.key != "application/octet-stream" }
            }
            // A part of a form is an input; a model with one picture takes several as a batch.
            content["multipart/form-data"] = model.pictureInput == nil ? form : content["multipart/form-data"]
            operation["requestBody"]["content"] = .object(content)
        }
        if case .object(var content) = operation["responses"]["200"]["content"] {
            if !takesPictures { content["application/x-npy"] = nil }
            if model.outputs.count(where: { $0.form == .picture }) != 1, !takesPictures { content["image/png"] = nil }
            operation["responses"]["200"]["content"] = .object(content)
        }
    }

    /// A form with a part for each input: a picture's bytes, or JSON.
    private var form: JSONValue? {
        guard model.inputs.count > 1 else { return nil }
        var properties: [String: JSONValue] = [:]
        for input in model.inputs {
            properties[input.name] =
                input.form == .picture
                ? .object(["type": .string("string"), "format": .string("binary")]) : ModelSchemas.input(input)
        }
        return .object([
            "schema": .object([
                "type": .string("object"), "properties": .object(properties),
                "required": ModelSchemas.required(model.inputs),
            ])
        ])
    }
}
