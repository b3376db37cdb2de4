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
        // The engine reports a file that cannot be read.
        if let file = try? OpenFile(source.path),
            let reason = ModelFileDamage.foreignContent(
                file, isBinary: ModelFormat(file: source.path).map { !$0.mayBeText } ?? false)
        {
            throw EngineError(kind: .invalidModel, operation: "read the model file", detail: reason)
        }
        guard let bytes = TFLiteFile.bytes(source.path) else { return try target.read(source) }
        return try TFLiteImporter(target: target, source: source).read(bytes)
    }
}
