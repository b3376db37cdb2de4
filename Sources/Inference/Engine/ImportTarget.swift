package import CoreMLImport

/// An engine as the importers see it: it reads files of its own formats, and the graphs that an importer translated.
package protocol ImportTarget: Engine {
    /// Reads a file of a format of its own.
    /// - Parameters:
    ///   - integerWeights: what was rewritten in the file.
    ///   - key: the key under which the engine is to keep the compiled model; nil where it is not to keep it.
    func readFile(
        _ path: String, integerWeights: IntegerWeights?, key: ExportKey?
    ) throws(EngineError) -> any ModelFile

    /// Reads a graph.
    /// - Parameter folders: where files may be that the engine needs while the model is loaded, the best first.
    func read(_ graph: Graph, folders: [String]) throws(EngineError) -> any ModelFile

    /// Memory for a model that has no part that the engine runs.
    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor

    /// The key of a model's compiled form; nil where none is kept. Blocks: reads the model's files.
    func key(_ source: ModelSource) -> ExportKey?

    /// The model that was compiled before; nil if there is none. Blocks.
    /// - Parameter readFile: reads the model's file, where what was kept is not enough.
    func cached(
        _ key: ExportKey, readFile: @escaping @Sendable () throws(EngineError) -> any ModelFile
    ) -> (any ModelFile)?

    /// The reason why the engine does not compute exact sums with 8-bit weights in integers here; nil if it does.
    var inexactIntegers: String? { get }
}

extension ImportTarget {
    package func key(_ source: ModelSource) -> ExportKey? { nil }

    package func cached(
        _ key: ExportKey, readFile: @escaping @Sendable () throws(EngineError) -> any ModelFile
    ) -> (any ModelFile)? { nil }

    package var inexactIntegers: String? { "\(version) has no integer kernels for them" }

    /// Reads a model: what was kept of it, or its file.
    func read(
        _ source: ModelSource, readFile: @escaping @Sendable (ExportKey?) throws(EngineError) -> any ModelFile
    ) throws(EngineError) -> any ModelFile {
        guard let key = key(source) else { return try readFile(nil) }
        let kept = cached(key) { () throws(EngineError) in try readFile(key) }
        if let kept { return kept }
        return try readFile(key)
    }
}
