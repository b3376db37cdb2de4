import JSON
import TestSupport
import Testing

/// Numbers are read to the last bit like in the C library, by the fast path and by the slow one.
@Suite struct JSONNumberTests {
    private func floats(_ text: String) throws -> [Float] {
        try JSONProbe.floats(Array(text.utf8))
    }

    @Test(
        "a number is read to the same bits as by the standard library",
        arguments: [
            "0", "-0", "1", "-1", "0.1", "0.3", "16777217", "16777219", "1e10", "1E+10", "1e-10", "3.4028235e38",
            "1e-45",
            "1.4e-45", "7e-46", "1.17549435e-38", "1.1754943e-38", "0.50000002980232238769531250001",
            "1.00000005960464477539062500", "1.00000005960464477539062501", "1.00000017881393432617187499",
            "123456789012345678901234567890", "0.000000000000000000000000000000000000001", "9007199254740993",
            "0.47450980544090271", "2.2250738585072014e-308", "1e-400", "0e999999999",
        ])
    func isWhatTheLibraryReads(_ text: String) throws {
        let read = try #require(try floats(text).first)
        #expect(read.bitPattern == Float(text)?.bitPattern, "\(text): \(read)")
    }

    @Test("random numbers are read to the same bits as by the standard library")
    func isWhatTheLibraryReadsAtRandom() throws {
        let seed = SplitMix.seed(for: "JSONNumberTests")
        var random = SplitMix(seed: seed)
        for _ in 0..<20_000 {
            let float = Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))
            guard float.isFinite else { continue }
            // The shortest text, 17 digits of a 64-bit float, and a truncated text.
            for text in ["\(float)", "\(Double(float) * 1.000000001)", String("\(Double(float))".prefix(14))] {
                // A text that ends with its point is a number only for the library.
                guard text.last != ".", let expected = Float(text), expected.isFinite else { continue }
                let read = try? floats(text).first
                let found = read.map { "\($0)" } ?? "refused"
                #expect(read?.bitPattern == expected.bitPattern, "\(text): \(found), seed \(seed)")
            }
        }
    }

    @Test(
        "text that is not a JSON number is refused, by itself and in an array",
        arguments: [
            "01", "+1", ".5", "1.", "1e", "1e+", "-", "--1", "NaN", "Infinity", "-Infinity", "0x10", "1_0", "1e39",
        ])
    func text_notANumber_isRefused(_ text: String) {
        #expect(throws: JSONError.self) { try JSONProbe.floats(Array(text.utf8)) }
        #expect(throws: JSONError.self) { try JSONProbe.floats(Array("[1, \(text), 2]".utf8)) }
        // The fast path needs bytes after the number.
        let more = String(repeating: ", 0", count: 40)
        #expect(throws: JSONError.self) { try JSONProbe.floats(Array("[1, \(text)\(more)]".utf8)) }
    }

    /// Long arrays take the fast path, with every form of number in between.
    @Test("an array of 50,000 numbers of many forms is read to the same bits as by the standard library")
    func arraysAreWhatTheLibraryReads() throws {
        let seed = SplitMix.seed(for: "JSONNumberTests")
        var random = SplitMix(seed: seed)
        var texts: [String] = []
        for _ in 0..<50_000 {
            let unit = Double(random.next() >> 11) * 0x1p-53
            let text =
                switch random.next() % 8 {
                case 0: "\(Float(unit))"
                case 1: "\(unit)"
                case 2: "\(-unit * 255)"
                case 3: "\(random.next() % 1_000_000_000_000)"
                case 4: String("\(unit)".prefix(Int(random.next() % 12) + 3)) + "1"
                case 5: "\(Float(unit * 1e-20))"
                case 6: "0.\(random.next())\(random.next())"
                default: "\(Int8(truncatingIfNeeded: random.next()))e\(Int8(truncatingIfNeeded: random.next()) % 25)"
                }
            texts.append(text)
        }
        let separators = [",", ", ", " ,\n", ",\t "]
        var json = "["
        for (index, text) in texts.enumerated() {
            json += (index == 0 ? "" : separators[Int(random.next() % 4)]) + text
        }
        let read = try floats(json + "]")
        #expect(read.count == texts.count)
        for (text, value) in zip(texts, read) {
            #expect(value.bitPattern == Float(text)?.bitPattern, "\(text): \(value), seed \(seed)")
        }
    }
}
