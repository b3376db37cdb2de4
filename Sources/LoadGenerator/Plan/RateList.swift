/// The rates of a sweep as text: `50,100,200`, `50..400` for eight evenly spaced rates, or `50..400/4`.
package enum RateList {
    package static func parse(_ text: String) throws(LoadError) -> [Double] {
        var rates: [Double] = []
        if let dots = text.firstRange(of: "..") {
            let rest = text[dots.upperBound...].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            let count = rest.count > 1 ? Int(rest[1]) : 8
            guard let low = Double(text[..<dots.lowerBound]), let high = rest.first.flatMap({ Double($0) }),
                let count, (2...LoadPlan.maximumSteps).contains(count), low < high
            else { throw mistake(text) }
            rates = (0..<count).map { low + (high - low) * Double($0) / Double(count - 1) }
        } else {
            for word in text.split(separator: ",", omittingEmptySubsequences: false) {
                guard let rate = Double(word) else { throw mistake(text) }
                rates.append(rate)
            }
        }
        guard rates.count <= LoadPlan.maximumSteps else {
            throw LoadError("a sweep has at most \(LoadPlan.maximumSteps) rates, found \(rates.count)")
        }
        for rate in rates { _ = try checked(rate) }
        return rates
    }

    /// A rate within the valid range; throws for others.
    package static func checked(_ rate: Double) throws(LoadError) -> Double {
        guard LoadPlan.rateBounds.contains(rate) else {
            throw LoadError("expected a rate from 0.1 to 200000 requests a second, found \(rate)")
        }
        return rate
    }

    /// Rates from 10 % to 120 % of a server's capacity.
    package static func around(capacity: Double) -> [Double] {
        [0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 0.95, 1.0, 1.1, 1.2].map {
            let rate = min(max($0 * capacity, LoadPlan.rateBounds.lowerBound), LoadPlan.rateBounds.upperBound)
            return rate < 10 ? (rate * 10).rounded() / 10 : rate.rounded()
        }
    }

    private static func mistake(_ text: String) -> LoadError {
        LoadError("expected rates as \"50,100,200\", \"50..400\" or \"50..400/4\", found \"\(text)\"")
    }
}
