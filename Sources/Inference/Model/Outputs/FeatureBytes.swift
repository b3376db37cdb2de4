/// Converts values that are not tensors to tensors of one element: strings to the Open Inference Protocol's BYTES,
/// integers to 64 bits.
enum FeatureBytes {
    /// The elements and the shape of an output; nil if the output is already a tensor.
    static func encoded(
        _ plan: OutputPlan, of outputs: any EngineOutputs
    ) throws(InferenceError) -> (bytes: [UInt8], shape: Shape)? {
        let value: FeatureValue?
        switch plan.kind {
        case .feature: value = outputs.feature(plan.index)
        case .classLabel:
            value = try outputs.reading(plan.index) { (shape, raw) throws(InferenceError) in
                try OutputReader.value(of: plan, shape: shape, raw: raw)
            }
        default: return nil
        }
        switch value {
        case .string(let text)?: return (strings([text]), [1])
        case .strings(let array)?: return (strings(array.elements), array.shape)
        case .int64(let number)?: return (withUnsafeBytes(of: number) { Array($0) }, [1])
        case .dictionary?:
            throw .unsupported(
                model: plan.description.name,
                reason: "is a dictionary with arbitrary keys, not a tensor: use predict")
        default:
            throw .unsupported(model: plan.description.name, reason: "is a sequence, not a tensor: use predict")
        }
    }

    private static func strings(_ texts: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        for text in texts {
            withUnsafeBytes(of: UInt32(clamping: text.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: text.utf8)
        }
        return bytes
    }
}

extension [UInt8] {
    /// Calls `body` with the bytes, and rethrows its typed errors, unlike the standard library's method.
    func lent<R>(_ body: (UnsafeRawBufferPointer) throws(InferenceError) -> R) throws(InferenceError) -> R {
        let result = withUnsafeBytes { raw -> Result<R, InferenceError> in
            Result { () throws(InferenceError) in try body(raw) }
        }
        return try result.get()
    }
}
