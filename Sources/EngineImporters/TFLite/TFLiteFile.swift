package import EngineAPI
internal import FileFormats
internal import FoundationEssentials
internal import Glibc

/// Reads TensorFlow Lite's files that the engine cannot read unchanged.
package enum TFLiteFile {
    /// The maximum size in bytes: files for phones are much smaller.
    private static let largest = 512 << 20

    /// The bytes of a TensorFlow Lite file; nil for other files, and for very large ones. Blocks.
    package static func bytes(_ path: String) -> [UInt8]? {
        guard ModelFormat(file: path) == .tflite, case .success(let data) = BundleFile.read(path, maximum: largest)
        else { return nil }
        return [UInt8](data)
    }

    /// The TFLite_Detection_PostProcess operator of a file; nil for a file without it.
    static func detection(_ bytes: [UInt8]) throws(EngineError) -> DetectionOperator? {
        do throws(DetectionOperator.Unreadable) {
            return try DetectionOperator(bytes)
        } catch {
            throw EngineError(kind: .invalidModel, operation: "read the model file", detail: error.reason)
        }
    }

    /// The bytes that LiteRT may be given.
    /// - Throws: the reason it may not be given the file.
    package static func forLiteRT(_ bytes: [UInt8]) throws(EngineError) -> [UInt8] {
        do throws(JudgingError) {
            return try LiteRTFile.bytes(of: bytes)
        } catch {
            throw EngineError(
                kind: .invalidModel, operation: "read the model file with LiteRT", detail: error.reason)
        }
    }

    /// The split of a file at its first non-maximum suppression; nil for a file without one.
    static func suppression(_ bytes: [UInt8]) throws(EngineError) -> SuppressionSplit? {
        do throws(DetectionOperator.Unreadable) {
            return try SuppressionSplit(bytes)
        } catch {
            throw EngineError(kind: .invalidModel, operation: "read the model file", detail: error.reason)
        }
    }

    /// Calls `body` with the path of a file with these bytes, which is removed afterwards.
    package static func withTemporaryFile<R>(
        _ bytes: [UInt8], _ body: (String) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        try TemporaryFolder.with { (folder) throws(EngineError) in
            let path = folder + "/model.tflite"
            do {
                try Data(bytes).write(to: URL(filePath: path))
            } catch {
                throw EngineError(kind: .failure, operation: "write a temporary file", detail: "\(error)")
            }
            return try body(path)
        }
    }
}
