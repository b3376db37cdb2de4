package import HTTPServer
internal import HTTPWire
internal import ImagePipeline
package import Inference
internal import JSON
package import WireFormats

/// The inputs of a model by name: in JSON, in a form, or a picture for its only picture input.
package struct NamedInputs: TaskInputs {
    let model: Model
    /// True if every required input must be present; false for `explain`, which needs only the picture.
    let isWhole: Bool
    /// The maximum number of items.
    let maximumItems: Int

    package static var itemKind: ItemKind { .inputs }

    package func item(_ image: EncodedImage, found: String) throws(ServiceError) -> DictionaryFeatureProvider {
        if let input = model.description.imageInput { return [input.name: .image(image)] }
        let names = model.description.inputs.map { "\"\($0.name)\"" }.joined(separator: ", ")
        throw .invalidInput(
            "expected JSON, {\"inputs\": {\"NAME\": VALUE}} with \(names): the model does not take one picture; found \(found)"
        )
    }

    package func pictures(of item: DictionaryFeatureProvider) -> [(input: String?, image: EncodedImage)] {
        item.featureNames.compactMap { name in
            guard case .image(let image)? = item.featureValue(for: name) else { return nil }
            return (name, image)
        }
    }

    package func pictureTime(of item: DictionaryFeatureProvider) -> UInt64 { model.pictureTime(of: item) }

    package func reads(_ request: HTTPRequest, _ form: FormParts?) -> Bool {
        if let form { return form.item != nil }
        return Self.isJSON(request.body, type: request.head.value(of: "content-type") ?? "")
    }

    package func read(
        _ request: HTTPRequest, _ form: FormParts?
    ) throws(ServiceError) -> (items: [DictionaryFeatureProvider], isList: Bool) {
        let inputs = model.description.inputs
        if let parts = form?.item {
            return ([try FormItem(body: request.body, inputs: inputs, isWhole: isWhole).read(parts)], false)
        }
        do throws(JSONError) {
            let read = try request.body.withUnsafeBytes { (bytes) throws(JSONError) in
                try PredictBody(bytes, inputs: inputs, isWhole: isWhole, maximum: maximumItems)
            }
            return (read.items, read.isBatch)
        } catch {
            throw ServiceError(error)
        }
    }

    /// True if a body is JSON. The client's type decides if it names JSON or a picture; otherwise the first byte does,
    /// because curl labels everything as a form.
    package static func isJSON(_ body: HTTPBody, type: String) -> Bool {
        let type = type.lowercased()
        if type.hasPrefix("application/json") { return true }
        if type.hasPrefix("image/") || RawFrame.isDescribed(by: type) { return false }
        return body.withUnsafeBytes { bytes in
            let start = bytes.prefix(longestSpace)
            guard let first = start.first(where: { !" \t\r\n".utf8.contains($0) }) else {
                // No picture begins with that much space; the JSON reader reports the error.
                return start.count < bytes.count
            }
            // No picture format begins with one of these.
            return "{[\"-0123456789tfnN".utf8.contains(first) || bytes.starts(with: [0xEF, 0xBB, 0xBF])
        }
    }

    /// The space at the beginning of a body that is skipped to find its first byte.
    private static let longestSpace = 4096
}
