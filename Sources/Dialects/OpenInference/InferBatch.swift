internal import Inference
internal import WireFormats

/// The predictions of one `infer` request: one, or one for each item of its batch.
///
/// If the model file leaves the batch axis open, a bundle's model runs one item at a time, several in parallel, or
/// several in one inference (`runtime.batch`): the batch is split, and the outputs are joined again. A bare model file
/// runs the batch as it is.
struct InferBatch: Sendable {
    /// The inputs of each prediction.
    let items: [DictionaryFeatureProvider]

    init(_ request: InferBody, model: ModelDescription, maximum: Int) throws(ServiceError) {
        var count: (items: Int, input: String)?
        for input in request.inputs {
            guard let description = model.inputs.first(where: { $0.name == input.name }) else { continue }
            let items = Self.items(of: input, description)
            if let count, count.items != items {
                throw .invalidInput(
                    "input \"\(input.name)\": expected a batch of \(count.items), as input \"\(count.input)\" has, "
                        + "found \(items)")
            }
            guard items == 1 || description.isBatchOpen || !description.shape.isStatic else {
                throw .invalidInput(
                    "input \"\(input.name)\": expected one picture (the model's batch is fixed), found \(items)")
            }
            count = (items, input.name)
        }
        let total = count?.items ?? 1
        guard total <= maximum else {
            throw .invalidInput("expected a batch of at most \(maximum), found \(total)")
        }
        var items: [DictionaryFeatureProvider] = []
        for index in 0..<total {
            var values: [(name: String, value: FeatureValue)] = []
            for input in request.inputs { values.append((input.name, try Self.value(input, model, index, of: total))) }
            items.append(DictionaryFeatureProvider(values))
        }
        self.items = items
    }

    private static func items(of input: InferBody.Input, _ description: FeatureDescription) -> Int {
        switch input.content {
        case .pictures(let pictures): pictures.count
        case .tensor where description.shape.isStatic && description.isBatchOpen,
            .strings where description.shape.isStatic && description.isBatchOpen:
            input.shape.dimensions.first ?? 1
        case .tensor, .strings: 1
        }
    }

    private static func value(
        _ input: InferBody.Input, _ model: ModelDescription, _ index: Int, of total: Int
    ) throws(ServiceError) -> FeatureValue {
        switch input.content {
        case .pictures(let pictures): return .image(pictures[index])
        case .strings(let whole):
            // The feature is one string, not a tensor.
            if whole.shape.dimensions == [1] { return .string(whole.elements.first ?? "") }
            guard total > 1 else { return .strings(whole) }
            let size = whole.elements.count / total
            return .strings(
                StringArray(
                    shape: Shape([1] + whole.shape.dimensions.dropFirst()),
                    elements: Array(whole.elements[index * size..<(index + 1) * size])))
        case .tensor(let whole):
            guard total > 1 else { return .borrowedArray(whole) }
            var shape = input.shape
            shape.dimensions[0] = 1
            let size = whole.byteCount / total
            do throws(InferenceError) {
                return .borrowedArray(
                    try BorrowedArray(elementType: whole.elementType, shape: shape, byteCount: size) { use in
                        whole.withUnsafeBytes {
                            use(UnsafeRawBufferPointer(rebasing: $0[index * size..<(index + 1) * size]))
                        }
                    })
            } catch {
                throw ServiceError(error)
            }
        }
    }
}
