internal import FoundationEssentials
package import HTTPWire
internal import ImagePipeline
internal import JSON
internal import SystemSupport
package import WireFormats

/// The description of every route in OpenAPI 3.0: the answer of `GET /openapi.json`.
///
/// Operations and schemas are in openapi.json in this folder, which the build embeds. The paths come from the table of
/// routes; a few lists come from the program. Tests check the result with a real validator, and real answers against
/// it.
package enum OpenAPIDocument {
    /// One path of a resource.
    package struct Path {
        let template: PathTemplate
        /// The number of the path among those of its resource.
        let index: Int
        let operations: [(method: HTTPMethod, name: String)]

        package init(_ template: PathTemplate, _ index: Int, operations: [(method: HTTPMethod, name: String)]) {
            (self.template, self.index, self.operations) = (template, index, operations)
        }
    }

    /// The document as JSON text.
    package static func text(_ paths: [Path]) throws(ServiceError) -> String {
        do {
            return try text(of: try document(paths))
        } catch {
            throw ServiceError(.internal, "the OpenAPI document cannot be made: \(error)")
        }
    }

    static func text(of document: JSONValue) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(document), as: UTF8.self)
    }

    /// The content of openapi.json; read once.
    private static let described = Result { try JSONValue.parse(Data(PackageResources.openapi_json)) }

    static func document(_ paths: [Path]) throws -> JSONValue {
        var document = try described.get()
        let operations = document["operations"]
        var items: [String: JSONValue] = [:]
        for path in paths {
            var item: [String: JSONValue] = path.template.isFixed ? [:] : ["parameters": parameters(path.template)]
            for (method, name) in path.operations {
                item[method.rawValue.lowercased()] = operation(operations[name], path.index, path.template)
            }
            items[path.template.text] = .object(item)
        }
        document["operations"] = .null
        document["paths"] = .object(items)
        document["info"]["version"] = .string(OcelliVersion.number)
        document["components"]["schemas"]["error_code"]["enum"] = .array(
            ErrorCode.allCases.map { .string($0.rawValue) })
        document["components"]["schemas"]["image"]["properties"]["format"]["enum"] = .array(
            ImageFormat.allCases.map { .string($0.rawValue) })
        return document
    }

    private static func parameters(_ template: PathTemplate) -> JSONValue {
        .array(
            template.parts.compactMap { part in
                switch part {
                case .word: nil
                case .name: .object(["$ref": .string("#/components/parameters/name")])
                case .version: .object(["$ref": .string("#/components/parameters/version")])
                case .label: nil
                case .id: .object(["$ref": .string("#/components/parameters/id")])
                }
            })
    }

    /// An operation at one of its paths: with the identifier for that path, the model in the summary, the media types
    /// of pictures instead of `image/*`, and the error response that every operation may give.
    private static func operation(_ described: JSONValue, _ index: Int, _ template: PathTemplate) -> JSONValue {
        var operation = described
        if case .array(let ids) = described["ids"], ids.indices.contains(index) {
            operation["operationId"] = ids[index]
        }
        operation["ids"] = .null
        if case .string(let summary) = described["summary"] {
            let model =
                template.parts.contains(.version)
                ? "one version of a model" : template.parts.contains(.name) ? "a model" : "the default model"
            operation["summary"] = .string(summary.replacing("{model}", with: model))
        }
        if case .object(var content) = described["requestBody"]["content"],
            let picture = content.removeValue(forKey: "image/*")
        {
            for format in ImageFormat.allCases { content[format.mediaType] = picture }
            operation["requestBody"]["content"] = .object(content)
        }
        operation["responses"]["default"] = .object(["$ref": .string("#/components/responses/error")])
        return operation
    }
}

extension JSONValue {
    /// A member of an object; null if the value is not an object or has no such member. Setting null removes it.
    subscript(_ name: String) -> JSONValue {
        get {
            guard case .object(let members) = self else { return .null }
            return members[name] ?? .null
        }
        set {
            guard case .object(var members) = self else { return }
            members[name] = newValue == .null ? nil : newValue
            self = .object(members)
        }
    }
}
