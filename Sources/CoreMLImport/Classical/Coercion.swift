extension FeatureType {
    /// Converts a value to the type that the description declares: between types of numbers, and between a number and
    /// an array of one number.
    func coerced(_ data: FeatureData, feature: String) throws(EvaluationError) -> FeatureData {
        switch (self, data) {
        case (.double, .double), (.int64, .int64), (.string, .string), (.dictionary, .dictionary), (.image, .image),
            (.image, .array):
            return data
        case (.double, .int64(let number)): return .double(Double(number))
        case (.double, .array(let array)) where array.values.count == 1: return .double(array.values[0])
        case (.int64, .double(let number)): return .int64(try Self.integer(number, feature))
        case (.int64, .array(let array)) where array.values.count == 1:
            return .int64(try Self.integer(array.values[0], feature))
        case (.multiArray(let declared), .double(let number)): return .array(declared.coerced(NumberArray([number])))
        case (.multiArray(let declared), .int64(let number)):
            return .array(declared.coerced(NumberArray([Double(number)])))
        case (.multiArray(let declared), .array(let array)): return .array(declared.coerced(array))
        default: throw EvaluationError("is \(data.kind), but the file declares it as \(name)", feature: feature)
        }
    }

    private static func integer(_ number: Double, _ feature: String) throws(EvaluationError) -> Int64 {
        guard let whole = Int64(exactly: number.rounded()) else {
            throw EvaluationError("is \(number), which is not a 64-bit integer", feature: feature)
        }
        return whole
    }
}

extension ArrayFeature {
    /// The array with the precision of the declared type, and in the declared shape if that has the same number of
    /// elements.
    func coerced(_ array: NumberArray) -> NumberArray {
        var result = array
        let shape = extents.compactMap { $0 }
        if shape != array.shape, FeatureType.multiArray(self).numberCount == array.values.count { result.shape = shape }
        switch dataType {
        case .float32: for index in result.values.indices { result.values[index] = Double(Float(result.values[index])) }
        case .float16:
            for index in result.values.indices { result.values[index] = Double(Float16(result.values[index])) }
        case .int32, .int8: for index in result.values.indices { result.values[index].round() }
        case .double, .invalid: break
        }
        return result
    }
}
