import Foundation
import TestSupport
import Testing

/// Searches for the taught examples that are nearest to a picture, and the examples' names, with the real binary.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TaughtSearchTests {
    private func sha256(_ data: Data) throws -> String {
        String(try Shell.run("sha256sum", [], input: data).text.prefix(64))
    }

    private func search(
        _ server: TaughtDaemon, _ picture: Data, _ query: String = "", _ arguments: [String] = []
    ) throws -> Answer {
        try Curl.run(
            server.url + "/v1/taught/parts/search" + query, ["--data-binary", "@-"] + arguments, input: picture)
    }

    private func found(_ answer: Answer) throws -> [[String: Any]] {
        try #require(answer.json["examples"] as? [[String: Any]], "\(answer.text)")
    }

    private func ids(_ answer: Answer) throws -> [String] { try found(answer).compactMap { $0["id"] as? String } }

    private static func cosine(_ a: [Double], _ b: [Double]) -> Double {
        func product(_ a: [Double], _ b: [Double]) -> Double { zip(a, b).reduce(0) { $0 + $1.0 * $1.1 } }
        return product(a, b) / (product(a, a) * product(b, b)).squareRoot()
    }

    @Test("a search answers the examples by the cosine of the vectors that embed gives, nearest first")
    func searchesFollowTheEmbeddings() throws {
        let server = try TaughtDaemon()
        try server.create()
        let empty = try search(server, TaughtPicture.png(kind: 0, number: 0))
        #expect(try empty.status == 200 && (found(empty)).isEmpty, "\(empty.text)")
        try server.teachKinds(3, 5)
        let pictures = (0..<3).flatMap { kind in (0..<5).map { (kind: kind, number: $0) } }
        var oracle: [(id: String, kind: Int, cosine: Double)] = []
        let query = TaughtPicture.png(kind: 1, number: 77), vector = try server.embedding(query)
        for (kind, number) in pictures {
            let picture = TaughtPicture.png(kind: kind, number: number)
            let cosine = Self.cosine(vector, try server.embedding(picture))
            oracle.append((try sha256(picture), kind, cosine))
        }
        oracle.sort { $0.cosine > $1.cosine }
        for (query, top, kind) in [
            ("", 10, nil), ("?top=1", 1, nil), ("?top=1000", 15, nil), ("?label=kind2&top=3", 3, 2),
            ("?label=nothing", 0, 7),
        ] as [(String, Int, Int?)] {
            let answer = try search(server, TaughtPicture.png(kind: 1, number: 77), query)
            let expected = oracle.filter { kind == nil || $0.kind == kind }.prefix(top)
            #expect(try answer.status == 200 && (ids(answer)) == expected.map(\.id), "\(query): \(answer.text)")
            for (one, expected) in zip(try found(answer), expected) {
                #expect(one["label"] as? String == "kind\(expected.kind)" && one["name"] is NSNull)
                #expect(abs((one["similarity"] as? Double ?? 9) - expected.cosine) < 1e-5, "\(answer.text)")
            }
        }
        // A taught picture is its own nearest.
        let own = TaughtPicture.png(kind: 2, number: 3)
        #expect(try found(search(server, own, "?top=1"))[0]["similarity"] as? Double == 1)
        let file = server.folder.appendingPathComponent("p.png")
        try own.write(to: file)
        let form = try Curl.run(
            server.url + "/v1/taught/parts/search", ["-F", "image=@\(file.path)", "-F", "top=1", "-F", "label=kind2"])
        #expect(try form.status == 200 && (ids(form)) == [sha256(own)], "\(form.text)")
        // Forgotten examples are not found, and another version has its own.
        #expect(try server.post("parts/versions/1/serve").status == 200)
        #expect(try found(search(server, own)).count == 5)
        #expect(try server.post("parts/versions/3/serve").status == 200)
        #expect(try server.delete("parts/examples/\(sha256(own))").status == 200)
        #expect(try !ids(search(server, own, "?top=1000")).contains(sha256(own)))
        #expect(server.daemon.stop() == 0)
    }

    @Test("wrong searches are refused with the expected form")
    func wrongSearchesAreRefused() throws {
        let server = try TaughtDaemon()
        try server.create()
        let picture = TaughtPicture.png(kind: 0, number: 0)
        try server.teach("bolt", picture)
        for (query, expected) in [
            ("?top=0", "from 1 to 1000, found \"0\""), ("?top=1001", "from 1 to 1000, found \"1001\""),
            ("?top=x", "from 1 to 1000, found \"x\""), ("?label=", "1 to 256 bytes"), ("?limit=1", "known: top, label"),
            ("?explain=png", "a search shows no input"),
        ] {
            let answer = try search(server, picture, query)
            #expect(answer.status == 400 && answer.code == "bad_request", "\(query): \(answer.text)")
            #expect(answer.text.replacing("\\\"", with: "\"").contains(expected), "\(query): \(answer.text)")
        }
        let text = try search(server, Data("no picture".utf8))
        #expect(text.status == 415 && text.code == "unsupported_media_type", "\(text.text)")
        let file = server.folder.appendingPathComponent("p.png")
        try picture.write(to: file)
        let many = try Curl.run(
            server.url + "/v1/taught/parts/search", ["-F", "image=@\(file.path)", "-F", "image=@\(file.path)"])
        #expect(many.status == 400 && many.error.contains("expected one picture, found 2"), "\(many.text)")
        let unknown = try Curl.run(server.url + "/v1/taught/nothing/search", ["--data-binary", "@-"], input: picture)
        #expect(unknown.status == 404 && unknown.code == "not_found", "\(unknown.text)")
        let method = try server.get("/v1/taught/parts/search")
        #expect(method.status == 405 && method.headers["allow"] == "POST", "\(method.text)")
        #expect(server.daemon.stop() == 0)
    }

    @Test("the names of examples are listed and found, and survive a kill until the example is forgotten")
    func namesAreKeptWithTheirExamples() throws {
        let server = try TaughtDaemon()
        try server.create()
        let pictures = (0..<3).map { TaughtPicture.png(kind: $0, number: 0) }
        #expect(try server.teach("a&name=M6%20%26%20%22M8%22", pictures[0]).status == 201)
        #expect(try server.teach("b&name=both", form: [pictures[1], pictures[2]]).status == 201)
        // A known picture keeps its name without another one, and a new name makes no version.
        let again = try server.teach("a", pictures[0])
        #expect(again.status == 200 && again.json["version"] as? String == "2", "\(again.text)")
        let named = try server.teach("b&name=%C3%BEird", pictures[2])
        #expect(named.status == 200 && named.json["version"] as? String == "2", "\(named.text)")
        let ids = try pictures.map { try sha256($0) }
        let names = [ids[0]: "M6 & \"M8\"", ids[1]: "both", ids[2]: "þird"]
        func check(_ names: [String: String]) throws {
            let lists = [try server.get("/v1/taught/parts/examples"), try search(server, pictures[0])]
            for answer in lists {
                let listed = try found(answer).map { ($0["id"] as? String ?? "", $0["name"] as? String ?? "null") }
                #expect(Dictionary(listed) { first, _ in first } == names, "\(answer.text)")
            }
        }
        try check(names)
        try server.restart(killing: true)
        try check(names)
        #expect(try server.teach("moved", pictures[1]).status == 201)
        try check(names)
        #expect(try server.delete("parts/examples/\(ids[0])").status == 200)
        let journal = try Data(contentsOf: server.store.appendingPathComponent("parts/journal"))
        #expect(journal.range(of: Data("M8".utf8)) == nil && journal.range(of: Data("both".utf8)) != nil)
        try check([ids[1]: "both", ids[2]: "þird"])
        for name in ["", String(repeating: "n", count: 257)] {
            let answer = try server.teach("a&name=\(name)", pictures[0])
            #expect(answer.status == 400 && answer.error.contains("1 to 256 bytes"), "\(answer.text)")
        }
        #expect(server.daemon.stop() == 0)
    }
}
