internal import JSON
internal import WireFormats

/// The schemas of one model: its features as properties, its labels as properties or enums.
struct ModelSchemas {
    private let model: ModelInterface

    /// The maximum number of labels that are listed, and the maximum size of all of one list in bytes.
    private static let maximumLabels = 1_000, maximumLabelBytes = 256 << 10

    init(_ model: ModelInterface) { self.model = model }

    /// Replaces schemas of the components of all models by those of this one.
    func fill(_ components: inout JSONValue) {
        for answer in model.answers {
            let name = answer.route == .classify ? "classification" : "\(answer.route.rawValue)_answer"
            for (member, schema) in members(of: answer, components) {
                components["schemas"][name]["properties"][member] = schema
            }
        }
        let classes = model.answer(.classify)?.labels ?? model.outputs.lazy.compactMap(\.labels).first
        if let classes, !classes.isEmpty {
            components["parameters"]["top"]["schema"]["maximum"] = .integer(classes.count)
        }
        guard model.predicts else { return }
        components["schemas"]["inputs"] = inputs
        components["schemas"]["outputs"] = outputs
        components["schemas"]["predict_request"] = request
        let outputs = ModelDocument.reference("schemas", "outputs")
        components["schemas"]["prediction"]["properties"]["outputs"] = outputs
        components["schemas"]["prediction_batch"]["properties"]["results"]["items"]["anyOf"] = .array([
            Self.object(["outputs": outputs], required: ["outputs"]), ModelDocument.reference("schemas", "part_error"),
        ])
    }

    // MARK: Inputs

    private var inputs: JSONValue {
        var properties: [String: JSONValue] = [:]
        for input in model.inputs { properties[input.name] = Self.input(input) }
        return .object([
            "type": .string("object"), "properties": .object(properties), "required": Self.required(model.inputs),
            "additionalProperties": .bool(false),
        ])
    }

    static func required(_ features: [ModelInterface.Feature]) -> JSONValue {
        .array(features.filter { !$0.isOptional }.map { .string($0.name) })
    }

    /// The body of `/predict`.
    private var request: JSONValue {
        let named = ModelDocument.reference("schemas", "inputs")
        let count = model.inputs.count
        let ordered: JSONValue = .object([
            "type": .string("array"), "description": .string("The values in the order of the model's inputs."),
        ])
        let single = count == 1 ? model.inputs.map(Self.input) : []
        let item = Self.anyOf([named, ordered] + single)
        var forms = [
            Self.object(["inputs": item], required: ["inputs"]),
            Self.object(
                ["items": .object(["type": .string("array"), "minItems": .integer(1), "items": item])],
                required: ["items"]),
            ordered,
        ]
        let isTabular = model.inputs.allSatisfy { input in
            switch input.form {
            case .number, .integer, .text, .dictionary: true
            default: false
            }
        }
        if isTabular, !model.inputs.contains(where: { ["inputs", "items"].contains($0.name) }) { forms.append(named) }
        return .object(["anyOf": .array(forms)])
    }

    /// The schema of an input's value.
    static func input(_ feature: ModelInterface.Feature) -> JSONValue {
        var schema: JSONValue
        switch feature.form {
        case .array(let element, let extents):
            let value = scalar(element, isInput: true, takesMissing: feature.takesMissing)
            let flat = array(value, extents: [count(of: extents)])
            schema = extents.count == 1 ? flat : anyOf([flat, array(value, extents: extents)])
        case .number, .integer, .flag, .text:
            let value = scalar(feature.form, isInput: true, takesMissing: feature.takesMissing)
            schema = anyOf([value, array(value, extents: [1])])
        case .bytes: schema = anyOf([base64(), typed("string"), typed("array"), typed("number")])
        case .picture, .depth: schema = anyOf([base64(), typed("string")])
        case .dictionary, .rows, .tensors:
            schema = .object(["type": .string("object"), "additionalProperties": typed("number")])
            if feature.form == .dictionary(hasIntegerKeys: true) {
                schema["propertyNames"] = .object(["pattern": .string("^-?[0-9]+$")])
            }
        }
        schema["description"] = .string(feature.tensor)
        if let value = feature.defaultValue { schema["default"] = .number(value) }
        return schema
    }

    private static func count(of extents: [Int]) -> Int {
        extents.reduce(1) { count, extent in
            let (product, overflow) = count.multipliedReportingOverflow(by: extent)
            return count < 0 || extent < 0 || overflow ? -1 : product
        }
    }

    // MARK: Outputs

    private var outputs: JSONValue {
        var properties: [String: JSONValue] = [:]
        for output in model.outputs { properties[output.name] = schema(of: output) }
        return .object([
            "type": .string("object"), "properties": .object(properties),
            "required": .array(model.outputs.map { .string($0.name) }),
        ])
    }

    private func schema(of feature: ModelInterface.Feature) -> JSONValue {
        var schema: JSONValue
        switch feature.form {
        case .tensors(let element):
            // Each tensor is nested as its own shape; one without axes is its element.
            schema = Self.array(
                Self.anyOf([Self.scalar(element, isInput: false, takesMissing: true), Self.typed("array")]),
                extents: [-1])
        case .array(let element, let extents):
            schema = Self.array(Self.scalar(element, isInput: false, takesMissing: true), extents: extents)
        case .number, .flag: schema = Self.scalar(feature.form, isInput: false, takesMissing: true)
        case .integer:
            schema = Self.typed("integer")
            if let labels = Self.listed(feature.labels), case let values = labels.compactMap({ Int($0) }),
                values.count == labels.count
            {
                schema["enum"] = .array(values.map { .integer($0) })
            }
        case .text: schema = Self.label(feature.labels)
        case .bytes: schema = Self.base64()
        case .picture: schema = Self.base64(type: "image/png")
        case .depth:
            schema = Self.base64(type: "image/png")
            for name in ["min", "max"] { schema["properties"][name] = Self.typed("number") }
            schema["required"] = .array(["b64", "min", "max"].map { .string($0) })
        case .dictionary, .rows: schema = Self.dictionary(feature.labels)
        }
        var elements: [JSONValue] = []
        // With `top` or `threshold`, labels come as a list.
        if Self.isLabelled(feature) {
            elements.append(
                Self.object(
                    [
                        "index": Self.typed("integer"), "label": Self.label(feature.labels),
                        "value": Self.typed("number"),
                    ],
                    required: ["index", "label", "value"]))
        }
        if feature.form == .rows {
            // Several rows have one object or list each.
            let lists = elements.map { Self.array($0, extents: [-1]) }
            elements += [schema] + lists
        }
        if !elements.isEmpty { schema = Self.anyOf([schema, Self.array(Self.anyOf(elements), extents: [-1])]) }
        schema["description"] = .string(feature.tensor)
        return schema
    }

    private static func isLabelled(_ feature: ModelInterface.Feature) -> Bool {
        switch feature.form {
        case .dictionary, .rows: feature.labels != nil
        default: false
        }
    }

    /// Numbers by label. Classes with the label of an earlier one have their index behind it.
    private static func dictionary(_ labels: [String]?) -> JSONValue {
        let number = JSONValue.object(["type": .array([.string("number"), .string("null")])])
        guard let labels, let listed = listed(labels) else {
            return .object(["type": .string("object"), "additionalProperties": number])
        }
        var properties: [String: JSONValue] = [:]
        for label in listed { properties[label] = number }
        return .object([
            "type": .string("object"), "properties": .object(properties),
            "additionalProperties": listed.count == labels.count ? .bool(false) : number,
        ])
    }

    // MARK: Answers of tasks

    /// The members of a route's answer that depend on the model.
    private func members(of answer: ModelInterface.Answer, _ components: JSONValue) -> [String: JSONValue] {
        let schemas = components["schemas"]
        func list(_ items: JSONValue) -> JSONValue { .object(["type": .string("array"), "items": items]) }
        switch answer.route {
        case .classify:
            var entry = schemas["class"]
            entry["properties"]["label"] = Self.label(answer.labels)
            guard model.isCalibrated else { return ["classifications": list(entry)] }
            return ["classifications": list(entry), "set": list(Self.label(answer.labels))]
        case .detect:
            var entry = schemas["detection"]
            entry["properties"]["label"] = Self.label(answer.labels)
            entry["properties"]["keypoints"] =
                answer.points.isEmpty ? .null : list(keypoint(answer.points, schemas))
            if !answer.hasMasks { entry["properties"]["mask"] = .null }
            for stage in answer.stages {
                let members = self.members(of: stage.answer, components)
                entry["properties"][stage.name] = Self.anyOf([
                    .object([
                        "type": .string("object"), "properties": .object(members),
                        "required": .array(members.keys.sorted().map { .string($0) }),
                    ]),
                    Self.object(
                        [
                            "error": Self.typed("string"),
                            "code": ModelDocument.reference("schemas", "error_code"),
                        ], required: ["error", "code"]),
                ])
            }
            return ["detections": list(entry)]
        case .segment:
            var entry = schemas["segment_answer"]["properties"]["segments"]["items"]
            entry["properties"]["label"] = Self.label(answer.labels)
            return ["segments": list(entry)]
        case .keypoints: return ["keypoints": list(keypoint(answer.points, schemas))]
        case .embed:
            var dimension = Self.typed("integer")
            if let length = answer.dimension { dimension["const"] = .integer(length) }
            return [
                "embedding": schemas["embed_answer"]["properties"]["embedding"], "dimension": dimension,
            ]
        case .read: return ["text": Self.typed("string"), "lines": list(schemas["text_line"])]
        }
    }

    private func keypoint(_ names: [String], _ schemas: JSONValue) -> JSONValue {
        var entry = schemas["keypoint"]
        entry["properties"]["name"] = Self.label(names.isEmpty ? nil : names)
        return entry
    }

    // MARK: Parts

    /// Different labels; nil if they are unknown, or too many or too long to list.
    private static func listed(_ labels: [String]?) -> [String]? {
        guard let labels, (1...maximumLabels).contains(labels.count),
            labels.reduce(0, { $0 + $1.utf8.count }) <= maximumLabelBytes
        else { return nil }
        // As a dictionary's keys: texts that differ only in their Unicode form are equal to Swift, not to clients.
        var seen: Set<[UInt8]> = []
        return labels.filter { seen.insert(Array($0.utf8)).inserted }
    }

    private static func label(_ labels: [String]?) -> JSONValue {
        var schema = typed("string")
        if let labels = listed(labels) { schema["enum"] = .array(labels.map { .string($0) }) }
        return schema
    }

    private static func typed(_ name: String) -> JSONValue { .object(["type": .string(name)]) }

    private static func scalar(_ form: ModelInterface.Form, isInput: Bool, takesMissing: Bool) -> JSONValue {
        switch form {
        case .text: return typed("string")
        case .integer: return typed("integer")
        case .flag where isInput: return .object(["type": .array([.string("boolean"), .string("integer")])])
        case .flag: return typed("boolean")
        default:
            return takesMissing
                ? .object(["type": .array([.string("number"), .string("null")])]) : typed("number")
        }
    }

    /// Nested arrays with fixed extents, or of any length where an extent is negative.
    private static func array(_ element: JSONValue, extents: [Int]) -> JSONValue {
        extents.reversed().reduce(element) { inner, extent in
            var schema = JSONValue.object(["type": .string("array"), "items": inner])
            if extent >= 0 {
                schema["minItems"] = .integer(extent)
                schema["maxItems"] = .integer(extent)
            }
            return schema
        }
    }

    private static func base64(type: String? = nil) -> JSONValue {
        var text = typed("string")
        text["contentEncoding"] = .string("base64")
        if let type { text["contentMediaType"] = .string(type) }
        return object(["b64": text], required: ["b64"])
    }

    private static func anyOf(_ schemas: [JSONValue]) -> JSONValue {
        schemas.count == 1 ? schemas[0] : .object(["anyOf": .array(schemas)])
    }

    private static func object(_ properties: [String: JSONValue], required: [String]) -> JSONValue {
        .object([
            "type": .string("object"), "properties": .object(properties),
            "required": .array(required.map { .string($0) }),
        ])
    }
}
