import Foundation
import TestSupport
import Testing

/// Readers under pages that have too many regions, and under clients that do not wait for their answers.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized) struct ReaderLoadTests {
    /// A gray picture (PGM) with rows and columns of black specks of 7 x 7 pixels on white.
    private static func specks(_ rows: Int) -> Data {
        let pitch = 14, side = rows * pitch, speck = 3..<10
        var pixels = [UInt8](repeating: 255, count: side * side)
        for y in 0..<side where speck.contains(y % pitch) {
            for x in 0..<side where speck.contains(x % pitch) { pixels[y * side + x] = 0 }
        }
        return Data("P5 \(side) \(side) 255\n".utf8) + pixels
    }

    /// A page (PGM): words of 60 x 20 pixels, black on white.
    private static func page(_ width: Int, _ height: Int) -> Data {
        var pixels = [UInt8](repeating: 255, count: width * height)
        for y in 0..<height where (20..<40).contains(y % 80) {
            for x in 0..<width where (40..<100).contains(x % 200) { pixels[y * width + x] = 0 }
        }
        return Data("P5 \(width) \(height) 255\n".utf8) + pixels
    }

    private static func picture(_ name: String) -> URL { ReaderAnswersTests.picture(name) }

    /// The sum of a metric's series.
    private func sum(_ metric: String, _ daemon: Daemon) throws -> Double {
        try Curl.run(daemon.url + "/metrics").text.split(separator: "\n")
            .filter { $0.hasPrefix(metric + "{") || $0.hasPrefix(metric + " ") }
            .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
    }

    @Test("of a page with 10,000 specks the reader reads the most confident 1,000, and says how many it left out")
    func specks() throws {
        let daemon = try Daemon(["--models", ReaderAnswersTests.models])
        let url = daemon.url + "/v1/models/bars/read"
        let specks = Self.specks(100)
        let answer = try Curl.run(url, ["--data-binary", "@-"], input: specks)
        #expect(answer.status == 200 && answer.json["skipped"] as? Int == 9000, "\(answer.text.prefix(500))")
        #expect((answer.json["lines"] as? [Any])?.count ?? .max <= 1000)
        let few = try Curl.run(url + "?top=10&threshold=0", ["--data-binary", "@-"], input: specks)
        #expect((few.json["lines"] as? [Any])?.count ?? .max <= 10, "\(few.text.prefix(500))")
        #expect(try sum("ocelli_lines_skipped_total", daemon) == 18_000)
        #expect(try sum("ocelli_decode_bytes", daemon) == 0)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// malloc's own sizes grow with each large block that is freed; then 200 to 400 MiB of free blocks stayed here.
    @Test("pages of 150 sizes leave at most 60 MiB more behind than the first 50")
    func pagesOfManySizes() throws {
        let daemon = try Daemon(["--models", ReaderAnswersTests.models])
        var random = SplitMix(seed: 58)
        func read(_ pages: Int) throws {
            for _ in 0..<pages {
                let page = Self.page(.random(in: 100...1400, using: &random), .random(in: 60...1000, using: &random))
                let answer = try Curl.run(daemon.url + "/v1/models/bars/read", ["--data-binary", "@-"], input: page)
                try #require(answer.status == 200, "\(answer.text)")
            }
        }
        try read(50)
        let before = daemon.anonymousKiB
        try read(100)
        #expect(daemon.anonymousKiB - before < 60 << 10, "\(before) KiB, then \(daemon.anonymousKiB)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("forty clients that leave in the middle of a page leave no work, no slot and no memory behind")
    func clientsThatLeave() throws {
        let daemon = try Daemon([
            "--models", ReaderAnswersTests.models, "--max-in-flight", "2", "--queue-length", "100",
            "--queue-wait", "200s", "--overload-target", "0s", "--deadline", "200s",
        ])
        let specks = Self.specks(50), page = Self.picture("page.png"), url = daemon.url + "/v1/models/bars/read"
        let before = try Curl.post(page, to: url)
        #expect(before.status == 200, "\(before.text)")
        // Some leave while they wait, others while their page is read.
        for wait: UInt32 in [20_000, 200_000] {
            let cancelled = try sum("ocelli_cancelled_total", daemon)
            let clients = try (0..<40).map { _ in try RawClient(daemon.url) }
            for client in clients { try client.post(specks, to: "/v1/models/bars/read") }
            try #require(
                try eventually(every: 0.005) { try sum("ocelli_in_flight", daemon) == 2 }, "no page is being read")
            usleep(wait)
            for (number, client) in clients.enumerated() { number % 2 == 0 ? client.close() : client.reset() }
            try #require(
                try eventually(every: 0.01) {
                    try sum("ocelli_in_flight", daemon) == 0 && sum("ocelli_queue_depth", daemon) == 0
                }, "requests of clients that left are still running")
            #expect(try sum("ocelli_decode_bytes", daemon) == 0)
            // Most of forty cannot have been answered before: two at a time are read.
            let most = try eventually { try sum("ocelli_cancelled_total", daemon) - cancelled > 20 }
            #expect(most, "at most 20 of 40 requests were cancelled")
        }
        let after = try Curl.post(page, to: url)
        #expect(after.json["text"] as? String == before.json["text"] as? String, "\(after.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}
