import Foundation
import TestSupport
import Testing

/// Models for pictures and texts as clients use them: with labels of their own, from many clients at once, with many
/// labels, under taught models, and with texts of many lengths.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(
        if: WordsData.folder != nil, "../shared/data/words is not beside the package: this test needs its models"),
    .serialized)
struct WordsUseTests {
    private static let pictures = ["squares-0.png", "squares-1.png", "squares-2.png"]
    private static let text = ["-H", "Content-Type: text/plain", "--data-binary", "@-"]

    private static func picture(_ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: WordsTests.picture(name)))
    }

    // MARK: Helpers

    /// A folder with copies of the shared models.
    private struct Copies {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-words-\(UUID().uuidString)")

        init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

        /// Copies a model under a new name.
        /// - Parameter zeroShot: the members of `zero_shot`.
        func add(_ name: String, of original: String, zeroShot: [String: Any]) throws {
            let target = folder.appendingPathComponent(name)
            // The shared folders are read-only.
            let source = WordsTests.models + "/" + original
            let copy = try Shell.run("cp", ["-r", "--no-preserve=mode", source, target.path])
            try #require(copy.status == 0, "\(copy.errors)")
            let model: [String: Any] = ["name": name, "id": name, "version": "1", "zero_shot": zeroShot]
            try JSONSerialization.data(withJSONObject: model).write(to: target.appendingPathComponent("model.json"))
        }

        func remove() { try? FileManager.default.removeItem(at: folder) }
    }

    /// A class of an answer.
    private struct Found {
        let index: Int
        let label: String
        let confidence: Double
        /// NaN if the answer has none.
        let similarity: Double
    }

    private static func found(_ json: [String: Any]) throws -> [Found] {
        let entries = try #require(json["classifications"] as? [[String: Any]], "\(json)")
        return try entries.map { entry in
            Found(
                index: try #require(entry["index"] as? Int), label: try #require(entry["label"] as? String),
                confidence: try #require(entry["confidence"] as? Double),
                similarity: entry["similarity"] as? Double ?? .nan)
        }
    }

    /// Compares the classes of two answers, whatever their order: classes may be equally likely.
    private static func expectSame(
        _ found: [Found], _ expected: [Found], within tolerance: Double = 1e-4, _ what: String
    ) {
        let ours = found.sorted { $0.index < $1.index }, theirs = expected.sorted { $0.index < $1.index }
        #expect(ours.map(\.index) == theirs.map(\.index), "\(what)")
        #expect(ours.map(\.label) == theirs.map(\.label), "\(what)")
        for (one, other) in zip(ours, theirs) {
            #expect(abs(one.confidence - other.confidence) < tolerance, "\(what): \(one), expected \(other)")
        }
    }

    /// A form with a picture, and a part for each label.
    private static func form(_ labels: [String], prompt: String? = nil, _ picture: Data) -> Data {
        func part(_ name: String, _ value: String) -> Data {
            Data("--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n".utf8)
        }
        var body = Data()
        for label in labels { body += part("label", label) }
        body += part("top", "\(labels.count)")
        if let prompt { body += part("prompt", prompt) }
        body += Data("--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"p.png\"\r\n\r\n".utf8)
        return body + picture + Data("\r\n--b--\r\n".utf8)
    }

    private static func post(_ form: Data, to url: String) throws -> Answer {
        try Curl.run(
            url, ["-H", "Content-Type: multipart/form-data; boundary=b", "--data-binary", "@-"], input: form)
    }

    private static func infer(_ model: String, _ daemon: Daemon, _ picture: Data) throws -> Answer {
        // The name of the input is the same with labels and without them.
        let described = try Curl.run("\(daemon.url)/v2/models/named").json
        let inputs = described["inputs"] as? [[String: Any]] ?? []
        let name = try #require(inputs.first?["name"] as? String, "\(described)")
        let input: [String: Any] = [
            "name": name, "datatype": "BYTES", "shape": [1], "data": [picture.base64EncodedString()],
        ]
        let body = try JSONSerialization.data(withJSONObject: ["inputs": [input]])
        return try Curl.run("\(daemon.url)/v2/models/\(model)/infer", ["--data-binary", "@-"], input: body)
    }

    private static func unit(_ vector: [Double]) -> [Double] {
        let length = vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
        return vector.map { $0 / length }
    }

    private static func cosine(_ a: [Double], _ b: [Double]) -> Double {
        zip(unit(a), unit(b)).reduce(0) { $0 + $1.0 * $1.1 }
    }

    private static func vector(_ body: Data, _ arguments: [String], _ url: String) throws -> [Double] {
        let answer = try Curl.run(url + "/embed", arguments, input: body)
        return try #require(answer.json["embedding"] as? [Double], "\(answer.text.prefix(300))")
    }

    private static func vector(text: String, _ url: String) throws -> [Double] {
        try vector(Data(text.utf8), Self.text, url)
    }

    private static func vector(picture: Data, _ url: String) throws -> [Double] {
        try vector(picture, ["--data-binary", "@-"], url)
    }

    // MARK: Labels of the model

    /// The expected values are those of ONNX Runtime and NumPy.
    @Test(
        "with labels in model.json a pair is a classifier as any other, in /v2 too, and a request may bring other labels",
        arguments: [("clip-split", 20, 0), ("siglip-split", 30, -4)] as [(String, Double, Double)])
    func labelsOfTheModel(_ base: String, _ scale: Double, _ bias: Double) throws {
        let cases = try #require(WordsTests.cases)
        let own = cases.classify.filter { $0.model == base && $0.prompt != "{}" }
        let first = try #require(own.first)
        let labels = first.labels, copies = try Copies()
        defer { copies.remove() }
        try copies.add("plain", of: base, zeroShot: ["scale": scale, "bias": bias])
        try copies.add(
            "named", of: base,
            zeroShot: ["scale": scale, "bias": bias, "labels": labels, "prompt": first.prompt])
        let daemon = try Daemon(["--models", copies.folder.path])
        let plain = daemon.url + "/v1/models/plain/classify", named = daemon.url + "/v1/models/named/classify"
        for one in own {
            let picture = try Self.picture(one.picture)
            let bare = try Curl.run(named + "?top=\(labels.count)", ["--data-binary", "@-"], input: picture)
            let found = try Self.found(bare.json)
            let expected = labels.indices.map {
                Found(index: $0, label: labels[$0], confidence: one.confidence[$0], similarity: .nan)
            }
            Self.expectSame(found, expected, within: 1e-3, bare.text)
            #expect(found.map(\.confidence) == found.map(\.confidence).sorted(by: >), "\(bare.text)")
            let asked = try Self.post(Self.form(labels, prompt: first.prompt, picture), to: plain)
            Self.expectSame(found, try Self.found(asked.json), asked.text)
            let two = try Curl.run(named + "?top=2", ["--data-binary", "@-"], input: picture)
            #expect(try Self.found(two.json).map(\.label) == found.prefix(2).map(\.label), "\(two.text)")

            let inferred = try Self.infer("named", daemon, picture)
            let outputs = inferred.json["outputs"] as? [[String: Any]] ?? []
            let output = try #require(
                outputs.first { $0["name"] as? String == "probabilities" }, "\(inferred.text.prefix(500))")
            #expect(output["shape"] as? [Int] == [1, labels.count], "\(output)")
            let ordered = found.sorted { $0.index < $1.index }.map(\.confidence)
            #expect(WordsTests.distance(output["data"], ordered) < 1e-5, "\(output), expected \(ordered)")

            // Labels of a request are in the place of the model's, in the prompt of the model.
            let others = ["猫", "a red barn"]
            let replaced = try Self.post(Self.form(others, picture), to: named)
            let same = try Self.post(Self.form(others, prompt: first.prompt, picture), to: plain)
            #expect(replaced.status == 200, "\(replaced.text)")
            Self.expectSame(try Self.found(replaced.json), try Self.found(same.json), replaced.text)
        }
        let picture = try Self.picture(first.picture)
        let refused = try Self.infer("plain", daemon, picture)
        #expect(refused.status == 400 && refused.code == "invalid_input", "\(refused.text)")
        #expect(refused.error.contains("\"zero_shot\""), "\(refused.text)")
        let bare = try Curl.run(plain, ["--data-binary", "@-"], input: picture)
        #expect(bare.status == 400 && bare.code == "invalid_input", "\(bare.text)")
        #expect(bare.error.contains("classify?labels="), "\(bare.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// The expected values are computed from the vectors that embed gives: unit vectors, their mean, its cosine with
    /// the picture's vector, and the softmax of the scaled cosines.
    @Test("the vectors of several prompts are averaged, for labels of the model and for those of a request")
    func severalPrompts() throws {
        let prompts = ["a photo of a {}.", "{} in the snow", "two {}"], labels = ["red barn", "dog", "black, white"]
        let scale = 20.0, copies = try Copies()
        defer { copies.remove() }
        try copies.add("averaged", of: "clip-split", zeroShot: ["scale": scale, "labels": labels, "prompt": prompts])
        let daemon = try Daemon(["--models", copies.folder.path])
        let url = daemon.url + "/v1/models/averaged"
        let classes = try labels.map { label -> [Double] in
            let vectors = try prompts.map { prompt in
                Self.unit(try Self.vector(text: prompt.replacingOccurrences(of: "{}", with: label), url))
            }
            return vectors[0].indices.map { place in
                vectors.reduce(0) { $0 + $1[place] } / Double(vectors.count)
            }
        }
        for name in Self.pictures {
            let picture = try Self.picture(name), vector = try Self.vector(picture: picture, url)
            let cosines = classes.map { Self.cosine($0, vector) }, powers = cosines.map { exp(scale * $0) }
            let expected = labels.indices.map { index in
                Found(
                    index: index, label: labels[index], confidence: powers[index] / powers.reduce(0, +),
                    similarity: cosines[index])
            }
            let own = try Curl.run(url + "/classify?top=3", ["--data-binary", "@-"], input: picture)
            Self.expectSame(try Self.found(own.json), expected, own.text)
            let asked = try Self.post(Self.form(labels, picture), to: url + "/classify")
            let found = try Self.found(asked.json)
            Self.expectSame(found, expected, asked.text)
            for one in found {
                #expect(abs(one.similarity - cosines[one.index]) < 1e-4, "\(asked.text)")
            }
            // One prompt of a request is in the place of all of the model.
            let single = try Self.post(Self.form(labels, prompt: prompts[0], picture), to: url + "/classify")
            for one in try Self.found(single.json) {
                let text = prompts[0].replacingOccurrences(of: "{}", with: labels[one.index])
                let cosine = Self.cosine(try Self.vector(text: text, url), vector)
                #expect(abs(one.similarity - cosine) < 1e-4, "\(single.text)")
            }
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    // MARK: Many clients, many labels

    private static func request(_ labels: [String], _ picture: Data, token: String?) -> Data {
        let query = labels.map { $0.replacingOccurrences(of: " ", with: "+") }.joined(separator: ",")
        var head = "POST /v1/models/clip-split/classify?labels=\(query)&top=\(labels.count) HTTP/1.1\r\nHost: x\r\n"
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        return Data("\(head)Content-Length: \(picture.count)\r\n\r\n".utf8) + picture
    }

    private static func answers(_ clients: [RawClient]) throws -> [[Found]] {
        try clients.map { client in
            let response = try client.response()
            try #require(response.status == 200, "\(response.text)")
            let json = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
            return try Self.found(json ?? [:]).sorted { $0.index < $1.index }
        }
    }

    @Test("16 clients at once get the answers for their own labels, with answers kept, with tokens and without")
    func clientsAtOnce() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-words-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let tokens = (0..<16).map { "token-of-client-\($0)-0123456789" }
        let file = folder.appendingPathComponent("tokens")
        try tokens.map { "infer \($0)\n" }.joined().write(to: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        // Each pair of clients has the same labels in opposite orders; all pairs have one label in common.
        let labels = (0..<16).map { client -> [String] in
            let own = ["red barn", "dog \(client / 2)", "snow \(client / 2) \(client / 2)"]
            return client % 2 == 0 ? own : own.reversed()
        }
        let picture = try Self.picture("squares-1.png"), models = ["--models", WordsTests.models + "/clip-split"]
        let alone = try Daemon(models)
        let expected = try labels.map { own -> [Found] in
            let client = try RawClient(alone.url)
            try client.send(Self.request(own, picture, token: nil))
            return try #require(try Self.answers([client]).first)
        }
        #expect(alone.stop() == 0, "\(alone.log)")
        let flags = [
            "--answer-cache", "4MB", "--queue-length", "100", "--queue-wait", "200s", "--overload-target", "0s",
            "--deadline", "200s",
        ]
        for hasTokens in [false, true] {
            let daemon = try Daemon(models + flags + (hasTokens ? ["--tokens-file", file.path] : []))
            for round in 0..<4 {
                let clients = try labels.map { _ in try RawClient(daemon.url) }
                for (index, client) in clients.enumerated() {
                    try client.send(Self.request(labels[index], picture, token: hasTokens ? tokens[index] : nil))
                }
                for (index, found) in try Self.answers(clients).enumerated() {
                    Self.expectSame(found, expected[index], "client \(index), round \(round), tokens: \(hasTokens)")
                    #expect(found.map(\.label) == labels[index])
                    for (one, other) in zip(found, expected[index]) {
                        #expect(abs(one.similarity - other.similarity) < 1e-4, "\(one), expected \(other)")
                    }
                }
            }
            #expect(daemon.stop() == 0, "\(daemon.log)")
        }
    }

    @Test("a form has up to 1,000 labels, which may have commas; more, and two alike, are refused")
    func manyLabels() throws {
        let daemon = try Daemon(["--models", WordsTests.models + "/clip-split"])
        let url = daemon.url + "/v1/models/clip-split/classify", picture = try Self.picture("squares-0.png")
        let labels = (0..<1_001).map { "a dog, number \($0)" }
        let all = try Self.post(Self.form(Array(labels.prefix(1_000)), picture), to: url)
        #expect(all.status == 200, "\(all.text.prefix(500))")
        let found = try Self.found(all.json).sorted { $0.index < $1.index }
        #expect(found.map(\.index) == Array(0..<1_000))
        #expect(found.map(\.label) == Array(labels.prefix(1_000)))
        #expect(abs(found.reduce(0) { $0 + $1.confidence } - 1) < 1e-3)
        // One of them by itself has the same similarity.
        let last = try #require(try Self.found(try Self.post(Self.form([labels[999]], picture), to: url).json).first)
        #expect(abs((found.last?.similarity ?? .nan) - last.similarity) < 1e-4 && last.confidence == 1)
        let more = try Self.post(Self.form(labels, picture), to: url)
        #expect(more.status == 400 && more.error.contains("more than 1000 parts \"label\""), "\(more.text)")
        let alike = try Self.post(Self.form(["a, b", "c", "a, b"], picture), to: url)
        #expect(alike.status == 400 && alike.error.contains("labels 1 and 3 are both \"a, b\""), "\(alike.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    // MARK: Taught models

    @Test("a text finds the taught examples by the cosine of the vectors that embed gives, nearest first")
    func searchByText() throws {
        let server = try TaughtDaemon { models in
            let source = WordsTests.models + "/clip-split", target = models.appendingPathComponent("clip-split").path
            let copy = try Shell.run("cp", ["-r", "--no-preserve=mode", source, target])
            try #require(copy.status == 0, "\(copy.errors)")
        }
        let created = try server.put("parts", "{\"embedder\": \"clip-split\"}")
        #expect(created.status == 201, "\(created.text)")
        let url = server.url + "/v1/models/clip-split"
        var vectors: [(label: String, vector: [Double])] = []
        for (number, name) in Self.pictures.enumerated() {
            let picture = try Self.picture(name)
            let taught = try server.teach("kind\(number)", picture)
            #expect(taught.status == 201, "\(taught.text)")
            vectors.append(("kind\(number)", try Self.vector(picture: picture, url)))
        }
        for (text, nearest) in [("two dogs playing in the snow", "kind0"), ("Ünïcödé 猫 日本", "kind1")] {
            let query = try Self.vector(text: text, url)
            let oracle = vectors.map { (label: $0.label, cosine: Self.cosine($0.vector, query)) }
                .sorted { $0.cosine > $1.cosine }
            let answer = try Curl.run(
                server.url + "/v1/taught/parts/search", Self.text, input: Data(text.utf8))
            let examples = try #require(answer.json["examples"] as? [[String: Any]], "\(answer.text)")
            #expect(examples.compactMap { $0["label"] as? String } == oracle.map { $0.label }, "\(answer.text)")
            #expect(examples.first?["label"] as? String == nearest, "\(answer.text)")
            for (example, expected) in zip(examples, oracle) {
                let similarity = example["similarity"] as? Double ?? .nan
                #expect(abs(similarity - expected.cosine) < 1e-4, "\(answer.text)")
            }
            let one = try Curl.run(
                server.url + "/v1/taught/parts/search?top=1&label=kind2", Self.text, input: Data(text.utf8))
            let limited = one.json["examples"] as? [[String: Any]] ?? []
            #expect(limited.compactMap { $0["label"] as? String } == ["kind2"], "\(one.text)")
        }
        #expect(server.daemon.stop() == 0, "\(server.daemon.log)")
    }

    // MARK: Memory

    @Test("2,000 texts of many lengths leave at most 20 MiB behind, and the kept vectors stay within text_cache")
    func textsOfManyLengths() throws {
        var random = SplitMix(seed: SplitMix.seed(for: "textsOfManyLengths"))
        let limit = 64 << 10
        let daemon = try Daemon([
            "--models", WordsTests.models + "/clip-split", "--models", WordsTests.models + "/sentence-mean",
            "--text-cache", "64KiB",
        ])
        let words = ["a", "cat", "dogs", "snow", "barn", "playing", "日本", "Straße"]
        func metric(_ name: String) throws -> Double {
            try #require(MetricsTests.value(name, in: try Curl.run(daemon.url + "/metrics").text))
        }
        func embed(_ count: Int, from first: Int) throws {
            for start in stride(from: first, to: first + count, by: 100) {
                let client = try RawClient(daemon.url)
                for number in start..<start + 100 {
                    let length = Int.random(in: 0...200, using: &random)
                    let more = (0..<length).map { _ in words.randomElement(using: &random) ?? "" }
                    let text = Data((["\(number)"] + more).joined(separator: " ").utf8)
                    let model = number % 2 == 0 ? "clip-split" : "sentence-mean"
                    let head =
                        "POST /v1/models/\(model)/embed HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
                        + "Content-Length: \(text.count)\r\n\r\n"
                    try client.send(Data(head.utf8) + text)
                    let response = try client.response()
                    try #require(response.status == 200, "\(response.text)")
                }
                let bytes = try metric("ocelli_text_cache_bytes")
                #expect(bytes > 0 && bytes <= Double(limit), "after text \(start + 99)")
            }
        }
        try embed(500, from: 0)
        let before = daemon.anonymousKiB
        try embed(2_000, from: 500)
        #expect(daemon.anonymousKiB - before < 20 << 10, "\(before) KiB, then \(daemon.anonymousKiB)")
        #expect(try metric("ocelli_text_cache_misses_total") >= 2_500)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}
