import Foundation
import ImagePipeline
import TestSupport
import Testing

/// Core ML files with a picture of several sizes: a network that answers its own picture.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct FlexiblePicturesTests {
    private enum Sizes {
        case choices([(Int, Int)])
        case ranges(width: (Int, Int), height: (Int, Int))
    }

    // MARK: Protocol buffers

    private static func varint(_ value: Int) -> Data {
        var rest = UInt64(bitPattern: Int64(value)), bytes = Data()
        while rest > 0x7F {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return bytes + Data([UInt8(rest)])
    }

    private static func number(_ field: Int, _ value: Int) -> Data { varint(field << 3) + varint(value) }

    private static func message(_ field: Int, _ parts: Data...) -> Data {
        let body = parts.reduce(Data(), +)
        return varint(field << 3 | 2) + varint(body.count) + body
    }

    private static func text(_ field: Int, _ text: String) -> Data { message(field, Data(text.utf8)) }

    /// FeatureDescription of a picture of 24 x 16 pixels, or of another default size.
    private static func picture(_ name: String, _ size: (Int, Int)?, _ sizes: Sizes) -> Data {
        let flexible: Data
        switch sizes {
        case .choices(let choices):
            flexible = message(21, choices.map { message(1, number(1, $0.0), number(2, $0.1)) }.reduce(Data(), +))
        case .ranges(let width, let height):
            func range(_ field: Int, _ range: (Int, Int)) -> Data {
                message(field, number(1, range.0), number(2, range.1))
            }
            flexible = message(31, range(1, width), range(2, height))
        }
        let usual = size.map { number(1, $0.0) + number(2, $0.1) } ?? Data()
        return text(1, name) + message(3, message(4, usual, number(3, 20), flexible))
    }

    /// A network of one linear activation, y = x.
    private static func model(_ sizes: Sizes, default size: (Int, Int)? = (24, 16)) -> Data {
        let linear = message(130, message(5, Data([0x0D, 0, 0, 0x80, 0x3F])))
        let layer = message(1, text(1, "same"), text(2, "image"), text(3, "picture"), linear)
        return number(1, 4)
            + message(2, message(1, picture("image", size, sizes)), message(10, picture("picture", size, sizes)))
            + message(500, layer)
    }

    private static func png(_ width: Int, _ height: Int) throws -> Data {
        let pixels = (0..<width * height * 3).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        return Data(
            try pixels.withUnsafeBytes {
                try PNGEncoder.encode(width: width, height: height, channels: 3, pixels: $0)
            })
    }

    private static func predict(_ daemon: Daemon, _ name: String, _ query: String, _ picture: Data) throws -> Answer {
        try Curl.run(
            daemon.url + "/v1/models/\(name)/predict?\(query)",
            ["-H", "Accept: image/png", "-H", "Content-Type: image/png", "--data-binary", "@-"], input: picture)
    }

    /// Width and height of a PNG.
    private static func size(_ answer: Answer) -> [Int] {
        guard answer.status == 200, answer.body.count > 24 else { return [answer.status] }
        let bytes = [UInt8](answer.body)
        return [16, 20].map { start in bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
    }

    // MARK: Tests

    @Test("a Core ML picture of several sizes runs at the default size, and at the one that the request chooses")
    func requestsChooseASize() throws {
        let folder = try CoreMLFixtures.Folder()
        for (name, model) in [
            ("listed", Self.model(.choices([(24, 16), (48, 32), (16, 24)]))),
            ("ranged", Self.model(.ranges(width: (8, 64), height: (8, -1)))),
            ("first", Self.model(.choices([(40, 30), (20, 10)]), default: nil)),
            ("lowest", Self.model(.ranges(width: (10, 64), height: (12, 64)), default: nil)),
        ] { try model.write(to: folder.url.appendingPathComponent("\(name).mlmodel")) }
        let daemon = try Daemon(["--models", folder.url.path])
        let sent = try Self.png(48, 32)
        for (name, query, expected) in [
            ("listed", "", [24, 16]), ("listed", "size=48x32", [48, 32]), ("listed", "size=16x24", [16, 24]),
            ("ranged", "", [24, 16]), ("ranged", "size=48x32", [48, 32]), ("ranged", "size=9x100", [9, 100]),
            ("first", "", [40, 30]), ("first", "size=20x10", [20, 10]), ("lowest", "", [10, 12]),
        ] {
            let answer = try Self.predict(daemon, name, query, sent)
            #expect(Self.size(answer) == expected, "\(name) \(query): \(answer.text.prefix(300))")
        }
        // At the picture's own size nothing is scaled: the answer has the same pixels.
        #expect(try Self.predict(daemon, "ranged", "size=48x32", sent).body == sent)
        for (name, query, words) in [
            ("listed", "size=24x17", "24x16, 48x32, 16x24"), ("ranged", "size=7x8", "8x8 to 64x8192"),
            ("ranged", "size=65x8", "8x8 to 64x8192"), ("ranged", "size=8193x8", "from 1 to 8192"),
            ("ranged", "size=8x0", "from 1 to 8192"), ("ranged", "size=8", "WIDTHxHEIGHT"),
            ("ranged", "size=99999999999999999999x8", "from 1 to 8192"), ("ranged", "size=8x8x8", "WIDTHxHEIGHT"),
        ] {
            let answer = try Self.predict(daemon, name, query, sent)
            #expect(answer.status == 400 && answer.error.contains(words), "\(name) \(query): \(answer.text)")
        }
        let listed = try Curl.run(daemon.url + "/v1/models/ranged")
        let input = try #require((listed.json["inputs"] as? [[String: Any]])?.first)
        let shapes = try #require(input["shapes"] as? [String: Any], "\(listed.text)")
        #expect(shapes["default"] as? [Int] == [1, 3, 16, 24] && shapes["used"] == nil, "\(shapes)")
        let explained = try Curl.run(
            daemon.url + "/v1/models/listed/predict?explain=preprocess&size=48x32",
            ["-H", "Content-Type: image/png", "--data-binary", "@-"], input: sent)
        let size = explained.json["size"] as? [String: Any]
        #expect(
            size?["used"] as? String == "48x32" && size?["default"] as? String == "24x16",
            "\(explained.text.prefix(400))")
        #expect(size?["choices"] as? [String] == ["24x16", "48x32", "16x24"])
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("a size above the limit of pixels is 400, and an answer above the memory for answers is 413")
    func largeSizesAreRefused() throws {
        let folder = try CoreMLFixtures.Folder()
        let model = Self.model(.ranges(width: (8, -1), height: (8, -1)))
        try model.write(to: folder.url.appendingPathComponent("ranged.mlmodel"))
        let daemon = try Daemon(["--models", folder.url.path, "--max-pixels", "10000", "--max-total-answers", "20000"])
        defer { daemon.stop() }
        let sent = try Self.png(48, 32)
        let large = try Self.predict(daemon, "ranged", "size=101x100", sent)
        #expect(large.status == 400 && large.error.contains("max_pixels"), "\(large.text)")
        let answer = try Self.predict(daemon, "ranged", "size=100x100", sent)
        #expect(answer.status == 413 && answer.code == "image_too_large", "\(answer.text.prefix(300))")
        #expect(Self.size(try Self.predict(daemon, "ranged", "size=50x40", sent)) == [50, 40])
    }

    @Test("a Core ML file with a reversed range, or with a default that it does not allow, is failed with the reason")
    func contradictionsAreRefused() throws {
        let folder = try CoreMLFixtures.Folder()
        let cases = [
            ("reversed", Self.model(.ranges(width: (64, 8), height: (8, 64))), "the width ends at 8"),
            (
                "below", Self.model(.ranges(width: (25, 64), height: (8, 64))),
                "the default width 24 is outside its range"
            ),
            (
                "above", Self.model(.ranges(width: (8, 64), height: (8, 15))),
                "the default height 16 is outside its range"
            ),
            ("unlisted", Self.model(.choices([(48, 32), (16, 24)])), "24 x 16 is not one of its sizes"),
        ]
        for (name, model, _) in cases { try model.write(to: folder.url.appendingPathComponent("\(name).mlmodel")) }
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        for (name, _, words) in cases {
            let answer = try Curl.run(daemon.url + "/v1/models/\(name)")
            #expect(answer.json["state"] as? String == "failed", "\(name): \(answer.text)")
            #expect(answer.text.contains(words), "\(name): \(answer.text)")
        }
    }
}
