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

/// Answers `GET /v1/models/{name}/metadata` in the form of TensorFlow Serving's `GetModelMetadataResponse` as JSON: the
/// model's only signature.
package struct SignatureHandler: CallHandler {
    private let call: Call
    private let version: String?
    private var name: String { call.path.name }

    package init(_ call: Call) throws(ServiceError) {
        try call.refuseTaught()
        self.call = call
        version = try call.version()
    }

    package func respond(to request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let model = try await model()
        return try await call.computed(request) { () throws(ServiceError) in answer(model) }
    }

    private func model() async throws(ServiceError) -> Model {
        let model: Model
        do throws(InferenceError) {
            model = try await call.parts.repository.model(
                named: name, version: version, deadline: .now + .seconds(call.live.settings.deadline))
        } catch {
            throw ServiceError(error)
        }
        try model.refusePipeline(name)
        return model
    }

    private func answer(_ model: Model) -> HTTPResponse {
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writer.key("model_spec")
            writer.object { writer in
                writer.member("name", name)
                writer.member("signature_name", "")
                writer.member("version", model.description.version)
            }
            writer.key("metadata")
            writer.object { writer in
                // A map in a message of the same name.
                writer.key("signature_def")
                writer.object { writer in
                    writer.key("signature_def")
                    writer.object { writer in
                        writer.key(PredictRequest.signature)
                        writer.object { Self.write(model.description, to: &$0) }
                    }
                }
            }
        }
        return HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: writer.bytes)
    }

    private static func write(_ model: ModelDescription, to writer: inout JSONWriter) {
        for (key, features) in [("inputs", model.inputs), ("outputs", model.outputs)] {
            writer.key(key)
            writer.object { writer in
                for feature in features {
                    writer.key(feature.name)
                    writer.object { write(feature, to: &$0) }
                }
            }
        }
        writer.member("method_name", "tensorflow/serving/predict")
    }

    private static func write(_ feature: FeatureDescription, to writer: inout JSONWriter) {
        writer.member("dtype", feature.elementType.tensorFlowType)
        writer.key("tensor_shape")
        writer.object { writer in
            writer.key("dim")
            writer.array { writer in
                for (axis, extent) in feature.shape.dimensions.enumerated() {
                    writer.object { writer in
                        // Any number of instances may be sent, and as many predictions run.
                        writer.member("size", axis == 0 && extent == 1 ? "-1" : "\(extent)")
                        writer.member("name", "")
                    }
                }
            }
            writer.member("unknown_rank", false)
        }
        writer.member("name", feature.name)
    }
}

extension ElementType {
    /// The name in TensorFlow's `DataType`.
    fileprivate var tensorFlowType: String {
        switch self {
        case .bool: "DT_BOOL"
        case .uint8: "DT_UINT8"
        case .uint16: "DT_UINT16"
        case .uint32: "DT_UINT32"
        case .uint64: "DT_UINT64"
        case .int8: "DT_INT8"
        case .int16: "DT_INT16"
        case .int32: "DT_INT32"
        case .int64: "DT_INT64"
        case .float16: "DT_HALF"
        case .bfloat16: "DT_BFLOAT16"
        case .float32: "DT_FLOAT"
        case .float64: "DT_DOUBLE"
        case .string: "DT_STRING"
        }
    }
}
