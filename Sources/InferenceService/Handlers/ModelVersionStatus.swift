internal import Inference
internal import JSON

/// The state of a model as clients of TensorFlow Serving and KServe (version 1) read it from `GET /v1/models/{name}`:
/// `ready`, and `model_version_status` in the form of `GetModelStatusResponse` as JSON. Members of an object that is
/// open.
enum ModelVersionStatus {
    /// - Parameter isReady: true if the version that is asked for, or the one that serves, is ready.
    static func write(_ records: [ModelRecord], isReady: Bool, to writer: inout JSONWriter) {
        writer.member("ready", isReady)
        writer.key("model_version_status")
        writer.array { writer in
            // The newest first, as there.
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
