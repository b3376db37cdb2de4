internal import COpenVINO
internal import EngineAPI

/// Finds ONNX Runtime's library.
enum ORTPath {
    static let library = EngineLibrary(
        engine: "ONNX Runtime", setting: "onnxruntime_path", package: "ocelli-onnxruntime", folder: "onnxruntime",
        name: "libonnxruntime.so", linked: ".1")

    /// The path of the library's file.
    /// - Parameter path: a file, or a folder that contains one; empty to search next to OpenVINO's libraries.
    static func file(_ path: String) throws(EngineError) -> String {
        let function: @convention(c) (UnsafeMutablePointer<ov_version_t>?) -> ov_status_e = ov_get_openvino_version
        return try library.file(path, nextTo: unsafeBitCast(function, to: UnsafeRawPointer.self))
    }
}
