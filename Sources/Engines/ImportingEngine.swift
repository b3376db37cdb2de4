package import EngineAPI
internal import EngineImporters
internal import FileFormats

/// An engine with importers: reads the files of Core ML and TensorFlow Lite, and those that the engine itself reads.
package final class ImportingEngine: Engine {
    private let target: any ImportTarget

    package init(_ target: any ImportTarget) { self.target = target }

    package var version: String { target.version }
    package var comparesStreams: Bool { target.comparesStreams }
    package func availableDevices() throws(EngineError) -> [ComputeDevice] { try target.availableDevices() }

    /// Advises against models with layers that need sums of products of bytes, where the engine cuts these off.
    package func advice(on source: ModelSource, device: String) -> String? {
        guard let reason = target.reasonOfCutSums(on: device) else {
            return target.advice(on: source, device: device)
        }
        return ByteProducts.advice(layers: ByteProducts.layers(of: source.path), because: reason)
    }

    /// Reads a model with the importer of its format, otherwise with the engine.
    package func read(_ source: ModelSource) throws(EngineError) -> any ModelFile {
        if CoreMLFile.isCoreML(source.path) { return try CoreMLImporter(target: target).read(source) }
        if let reason = Self.foreignContent(source.path) {
            throw EngineError(kind: .invalidModel, operation: "read the model file", detail: "it \(reason)")
        }
        guard let bytes = TFLiteFile.bytes(source.path) else { return try target.read(source) }
        return try TFLiteImporter(target: target, source: source).read(bytes)
    }

    /// Content that is not a model (a web page, an archive, a Git LFS pointer), with advice; nil if it may be a model.
    private static func foreignContent(_ path: String) -> String? {
        // The engine reports a file that cannot be read.
        guard let file = try? OpenFile(path) else { return nil }
        let head = file.bytes(0..<ForeignFile.headSize)
        return head.isEmpty
            ? nil : ForeignFile.reason(head, isBinary: ModelFormat(file: path).map { !$0.mayBeText } ?? false)
    }
}
