import Foundation
import TestSupport
import Testing

/// `Content-Encoding` of `infer` requests: gzip and deflate, as sent by tritonclient. The expected data come from
/// gzip(1).
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CompressedBodyTests {
    private static func request() throws -> Data {
        let picture = try Data(contentsOf: BadInputTests.seven).base64EncodedString()
        return Data(
            ("{\"inputs\": [{\"name\": \"image\", \"shape\": [1], \"datatype\": \"BYTES\", \"data\": [\"\(picture)\"]}], "
                + "\"outputs\": [{\"name\": \"probabilities\", \"parameters\": {\"classification\": 1}}]}").utf8)
    }

    private func gzip(_ data: Data) throws -> Data { try Shell.run("gzip", ["-c"], input: data).output }

    /// zlib data (RFC 1950) of one stored block.
    private func zlib(_ data: Data) -> Data {
        var (low, high) = (UInt32(1), UInt32(0))
        for byte in data {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        func bytes(_ value: some FixedWidthInteger) -> Data { withUnsafeBytes(of: value) { Data($0) } }
        let length = UInt16(data.count)
        return Data([0x78, 0x01, 0x01]) + bytes(length.littleEndian) + bytes((~length).littleEndian) + data
            + bytes((high << 16 | low).bigEndian)
    }

    private func infer(_ daemon: Daemon, _ body: Data, _ coding: String, _ arguments: [String] = []) throws -> Answer {
        try Curl.run(
            daemon.url + "/v2/models/digits/infer",
            ["--data-binary", "@-", "-H", "Content-Encoding: \(coding)"] + arguments, input: body)
    }

    @Test("an infer body in gzip or deflate is decompressed before the JSON is read")
    func gzipAndDeflateAreDecompressed() throws {
        let daemon = try Daemon()
        let request = try Self.request()
        let packed = try gzip(request)
        // Longer than a text that is read without a slot, and than one part of the decompressed body.
        let padded = request + Data(repeating: 0x20, count: 3_000_000)
        for (body, coding) in [
            (packed, "gzip"), (packed, "GZIP"), (packed, "x-gzip"), (zlib(request), "deflate"),
            (packed, "identity, gzip"), (try gzip(padded), "gzip"),
            (try gzip(request.prefix(700)) + gzip(request.dropFirst(700)), "gzip"),
        ] {
            let answer = try infer(daemon, body, coding)
            #expect(answer.status == 200 && answer.text.contains(":7:7\""), "\(coding): \(answer.text)")
        }
        // The JSON's length is that of the decompressed body.
        let length = "Inference-Header-Content-Length: \(request.count)"
        #expect(try infer(daemon, packed, "gzip", ["-H", length]).status == 200)
        #expect(try infer(daemon, packed, "gzip", ["-H", length + "0"]).error.contains("0 to \(request.count)"))
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("a damaged gzip body is refused with 400, an unknown content coding with 415")
    func mistakesAreNamed() throws {
        let daemon = try Daemon()
        let request = try Self.request()
        let packed = try gzip(request)
        var damaged = packed
        damaged[packed.count - 6] ^= 1  // its checksum
        var bodies = [
            request, Data(), damaged, packed + Data("x".utf8), zlib(request).dropLast(),
            zlib(request) + packed.prefix(9),
        ]
        bodies += stride(from: 1, to: packed.count, by: packed.count / 12).map { packed.prefix($0) }
        for body in bodies {
            let answer = try infer(daemon, body, "gzip")
            #expect(answer.status == 400 && answer.code == "bad_request", "\(body.count) bytes: \(answer.text)")
            #expect(answer.error.contains("Content-Encoding"), "\(answer.error)")
        }
        for coding in ["br", "zstd", "gzip, gzip", "deflate, br", "*"] {
            let answer = try infer(daemon, packed, coding)
            #expect(answer.status == 415 && answer.code == "unsupported_media_type", "\(coding): \(answer.text)")
            #expect(answer.error.contains("\"\(coding)\"") && answer.error.contains("gzip, deflate"), "\(answer.error)")
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// A few bytes can expand to many: the decompressed length counts, and is given back afterwards.
    @Test("a body counts as its decompressed length: max_body refuses with 413, max_total_body with 503")
    func decompressedBodiesAreLimited() throws {
        let daemon = try Daemon(["--max-body", "1MiB", "--max-total-body", "2MiB"])
        let request = try Self.request()
        func padded(to size: Int) throws -> Data {
            try gzip(request + Data(repeating: 0x20, count: size - request.count))
        }
        #expect(try infer(daemon, padded(to: 1 << 20), "gzip").status == 200)
        for size in [1 << 20 + 1, 100 << 20] {
            let answer = try infer(daemon, padded(to: size), "gzip")
            #expect(answer.status == 413 && answer.code == "body_too_large", "\(size): \(answer.text)")
            #expect(answer.error.contains("1048576 bytes") && answer.error.contains("max_body"), "\(answer.error)")
        }
        #expect(
            eventually {
                let page = (try? Curl.run(daemon.url + "/metrics").text) ?? ""
                return MetricsTests.value("ocelli_body_bytes", in: page) == 0
                    && MetricsTests.value("ocelli_in_flight{model=\"digits\",version=\"1\"}", in: page) == 0
            })
        #expect(daemon.stop() == 0, "\(daemon.log)")
        // The budget of all bodies has no room for it in addition to the compressed one.
        let small = try Daemon(["--max-body", "1MiB", "--max-total-body", "1MiB"])
        let refused = try infer(small, padded(to: 1 << 20), "gzip")
        #expect(refused.status == 503 && refused.code == "overloaded", "\(refused.text)")
        #expect(refused.headers["retry-after"] != nil && refused.error.contains("max_total_body"), "\(refused.text)")
        #expect(try infer(small, padded(to: 100_000), "gzip").status == 200)
        #expect(small.stop() == 0, "\(small.log)")
    }
}
