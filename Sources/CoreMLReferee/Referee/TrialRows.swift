internal import SystemSupport

/// Makes up rows of inputs from the numbers and categories of a file.
struct TrialRows {
    private typealias Mark = TrialMarks.Mark
    private typealias Side = TrialMarks.Side

    private let inputs: [RefereeFeature]
    private let marks: TrialMarks
    private var random: SplitMix64

    init(inputs: [RefereeFeature], marks: TrialMarks, seed: UInt64) {
        self.inputs = inputs
        self.marks = marks
        random = SplitMix64(seed: seed)
    }

    /// - Parameter count: the most rows.
    mutating func rows(_ count: Int) -> [RefereeRow] {
        var rows = [constant(0), mixed(Mark(), nil), constant(1e6), constant(-1e6)]
        for _ in 0..<max(2, count / 8) { rows.append(mixed(Mark(), nil)) }
        var trials = marks.marks.flatMap { mark in mark.sides.map { (mark, $0) } }
        for index in trials.indices.reversed() { trials.swapAt(index, below(index + 1)) }
        // More often than once for small files: the numbers that a mark leaves open are others each time.
        for index in 0..<max(0, count - rows.count) {
            let (mark, side) = trials.isEmpty ? (Mark(), Side.on) : trials[index % trials.count]
            rows.append(mixed(mark, side))
        }
        return Array(rows.prefix(count))
    }

    private mutating func constant(_ number: Double) -> RefereeRow {
        var row: RefereeRow = [:]
        for (index, input) in inputs.enumerated() {
            switch input.kind {
            case .double: row[input.name] = .number(Number(number))
            case .array(_, let count): row[input.name] = .array([Number](repeating: Number(number), count: count ?? 0))
            case .int64: row[input.name] = .integer(Int64(number))
            default: row[input.name] = words(index, input)
            }
        }
        return row
    }

    private mutating func mixed(_ mark: Mark, _ side: Side?) -> RefereeRow {
        var values = inputs.indices.map { index in marks.numbers[index].indices.map { number(index, $0) } }
        if below(4) == 0 { leaveOut(&values) }
        for (place, number) in mark.numbers {
            let value =
                place == mark.edge
                ? move(number, side ?? .on, inputs[place.input], isFar: mark.isRounded) : number
            guard values[place.input].indices.contains(place.element) else { continue }
            values[place.input][place.element] = value
        }
        var row: RefereeRow = [:]
        for (index, input) in inputs.enumerated() {
            switch input.kind {
            case .double: row[input.name] = .number(Number(values[index][0]))
            case .array(let type, _): row[input.name] = .array(values[index].map { Number(Self.rounded($0, type)) })
            case .int64:
                let isMarked = mark.numbers.contains { $0.place.input == index }
                row[input.name] = integer(index, values[index][0], isMarked: isMarked)
            default: row[input.name] = words(index, input)
            }
        }
        return row
    }

    /// A number for a place: one of the file's or one near it, or any.
    private mutating func number(_ input: Int, _ element: Int) -> Double {
        let known = marks.numbers[input][element]
        let choice = below(16)
        if choice < 3 { return 0 }
        guard !known.isEmpty else { return (fraction() * 4 - 2) * [1, 1, 10, 1_000][below(4)] }
        let number = known[below(known.count)]
        if marks.areWhole[input][element] { return number + Double(below(8) == 0 ? 1 : 0) }
        if choice < 9 { return move(number, Side.allCases[below(3)], inputs[input], isFar: false) }
        let other = known[below(known.count)]
        return number + (other - number) * fraction() + (fraction() - 0.5) * 0.1 * abs(number)
    }

    /// Makes about one number in eight, but at least one, a missing one.
    private mutating func leaveOut(_ values: inout [[Double]]) {
        for (index, input) in inputs.enumerated() where input.isFloating {
            let places = marks.mayBeMissing[index].indices.filter { marks.mayBeMissing[index][$0] }
            guard !places.isEmpty else { continue }
            for _ in 0...places.count / 8 { values[index][places[below(places.count)]] = .nan }
        }
    }

    /// The number, or its neighbor in the input's type; a far one is more than rounding away.
    private func move(_ number: Double, _ side: Side, _ input: RefereeFeature, isFar: Bool) -> Double {
        guard side != .on, number.isFinite else { return number }
        if isFar { return number + max(1, abs(number)) * (side == .above ? 1e-6 : -1e-6) }
        switch input.kind {
        case .array(.float32, _):
            let float = Float(number)
            return Double(side == .above ? float.nextUp : float.nextDown)
        case .array(.int32, _), .int64: return number.rounded() + (side == .above ? 1 : -1)
        default: return side == .above ? number.nextUp : number.nextDown
        }
    }

    private static func rounded(_ number: Double, _ type: RefereeFeature.ArrayNumbers) -> Double {
        switch type {
        case .float64: number
        case .float32: Double(Float(number))
        case .int32: max(-1e9, min(1e9, number.isNaN ? 0 : number.rounded()))
        }
    }

    private mutating func integer(_ index: Int, _ number: Double, isMarked: Bool) -> RefereeValue {
        let integers = marks.categories[index].compactMap { if case .integer(let number) = $0 { number } else { nil } }
        guard !isMarked, !integers.isEmpty, below(4) > 0 else {
            return .integer(number.isNaN ? 0 : Int64(max(-1e15, min(1e15, number.rounded()))))
        }
        return .integer(integers[below(integers.count)])
    }

    /// A string or a dictionary of known categories and, sometimes, an unknown one.
    private mutating func words(_ index: Int, _ input: RefereeFeature) -> RefereeValue {
        let known = marks.categories[index]
        func isOf(_ key: Key, integers: Bool) -> Bool { if case .integer = key { integers } else { !integers } }
        guard case .dictionary(let hasIntegerKeys) = input.kind else {
            let texts = known.compactMap { if case .text(let text) = $0 { text } else { nil } }
            return .text(texts.isEmpty || below(8) == 0 ? Array("no such category".utf8) : texts[below(texts.count)])
        }
        var keys = known.filter { isOf($0, integers: hasIntegerKeys) && below(2) == 0 }.prefix(32)
        if below(4) == 0 { keys.append(hasIntegerKeys ? .integer(987_654_321) : Key("no such category")) }
        var seen: Set<Key> = []
        let unique = keys.filter { seen.insert($0).inserted }
        return .dictionary(keys: unique, values: unique.map { _ in Number((fraction() * 4 - 2).rounded()) })
    }

    // MARK: Random numbers

    private mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(max(1, limit))) }
    private mutating func fraction() -> Double { Double(random.next() >> 11) * 0x1p-53 }
}

extension RefereeFeature {
    /// True if its numbers may be missing.
    fileprivate var isFloating: Bool {
        switch kind {
        case .double, .array(.float64, _), .array(.float32, _): true
        default: false
        }
    }
}
