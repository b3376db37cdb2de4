import Foundation
import SystemSupport
import TestSupport
import Testing

/// A client that changes a taught model at random, and knows its expected state.
struct TaughtHistory {
    /// The state of a taught model as expected by its client.
    struct State: Equatable {
        /// The class of each example, by its id.
        var labels: [String: String] = [:]
        /// The serving version.
        var version = 0
    }

    private let server: TaughtDaemon
    private let name: String
    private var number: Int
    /// The pictures by their ids, including those of forgotten examples.
    private var pictures: [String: Data] = [:]
    private var newest = 0
    /// The kept versions.
    private var kept: [Int] = []
    private(set) var acknowledged = State()
    /// The state after the change without an answer; nil if each was answered.
    private(set) var next: State?

    /// - Parameter first: the number of its first picture.
    init(_ server: TaughtDaemon, _ name: String, first: Int = 0) {
        (self.server, self.name, number) = (server, name, first)
    }

    private mutating func picture() -> (id: String, bytes: Data) {
        number += 1
        let bytes = TaughtPicture.png(kind: number % 4, number: number)
        let id = SHA256.text(SHA256.digest(Array(bytes)))
        pictures[id] = bytes
        return (id, bytes)
    }

    /// Teaches two examples that stay.
    mutating func teachFirst() throws {
        let first = [picture(), picture()]
        #expect(try server.teach("kept", form: first.map(\.bytes), to: name).status == 201)
        for (id, _) in first { acknowledged.labels[id] = "kept" }
        (acknowledged.version, newest) = (1, 1)
    }

    /// Makes one change.
    /// - Returns: false if it got no answer.
    mutating func change(_ random: inout SplitMix) throws -> Bool {
        var state = acknowledged
        let others = state.labels.filter { $0.value != "kept" }.keys.sorted()
        let label = "class\(Int.random(in: 0..<4, using: &random))"
        let request: () throws -> Answer
        let kind = Int.random(in: 0..<10, using: &random)
        let (server, name) = (server, name)
        if kind == 0, let version = kept.randomElement(using: &random) {
            state.version = version
            request = { try server.post("\(name)/versions/\(version)/serve") }
        } else if kind <= 2, let id = others.randomElement(using: &random) {
            state.labels[id] = nil
            state.version = newest + 1
            request = { try server.delete("\(name)/examples/\(id)") }
        } else if kind == 3, let gone = others.randomElement(using: &random).flatMap({ state.labels[$0] }) {
            state.labels = state.labels.filter { $0.value != gone }
            state.version = newest + 1
            request = { try server.delete("\(name)/classes?label=\(gone)") }
        } else if kind == 4, let id = others.first(where: { state.labels[$0] != label }), let bytes = pictures[id] {
            state.labels[id] = label
            state.version = newest + 1
            request = { try server.teach(label, bytes, to: name) }
        } else {
            let new = (0..<(kind == 5 ? 3 : 1)).map { _ in picture() }
            for (id, _) in new { state.labels[id] = label }
            state.version = newest + 1
            request = { try server.teach(label, form: new.map(\.bytes), to: name) }
        }
        next = state
        let answer = try request()
        guard answer.status != 0 else { return false }
        #expect(answer.status == 200 || answer.status == 201, "\(answer.text)")
        #expect(answer.json["version"] as? String == String(state.version), "\(answer.text)")
        kept = Self.versions(answer.json)
        goOn(from: state)
        return true
    }

    /// Continues from a state of the taught model.
    mutating func goOn(from state: State) {
        newest = max(newest, state.version)
        (acknowledged, next) = (state, nil)
    }

    mutating func serveNewest() throws {
        acknowledged.version = newest
        #expect(try server.post("\(name)/versions/\(newest)/serve").status == 200)
    }

    /// The state of the taught model in the daemon.
    mutating func found() throws -> State {
        let list = try server.get("/v1/taught/\(name)/examples").json["examples"] as? [[String: Any]] ?? []
        let model = try server.get("/v1/taught/\(name)").json
        var state = State(version: (model["version"] as? String).flatMap { Int($0) } ?? -1)
        for example in list { state.labels[example["id"] as? String ?? ""] = example["label"] as? String }
        let serving = (model["versions"] as? [[String: Any]])?.first {
            $0["version"] as? String == String(state.version)
        }
        let classes = (model["classes"] as? [[String: Any]] ?? []).map { $0["examples"] as? Int ?? 0 }
        #expect(classes.reduce(0, +) == serving?["examples"] as? Int)
        kept = Self.versions(model)
        return state
    }

    private static func versions(_ model: [String: Any]) -> [Int] {
        (model["versions"] as? [[String: Any]] ?? []).compactMap { ($0["version"] as? String).flatMap { Int($0) } }
    }

    /// Checks that a model that is taught the same examples now, in another order, has the same answers and evaluation.
    func compareWithFresh(named fresh: String) throws {
        let method = try server.get("/v1/taught/\(name)").json["method"] as? String ?? ""
        #expect(try server.create(fresh, method: method).status == 201)
        for label in Set(acknowledged.labels.values).sorted(by: >) {
            let ids = acknowledged.labels.filter { $0.value == label }.keys.sorted(by: >)
            #expect(try server.teach(label, form: ids.map { pictures[$0] }, to: fresh).status == 201)
        }
        let models = try [server.evaluated(name), server.evaluated(fresh)]
        let evaluations = models.map { model -> NSDictionary in
            var evaluation = model["evaluation"] as? [String: Any] ?? [:]
            evaluation["version"] = nil
            return NSDictionary(dictionary: evaluation)
        }
        #expect(evaluations[0] == evaluations[1] && evaluations[0].count > 0)
        #expect(models[0]["classes"] as? NSArray == models[1]["classes"] as? NSArray)
        for number in 0..<5 {
            let picture = TaughtPicture.png(kind: number, number: 1_000_000 + number)
            let one = try server.classify(picture, "/v1/models/\(name)/classify").json
            let other = try server.classify(picture, "/v1/models/\(fresh)/classify").json
            for member in ["classifications", "distance", "known"] {
                #expect(one[member] != nil && one[member] as? NSObject == other[member] as? NSObject, "\(member)")
            }
        }
    }

    /// Checks that no file has the id, the embedding or the bytes of a forgotten example.
    func expectNoTrace() throws {
        let gone = pictures.filter { acknowledged.labels[$0.key] == nil }
        let files = FileManager.default.enumerator(atPath: server.store.path)?.allObjects as? [String] ?? []
        let contents = try files.filter { !$0.hasSuffix("pictures") && $0.contains("/") }.map {
            try Data(contentsOf: server.store.appendingPathComponent($0))
        }
        func isThere(_ bytes: Data) -> Bool { contents.contains { $0.range(of: bytes) != nil } }
        func embedding(_ picture: Data) throws -> Data {
            try Curl.run(
                server.url + "/v1/models/embedder/embed",
                ["-H", "Accept: application/octet-stream", "--data-binary", "@-"], input: picture
            ).body
        }
        func digest(_ bytes: Data) -> Data { Data(SHA256.digest(Array(bytes))) }
        for (id, picture) in gone {
            #expect(
                !files.contains { $0.contains(id) } && !isThere(Data(id.utf8)) && !isThere(digest(picture)), "\(id)")
            #expect(try !isThere(embedding(picture)), "the embedding of \(id)")
        }
        // The search finds these data of the remaining examples.
        let kept = try #require(acknowledged.labels.first { $0.value == "kept" }.flatMap { pictures[$0.key] })
        #expect(try isThere(digest(kept)) && isThere(embedding(kept)))
    }
}
