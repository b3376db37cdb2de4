internal import EngineAPI
internal import FileFormats
internal import ModelFacts
internal import SystemSupport

/// The reasons a model file cannot be read that the file itself shows: users understand them better than the messages
/// of engines.
enum ModelFileDamage {
    /// The reason that no engine can read a file, as a sentence about it; nil if only the engines know. Blocks: reads
    /// the file without its weights.
    static func reason(_ path: String, _ format: ModelFormat) -> String? {
        guard let file = try? OpenFile(path) else { return nil }
        guard file.size > 0 else { return "it is empty: was its download or copy interrupted?" }
        if let reason = foreignContent(file, isBinary: !format.mayBeText) { return reason }
        let source = ByteSource(count: file.size) { file.bytes($0) }
        switch format {
        case .onnx: return onnx(source, folder: FilePath.folder(of: path), name: FilePath.name(of: path) ?? path)
        case .tflite:
            let identifier = try? Array(source.bytes(at: 4, count: 4))
            return identifier == Array("TFL3".utf8)
                ? nil : "it is no TensorFlow Lite file: bytes 5 to 8 are not \"TFL3\""
        case .coreml, .openvino, .paddle, .tensorflow: return nil
        }
    }

    /// Content that is not a model (a web page, an archive, a Git LFS pointer), with advice, as a sentence about the
    /// file; nil if it may be a model or is empty.
    /// - Parameter isBinary: true if models of the file's format are never text.
    static func foreignContent(_ file: OpenFile, isBinary: Bool) -> String? {
        let head = file.bytes(0..<ForeignFile.headSize)
        return head.isEmpty ? nil : ForeignFile.reason(head, isBinary: isBinary).map { "it \($0)" }
    }

    private static func onnx(_ source: ByteSource, folder: String, name: String) -> String? {
        var walk = ProtobufWalk(source, 0..<source.count), hasGraph = false
        do throws(FormatError) {
            while let field = try walk.next() { hasGraph = hasGraph || field.number == 7 }
        } catch {
            return "it is no whole ONNX file (\(source.count) bytes): was its download or copy interrupted?"
        }
        guard hasGraph else { return "it is no ONNX model: it has no graph" }
        let missing = ONNXExternalFiles.names(source).sorted().filter { (try? OpenFile(folder + $0)) == nil }
        guard let first = missing.first else { return nil }
        let others = missing.count > 1 ? " and \(missing.count - 1) more files" : ""
        return
            "it keeps its weights in \"\(first)\"\(others), which cannot be opened: put that file where \(name) is, in \(folder)"
    }
}
