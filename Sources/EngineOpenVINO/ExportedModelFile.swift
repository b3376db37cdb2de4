internal import COpenVINO
package import EngineAPI
internal import Synchronization

/// A model file that was compiled before, on this machine or a similar one: the cache contains its metadata and the
/// compiled model. The file itself is read only if these are not sufficient.
package final class ExportedModelFile: ModelFile {
    private let engine: OpenVINOEngine
    private let key: ExportKey
    private let description: ExportedModel.Description
    private let readFile: @Sendable () throws(EngineError) -> any ModelFile
    /// The file, after it was read.
    private let file = Mutex<(any ModelFile)?>(nil)
    package let inputs: [TensorPort]
    package let outputs: [TensorPort]
    package var integerWeights: IntegerWeights? { description.integerWeights }
    package var digest: String? { key.name }

    /// - Parameter readFile: reads the model's file.
    init(
        _ exported: ExportedModel, key: ExportKey, engine: OpenVINOEngine,
        readFile: @escaping @Sendable () throws(EngineError) -> any ModelFile
    ) {
        description = exported.description
        self.key = key
        self.engine = engine
        self.readFile = readFile
        inputs = description.inputs.map(\.port)
        outputs = description.outputs.map(\.port)
    }

    package func inputIndex(named name: String) -> Int? {
        if let index = inputs.firstIndex(where: { $0.name == name }) ?? description.inputNames[name] { return index }
        // It may be another of a tensor's names, which only the file contains.
        return (try? whole())?.inputIndex(named: name)
    }

    package func outputIndex(named name: String) -> Int? {
        if let index = outputs.firstIndex(where: { $0.name == name }) ?? description.outputNames[name] { return index }
        return (try? whole())?.outputIndex(named: name)
    }

    package func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel {
        if options.cacheDirectory != nil,
            let exported = ExportedModel.find(key, compilation: engine.compilation(options, inputs: inputs))
        {
            do throws(EngineError) {
                return try engine.importing(exported, options)
            } catch {
                if error.kind == .noThreads { throw error }
                // A model that cannot be imported is compiled again, and replaced in the cache.
            }
        }
        return try whole().compile(options)
    }

    private func whole() throws(EngineError) -> any ModelFile {
        let result: Result<any ModelFile, EngineError> = file.withLock { file in
            if let file { return .success(file) }
            return Result { () throws(EngineError) in
                let new = try readFile()
                file = new
                return new
            }
        }
        return try result.get()
    }
}
