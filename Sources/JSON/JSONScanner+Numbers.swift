extension JSONScanner {
    @inlinable @inline(__always)
    package mutating func number() throws(JSONError) -> JSONNumber {
        skipSpace()
        var number = JSONNumber()
        let start = position
        var index = start
        if index < text.count, text[index] == UInt8(ascii: "-") {
            number.isNegative = true
            index &+= 1
        }
        let first = index
        var significant = 0
        index = digits(from: index, into: &number, significant: &significant, step: 0)
        guard index > first else { throw notANumber(at: start) }
        if index - first > 1, text[first] == UInt8(ascii: "0") {
            throw malformed("a number without leading zeros", at: start)
        }
        if index < text.count, text[index] == UInt8(ascii: ".") {
            number.isInteger = false
            let fraction = index &+ 1
            index = digits(from: fraction, into: &number, significant: &significant, step: -1)
            guard index > fraction else { throw malformed("a digit after the decimal point", at: index) }
        }
        if index < text.count, text[index] | 0x20 == UInt8(ascii: "e") {
            number.isInteger = false
            index &+= 1
            var isNegative = false
            if index < text.count, text[index] == UInt8(ascii: "-") || text[index] == UInt8(ascii: "+") {
                isNegative = text[index] == UInt8(ascii: "-")
                index &+= 1
            }
            let begin = index
            var exponent = 0
            while index < text.count, text[index] &- 0x30 < 10 {
                // An exponent beyond a million means zero or infinity anyway.
                if exponent < 1_000_000 { exponent = exponent * 10 + Int(text[index] &- 0x30) }
                index &+= 1
            }
            guard index > begin else { throw malformed("a digit in the exponent", at: index) }
            number.exponent += isNegative ? -exponent : exponent
        }
        number.start = start
        number.length = index &- start
        advance(by: index &- start)
        return number
    }

    /// Adds digits to the mantissa, up to nineteen. Each digit changes the exponent by `step`, each further one by one
    /// more.
    @inlinable @inline(__always)
    func digits(
        from start: Int, into number: inout JSONNumber, significant: inout Int, step: Int
    ) -> Int {
        var index = start
        var mantissa = number.mantissa
        while index < text.count {
            let digit = text[index] &- 0x30
            guard digit < 10 else { break }
            index &+= 1
            if significant < 19 {
                mantissa = mantissa &* 10 &+ UInt64(digit)
                if mantissa != 0 { significant &+= 1 }
                number.exponent &+= step
            } else {
                number.exponent &+= step &+ 1
            }
        }
        number.mantissa = mantissa
        return index
    }

    /// Throws if a string, an object or a word is next: the text may be JSON, but the input is wrong.
    @inlinable @inline(__always)
    mutating func refuseOtherThanNumber(
        name: String, fitting: String, takesBools: Bool, takesNull: Bool, place: () -> String
    ) throws(JSONError) {
        guard let byte, byte >= UInt8(ascii: ":") || byte == UInt8(ascii: "\"") else { return }
        let isBool = byte == UInt8(ascii: "t") || byte == UInt8(ascii: "f")
        if takesNull, text[position...].starts(with: "null".utf8) { return }
        if isBool && takesBools || text[position...].starts(with: "nan".utf8) { return }
        let found: Kind
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "{"), UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
            found = try kind()
            try skip()
        default: return
        }
        let place = place()
        throw .value(
            "input \"\(name)\": expected \(fitting)\(place.isEmpty ? "" : " at \(place)"), found \(found.rawValue)")
    }

    @usableFromInline
    func notANumber(at place: Int) -> JSONError {
        for word in ["NaN", "-NaN", "nan", "Infinity", "-Infinity", "inf", "-inf"] {
            if text[place...].starts(with: word.utf8) {
                return .syntax(
                    malformed("a number", at: place).message + "; JSON has no NaN or infinity")
            }
        }
        return malformed("a number", at: place)
    }

    /// The maximum number of extents of an array of numbers.
    @inlinable package static var maximumRank: Int { 16 }

    /// An array of numbers: its extents, its elements, and the number of all elements in the text, including those
    /// beyond the maximum.
    package struct NumberArray<Element> {
        /// The elements in row-major order, up to the requested maximum.
        package var elements: [Element] = []
        /// The extents; empty for a single number.
        package var shape: [Int] = []
        /// The number of numbers in the text, including those beyond the maximum.
        package var count = 0

        @inlinable
        init() {}
    }

    /// Reads a number, or numbers in regular arrays of any rank.
    ///
    /// Long: nested arrays without recursion, and the loop in which requests of numbers spend their time.
    /// - Parameters:
    ///   - maximum: the maximum number of elements to keep; further ones are only counted.
    ///   - end: the maximum number of elements to count; reading stops beyond it.
    ///   - name: the input, for errors.
    ///   - usual: converts a number read by the fast path; nil falls back to the slow path.
    ///   - convert: converts a number; nil if it does not fit the element.
    ///   - fitting: the numbers that fit, for errors.
    ///   - takesBools: true to accept `true` and `false` as numbers.
    ///   - takesNull: true to accept `null` as a number.
    @inlinable
    package mutating func numbers<Element>(
        maximum: Int, end: Int = .max, name: String, fitting: String, takesBools: Bool = false,
        takesNull: Bool = false, usual: (JSONNumber) -> Element?,
        _ convert: (inout JSONScanner) throws(JSONError) -> Element?
    ) throws(JSONError) -> NumberArray<Element> {
        var result = NumberArray<Element>()
        result.elements.reserveCapacity(maximum)
        /// The known extents, and the index of the next element.
        var extents: [Int?] = [], indexes: [Int] = []
        var rank: Int?
        var values = 0
        func place() -> String { indexes.map { "[\($0)]" }.joined() }
        func irregular(_ expected: String, _ found: String) -> JSONError {
            .value(
                "input \"\(name)\": expected \(expected) at \(place()), found \(found): the arrays are not regular")
        }
        while true {
            // Expect a value.
            skipSpace()
            if byte == UInt8(ascii: "[") {
                if let rank, indexes.count >= rank { throw irregular("a number", "an array") }
                guard indexes.count < Self.maximumRank else {
                    throw .value("input \"\(name)\": its arrays are nested deeper than \(Self.maximumRank) levels")
                }
                advance()
                indexes.append(0)
                if extents.count < indexes.count { extents.append(nil) }
                skipSpace()
                guard byte == UInt8(ascii: "]") else { continue }
                rank = rank ?? indexes.count
            } else {
                if let rank, indexes.count != rank { throw irregular("an array", "a number") }
                rank = indexes.count
                let start = position
                try refuseOtherThanNumber(
                    name: name, fitting: fitting, takesBools: takesBools, takesNull: takesNull, place: place)
                let converted: Element?
                do throws(JSONError) {
                    converted = try convert(&self)
                } catch {
                    throw error.prefixed("input \"\(name)\"\(indexes.isEmpty ? "" : " at \(place())"): ")
                }
                guard let element = converted else {
                    let found = String(decoding: text[start..<position].prefix(40), as: UTF8.self)
                    throw .value(
                        "input \"\(name)\": expected \(fitting)\(indexes.isEmpty ? "" : " at \(place())"), found \(found)"
                    )
                }
                if result.count < maximum { result.elements.append(element) }
                result.count += 1
                if indexes.isEmpty { return result }
                let more = run(into: &result.elements, maximum: maximum, usual)
                result.count += more
                indexes[indexes.count - 1] += 1 + more
                guard result.count <= end else {
                    throw .value("input \"\(name)\": expected at most \(maximum) numbers, found more than \(end)")
                }
                values += 1
                if values & 1023 == 0 { try checkCancellation() }
            }
            // After a value: another one, or the ends of arrays.
            while true {
                if take(UInt8(ascii: ",")) {
                    skipSpace()
                    if byte == UInt8(ascii: "]") {
                        throw malformed("a value").prefixed("input \"\(name)\" at \(place()): ")
                    }
                    break
                }
                guard take(UInt8(ascii: "]")) else {
                    throw malformed("\",\" or \"]\"").prefixed("input \"\(name)\" at \(place()): ")
                }
                let level = indexes.count - 1
                let extent = indexes.removeLast()
                if let known = extents[level], known != extent {
                    throw irregular("an array of \(known)", "an array of \(extent)")
                }
                extents[level] = extent
                if indexes.isEmpty {
                    result.shape = extents.prefix(rank ?? 0).map { $0 ?? 0 }
                    return result
                }
                indexes[indexes.count - 1] += 1
            }
        }
    }
}
