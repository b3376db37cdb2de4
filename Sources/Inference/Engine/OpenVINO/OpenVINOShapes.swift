internal import COpenVINO
internal import Synchronization

/// Says whether a model whose inputs leave axes open takes certain shapes, before the engine meets them.
///
/// The CPU plugin infers shapes layer by layer as it runs, and passes over layers whose inputs have the shapes of their
/// last run. Where one layer refuses, those before it are left with shapes that no run has finished: the same stream
/// then refuses the right shapes too, from any request, until others come along. So shapes are tried on the model that
/// was read, which is kept for this.
final class OpenVINOShapes: Sendable {
    private let model: OpenVINOHandle
    /// Held while shapes are tried: the model has the shapes of one try at a time.
    private let trying = Mutex(())

    /// - Parameter model: as it was compiled; nothing else uses it any more.
    init(_ model: OpenVINOHandle) {
        self.model = model
    }

    /// Takes milliseconds, and waits for those who came before.
    /// - Parameter shapes: by the index of the input; every axis fixed.
    /// - Throws: what the model's layers say where the shapes do not fit together.
    func check(_ shapes: [Int: Shape]) throws(EngineError) {
        let result: Result<Void, EngineError> = trying.withLock { _ in
            Result { () throws(EngineError) in try Self.reshape(model, to: shapes) }
        }
        try result.get()
    }

    /// Gives a model's inputs shapes, whose axes may be open; inputs that are not named keep theirs.
    static func reshape(_ model: OpenVINOHandle, to shapes: [Int: Shape]) throws(EngineError) {
        guard !shapes.isEmpty else { return }
        let indexes = shapes.keys.sorted()
        var partials: [ov_partial_shape_t] = []
        defer { for index in partials.indices { ov_partial_shape_free(&partials[index]) } }
        for index in indexes {
            let dimensions = (shapes[index]?.dimensions ?? []).map { extent in
                // -1 for both is OpenVINO's own way to say that an axis is open.
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
