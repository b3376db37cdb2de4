internal import EngineAPI
internal import FileFormats

/// The content of a session: a file, or its bytes if they had to be changed.
enum ORTContent: Sendable {
    case file(String)
    case bytes([UInt8])

    /// The maximum size in bytes of a file that is held in memory.
    private static let maximum = 512 << 20

    /// Checks whether the file must be changed for this machine. Blocks.
    init(_ path: String) throws(EngineError) {
        self = .file(path)
        guard let file = try? OpenFile(path), file.size <= Self.maximum else { return }
        var normalizes = false
        try? ONNXGraph.nodes(ByteSource(count: file.size) { file.bytes($0) }) { node in
            normalizes = normalizes || node.operation == StringLocale.operation
        }
        guard normalizes else { return }
        if let bytes = StringLocale.replaced(in: file.bytes(0..<file.size)) { self = .bytes(bytes) }
    }

    /// True if sums of products of bytes can be computed exactly on every processor: with that option, ONNX Runtime
    /// aborts on some MatMulInteger nodes without zero points. Blocks.
    var allowsExactProducts: Bool {
        guard let source else { return false }
        var allows = true
        try? ONNXGraph.nodes(source) { node in allows = allows && node.operation != "MatMulInteger" }
        return allows
    }

    /// Its bytes, for reading parts.
    var source: ByteSource? {
        switch self {
        case .bytes(let bytes): ByteSource(bytes)
        case .file(let path): (try? OpenFile(path)).map { file in ByteSource(count: file.size) { file.bytes($0) } }
        }
    }
}
