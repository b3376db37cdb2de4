internal import COpenVINO
internal import EngineAPI
internal import Synchronization

/// A model that is kept after it was compiled, because shapes within it are known only when it runs.
///
/// The CPU plugin infers shapes layer by layer as it runs, and skips layers whose inputs have the shapes (and patterns)
/// of their last run. If a layer rejects its inputs, this layer and those before it keep shapes that no run has
/// completed: the same stream then also rejects valid shapes, or answers with the values of an earlier run, for any
/// infer request. Therefore the shapes that callers give are first checked on the kept model, and if an inference fails
/// all the same, the model is compiled again.
final class OpenVINOShapes: Sendable {
    private let model: OpenVINOHandle
    /// The shapes that the model was compiled with, by the index of the input.
    private let compiled: [Int: Shape]
    /// Held while shapes are checked, because a check changes the model's shapes.
    private let trying = Mutex(())

    private let compile: @Sendable (OpenVINOHandle) throws(EngineError) -> OpenVINONetwork

    /// - Parameters:
    ///   - model: the model as it was compiled; no other code uses it any more.
    ///   - inputs: its inputs, as it was compiled.
    ///   - compile: compiles it. Blocks.
    init(
        _ model: OpenVINOHandle, inputs: [TensorPort],
        compile: @escaping @Sendable (OpenVINOHandle) throws(EngineError) -> OpenVINONetwork
    ) {
        self.model = model
        self.compile = compile
        compiled = Dictionary(uniqueKeysWithValues: inputs.enumerated().map { ($0, $1.shape) })
    }

    /// Compiles the model again, as it was compiled before. Blocks during that time, and waits for checks that are
    /// under way.
    func compileAgain() throws(EngineError) -> OpenVINONetwork {
        let result: Result<OpenVINONetwork, EngineError> = trying.withLock { _ in
            Result { () throws(EngineError) in
                try Self.reshape(model, to: compiled)
                return try compile(model)
            }
        }
        return try result.get()
    }

    /// Checks shapes. Takes milliseconds, and waits for earlier checks.
    /// - Parameter shapes: by the index of the input; every axis is fixed.
    /// - Throws: the error of the model's layers if the shapes do not match each other.
    func check(_ shapes: [Int: Shape]) throws(EngineError) {
        let result: Result<Void, EngineError> = trying.withLock { _ in
            Result { () throws(EngineError) in try Self.reshape(model, to: shapes) }
        }
        try result.get()
    }

    /// Sets the shapes of a model's inputs, whose axes may be open; inputs that are not listed keep their shapes.
    static func reshape(_ model: OpenVINOHandle, to shapes: [Int: Shape]) throws(EngineError) {
        guard !shapes.isEmpty else { return }
        let indexes = shapes.keys.sorted()
        var partials: [ov_partial_shape_t] = []
        defer { for index in partials.indices { ov_partial_shape_free(&partials[index]) } }
        for index in indexes {
            let dimensions = (shapes[index]?.dimensions ?? []).map { extent in
                // -1 for both limits is OpenVINO's notation for an open axis.
                extent == Shape.dynamic
                    ? ov_dimension_t(min: -1, max: -1) : ov_dimension_t(min: Int64(extent), max: Int64(extent))
            }
            var partial = ov_partial_shape_t()
            try checked("describe a shape") {
                ov_partial_shape_create(Int64(dimensions.count), dimensions, &partial)
            }
            partials.append(partial)
        }
        let text = indexes.compactMap { shapes[$0]?.description }.joined(separator: ", ")
        try checked("reshape the model's inputs to \(text)", kind: .invalidModel) {
            ov_model_reshape_by_port_indexes(model.pointer, indexes, partials, indexes.count)
        }
    }
}
