import Foundation
import Observations
import TestSupport
import Testing

/// Regions of text against RapidOCR's postprocessing: Tests/FixtureMakers/make-text-region-fixtures.
@Suite struct TextRegionTests {
    struct Fixture: Decodable {
        let width: Int, height: Int
        /// x, y, u, v, along, across, probability.
        let shapes: [[Double]]
        let dilates: Bool, threshold: Float, growth: Double, bitmap: Float
        let corners: [[[Double]]], scores: [Double]

        var decoding: TextRegionDecoding {
            var decoding = TextRegionDecoding()
            (decoding.dilates, decoding.threshold, decoding.growth) = (dilates, threshold, growth)
            decoding.bitmap = bitmap
            return decoding
        }

        var map: [Float] {
            var map = [Float](repeating: 0, count: width * height)
            for shape in shapes {
                let (x, y, u, v) = (Int(shape[0]), Int(shape[1]), Int(shape[2]), Int(shape[3]))
                for row in 0..<height {
                    for column in 0..<width
                    where abs(u * (column - x) + v * (row - y)) <= Int(shape[4])
                        && abs(u * (row - y) - v * (column - x)) <= Int(shape[5])
                    {
                        map[row * width + column] = Float(shape[6])
                    }
                }
            }
            return map
        }
    }

    static func regions(
        _ map: [Float], width: Int, height: Int, _ decoding: TextRegionDecoding = TextRegionDecoding(),
        isCancelled: () -> Bool = { false }
    ) throws -> [TextRegion] {
        try map.withUnsafeBufferPointer { values in
            let shape = [1, 1, height, width], tensor = try #require(OutputTensor(shape: shape, values: values))
            return try TextRegionDecoder(decoding, shape: shape).regions(tensor, isCancelled: isCancelled)
        }
    }

    /// The score is a mean over pixels, of which the edge differs: by a few hundredths in small regions.
    @Test("regions equal RapidOCR's: all corners, scores within 0.04, half within a thousandth")
    func regionsEqualRapidOCRs() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/text-regions.json")
        let fixtures = try JSONDecoder().decode([Fixture].self, from: Data(contentsOf: path))
        #expect(fixtures.count > 50)
        var close = 0, all = 0
        for (number, fixture) in fixtures.enumerated() {
            var found = try Self.regions(fixture.map, width: fixture.width, height: fixture.height, fixture.decoding)
            #expect(found.count == fixture.scores.count, "case \(number)")
            // Halves of a pixel, cut to the map.
            func place(_ value: Double, _ length: Int) -> Double {
                min(max((value * 2).rounded(.toNearestOrEven) / 2, 0), Double(length))
            }
            func distance(_ region: TextRegion, _ corners: [[Double]]) -> Double {
                zip(region.corners, corners).map { corner, expected in
                    max(
                        abs(place(corner.x, fixture.width) - expected[0]),
                        abs(place(corner.y, fixture.height) - expected[1]))
                }.max() ?? .infinity
            }
            for (corners, score) in zip(fixture.corners, fixture.scores) {
                let nearest = found.indices.min { distance(found[$0], corners) < distance(found[$1], corners) }
                guard let nearest else { break }
                #expect(
                    distance(found[nearest], corners) == 0, "case \(number): \(found[nearest].corners), \(corners)")
                let difference = abs(Double(found[nearest].score) - score)
                #expect(difference <= 0.04, "case \(number)")
                (close, all) = (close + (difference <= 1e-3 ? 1 : 0), all + 1)
                found.remove(at: nearest)
            }
        }
        #expect(close * 2 >= all, "\(close) of \(all)")
    }

    @Test("ten thousand specks cost little and are no regions; a checkerboard is one part with holes")
    func specksAreBounded() throws {
        let side = 512
        let specks = (0..<side * side).map { Float($0 % side % 5 == 0 && $0 / side % 5 == 0 ? 1 : 0) }
        var decoding = TextRegionDecoding()
        decoding.dilates = false
        #expect(try Self.regions(specks, width: side, height: side, decoding).isEmpty)
        let board = (0..<side * side).map { Float(($0 % side + $0 / side) % 2) }
        let found = try Self.regions(board, width: side, height: side, decoding)
        #expect(found.count == 1 && abs((found.first?.score ?? 0) - 0.5) < 0.01)
    }

    @Test("the score must reach the threshold, NaN is an error, and a cancellation ends the search")
    func thresholdsAndErrors() throws {
        var map = [Float](repeating: 0, count: 64 * 48)
        for row in 10..<30 { for column in 10..<50 { map[row * 64 + column] = 0.625 } }
        var decoding = TextRegionDecoding()
        (decoding.dilates, decoding.threshold) = (false, 0.625)
        let found = try #require(try Self.regions(map, width: 64, height: 48, decoding).first)
        #expect(found.score == 0.625)
        decoding.threshold = 0.626
        #expect(try Self.regions(map, width: 64, height: 48, decoding).isEmpty)
        #expect(throws: ObservationError.cancelled) {
            _ = try Self.regions(map, width: 64, height: 48, isCancelled: { true })
        }
        map[5] = .nan
        #expect(throws: ObservationError.notNumbers(role: "find")) {
            _ = try Self.regions(map, width: 64, height: 48)
        }
        #expect(throws: ObservationError.self) { _ = try TextRegionDecoder(decoding, shape: [1, 2, 4, 4]) }
    }
}

@Suite struct CTCDecoderTests {
    /// Probabilities with the given class at each step.
    private static func steps(_ classes: [(Int, Float)], count: Int = 4) throws -> [TextStep] {
        let values = classes.flatMap { index, probability in
            (0..<count).map { $0 == index ? probability : (1 - probability) / Float(count - 1) }
        }
        return try values.withUnsafeBufferPointer { try CTCDecoder.steps($0, classes: count) }
    }

    @Test("runs of a class are one, blanks separate them, and the first step of a run counts")
    func runsAreOne() throws {
        let found = try Self.steps([(0, 0.9), (2, 0.8), (2, 0.95), (0, 0.7), (2, 0.6), (1, 0.9), (0, 1), (0, 1)])
        #expect(found.map(\.index) == [2, 2, 1] && found.map(\.step) == [1, 4, 5])
        #expect(found.map(\.confidence) == [0.8, 0.6, 0.9])
        #expect(try Self.steps([(0, 1), (0, 1)]).isEmpty)
        #expect(try Self.steps([(3, 0.5)]).map(\.index) == [3])
    }

    @Test("logits become probabilities")
    func logits() throws {
        let values: [Float] = [-3, 2, 5, 1]
        let found = try values.withUnsafeBufferPointer { try CTCDecoder.steps($0, classes: 4) }
        // NumPy: exp(5) / sum(exp([-3, 2, 5, 1]))
        #expect(found.map(\.index) == [2] && abs((found.first?.confidence ?? 0) - 0.935_95) < 1e-4)
    }

    @Test("NaN is an error")
    func notNumbers() {
        #expect(throws: ObservationError.notNumbers(role: "read")) {
            _ = try [Float.nan, 1].withUnsafeBufferPointer { try CTCDecoder.steps($0, classes: 2) }
        }
    }
}

@Suite struct ReadingOrderTests {
    /// A page of rows; a row is drawn at these places and widths.
    private static let rows: [[(x: Double, width: Double)]] = [
        [(40, 300)], [(40, 120), (300, 60), (420, 90)], [(40, 150), (310, 60), (430, 80)], [(60, 200), (400, 30)],
    ]

    /// The corners of the lines, turned around the origin.
    private static func page(degrees: Double) -> [(text: String, corners: [PlanePoint])] {
        let angle = degrees * .pi / 180, (cosine, sine) = (cos(angle), sin(angle))
        return rows.enumerated().flatMap { row, lines in
            lines.enumerated().map { place, line in
                let y = Double(row) * 36 + Double(place % 2) * 6
                let corners = [(line.x, y), (line.x + line.width, y), (line.x + line.width, y + 24), (line.x, y + 24)]
                return (
                    "\(row)\(place)",
                    corners.map { PlanePoint(x: $0.0 * cosine - $0.1 * sine, y: $0.0 * sine + $0.1 * cosine) }
                )
            }
        }
    }

    private static let text = "00\n10 11 12\n20 21 22\n30 31"

    @Test("a page reads the same at every angle, in whatever order its lines are found")
    func everyAngle() {
        let seed = SplitMix.seed(for: "everyAngle")
        var random = SplitMix(seed: seed)
        for degrees in stride(from: -180.0, to: 180, by: 1.5) {
            let page = Self.page(degrees: degrees).shuffled(using: &random)
            let found = ReadingOrder.text(ReadingOrder.rows(page.map(\.corners)), page.map(\.text))
            #expect(found == Self.text, "\(degrees) degrees, seed \(seed)")
        }
    }

    @Test("a line that stands on its head stays at its place, and does not turn the page")
    func upsideDown() {
        var page = Self.page(degrees: 5)
        page[2].corners = [2, 3, 0, 1].map { page[2].corners[$0] }
        #expect(ReadingOrder.text(ReadingOrder.rows(page.map(\.corners)), page.map(\.text)) == Self.text)
    }

    @Test("a line across the page's direction is a row of its own, by its upper edge")
    func across() {
        let page = Self.page(degrees: 0)
        func text(_ top: Double) -> String {
            let corners = [(700.0, top), (700, top + 200), (680, top + 200), (680, top)].map {
                PlanePoint(x: $0.0, y: $0.1)
            }
            return ReadingOrder.text(ReadingOrder.rows([corners] + page.map(\.corners)), ["|"] + page.map(\.text))
        }
        #expect(text(0) == "|\n" + Self.text)
        #expect(text(30) == "00\n|\n10 11 12\n20 21 22\n30 31")
        #expect(text(500) == Self.text + "\n|")
    }

    @Test("a word as wide as high takes the page's direction")
    func squares() {
        var page = Self.page(degrees: 90)
        let last = page.count - 1
        // Its corners begin at any of the four: here one too early.
        page[last].corners = [3, 0, 1, 2].map { page[last].corners[$0] }
        #expect(ReadingOrder.text(ReadingOrder.rows(page.map(\.corners)), page.map(\.text)) == Self.text)
        #expect(ReadingOrder.rows([]).isEmpty && ReadingOrder.text([], []) == "")
    }
}

@Suite struct TextDecoderTests {
    private static func characters(
        _ classes: [Int], dictionary: [String], count: Int, shape: (Int, Int) -> [Int] = { [1, $0, $1] }
    ) throws -> [TextCharacter] {
        let values = classes.flatMap { index in (0..<count).map { Float($0 == index ? 0.9 : 0.1 / Float(count - 1)) } }
        let shape = shape(classes.count, count)
        return try values.withUnsafeBufferPointer { values in
            let tensor = try #require(OutputTensor(shape: shape, values: values))
            return try TextDecoder(TextDecoding(dictionary: dictionary), shape: shape).characters(in: tensor)
        }
    }

    @Test("classes are entries of the dictionary after the blank; a further class is the space")
    func classesAreEntries() throws {
        let found = try Self.characters([1, 0, 3, 2, 2], dictionary: ["a", "bc"], count: 4)
        #expect(found.map(\.text) == ["a", " ", "bc"] && found.map(\.middle) == [0.1, 0.5, 0.7])
        #expect(try Self.characters([1, 2], dictionary: ["a", "b"], count: 3).map(\.text) == ["a", "b"])
        // A dictionary with its own entry for the blank.
        #expect(try Self.characters([1, 2], dictionary: ["", "a", "b"], count: 3).map(\.text) == ["a", "b"])
        // Steps first, as some exporters write.
        #expect(try Self.characters([1, 2], dictionary: ["a", "b"], count: 3) { [$0, 1, $1] }.count == 2)
    }

    @Test("a dictionary that does not fit the classes is refused with both numbers")
    func dictionariesMustFit() {
        #expect {
            _ = try TextDecoder(TextDecoding(dictionary: ["a", "b"]), shape: [1, 10, 7])
        } throws: { error in
            (error as? ObservationError)?.message.contains("dictionary of 2 entries, found 7") ?? false
        }
        #expect(throws: ObservationError.self) {
            _ = try TextDecoder(TextDecoding(dictionary: ["a"]), shape: [2, 10, 2])
        }
    }

    @Test("a character reaches to the middle between it and its neighbours")
    func characterCorners() {
        let corners = [(10.0, 0.0), (110, 0), (110, 20), (10, 20)].map { PlanePoint(x: $0.0, y: $0.1) }
        let line = TextLine(
            [0.1, 0.3, 0.7].map { TextCharacter(text: "x", confidence: Float($0), middle: $0) }, corners: corners)
        #expect(line.text == "xxx" && abs(line.confidence - 1.1 / 3) < 1e-6)
        #expect(line.corners(ofCharacter: 0).map(\.x).map { $0.rounded() } == [10, 30, 30, 10])
        #expect(line.corners(ofCharacter: 1).map(\.x).map { $0.rounded() } == [30, 60, 60, 30])
        #expect(line.corners(ofCharacter: 2).map(\.x).map { $0.rounded() } == [60, 100, 100, 60])
        #expect(line.corners(ofCharacter: 3).isEmpty)
    }

    @Test("a page has its lines in reading order, and the most confident ones if there are too many")
    func pages() {
        func line(_ text: String, _ y: Double, _ confidence: Float) -> TextLine {
            TextLine(
                [TextCharacter(text: text, confidence: confidence, middle: 0.5)],
                corners: [(0.0, y), (90, y), (90, y + 10), (0, y + 10)].map { PlanePoint(x: $0.0, y: $0.1) })
        }
        let lines = [line("c", 60, 0.9), line("a", 0, 0.5), line("b", 30, 0.8)]
        #expect(PageText(lines).text == "a\nb\nc")
        #expect(PageText(lines, maximum: 2).lines.map(\.text) == ["b", "c"])
        #expect(PageText([]).text == "" && TextLine([], corners: []).isBlank)
    }
}
