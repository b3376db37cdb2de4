/// NaN and infinities in tensors of clients, for models of which the engine returns numbers in their place.
extension Model {
    /// The engine's refusal of an input's tensor with NaN or infinities; nil if all elements are finite, or if the
    /// engine answers them as the file's format says.
    func refusal(of tensor: any EngineTensor, plan: InputPlan) -> EngineError? {
        guard resources.losesNonFinite, let index = tensor.firstNonFinite else { return nil }
        let engine = loadReport.engine?.version ?? "the engine"
        return EngineError(
            kind: .invalidInput, operation: plan.description.name,
            detail: "element \(index) is NaN or an infinity, which \(engine) loses in this model")
    }
}

extension EngineTensor {
    /// The index of the first element that is NaN or an infinity; nil if all are finite, or integers.
    var firstNonFinite: Int? {
        switch elementType {
        case .float32: first(UInt32.self, with: 0x7F80_0000)
        case .float64: first(UInt64.self, with: 0x7FF0_0000_0000_0000)
        case .float16: first(UInt16.self, with: 0x7C00)
        case .bfloat16: first(UInt16.self, with: 0x7F80)
        default: nil
        }
    }

    /// The index of the first element of which the exponent has all bits set (IEEE 754).
    private func first<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type, with exponent: T) -> Int? {
        let size = MemoryLayout<T>.size
        return (0..<bytes.count / size).first {
            bytes.loadUnaligned(fromByteOffset: $0 * size, as: T.self) & exponent == exponent
        }
    }
}
