internal import EngineImporters
internal import FlowControl
internal import ImagePipeline

/// Writes the values of a prediction into the engine's input memory.
struct InputFiller {
    let options: PredictionOptions
    /// Called between batches of scanlines.
    let isCancelled: () -> Bool

    /// Fills the tensor of one input; for a picture, returns its properties.
    func fill(
        _ tensor: any EngineTensor, with value: FeatureValue, plan: InputPlan
    ) throws(InferenceError) -> ImageInfo? {
        let info = try put(value, into: tensor, plan: plan)
        if plan.isExact { return info }
        try checkRange(tensor, name: plan.description.name)
        return info
    }

    /// Fills the tensor of an input that the prediction does not give.
    func fillMissing(_ tensor: any EngineTensor, plan: InputPlan) throws(InferenceError) {
        guard let fallback = plan.fallback else {
            throw .invalidInput(name: plan.description.name, reason: "is missing")
        }
        if let tensor = tensor as? FeatureTensor { return tensor.set(nil) }
        // In integer tensors the greatest 64-bit integer marks a missing value, as in Core ML.
        let value = fallback.isNaN && !tensor.elementType.isFloatingPoint ? Double(Int64.max) : fallback
        let count = tensor.elementType.byteCount == 0 ? 0 : tensor.bytes.count / tensor.elementType.byteCount
        for index in 0..<count {
            ElementConversion.write(value, at: index, as: tensor.elementType, to: tensor.bytes)
        }
    }

    /// Refuses 64-bit integers that do not fit into 32 bits: OpenVINO computes in 32 bits, and would silently change
    /// them.
    private func checkRange(_ tensor: any EngineTensor, name: String) throws(InferenceError) {
        func integers<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type, from minimum: Int32) throws(InferenceError) {
            for index in 0..<tensor.bytes.count / 8 {
                let value = tensor.bytes.loadUnaligned(fromByteOffset: index * 8, as: T.self)
                guard Int32(exactly: value) == nil else { continue }
                throw .invalidInput(
                    name: name,
                    reason: "expected integers from \(minimum) to \(Int32.max) (the engine computes "
                        + "\(tensor.elementType.rawValue) in 32 bits), found \(value) at element \(index)")
            }
        }
        switch tensor.elementType {
        case .int64: try integers(Int64.self, from: .min)
        case .uint64: try integers(UInt64.self, from: 0)
        case .float64:
            let bytes = tensor.bytes
            for index in 0..<bytes.count / 8 {
                let value = bytes.loadUnaligned(fromByteOffset: index * 8, as: Double.self)
                guard value.isFinite, !Float(value).isFinite else { continue }
                throw .invalidInput(
                    name: name,
                    reason: "expected numbers that a 32-bit float can hold (the engine computes float64 in 32 bits), "
                        + "found \(value) at element \(index)")
            }
        default: break
        }
    }

    private func put(
        _ value: FeatureValue, into tensor: any EngineTensor, plan: InputPlan
    ) throws(InferenceError) -> ImageInfo? {
        let name = plan.description.name
        switch (plan.kind, value) {
        case (.image(let pipeline), .image(let image)):
            return try decode(image, into: tensor, pipeline: pipeline, name: name)
        case (.image, .multiArray(let array)):
            // Pixels that the client has already prepared in the tensor's form.
            try copy(array, into: tensor, name: name)
        case (.image, .borrowedArray(let array)):
            try copy(array, into: tensor, name: name)
        case (.bytes, .borrowedArray(let array)):
            try copy(array, into: tensor, name: name)
        case (.array(let linear), .borrowedArray(let array)):
            if linear == nil || options.usesTensors, array.elementType == tensor.elementType {
                try copy(array, into: tensor, name: name)
            } else {
                try check(count: array.count, for: tensor, name: name)
                array.withUnsafeBytes { convert($0, of: array.elementType, into: tensor, linear: linear) }
            }
        case (.array(let linear), .multiArray(let array)):
            if linear == nil || options.usesTensors, array.elementType == tensor.elementType {
                try copy(array, into: tensor, name: name)
            } else {
                try convert(array, into: tensor, linear: linear, name: name)
            }
        case (.array(let linear), .double(let number)):
            try single(number, into: tensor, linear: linear, name: name)
        case (.array(nil), .int64(let number)) where tensor.elementType == .int64 && tensor.bytes.count == 8:
            // Not converted through a float, which holds 53 bits.
            tensor.bytes.storeBytes(of: number, as: Int64.self)
        case (.array(let linear), .int64(let number)):
            try single(Double(number), into: tensor, linear: linear, name: name)
        case (.bytes, .multiArray(let array)):
            try copyBytes(array.bytes, into: tensor, name: name)
        case (.bytes, .string(let text)):
            try copyBytes(Array(text.utf8), into: tensor, name: name)
        case (.feature, _) where tensor is StringTensor:
            try putStrings(value, into: tensor, name: name)
        case (.feature, _):
            guard let tensor = tensor as? FeatureTensor, tensor.set(value, plan.description) else {
                throw .invalidInput(
                    name: name, reason: "expected a \(plan.description.kind.rawValue), found \(value.kind)")
            }
        case (.image, _):
            throw .invalidInput(name: name, reason: "expected an image, found \(value.kind)")
        default:
            throw .invalidInput(
                name: name,
                reason:
                    "expected numbers of shape \(tensor.shape) of \(tensor.elementType.rawValue), found \(value.kind)")
        }
        return nil
    }

    private func putStrings(
        _ value: FeatureValue, into tensor: any EngineTensor, name: String
    ) throws(InferenceError) {
        let elements: [String]? =
            switch value {
            case .string(let text): [text]
            case .strings(let array): array.elements
            default: nil
            }
        guard let elements, let tensor = tensor as? StringTensor, tensor.set(elements) else {
            throw .invalidInput(
                name: name, reason: "expected strings of shape \(tensor.shape), found \(value.kind)")
        }
    }

    private func decode(
        _ image: EncodedImage, into tensor: any EngineTensor, pipeline: ImagePipeline, name: String
    ) throws(InferenceError) -> ImageInfo {
        let decoding = image.decoding(options)
        do throws(ImageError) {
            var info = try image.prepare(pipeline, into: tensor.bytes, options: decoding, isCancelled: isCancelled)
            if options.measures {
                // The description of a window is that of its pixels.
                var seen = decoding
                if image.window != nil { seen.part = nil }
                info.light = pipeline.light(of: UnsafeRawBufferPointer(tensor.bytes), info: info, options: seen)
            }
            return info
        } catch {
            throw .image(error, input: name)
        }
    }

    private func copy(_ array: MultiArray, into tensor: any EngineTensor, name: String) throws(InferenceError) {
        guard array.elementType == tensor.elementType, array.bytes.count == tensor.bytes.count else {
            throw .invalidInput(
                name: name,
                reason: "expected shape \(tensor.shape) of \(tensor.elementType.rawValue), "
                    + "found shape \(array.shape) of \(array.elementType.rawValue)")
        }
        tensor.bytes.copyBytes(from: array.bytes)
    }

    private func copy(_ array: BorrowedArray, into tensor: any EngineTensor, name: String) throws(InferenceError) {
        guard array.elementType == tensor.elementType, array.byteCount == tensor.bytes.count else {
            throw .invalidInput(
                name: name,
                reason: "expected shape \(tensor.shape) of \(tensor.elementType.rawValue), "
                    + "found shape \(array.shape) of \(array.elementType.rawValue)")
        }
        array.withUnsafeBytes { tensor.bytes.copyMemory(from: $0) }
    }

    private func copyBytes(_ bytes: [UInt8], into tensor: any EngineTensor, name: String) throws(InferenceError) {
        guard bytes.count == tensor.bytes.count else {
            throw .invalidInput(
                name: name,
                reason: "expected \(tensor.bytes.count) bytes (shape \(tensor.shape) of "
                    + "\(tensor.elementType.rawValue)), found \(bytes.count)")
        }
        tensor.bytes.copyBytes(from: bytes)
    }

    private func convert(
        _ array: MultiArray, into tensor: any EngineTensor, linear: LinearTransform?, name: String
    ) throws(InferenceError) {
        try check(count: array.count, for: tensor, name: name)
        array.bytes.withUnsafeBytes { convert($0, of: array.elementType, into: tensor, linear: linear) }
    }

    private func check(count: Int, for tensor: any EngineTensor, name: String) throws(InferenceError) {
        guard let expected = tensor.shape.elementCount, count == expected else {
            throw .invalidInput(
                name: name,
                reason: "expected \(tensor.shape.elementCount ?? 0) numbers (shape \(tensor.shape)), found \(count)")
        }
    }

    private func convert(
        _ raw: UnsafeRawBufferPointer, of type: ElementType, into tensor: any EngineTensor, linear: LinearTransform?
    ) {
        let target = tensor.elementType, bytes = tensor.bytes, linear = options.usesTensors ? nil : linear
        ElementConversion.read(raw, as: type) { index, value in
            ElementConversion.write(Self.quantized(value, linear, as: target), at: index, as: target, to: bytes)
        }
    }

    /// Quantizes as TensorIO does: in 32-bit floats, and integers are truncated (0.5 of [0,1] is 127).
    private static func quantized(_ value: Double, _ linear: LinearTransform?, as type: ElementType) -> Double {
        guard let linear else { return value }
        let result = Double(Float(linear(value)))
        return type.isFloatingPoint ? result : result.rounded(.towardZero)
    }

    private func single(
        _ number: Double, into tensor: any EngineTensor, linear: LinearTransform?, name: String
    ) throws(InferenceError) {
        guard tensor.shape.elementCount == 1 else {
            throw .invalidInput(
                name: name,
                reason: "expected \(tensor.shape.elementCount ?? 0) numbers (shape \(tensor.shape)), found one")
        }
        let value = Self.quantized(number, options.usesTensors ? nil : linear, as: tensor.elementType)
        ElementConversion.write(value, at: 0, as: tensor.elementType, to: tensor.bytes)
    }
}
