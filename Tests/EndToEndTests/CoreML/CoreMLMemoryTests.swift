import Foundation
import TestSupport
import Testing

/// A network of 100 MB: the memory to load and to serve it.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CoreMLMemoryTests {
    private func varint(_ value: Int) -> [UInt8] {
        value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7F | 0x80)] + varint(value >> 7)
    }
    private func number(_ field: Int, _ value: Int) -> Data { Data(varint(field << 3) + varint(value)) }
    private func field(_ number: Int, _ content: Data) -> Data {
        Data(varint(number << 3 | 2) + varint(content.count)) + content
    }
    private func text(_ number: Int, _ text: String) -> Data { field(number, Data(text.utf8)) }
    private func floats(_ field: Int, _ values: [Float]) -> Data {
        self.field(field, self.field(1, values.withUnsafeBytes { Data($0) }))
    }

    private let channels = 1600, layers = 10

    /// Convolutions that each give twice the next channel and 4 more, with a normalization that halves and adds 1: y =
    /// x' + 3.
    private func network() -> Data {
        func layer(_ kind: Int, _ from: String, _ to: String, _ parameters: Data) -> Data {
            field(1, text(1, to) + text(2, from) + text(3, to) + field(kind, parameters))
        }
        var weights = [Float](repeating: 0, count: channels * channels)
        for channel in 0..<channels { weights[channel * channels + (channel + 1) % channels] = 2 }
        func each(_ value: Float) -> [Float] { [Float](repeating: value, count: channels) }
        let one = Data([1, 1])
        let convolution =
            number(1, channels) + number(2, channels) + field(20, one) + field(30, one) + number(70, 1)
            + floats(90, weights) + floats(91, each(4))
        let normalization =
            number(1, channels) + floats(15, each(0.5)) + floats(16, each(1)) + floats(17, each(0))
            + floats(18, each(1 - 1e-5))
        var network = Data()
        for index in 0..<layers {
            network += layer(100, index == 0 ? "x" : "b\(index)", "a\(index)", convolution)
            network += layer(160, "a\(index)", index == layers - 1 ? "y" : "b\(index + 1)", normalization)
        }
        func feature(_ name: String, _ shape: Data) -> Data {
            text(1, name) + field(3, field(5, shape + number(2, 65568)))
        }
        let shape = field(1, Data(varint(channels) + [1, 1]))
        let description = field(1, feature("x", shape)) + field(10, feature("y", Data()))
        return number(1, 4) + field(2, description) + field(500, network)
    }

    @Test("a Core ML network of 100 MB takes at most 2.5 times its size in memory to load and serve")
    func aLargeNetworkTakesTwoAndAHalfTimesItsSize() throws {
        let folder = try CoreMLFixtures.Folder()
        let file = folder.url.appendingPathComponent("large.mlmodel")
        try network().write(to: file)
        let size = try #require(try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int)
        #expect(size > 100_000_000)
        let cache = folder.url.appendingPathComponent("cache")
        // The second daemon has the cache of the first.
        for start in 0..<2 {
            let daemon = try Daemon(["--models", folder.url.path, "--cache-dir", cache.path])
            defer { daemon.stop() }
            let values = (0..<channels).map { Double($0 % 97) - 40 }
            let body = "{\"inputs\": {\"x\": [\(values.map { "\($0)" }.joined(separator: ","))]}}"
            let answer = try Curl.run(
                daemon.url + "/v1/models/large/predict", ["--data-binary", "@-"], input: Data(body.utf8))
            let result = try #require((answer.json["outputs"] as? [String: Any])?["y"] as? [Double], "\(answer.text)")
            #expect(result.count == channels)
            for (index, value) in result.enumerated() {
                let wanted = values[(index + layers) % channels] + 3 * Double(layers)
                #expect(abs(value - wanted) < 1e-3, "channel \(index): \(value), not \(wanted)")
            }
            #expect(
                daemon.maximumResidentKiB * 1024 <= size * 5 / 2,
                "start \(start): \(daemon.maximumResidentKiB) KiB of \(size) bytes")
        }
        // Neither a compiled model of the engine nor the constants' file is left.
        let left = try FileManager.default.contentsOfDirectory(atPath: cache.path)
        #expect(left.filter { !$0.hasSuffix(".answers") } == ["known-models.json"])
    }
}
