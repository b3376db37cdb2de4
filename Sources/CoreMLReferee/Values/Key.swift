/// The name of a class or a category. Texts are equal if their bytes are: Swift's `String` takes some different ones as
/// equal.
package enum Key: Sendable, Hashable, CustomStringConvertible {
    case text([UInt8])
    case integer(Int64)

    package init(_ text: String) { self = .text(Array(text.utf8)) }

    /// The text itself, or the integer in decimal: the name in answers.
    package var description: String {
        switch self {
        case .text(let bytes): String(decoding: bytes, as: UTF8.self)
        case .integer(let number): String(number)
        }
    }
}

/// A value of an input or an output, as the referee knows it.
package enum RefereeValue: Sendable, Hashable {
    /// A number; NaN is a missing one.
    case number(Number)
    case integer(Int64)
    case text([UInt8])
    /// Numbers in row-major order.
    case array([Number])
    case dictionary(keys: [Key], values: [Number])
    /// A predicted class: any of these, because their scores are too close to each other. The best one is the first.
    case label([Key])
    /// The file says nothing about the value, for this reason.
    case unjudged(String)

    package init(_ text: String) { self = .text(Array(text.utf8)) }

    /// The number of numbers in the value.
    var numberCount: Int {
        switch self {
        case .array(let numbers): numbers.count
        case .dictionary(let keys, _): keys.count
        default: 1
        }
    }

    /// The kind of value, for messages.
    var kind: String {
        switch self {
        case .number: "a number"
        case .integer: "an integer"
        case .text: "a string"
        case .array(let numbers): "an array of \(numbers.count) numbers"
        case .dictionary: "a dictionary"
        case .label: "a class"
        case .unjudged: "unknown"
        }
    }
}

/// Values by the names of their features.
package typealias RefereeRow = [String: RefereeValue]
