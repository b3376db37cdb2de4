import Foundation
import SystemSupport
import TestSupport
import Testing

/// Taught models that compare the patches of pictures: their answers compared with loops over the patches' colours and
/// with numpy's figures, with the real binary.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TaughtPatchesTests {
    /// The colours of a picture's cells.
    private typealias Cells = [[[Int]]]

    private static func distance(_ a: [Int], _ b: [Int]) -> Double {
        func product(_ a: [Int], _ b: [Int]) -> Double { zip(a, b).reduce(0) { $0 + Double($1.0 * $1.1) } }
        return 1 - product(a, b) / (product(a, a) * product(b, b)).squareRoot()
    }

    /// The distance of each patch to the nearest one of some pictures.
    private static func map(_ cells: Cells, _ normal: [Cells]) -> [[Double]] {
        let all = normal.flatMap { $0.flatMap { $0 } }
        return cells.map { row in row.map { cell in all.map { distance(cell, $0) }.min() ?? 9 } }
    }

    private static func score(_ cells: Cells, _ normal: [Cells]) -> Double {
        map(cells, normal).joined().max() ?? 9
    }

    /// Cells of similar colours in each place, which differ from picture to picture.
    private static func cells(_ number: Int, rows: Int = 4, columns: Int = 4) -> Cells {
        var random = SplitMix(seed: UInt64(number) &+ 77)
        return (0..<rows).map { row in
            (0..<columns).map { column in
                [60 + 30 * row, 60 + 30 * column, 150].map { $0 + Int.random(in: -20...20, using: &random) }
            }
        }
    }

    private static func isNear(_ one: [[Double]]?, _ other: [[Double]]) -> Bool {
        guard let one, one.map(\.count) == other.map(\.count) else { return false }
        return zip(one.joined(), other.joined()).allSatisfy { abs($0 - $1) < 1e-5 }
    }

    private func daemon(_ flags: [String] = []) throws -> TaughtDaemon {
        try TaughtDaemon(flags) { models in
            try PatchEmbedder().write(to: models.appendingPathComponent("patcher"))
            var tokens = PatchEmbedder(rows: 4, columns: 3, isTokens: true)
            try tokens.write(to: models.appendingPathComponent("unclear"))
            tokens.members += ", \"patches\": {\"rows\": 4}"
            try tokens.write(to: models.appendingPathComponent("tokens"))
        }
    }

    private func create(
        _ server: TaughtDaemon, _ name: String = "parts", embedder: String = "patcher", _ falseAlarms: Double = 0.2
    ) throws -> Answer {
        try server.put(
            name, "{\"embedder\": \"\(embedder)\", \"method\": \"normal\", \"false_alarms\": \(falseAlarms)}")
    }

    private func anomaly(_ answer: Answer) throws -> [String: Any] {
        try #require(answer.json["anomaly"] as? [String: Any], "\(answer.text)")
    }

    private func classify(
        _ server: TaughtDaemon, _ cells: Cells, _ query: String = "?map=true", _ name: String = "parts"
    )
        throws -> Answer
    {
        try server.classify(TaughtPicture.png(cells: cells), "/v1/models/\(name)/classify\(query)")
    }

    @Test("score, map, p and threshold are those of loops over the patches, for maps and for tokens")
    func answersFollowThePatches() throws {
        let server = try daemon()
        for (name, embedder, columns) in [("maps", "patcher", 4), ("tokens-too", "tokens", 3)] {
            #expect(try create(server, name, embedder: embedder).status == 201)
            let normal = (0..<14).map { Self.cells($0, columns: columns) }
            #expect(
                try server.teach("normal", form: normal.map { TaughtPicture.png(cells: $0) }, to: name).status == 201)
            let model = try server.evaluated(name)
            let leftOut = normal.indices.map { one in
                Self.score(normal[one], normal.indices.filter { $0 != one }.map { normal[$0] })
            }
            // ⌊0.2 (14 + 1)⌋ = 3
            let threshold = leftOut.sorted(by: >)[2]
            let evaluation = try #require(model["evaluation"] as? [String: Any])
            #expect(abs((evaluation["threshold"] as? Double ?? 9) - threshold) < 1e-5, "\(evaluation)")
            var odd = Self.cells(100, columns: columns)
            odd[2][1] = [250, 10, 5]
            for cells in [Self.cells(101, columns: columns), odd, normal[3]] {
                let answer = try classify(server, cells, "?map=true", name), found = try anomaly(answer)
                #expect(Self.isNear(found["map"] as? [[Double]], Self.map(cells, normal)), "\(answer.text)")
                let score = Self.score(cells, normal)
                #expect(abs((found["score"] as? Double ?? 9) - score) < 1e-5, "\(answer.text)")
                let p = Double(1 + leftOut.count { $0 >= score - 1e-9 }) / 15
                #expect(abs((found["p"] as? Double ?? 9) - p) < 1e-12, "\(answer.text)")
                #expect(found["is_anomaly"] as? Bool == (score > threshold), "\(answer.text)")
                // A request without map=true gets none.
                let plain = try anomaly(classify(server, cells, "", name))
                #expect(Set(plain.keys) == ["score", "threshold", "p", "is_anomaly"])
                #expect(plain["score"] as? Double == found["score"] as? Double)
            }
            #expect(try anomaly(classify(server, odd, "", name))["is_anomaly"] as? Bool == true)
            #expect(try anomaly(classify(server, normal[3], "", name))["score"] as? Double == 0)
            // Several pictures in one request.
            var body = Data()
            for cells in [odd, normal[0]] {
                body += Data("--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"p\"\r\n\r\n".utf8)
                body += TaughtPicture.png(cells: cells) + Data("\r\n".utf8)
            }
            body += Data("--b--\r\n".utf8)
            let list = try Curl.run(
                server.url + "/v1/models/\(name)/classify?map=true",
                ["-H", "Content-Type: multipart/form-data; boundary=b", "--data-binary", "@-"], input: body)
            let results = try #require(list.json["results"] as? [[String: Any]], "\(list.text)")
            let maps = results.map { ($0["anomaly"] as? [String: Any])?["map"] as? [[Double]] }
            #expect(maps.count == 2 && Self.isNear(maps[0], Self.map(odd, normal)), "\(list.text)")
        }
        #expect(server.daemon.stop() == 0)
    }

    @Test("the answers fit the files that numpy computed")
    func sharedScores() throws {
        guard let folder = SharedData.folder else { return }
        let file = folder.appendingPathComponent("trust/normal/patches.json")
        let shared = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        let server = try daemon()
        #expect(try create(server, "parts", 0.05).status == 201)
        let normal = try #require(shared["examples"] as? [Cells])
        #expect(try server.teach("normal", form: normal.map { TaughtPicture.png(cells: $0) }).status == 201)
        _ = try server.evaluated()
        for one in try #require(shared["asked"] as? [[String: Any]]) {
            let answer = try classify(server, try #require(one["patches"] as? Cells)), found = try anomaly(answer)
            let expected = try #require(one["map"] as? [[Double]])
            #expect(Self.isNear(found["map"] as? [[Double]], expected), "\(answer.text)")
            #expect(abs((found["score"] as? Double ?? 9) - (one["score"] as? Double ?? 0)) < 1e-5, "\(answer.text)")
            #expect(abs((found["p"] as? Double ?? 9) - (one["p"] as? Double ?? 0)) < 1e-12, "\(answer.text)")
        }
        #expect(server.daemon.stop() == 0)
    }

    @Test("the rows of the map run from the top of the picture as it is displayed")
    func mapsAreUpright() throws {
        let server = try daemon()
        _ = try create(server)
        let normal = (0..<6).map { Self.cells($0) }
        _ = try server.teach("normal", form: normal.map { TaughtPicture.png(cells: $0) })
        var odd = Self.cells(100)
        odd[0][3] = [250, 10, 5]
        // Stored upside down, and said so.
        let turned = Cells(odd.reversed().map { $0.reversed() })
        let upright = try anomaly(classify(server, odd)),
            found = try anomaly(classify(server, turned, "?map=true&orientation=3"))
        #expect(Self.isNear(found["map"] as? [[Double]], Self.map(odd, normal)))
        #expect(Self.isNear(upright["map"] as? [[Double]], Self.map(odd, normal)))
        #expect(server.daemon.stop() == 0)
    }

    @Test("Accept: image/png answers the picture with the map over it, red where it is above the threshold")
    func picturesShowTheMap() throws {
        let server = try daemon()
        _ = try create(server)
        let normal = (0..<14).map { Self.cells($0) }
        _ = try server.teach("normal", form: normal.map { TaughtPicture.png(cells: $0) })
        _ = try server.evaluated()
        var odd = normal[3]
        odd[1][2] = [10, 60, 250]
        func drawn(_ cells: Cells) throws -> [[Float]] {
            let answer = try Curl.run(
                server.url + "/v1/models/parts/classify",
                ["-H", "Accept: image/png", "--data-binary", "@-"], input: TaughtPicture.png(cells: cells))
            #expect(answer.status == 200 && answer.headers["content-type"] == "image/png", "\(answer.text.prefix(300))")
            #expect(answer.headers["vary"]?.contains("Accept") == true)
            return try Self.pixels(answer.body, server)
        }
        let pixels = try drawn(odd)
        // The centre of the odd patch is its own distance, far beyond twice the threshold: three quarters of red.
        let middle = pixels[8 * 24 + 15]
        let expected: [Float] = [193.75, 15, 62.5]
        // The centres of patches are between pixels, so a little of the neighbours is mixed in.
        for (one, other) in zip(middle, expected) { #expect(abs(one - other) < 3, "\(middle)") }
        // Patches of a normal picture are as they were: nothing is drawn at a distance of 0.
        for (row, column) in [(20, 2), (20, 20), (2, 2)] {
            #expect(pixels[row * 24 + column] == odd[row / 6][column / 6].map { Float($0) })
        }
        #expect(
            try drawn(normal[5]).enumerated().allSatisfy { place, pixel in
                pixel == normal[5][place / 24 / 6][place % 24 / 6].map { Float($0) }
            })
        // One picture at a time; other models answer as ever.
        let whole = try server.put("whole", "{\"embedder\": \"embedder\", \"method\": \"normal\"}")
        #expect(whole.status == 201)
        _ = try server.teach("normal", TaughtPicture.png(kind: 0, number: 1), to: "whole")
        let json = try Curl.run(
            server.url + "/v1/models/whole/classify", ["-H", "Accept: image/png", "--data-binary", "@-"],
            input: TaughtPicture.png(kind: 0, number: 2))
        #expect(json.headers["content-type"] == "application/json", "\(json.text)")
        #expect(server.daemon.stop() == 0)
    }

    /// The pixels of a PNG of 24 x 24, as the embedder gets them.
    private static func pixels(_ png: Data, _ server: TaughtDaemon) throws -> [[Float]] {
        let answer = try server.classify(png, "/v1/models/patcher/embed?explain=npy")
        let bytes = [UInt8](answer.body.suffix(3 * 24 * 24 * 4))
        try #require(bytes.count == 3 * 24 * 24 * 4, "\(answer.text.prefix(200))")
        let values = bytes.withUnsafeBytes { raw in
            (0..<3 * 24 * 24).map {
                Float(bitPattern: UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self)))
            }
        }
        return (0..<24 * 24).map { place in (0..<3).map { values[$0 * 24 * 24 + place] } }
    }

    @Test("an output whose patches are unclear is refused with the key to set; so is a map without patches")
    func unclearPatchesAreRefused() throws {
        let server = try daemon()
        let unclear = try create(server, embedder: "unclear")
        #expect(unclear.status == 400 && unclear.code == "invalid_input", "\(unclear.text)")
        #expect(unclear.error.contains("gives 12 vectors") && unclear.error.contains("\"patches\""), "\(unclear.text)")
        // Classes are told apart by whole pictures.
        #expect(try server.put("classes", "{\"embedder\": \"unclear\"}").status == 201)
        #expect(try create(server, "whole", embedder: "embedder").status == 201)
        _ = try server.teach("normal", TaughtPicture.png(kind: 0, number: 1), to: "whole")
        for path in ["whole", "digits"] {
            let answer = try server.classify(
                TaughtPicture.png(kind: 0, number: 1), "/v1/models/\(path)/classify?map=true")
            #expect(answer.status == 400 && answer.error.contains("\"map\""), "\(answer.text)")
            let without = try server.classify(
                TaughtPicture.png(kind: 0, number: 1), "/v1/models/\(path)/classify?map=false")
            #expect(without.status == 200, "\(without.text)")
        }
        _ = try create(server)
        _ = try server.teach("normal", TaughtPicture.png(cells: Self.cells(1)))
        let export = try server.get("/v1/taught/parts/export")
        #expect(export.status == 400, "\(export.text)")
        #expect(server.daemon.stop() == 0)
    }

    @Test("patches survive a kill, are forgotten exactly, and count to the size of the files")
    func patchesAreKeptAndForgotten() throws {
        let server = try daemon()
        _ = try create(server)
        let cells = (0..<9).map { Self.cells($0) }, pictures = cells.map { TaughtPicture.png(cells: $0) }
        #expect(try server.teach("normal", form: pictures).status == 201)
        _ = try server.evaluated()
        try server.restart(killing: true)
        let asked = Self.cells(50)
        #expect(try Self.isNear(anomaly(classify(server, asked))["map"] as? [[Double]], Self.map(asked, cells)))
        #expect(try anomaly(classify(server, asked))["threshold"] is Double)
        let gone = SHA256.text(SHA256.digest(Array(pictures[4])))
        #expect(try server.delete("parts/examples/\(gone)").status == 200)
        let rest = cells.enumerated().filter { $0.offset != 4 }.map(\.element)
        #expect(try Self.isNear(anomaly(classify(server, asked))["map"] as? [[Double]], Self.map(asked, rest)))
        _ = try server.evaluated()
        try server.restart(killing: true)
        #expect(try Self.isNear(anomaly(classify(server, asked))["map"] as? [[Double]], Self.map(asked, rest)))
        // The whole numbers of the forgotten patches are in no file.
        let journal = try Data(contentsOf: server.store.appendingPathComponent("parts/journal"))
        func numbers(_ cells: Cells) -> Data {
            let all = cells.joined().flatMap { cell -> [Int16] in
                let greatest = Double(cell.max() ?? 1)
                return cell.map { Int16((Double($0) / greatest * 32_767).rounded(.toNearestOrEven)) }
            }
            return all.map(\.littleEndian).withUnsafeBytes { Data($0) }
        }
        #expect(journal.range(of: numbers(cells[4])) == nil && journal.range(of: numbers(cells[5])) != nil)
        #expect(server.daemon.stop() == 0)
        let small = try daemon(["--taught-max-bytes", "4KiB"])
        _ = try create(small)
        let answers = try (0..<60).map { try small.teach("normal", TaughtPicture.png(cells: Self.cells($0))) }
        let full = try #require(answers.first { $0.status != 201 })
        #expect(full.status == 507 && full.error.contains("`taught_max_bytes`"), "\(full.text)")
        #expect(small.daemon.stop() == 0)
    }
}
