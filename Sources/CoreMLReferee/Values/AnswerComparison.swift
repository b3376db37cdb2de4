/// A value that an engine answered.
package enum FeatureAnswer: Sendable {
    case number(Double)
    case integer(Int64)
    case text(String)
    case array([Double])
    /// Numbers by the names of their classes.
    case dictionary([(label: String, value: Double)])
}

/// Compares an engine's answers for a row with the referee's.
///
/// Classes must be equal; if the referee's best scores differ by less than a millionth, either class is right. Numbers
/// may differ by a hundred-thousandth of the largest number of their output: an engine may compute in 32-bit floats,
/// and sums of hundreds of them have errors of some millionths, while a wrong branch, weight or order of classes
/// changes the answer for some of the rows by far more. The bound of the referee's own rounding is added.
package struct AnswerComparison: Sendable {
    /// The largest difference of numbers so far, as a fraction of the largest number of their output.
    package private(set) var largestDifference = 0.0
    /// The number of outputs that were compared.
    package private(set) var compared = 0

    private static let tolerance = 1e-5
    /// An output that rounding may change by more than this fraction does not count as compared, nor for the largest
    /// difference.
    private static let meaningless = 1e-3

    package init() {}

    /// Compares one row.
    /// - Returns: the first difference, as the end of a sentence; nil if the answers agree.
    package mutating func difference(_ answers: [String: FeatureAnswer], from expected: RefereeRow) -> String? {
        for (name, value) in expected.sorted(by: { $0.key < $1.key }) {
            if case .unjudged = value { continue }
            guard let answer = answers[name] else { return "output \"\(name)\" is missing" }
            if let difference = difference(answer, from: value) { return "output \"\(name)\" is \(difference)" }
        }
        return nil
    }

    private mutating func difference(_ answer: FeatureAnswer, from expected: RefereeValue) -> String? {
        switch (answer, expected) {
        case (.number(let a), .number(let b)): return difference([a], from: [b])
        case (.array(let a), .array(let b)): return difference(a, from: b)
        case (.number(let a), .array(let b)): return difference([a], from: b)
        case (.array(let a), .number(let b)): return difference(a, from: [b])
        case (.integer(let a), .integer(let b)):
            compared += 1
            return a == b ? nil : "\(a) instead of \(b)"
        case (.text(let a), .text(let b)):
            compared += 1
            return a.utf8.elementsEqual(b) ? nil : "\"\(a)\" instead of \"\(Key.text(b))\""
        case (.text(let a), .label(let keys)): return difference(Key(a), from: keys)
        case (.integer(let a), .label(let keys)): return difference(Key.integer(a), from: keys)
        case (.dictionary(let entries), .dictionary(let keys, let values)):
            return difference(entries, from: keys, values)
        default: return "\(answer.kind) instead of \(expected.kind)"
        }
    }

    private mutating func difference(_ key: Key, from keys: [Key]) -> String? {
        compared += 1
        return keys.contains(key) ? nil : "the class \"\(key)\" instead of \"\(keys[0])\""
    }

    private mutating func difference(
        _ entries: [(label: String, value: Double)], from keys: [Key], _ values: [Number]
    ) -> String? {
        guard entries.count == keys.count else { return "\(entries.count) entries instead of \(keys.count)" }
        var found: [[UInt8]: Double] = [:]
        for (label, value) in entries { found[Array(label.utf8)] = value }
        var answers: [Double] = []
        for key in keys {
            guard let value = found[Array(key.description.utf8)] else { return "without an entry for \"\(key)\"" }
            answers.append(value)
        }
        return difference(answers, from: values) { " for \"\(keys[$0])\"" }
    }

    private mutating func difference(
        _ found: [Double], from expected: [Number], place: (Int) -> String = { _ in "" }
    ) -> String? {
        guard found.count == expected.count else { return "\(found.count) numbers instead of \(expected.count)" }
        let largest = expected.reduce(0) { max($0, abs($1.value)) }
        let doubt = expected.reduce(0) { max($0, $1.slack) }
        guard largest.isFinite, doubt.isFinite else { return nil }
        let isMeaningful = doubt <= Self.meaningless * largest
        if isMeaningful { compared += 1 }
        for (index, (a, b)) in zip(found, expected).enumerated() {
            if a.isNaN, b.value.isNaN { continue }
            let difference = abs(a - b.value)
            // Written so that NaN is a difference.
            guard difference <= Self.tolerance * largest + b.slack else {
                return "\(a) instead of \(b.value)\(place(index))"
            }
            if isMeaningful, largest > 0 { largestDifference = max(largestDifference, difference / largest) }
        }
        return nil
    }
}

extension FeatureAnswer {
    /// The kind of value, for messages.
    fileprivate var kind: String {
        switch self {
        case .number: "a number"
        case .integer: "an integer"
        case .text: "a string"
        case .array(let numbers): "an array of \(numbers.count) numbers"
        case .dictionary: "a dictionary"
        }
    }
}
