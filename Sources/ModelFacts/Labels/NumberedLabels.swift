internal import FileFormats

/// Names by class number: the one rule for all files with numbers.
enum NumberedLabels {
    /// The names in the order of classes. Numbers count from 0, and a class without a name gets its number as the name;
    /// or they count from 1, if every number up to the greatest exists.
    /// - Parameter startsAtOne: false for a source that always counts from 0.
    static func names(
        _ pairs: [(number: Int, name: String)], startsAtOne: Bool = true
    ) throws(FormatError) -> [String] {
        guard let minimum = pairs.map(\.number).min(), let greatest = pairs.map(\.number).max() else {
            throw FormatError("has no names")
        }
        guard minimum >= 0, greatest <= LabelTable.maximumLabels else {
            let wrong = minimum < 0 ? minimum : greatest
            throw FormatError("names class \(wrong): expected numbers from 0 to \(LabelTable.maximumLabels)")
        }
        var seen: Set<Int> = []
        for (number, _) in pairs where !seen.insert(number).inserted {
            throw FormatError("names class \(number) twice")
        }
        let first = minimum == 1 && startsAtOne && greatest == pairs.count ? 1 : 0
        guard minimum == first else {
            throw FormatError(
                "names class \(minimum), but not class 0: expected numbers from 0 on"
                    + (startsAtOne ? ", or every number from 1 on" : ""))
        }
        var names = [String?](repeating: nil, count: greatest - first + 1)
        for (number, name) in pairs {
            names[number - first] = name
        }
        return names.enumerated().map { $1 ?? "\($0)" }
    }

    /// True if numbers are class numbers: each once, from 0, or every one from 1.
    static func areClasses(_ numbers: [Int]) -> Bool {
        guard let minimum = numbers.min(), let greatest = numbers.max(), greatest <= LabelTable.maximumLabels,
            Set(numbers).count == numbers.count
        else { return false }
        return minimum == 0 || minimum == 1 && greatest == numbers.count
    }
}
