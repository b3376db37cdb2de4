package import CoreMLImport
package import EngineAPI
internal import Synchronization

/// An input that is a string or a dictionary: it holds a value instead of memory.
package final class FeatureTensor: EngineTensor {
    package let elementType = ElementType.string
    package let shape: Shape = [1]
    package var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: nil, count: 0) }
    private let data = Mutex<FeatureData?>(nil)

    /// The value; nil if the prediction omits the input.
    var value: FeatureData? { data.withLock { $0 } }

    package func set(_ value: FeatureData?) { data.withLock { $0 = value } }

    /// Stores a value if its kind is that of the input.
    /// - Returns: whether the value was stored.
    package func set(_ value: FeatureValue, _ description: FeatureDescription) -> Bool {
        switch (description.kind, value) {
        case (.text, .string(let text)): set(.string(text))
        case (.dictionary, .dictionary(let entries)):
            var numbers = CategoryNumbers(keys: [], values: [])
            for entry in entries {
                if description.hasIntegerKeys {
                    guard let key = Int64(entry.label) else { return false }
                    numbers.keys.append(.int64(key))
                } else {
                    numbers.keys.append(.string(entry.label))
                }
                numbers.values.append(entry.value)
            }
            set(.dictionary(numbers))
        default: return false
        }
        return true
    }
}

extension FeatureValue {
    /// A value of one of Core ML's own types; nil for arrays and pictures.
    package init?(_ data: FeatureData) {
        switch data {
        case .string(let text): self = .string(text)
        case .int64(let number): self = .int64(number)
        case .double(let number): self = .double(number)
        case .dictionary(let numbers):
            self = .dictionary(zip(numbers.keys, numbers.values).map { LabeledValue(label: $0.description, value: $1) })
        case .array, .image: return nil
        }
    }
}
