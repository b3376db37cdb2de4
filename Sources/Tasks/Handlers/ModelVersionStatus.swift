internal import Inference
internal import JSON
internal import Repository

/// The state of a model for clients of TensorFlow Serving and KServe (version 1) that read `GET /v1/models/{name}`: the
/// members `ready`, and `model_version_status` in the form of `GetModelStatusResponse` as JSON.
enum ModelVersionStatus {
    /// Writes the members of the open object.
    /// - Parameter isReady: true if the requested version is ready; without one, the serving version.
    static func write(_ records: [ModelRecord], isReady: Bool, to writer: inout JSONWriter) {
        writer.member("ready", isReady)
        writer.key("model_version_status")
        writer.array { writer in
            // The newest first, as in TensorFlow Serving.
            for record in records.reversed() {
                writer.object { writer in
                    writer.member("version", record.version)
                    writer.member("state", state(record))
                    writer.key("status")
                    writer.object { writer in
                        if case .failed(let reason) = record.state {
                            writer.member("error_code", "INTERNAL")
                            writer.member("error_message", reason)
                        } else {
                            writer.member("error_code", "OK")
                            writer.member("error_message", "")
                        }
                    }
                }
            }
        }
    }

    /// The name in `ModelVersionStatus.State`.
    private static func state(_ record: ModelRecord) -> String {
        switch record.state {
        case .loading: "LOADING"
        case .ready: "AVAILABLE"
        // Its first request loads it.
        case .unloaded where record.policy == .lazy: "START"
        case .unloaded, .failed: "END"
        }
    }
}
