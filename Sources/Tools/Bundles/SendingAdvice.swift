internal import Inference
internal import JSON
internal import SystemSupport

/// Commands that send values to a model without a task about pictures: for `ocelli check`.
enum SendingAdvice {
    /// The largest number of elements of an input that are written in a command.
    private static let maximumElements = 16

    /// True if an input is a picture.
    static func takesPictures(_ model: Model) -> Bool { model.description.inputs.contains { $0.image != nil } }

    /// True if the model answers a task about pictures: classes, boxes, masks, keypoints, an embedding, text.
    static func answersTask(_ model: Model) -> Bool { BundleCheck.routes(of: model).contains { $0 != "predict" } }

    /// The words for a model that loads: `good`, unless only `predict` and `/v2` answer.
    static func verdict(on model: Model) -> String {
        if answersTask(model) { return "good" }
        return "good for predict and /v2 only, "
            + (takesPictures(model) ? "which answer numbers" : "without pictures")
    }

    /// The lines with the commands; empty for a model that answers a task.
    static func lines(on model: Model, path: String) -> [String] {
        guard !answersTask(model) else { return [] }
        let description = model.description
        let route = "localhost:8080/v1/models/\(PercentEncoding.encode(description.name))/predict"
        let needed = description.inputs.filter { !$0.isOptional }
        var lines: [String] = []
        if description.imageInput != nil {
            lines.append("  send a picture: curl --data-binary @PICTURE \(ShellWord.quoted(route))")
        } else if takesPictures(model) {
            let parts = needed.map { input in
                input.image != nil
                    ? "-F \(ShellWord.quoted(input.name + "=@PICTURE"))"
                    : "-F \(ShellWord.quoted(input.name + "=" + (value(of: input) ?? "VALUES")))"
            }
            lines.append("  send a form: curl \(parts.joined(separator: " ")) \(ShellWord.quoted(route))")
        } else {
            let values = needed.map { input in value(of: input).map { "\(JSONText.quoted(input.name)): \($0)" } }
            if !values.contains(nil) {
                let json = "{\"inputs\": {\(values.compactMap { $0 }.joined(separator: ", "))}}"
                lines.append("  send values: curl --json \(ShellWord.quoted(json)) \(ShellWord.quoted(route))")
            } else {
                let forms = needed.map { "\(JSONText.quoted($0.name)): \($0.elementType.rawValue) \($0.shape)" }
                lines.append(
                    "  send values: curl --json @FILE \(ShellWord.quoted(route)), with {\"inputs\": {\(forms.joined(separator: ", "))}}"
                )
            }
        }
        // More than one input is never made from one picture, and outputs may have a meaning that no task has.
        if description.inputs.count == 1, !takesPictures(model), model.provenance?.missing.isEmpty == false {
            let remedy = "`ocelli init \(ShellWord.quoted(path))` writes a model.json to fill in"
            lines.append("  for answers about pictures, complete its description: \(remedy)")
        }
        return lines.map { PrintableText.text($0) }
    }

    /// An example of an input's value as JSON; nil if it is long, or of a kind without a short one.
    private static func value(of input: FeatureDescription) -> String? {
        func nested(_ extents: ArraySlice<Int>, _ element: String) -> String {
            guard let first = extents.first else { return element }
            let inner = nested(extents.dropFirst(), element)
            return "[" + [String](repeating: inner, count: first).joined(separator: ", ") + "]"
        }
        let extents = input.shape.dimensions.map { $0 == Shape.dynamic ? 1 : $0 }
        guard let count = Shape(extents).elementCount, (1...maximumElements).contains(count) else { return nil }
        switch input.kind {
        case .scalar: return "0"
        case .array: return nested(extents[...], "0")
        case .text: return nested(extents[...], "\"text\"")
        case .image, .string, .dictionary, .depth: return nil
        }
    }
}
