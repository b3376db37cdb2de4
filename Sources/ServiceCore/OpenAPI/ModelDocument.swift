internal import HTTPWire
internal import JSON
package import WireFormats

/// The description of one model's routes in OpenAPI 3.1: the answer of `GET /v1/models/{name}/openapi.json`.
///
/// It is the document of all routes, reduced to those that the model answers, with the model's name in their paths and
/// the model's features and labels in their schemas (`ModelSchemas`).
package enum ModelDocument {
    /// The document as JSON text.
    package static func text(
        _ paths: [OpenAPIDocument.Path], of model: ModelInterface
    ) throws(ServiceError) -> String {
        do {
            return try OpenAPIDocument.text(of: document(paths, of: model))
        } catch {
            throw ServiceError(.internal, "the OpenAPI document of \"\(model.name)\" cannot be made: \(error)")
        }
    }

    /// The maximum length of the description, in characters.
    private static let longestDescription = 4096

    private static func document(_ paths: [OpenAPIDocument.Path], of model: ModelInterface) throws -> JSONValue {
        let own = paths.compactMap { path -> OpenAPIDocument.Path? in
            guard path.template.parts.contains(.name) else { return nil }
            let operations = path.operations.filter { answers($0.name, model) }
            return operations.isEmpty ? nil : .init(path.template, path.index, operations: operations)
        }
        var document = try OpenAPIDocument.document(own)
        document["openapi"] = .string("3.1.0")
        document["info"] = info(of: model)
        ModelSchemas(model).fill(&document["components"])
        var items: [String: JSONValue] = [:]
        for path in own {
            var item = document["paths"][path.template.text]
            if case .array(let parameters) = item["parameters"] {
                let rest = parameters.filter { $0 != reference("parameters", "name") }
                item["parameters"] = rest.isEmpty ? .null : .array(rest)
            }
            for (method, name) in path.operations {
                ModelOperations(model).fill(&item[method.rawValue.lowercased()], name: name)
            }
            items[path.template.text.replacing("{name}", with: encoded(model.name))] = item
        }
        document["paths"] = .object(items)
        document["tags"] = .null
        prune(&document)
        return modern(document)
    }

    static func reference(_ section: String, _ name: String) -> JSONValue {
        .object(["$ref": .string("#/components/\(section)/\(name)")])
    }

    private static func info(of model: ModelInterface) -> JSONValue {
        var info: [String: JSONValue] = [
            "title": .string(model.name), "version": .string(model.version),
        ]
        let texts = [model.details, model.author.isEmpty ? "" : "Author: \(model.author)"].filter { !$0.isEmpty }
        if !texts.isEmpty {
            info["description"] = .string(String(texts.joined(separator: "\n\n").prefix(longestDescription)))
        }
        if !model.license.isEmpty {
            info["license"] = .object(["name": .string(String(model.license.prefix(longestDescription)))])
        }
        return .object(info)
    }

    /// True if the model answers an operation.
    private static func answers(_ operation: String, _ model: ModelInterface) -> Bool {
        if let route = ModelInterface.Route(rawValue: operation) { return model.answer(route) != nil }
        switch operation {
        case "model", "model_openapi", "drift", "drift_learn": return true
        case "predict": return model.predicts
        case "update_model": return model.backend == "coreml"
        case "model_metadata", "model_configuration", "model_infer": return model.predicts
        case "model_ready", "model_statistics", "repository_load", "repository_unload", "rollout", "rollout_set",
            "rollout_delete":
            return !model.isTaught
        // The rest of the routes with a name belong to taught models.
        default: return model.isTaught
        }
    }

    /// A name as a part of a path.
    private static func encoded(_ name: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return name.utf8.reduce(into: "") { text, byte in
            let isPlain =
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"):
                    true
                default: false
                }
            if isPlain {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text.append("%")
                text.append(digits[Int(byte >> 4)])
                text.append(digits[Int(byte & 15)])
            }
        }
    }

    // MARK: The rest of the document

    /// Removes the components that no route refers to.
    private static func prune(_ document: inout JSONValue) {
        var used: Set<String> = []
        var waiting = references(in: document["paths"])
        while let next = waiting.popLast() {
            guard used.insert(next).inserted else { continue }
            let parts = next.split(separator: "/").map(String.init)
            guard parts.count == 4 else { continue }
            waiting += references(in: document["components"][parts[2]][parts[3]])
        }
        for section in ["schemas", "parameters", "responses"] {
            guard case .object(let members) = document["components"][section] else { continue }
            let kept = members.filter { used.contains("#/components/\(section)/\($0.key)") }
            document["components"][section] = kept.isEmpty ? .null : .object(kept)
        }
    }

    private static func references(in value: JSONValue) -> [String] {
        switch value {
        case .object(let members):
            members.flatMap { key, member -> [String] in
                if key == "$ref", case .string(let text) = member { return [text] }
                return references(in: member)
            }
        case .array(let elements): elements.flatMap(references)
        default: []
        }
    }

    /// Converts schemas of OpenAPI 3.0 to those of 3.1, which are JSON Schema's.
    private static func modern(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map(modern))
        case .object(var members):
            // Members with these names may also be properties, which are schemas themselves.
            if members["nullable"] == .bool(true) {
                members["nullable"] = nil
                if case .string(let type)? = members["type"] {
                    members["type"] = .array([.string(type), .string("null")])
                }
                if case .array(let values)? = members["enum"], !values.contains(.null) {
                    members["enum"] = .array(values + [.null])
                }
            }
            if members["exclusiveMinimum"] == .bool(true) {
                members["exclusiveMinimum"] = members.removeValue(forKey: "minimum")
            }
            if members["exclusiveMaximum"] == .bool(true) {
                members["exclusiveMaximum"] = members.removeValue(forKey: "maximum")
            }
            if members["format"] == .string("binary") {
                members["format"] = nil
                members["contentMediaType"] = .string("application/octet-stream")
            }
            return .object(members.mapValues(modern))
        default: return value
        }
    }
}
