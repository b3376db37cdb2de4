package import CoreMLImport

/// The interface of an engine for the importers: it reads files of its own formats, and graphs that an importer
/// translated.
package protocol ImportTarget: Engine {
    /// Reads a file of one of its own formats.
    /// - Parameters:
    ///   - integerWeights: the report of the rewrite of the file's weights.
    ///   - key: the key under which the engine stores the compiled model; nil to not store it.
    func readFile(
        _ path: String, integerWeights: IntegerWeights?, key: ExportKey?
    ) throws(EngineError) -> any ModelFile

    /// Reads a graph.
    /// - Parameter folders: the folders for files that the engine needs while the model is loaded, in order of
    ///   preference.
    func read(_ graph: Graph, folders: [String]) throws(EngineError) -> any ModelFile

    /// Creates a tensor for a model without any part that the engine runs.
    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor

    /// The key of a model's compiled form; nil if it is not cached. Blocks: reads the model's files.
    func key(_ source: ModelSource) -> ExportKey?

    /// The compiled model in the cache; nil if the cache does not contain it. Blocks.
    /// - Parameter readFile: reads the model's file, for when the cached data is not sufficient.
    func cached(
        _ key: ExportKey, readFile: @escaping @Sendable () throws(EngineError) -> any ModelFile
    ) -> (any ModelFile)?

    /// The reason the engine cannot compute exact sums with 8-bit weights in integers on this machine; nil if it can.
    var inexactIntegers: String? { get }

    /// The reason why the engine cuts off sums of products of bytes on a device of this machine; nil if it does not.
    func reasonOfCutSums(on device: String) -> String?
}

extension ImportTarget {
    package func key(_ source: ModelSource) -> ExportKey? { nil }

    package func cached(
        _ key: ExportKey, readFile: @escaping @Sendable () throws(EngineError) -> any ModelFile
    ) -> (any ModelFile)? { nil }

    package func reasonOfCutSums(on device: String) -> String? { nil }

    package var inexactIntegers: String? { "\(version) has no integer kernels for them" }

    /// Reads a model: from the cache, otherwise from its file.
    package func read(
        _ source: ModelSource, readFile: @escaping @Sendable (ExportKey?) throws(EngineError) -> any ModelFile
    ) throws(EngineError) -> any ModelFile {
        guard let key = key(source) else { return try readFile(nil) }
        let kept = cached(key) { () throws(EngineError) in try readFile(key) }
        if let kept { return kept }
        return try readFile(key)
    }
}
