import Foundation
import Observations
import Testing

/// Class masks, and masks and keypoints of single detections, compared with numpy:
/// Tests/FixtureMakers/make-mask-fixtures writes inputs and results.
@Suite struct MaskTests {
    @Test("a semantic mask equals NumPy's greatest of the scaled scores", arguments: try! MaskFixture.load().semantic)
    func masksAreTheGreatestOfScaledScores(
        _ fixture: MaskFixture.Semantic
    ) throws {
        let file = try MaskFixture.load()
        let decoder = try MaskDecoder(
            MaskDecoding(
                layout: try #require(MaskLayout(rawValue: fixture.layout)), order: fixture.last ? .last : .first),
            shape: fixture.shape, width: file.width, height: file.height, classes: nil)
        let tensors = OwnedTensors([("output", fixture.shape, fixture.values)])
        let map = try tensors.withTensors { try decoder.map(try #require($0["output"]?.first)) }
        let mask = PictureMask(map, in: fixture.picture)
        let expected = fixture.classes.utf8.map { $0 == 0x2D ? UInt8(255) : $0 - 48 }
        let unsure = Set(fixture.unsure)
        var line = [UInt8](repeating: 0, count: mask.width)
        var areas = [Int](repeating: 0, count: 256)
        var wrong: [Int] = []
        for row in 0..<mask.height {
            line.withUnsafeMutableBufferPointer { mask.write(row: row, into: $0) }
            for (column, value) in line.enumerated() {
                areas[Int(value)] += 1
                let place = row * mask.width + column
                if value != expected[place], !unsure.contains(place) { wrong.append(place) }
            }
        }
        #expect(wrong.isEmpty)
        #expect(unsure.count < expected.count / 20)
        // Count the pixels in two ways: as areas and as run lengths.
        #expect(try mask.areas() == Array(areas[..<map.classes]))
        let runs = try #require(try mask.runLengths(of: Set(0..<map.classes), maximum: .max))
        for (number, run) in runs {
            #expect(run.area == areas[number])
            #expect(run.counts.reduce(0, +) == UInt32(mask.width * mask.height))
        }
    }

    @Test(
        "the mask of a detection equals NumPy's weighted sum of prototypes",
        arguments: try! MaskFixture.load().instances)
    func masksOfDetectionsAreSumsOfPrototypes(
        _ fixture: MaskFixture.Instance
    ) throws {
        let file = try MaskFixture.load()
        let count = fixture.coefficients.count
        let decoder = try InstanceMaskDecoder(
            shape: fixture.shape, coefficients: count, width: file.width, height: file.height)
        let tensors = OwnedTensors([("prototypes", fixture.shape, fixture.values)])
        let box = Box(left: fixture.box[0], top: fixture.box[1], right: fixture.box[2], bottom: fixture.box[3])
        let detection = Detection(box: box, index: 0, confidence: 1)
        let picture = fixture.picture
        let mask = try tensors.withTensors {
            let prototypes = try #require($0["prototypes"]?.first)
            return try decoder.mask(
                of: detection, coefficients: fixture.coefficients[...], prototypes: prototypes, in: picture,
                maximum: .max)
        }
        let runs = try #require(mask)
        // Runs go down the columns, beginning with 0.
        var found = [Bool](repeating: false, count: picture.x.length * picture.y.length)
        var place = 0
        for (index, run) in runs.counts.enumerated() {
            for pixel in place..<place + Int(run) {
                found[pixel % picture.y.length * picture.x.length + pixel / picture.y.length] = index % 2 == 1
            }
            place += Int(run)
        }
        let unsure = Set(fixture.unsure)
        let wrong = zip(found, fixture.mask.utf8).enumerated().filter { index, pair in
            pair.0 != (pair.1 == 0x31) && !unsure.contains(index)
        }
        #expect(wrong.isEmpty)
        #expect(runs.area == found.count { $0 })
    }

    @Test(
        "the keypoints of detections equal NumPy's, in every order and unit",
        arguments: try! MaskFixture.load().points)
    func pointsOfDetectionsFollowTheirClasses(
        _ fixture: MaskFixture.Points
    ) throws {
        let file = try MaskFixture.load()
        var reading = KeypointDecoding(layout: .points)
        reading.order = try #require(PointOrder(rawValue: fixture.order))
        reading.units = try #require(BoxUnits(rawValue: fixture.units))
        reading.scores = try #require(PointScores(rawValue: fixture.scores))
        var decoding = BoxDecoding(layout: .yolov8)
        decoding.extras = 4 * reading.order.count
        let decoder = try BoxDecoder(
            decoding, shapes: ["output": [fixture.shape]], width: file.width, height: file.height, classes: 2)
        let tensors = OwnedTensors([("output", fixture.shape, fixture.values)])
        let found = try tensors.withTensors { try decoder.detections(in: $0) }
        #expect(found.map(\.index) == fixture.expected.map(\.index))
        let reader = PointReader(reading, width: file.width, height: file.height)
        for (one, expected) in zip(found, fixture.expected) {
            let points = try reader.points(one.extras, threshold: 0.3)
            #expect(points.count == expected.points.count)
            for (point, wanted) in zip(points, expected.points) {
                guard let wanted else {
                    #expect(point == nil)
                    continue
                }
                let point = try #require(point)
                #expect(abs(Double(point.x) - (wanted[0] ?? -1)) < 1e-3)
                #expect(abs(Double(point.y) - (wanted[1] ?? -1)) < 1e-3)
                if let confidence = wanted[2] {
                    #expect(abs(Double(point.confidence ?? -1) - confidence) < 1e-5)
                } else {
                    #expect(point.confidence == nil)
                }
            }
        }
    }

    /// A map of noise: every square has several classes. The work is bounded, and the counted areas equal the written
    /// pixels.
    @Test("a mask of noise has the class of every cell, and decoding can be cancelled")
    func noiseIsBounded() throws {
        let side = 700
        var values = [Float](repeating: 0, count: 3 * side * side)
        for index in values.indices { values[index] = Float((index &* 2_654_435_761) % 1_013) }
        let decoder = try MaskDecoder(
            MaskDecoding(layout: .classes, order: .first), shape: [1, 3, side, side], width: side, height: side,
            classes: 3)
        let tensors = OwnedTensors([("output", [1, 3, side, side], values)])
        let map = try tensors.withTensors { try decoder.map(try #require($0["output"]?.first)) }
        let axis = AxisMap(scale: 1, origin: 0, length: side, seen: 0...Double(side))
        let mask = PictureMask(map, in: PictureMap(x: axis, y: axis))
        #expect(try mask.areas().reduce(0, +) == side * side)
        // At the tensor's own size, pixels equal cells, interpolated or not.
        var line = [UInt8](repeating: 0, count: side)
        for row in [0, 300, 699] {
            line.withUnsafeMutableBufferPointer { mask.write(row: row, into: $0) }
            #expect(line.map(UInt16.init) == Array(map.values[row * side..<(row + 1) * side]))
        }
        #expect(throws: ObservationError.cancelled) {
            _ = try tensors.withTensors { try decoder.map(try #require($0["output"]?.first), isCancelled: { true }) }
        }
    }
}

/// Tests/ObservationsTests/Fixtures/masks.json.
struct MaskFixture: Decodable {
    let width: Int, height: Int
    let semantic: [Semantic]
    let instances: [Instance]
    let points: [Points]

    struct Axis: Decodable, Sendable {
        let scale: Double, origin: Double
        let length: Int
        let seen: [Double]
        var map: AxisMap { AxisMap(scale: scale, origin: origin, length: length, seen: seen[0]...seen[1]) }
    }

    struct Semantic: Decodable, CustomTestStringConvertible, Sendable {
        let name: String, layout: String
        let last: Bool
        let shape: [Int]
        let values: [Float]
        let x: Axis, y: Axis
        let classes: String
        let unsure: [Int]
        var testDescription: String { name }
        var picture: PictureMap { PictureMap(x: x.map, y: y.map) }
    }

    struct Instance: Decodable, CustomTestStringConvertible, Sendable {
        let name: String
        let shape: [Int]
        let values: [Float], coefficients: [Float], box: [Float]
        let x: Axis, y: Axis
        let mask: String
        let unsure: [Int]
        var testDescription: String { name }
        var picture: PictureMap { PictureMap(x: x.map, y: y.map) }
    }

    struct Points: Decodable, CustomTestStringConvertible, Sendable {
        let name: String, order: String, units: String, scores: String
        let shape: [Int]
        let values: [Float]
        let expected: [Found]
        var testDescription: String { name }

        struct Found: Decodable, Sendable {
            let index: Int
            let points: [[Double?]?]
        }
    }

    static func load() throws -> MaskFixture {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/masks.json")
        return try JSONDecoder().decode(MaskFixture.self, from: Data(contentsOf: path))
    }
}
