internal import FlowControl
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Repository
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import Tasks
package import WireFormats

/// Answers the protocol's requests about the server and its models.
package struct MetadataHandler: CallHandler {
    private let call: Call
    private var name: String { call.path.name }
    private var settings: Settings { call.live.settings }
    private var repository: ModelRepository { call.parts.repository }

    package init(_ call: Call) { self.call = call }

    /// The supported extensions; they are documented by Triton.
    var extensions: [String] {
        ["binary_tensor_data", "classification", "statistics"]
            + (settings.repositoryControl == .none ? [] : ["model_repository"])
    }

    package func server(_: HTTPRequest) async -> HTTPResponse {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            writer.key("name")
            writer.string("ocelli")
            writer.key("version")
            writer.string(OcelliVersion.number)
            writer.key("extensions")
            writer.array { writer in for name in extensions { writer.string(name) } }
        }
        return Self.json(writer)
    }

    package static func live() -> HTTPResponse { flag("live") }
    package static func ready() -> HTTPResponse { flag("ready") }

    private static func flag(_ name: String) -> HTTPResponse {
        var writer = JSONWriter(capacity: 64)
        writer.object { writer in
            writer.key(name)
            writer.bool(true)
        }
        return json(writer)
    }

    package func modelReady(_: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        try call.refuseTaught()
        do throws(InferenceError) {
            guard try repository.readyModel(named: name, version: call.path.version) != nil else {
                throw InferenceError.modelNotReady(name: name, reason: "it is not loaded")
            }
        } catch {
            throw ServiceError(error)
        }
        var writer = JSONWriter(capacity: 128)
        writer.object { writer in
            writer.key("name")
            writer.string(name)
            writer.key("ready")
            writer.bool(true)
        }
        return Self.json(writer)
    }

    private func model() async throws(ServiceError) -> Model {
        try call.refuseTaught()
        let model: Model
        do throws(InferenceError) {
            model = try await repository.model(
                named: name, version: call.path.version, deadline: .now + .seconds(settings.deadline))
        } catch {
            throw ServiceError(error)
        }
        try model.refusePipeline(name)
        return model
    }

    package func configuration(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let model = try await model()
        return try await call.computed(request) { () throws(ServiceError) in configuration(of: model) }
    }

    package func metadata(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let model = try await model()
        return try await call.computed(request) { () throws(ServiceError) in metadata(of: model) }
    }

    /// The configuration that Triton's clients read in addition to the metadata, in the form of `ModelConfig`
    /// (model_config.proto in JSON). It has only the members that clients need to make requests.
    private func configuration(of model: Model) -> HTTPResponse {
        let description = model.description
        let features = description.inputs + description.outputs
        // If every tensor has a batch axis, extents are reported without it; otherwise as they are.
        let takesBatches = features.allSatisfy(\.isBatchOpen)
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writer.member("name", name)
            writer.member("platform", Self.platform(description.backend))
            writer.member("backend", model.loadReport.engine?.name ?? "openvino")
            writer.member("max_batch_size", takesBatches ? settings.maxBatch : 0)
            for (key, features) in [("input", description.inputs), ("output", description.outputs)] {
                writer.key(key)
                writer.array { writer in
                    for feature in features {
                        writer.object { writer in
                            writer.member("name", feature.name)
                            writer.member("data_type", feature.elementType.configurationType)
                            writer.key("dims")
                            let extents = feature.metadataShape.dropFirst(takesBatches ? 1 : 0)
                            writer.array { writer in for extent in extents { writer.integer(extent) } }
                            if feature.isOptional { writer.member("optional", true) }
                        }
                    }
                }
            }
            writer.key("instance_group")
            writer.array { writer in
                writer.object { writer in
                    writer.member("name", name)
                    writer.member("kind", model.loadReport.device.hasPrefix("gpu") ? "KIND_GPU" : "KIND_CPU")
                    writer.member("count", model.instances)
                }
            }
        }
        return Self.json(writer)
    }

    private func metadata(of model: Model) -> HTTPResponse {
        let versions = repository.records.filter { $0.name == name && $0.model != nil }.map(\.version)
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writer.key("name")
            writer.string(name)
            writer.key("versions")
            writer.array { writer in for version in versions { writer.string(version) } }
            writer.key("platform")
            writer.string(Self.platform(model.description.backend))
            for (key, features) in [("inputs", model.description.inputs), ("outputs", model.description.outputs)] {
                writer.key(key)
                writer.array { writer in for feature in features { Self.write(feature, to: &writer) } }
            }
        }
        return Self.json(writer)
    }

    private static func write(_ feature: FeatureDescription, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("name")
            writer.string(feature.name)
            writer.key("datatype")
            writer.string(feature.elementType.datatype)
            writer.key("shape")
            writer.array { writer in for extent in feature.metadataShape { writer.integer(extent) } }
            guard FeatureChoices.exist(for: feature) else { return }
            writer.key("parameters")
            writer.object { FeatureChoices.write(feature, to: &$0) }
        }
    }

    /// The name in the protocol's form, PROJECT_FORMAT.
    private static func platform(_ backend: String) -> String {
        switch backend {
        case "onnx": "onnx_onnxv1"
        case "tflite": "tensorflow_lite"
        case "tensorflow": "tensorflow_savedmodel"
        case "openvino": "openvino_ir"
        case "paddle": "paddle_inference"
        default: backend
        }
    }

    static func json(_ writer: JSONWriter) -> HTTPResponse {
        HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: writer.bytes)
    }
}

extension FeatureDescription {
    /// The shape that clients may use: the shape of predictions, with -1 if the batch may have any size.
    var metadataShape: [Int] {
        isBatchOpen ? [Shape.dynamic] + shape.dimensions.dropFirst() : shape.dimensions
    }
}
