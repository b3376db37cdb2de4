/// A number with the bound of the error that another order of operations may cause.
///
/// The referee and an engine add the same terms in another order. Where this decides a comparison, or is larger than
/// the tolerance of the judgment, nothing can be said about the engine.
package struct Number: Sendable, Hashable {
    package var value: Double
    /// The largest difference from `value` that double precision explains; 0 for numbers that nothing has rounded.
    package var slack: Double

    /// The distance from 1 to the next number.
    static let epsilon = 0x1p-52

    package init(_ value: Double, slack: Double = 0) {
        self.value = value
        self.slack = slack
    }

    /// True if neither the number nor the bound of its error overflowed, and the number is not missing (NaN).
    var isKnown: Bool { value.isFinite && slack.isFinite }

    /// The number after a function with an own error of a few units of the last place.
    func through(_ function: (Double) -> Double) -> Number {
        let result = function(value)
        var bound = 4 * Self.epsilon * abs(result)
        if slack > 0 { bound += max(abs(function(value + slack) - result), abs(function(value - slack) - result)) }
        return Number(result, slack: bound)
    }

    static func + (a: Number, b: Number) -> Number {
        let sum = a.value + b.value
        // Exact if one of them is zero: nothing is rounded then.
        let rounding = a.value == 0 || b.value == 0 ? 0 : epsilon * max(abs(a.value), abs(b.value), abs(sum))
        return Number(sum, slack: a.slack + b.slack + rounding)
    }

    static func * (a: Number, b: Number) -> Number {
        let product = a.value * b.value
        let rounding = abs(a.value) == 1 || abs(b.value) == 1 ? 0 : epsilon * abs(product)
        return Number(product, slack: a.slack * (abs(b.value) + b.slack) + abs(a.value) * b.slack + rounding)
    }

    /// The quotient; its slack is infinite if the divisor may be zero.
    static func / (a: Number, b: Number) -> Number {
        let quotient = a.value / b.value, least = abs(b.value) - b.slack
        guard least > 0 else { return Number(quotient, slack: .infinity) }
        let rounding = abs(b.value) == 1 && b.slack == 0 ? 0 : epsilon * abs(quotient)
        return Number(quotient, slack: (a.slack + abs(quotient) * b.slack) / least + rounding)
    }
}

/// The sum of many numbers with Neumaier's compensation, so that the referee's own error is negligible.
struct Total {
    private var sum = 0.0, compensation = 0.0
    private var magnitude = 0.0, slack = 0.0
    private var count = 0.0

    mutating func add(_ term: Number) {
        let next = sum + term.value
        compensation += abs(sum) >= abs(term.value) ? (sum - next) + term.value : (term.value - next) + sum
        sum = next
        guard term.value != 0 || term.slack != 0 else { return }
        magnitude += abs(term.value)
        slack += term.slack
        count += 1
    }

    mutating func add(_ term: Double) { add(Number(term)) }

    /// The sum. The bound is that of adding the terms one after the other; a single term is exact.
    var number: Number {
        Number(sum + compensation, slack: slack + (count > 1 ? count * Number.epsilon * magnitude : 0))
    }
}

extension [Number] {
    /// The exponentials of all, divided by their sum.
    var softmax: [Number] {
        let greatest = map(\.value).max() ?? 0, doubt = map(\.slack).max() ?? 0
        var sum = Total()
        let powers = map { exponential($0.value - greatest) }
        for power in powers { sum.add(power) }
        let total = sum.number.value
        return zip(self, powers).map { logit, power in
            let share = power / total
            // The derivative is at most 2 for all logits together; the difference of logits is rounded, too.
            let rounding = (abs(logit.value) + abs(greatest) + Double(count) + 8) * Number.epsilon
            return Number(share, slack: share * (2 * doubt + rounding))
        }
    }

    /// Each divided by the sum of all; nil if the sum is zero or too small to divide by.
    var shares: [Number]? {
        var sum = Total()
        for number in self { sum.add(number) }
        let total = sum.number
        guard abs(total.value) > total.slack, abs(total.value) > .leastNormalMagnitude else { return nil }
        return map { $0 / total }
    }
}
