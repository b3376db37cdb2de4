internal import FoundationEssentials
internal import JSON
package import SystemSupport

/// The model.json of a quantized bundle: the original's text, including comments and order, with another model file.
package struct QuantizedManifest {
    /// The text of the new model.json.
    package let text: String
    /// The files of the bundle that the text names, except the model file: labels, vectors of classes.
    package let files: [String]

    /// - Parameters:
    ///   - original: the text of model.json.
    ///   - bundle: the folder of the bundle.
    ///   - file: the new model file, in OpenVINO's format.
    /// - Throws: if the text cannot be changed.
    package init(_ original: String, bundle: String, file: String) throws(CommandError) {
        let json = try Self.parse(original)
        guard case .object(let members) = json, case .object(let model)? = members["model"],
            case .string(let old)? = model["file"]
        else { throw CommandError("\(bundle)/model.json has no model.file") }
        var changed = original
        if let body = Self.body(of: "model", in: changed, within: changed.startIndex..<changed.endIndex),
            let value = Self.value(of: "file", in: changed, within: body)
        {
            changed.replaceSubrange(value, with: "\"\(file)\"")
        }
        if let body = Self.body(of: "model", in: changed, within: changed.startIndex..<changed.endIndex),
            let value = Self.value(of: "backend", in: changed, within: body)
        {
            changed.replaceSubrange(value, with: "\"openvino\"")
        }
        // Compare the result with the intended members, because text in a comment may look like a key.
        var wanted = members, wantedModel = model
        wantedModel["file"] = .string(file)
        if model["backend"] != nil { wantedModel["backend"] = .string("openvino") }
        wanted["model"] = .object(wantedModel)
        guard try Self.parse(changed) == .object(wanted) else {
            throw CommandError(
                "\(bundle)/model.json cannot be changed as text: remove its comments within \"model\", or put \"file\" and \"backend\" "
                    + "in plain strings")
        }
        text = changed
        files = Self.strings(in: .object(members.filter { $0.key != "model" })).filter { name in
            var isFolder = false
            return !name.isEmpty && name != old && !name.hasPrefix("/") && !name.split(separator: "/").contains("..")
                && FileManager.default.fileExists(atPath: bundle + "/" + name, isDirectory: &isFolder) && !isFolder
        }.sorted()
    }

    private static func parse(_ text: String) throws(CommandError) -> JSONValue {
        do throws(JSONTextError) {
            return try JSONValue.parse(Data(text.utf8))
        } catch {
            throw CommandError("model.json is not valid JSON: \(error.reason)")
        }
    }

    private static func strings(in value: JSONValue) -> Set<String> {
        switch value {
        case .string(let text): [text]
        case .array(let values): values.reduce(into: []) { $0.formUnion(strings(in: $1)) }
        case .object(let members): members.values.reduce(into: []) { $0.formUnion(strings(in: $1)) }
        default: []
        }
    }

    /// The position after a key's colon and blanks.
    private static func start(of key: String, in text: String, within range: Range<String.Index>) -> String.Index? {
        guard let found = text[range].firstRange(of: "\"\(key)\"") else { return nil }
        var place = found.upperBound
        var colons = 0
        while place < range.upperBound, text[place].isWhitespace || text[place] == ":" {
            colons += text[place] == ":" ? 1 : 0
            place = text.index(after: place)
        }
        return colons == 1 && place < range.upperBound ? place : nil
    }

    /// The inside of the object that is the value of a key.
    private static func body(
        of key: String, in text: String, within range: Range<String.Index>
    ) -> Range<String.Index>? {
        guard let start = start(of: key, in: text, within: range), text[start] == "{",
            let end = text[start..<range.upperBound].firstIndex(of: "}")
        else { return nil }
        return start..<end
    }

    /// The string that is the value of a key, with its quotes.
    private static func value(
        of key: String, in text: String, within range: Range<String.Index>
    ) -> Range<String.Index>? {
        guard let start = start(of: key, in: text, within: range), text[start] == "\"",
            let end = text[text.index(after: start)..<range.upperBound].firstIndex(of: "\"")
        else { return nil }
        return start..<text.index(after: end)
    }
}
