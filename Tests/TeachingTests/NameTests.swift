import Foundation
import Teaching
import TestSupport
import Testing

/// The callers' own names of examples: what keeps them, changes them and forgets them.
@Suite struct NameTests {
    private let folder = TemporaryFolder()

    private func open(_ limits: TeachingLimits = TeachingLimits()) throws -> (store: TaughtStore, model: TaughtModel) {
        let store = try TaughtStore(folder: folder.path, limits: limits)
        #expect(store.problems.isEmpty, "\(store.problems)")
        let known = store.model("parts")
        return (store, try known ?? store.create("parts", .test, dimension: 2, .fixed(.nearestMean)).model)
    }

    private func example(_ picture: String, _ label: String, _ name: String?, x: Float = 1) -> TaughtModel.NewExample {
        let one = TaughtModel.NewExample(picture, label, [x, 1])
        return TaughtModel.NewExample(id: one.id, label: label, embedding: one.embedding, name: name)
    }

    private func id(_ picture: String) -> ExampleID { Array(picture.utf8).withUnsafeBytes { ExampleID(of: $0) } }

    private func names(_ model: TaughtModel) -> [String: String] {
        var names: [String: String] = [:]
        for picture in ["1", "2", "3"] { names[picture] = model.view.state.example(id(picture))?.name }
        return names
    }

    @Test("a name stays when its picture is taught again without one or moves, and another one replaces it")
    func namesStayUntilAnotherComes() throws {
        let steps: [(example: TaughtModel.NewExample, names: [String: String], version: Int)] = [
            (example("1", "a", "one"), ["1": "one"], 1), (example("2", "a", nil), ["1": "one"], 2),
            (example("1", "a", nil), ["1": "one"], 2), (example("1", "b", nil), ["1": "one"], 3),
            (example("1", "b", "other"), ["1": "other"], 3),
            (example("2", "a", "two"), ["1": "other", "2": "two"], 3),
            (example("2", "c", "TWO"), ["1": "other", "2": "TWO"], 4),
        ]
        for (index, step) in steps.enumerated() {
            do {
                let (store, model) = try open()
                let outcome = try model.teach([step.example], time: index)
                #expect(outcome.count == 1 && names(model) == step.names, "step \(index)")
                #expect(model.view.state.serving == step.version, "step \(index)")
                #expect(try store.bytes == (Data(contentsOf: journal)).count, "step \(index)")
            }
            // After a start, too.
            let (_, again) = try open()
            #expect(names(again) == step.names && again.view.state.serving == step.version, "step \(index)")
        }
    }

    private var journal: URL { URL(fileURLWithPath: folder.path + "/parts/journal") }

    @Test("a change of a name does not disturb the examples of the same request")
    func aRequestMayRenameAndTeach() throws {
        do {
            let (_, model) = try open()
            _ = try model.teach([example("1", "a", "old")], time: 1)
            let outcomes = try model.teach(
                [example("1", "a", "new"), example("2", "a", "new"), example("2", "a", "new")], time: 2)
            #expect(outcomes.map(\.isNew) == [false, true, false] && names(model) == ["1": "new", "2": "new"])
        }
        let (_, again) = try open()
        #expect(names(again) == ["1": "new", "2": "new"] && again.view.state.examples.count == 2)
    }

    @Test("a new picture that occurs several times in a request has the last class and name, after a start too")
    func aRequestMayTeachAPictureTwice() throws {
        do {
            let (_, model) = try open()
            let outcomes = try model.teach(
                [
                    example("1", "a", "first"), example("1", "a", "second"), example("2", "a", nil),
                    example("2", "b", nil), example("3", "a", nil), example("3", "a", "third"),
                ], time: 1)
            #expect(outcomes.map(\.isNew) == [true, false, true, false, true, false])
            #expect(outcomes.map(\.isMoved) == [false, false, false, true, false, false])
        }
        let (_, again) = try open()
        #expect(names(again) == ["1": "second", "3": "third"] && again.view.state.serving == 1)
        #expect(["1", "2", "3"].map { again.view.state.example(id($0))?.label } == ["a", "b", "a"])
    }

    @Test("names survive compaction, with examples that have none")
    func compactionKeepsNames() throws {
        var limits = TeachingLimits()
        limits.slack = -1 << 20
        do {
            let (_, model) = try open(limits)
            _ = try model.teach(
                [example("1", "a", "first"), example("2", "a", nil), example("3", "b", "þ\u{0}3")], time: 1)
            for step in 0..<5 { _ = try model.teach([example("2", "b\(step % 2)", nil)], time: 2) }
            for step in 0..<5 { _ = try model.teach([example("1", "a", "name \(step)")], time: 3) }
            #expect(folder.contents.range(of: Data("name 1".utf8)) == nil, "a replaced name is compacted away")
        }
        let (_, again) = try open(limits)
        #expect(names(again) == ["1": "name 4", "3": "þ\u{0}3"])
    }

    @Test("a forgotten example takes its name, and those it had before, out of all files")
    func forgettingReachesNames() throws {
        let (_, model) = try open()
        _ = try model.teach([example("1", "a", "secret name"), example("2", "a", "open name")], time: 1)
        _ = try model.teach([example("1", "a", "later name")], time: 2)
        #expect(folder.contents.range(of: Data("later name".utf8)) != nil)
        try model.forget(id("1"))
        for name in ["secret name", "later name"] { #expect(folder.contents.range(of: Data(name.utf8)) == nil) }
        #expect(folder.contents.range(of: Data("open name".utf8)) != nil && names(model) == ["2": "open name"])
        _ = try model.teach([example("1", "a", nil)], time: 3)
        #expect(names(model) == ["2": "open name"], "a picture that is taught again has no name")
    }

    @Test("a rebuilt taught model keeps names")
    func rebuildingKeepsNames() throws {
        do {
            let (_, model) = try open()
            _ = try model.teach([example("1", "a", "one"), example("2", "a", nil)], time: 1)
            let other = Embedder(model: "embedder", version: "2", digest: "sha256:2")
            try model.rebuild(other, dimension: 3, embeddings: [id("1"): [1, 2, 3], id("2"): [3, 2, 1]])
            #expect(names(model) == ["1": "one"])
        }
        let (_, again) = try open()
        #expect(names(again) == ["1": "one"])
    }

    @Test("a name has 1 to 256 bytes", arguments: [("", false), ("x", true), ("é", true)])
    func namesHaveALength(_ unit: String, _ isName: Bool) throws {
        let (_, model) = try open()
        let longest = String(repeating: unit, count: unit.isEmpty ? 0 : 256 / unit.utf8.count)
        for (name, isTaken) in [(unit, isName), (longest, isName), (longest + (unit.isEmpty ? "" : "x"), false)] {
            do {
                _ = try model.teach([example("1", "a", name)], time: 1)
                #expect(isTaken && names(model) == ["1": name], "\(name.utf8.count)")
            } catch {
                #expect(!isTaken, "\(name.utf8.count)")
                #expect(error == .invalid("the name of an example has 1 to 256 bytes: this one has \(name.utf8.count)"))
            }
        }
    }

    @Test("names count in taught_max_bytes, and a name beyond it changes nothing")
    func namesCountInTheBytes() throws {
        var limits = TeachingLimits()
        limits.bytes = 2_000
        let (store, model) = try open(limits)
        _ = try model.teach([example("1", "a", nil)], time: 1)
        let long = String(repeating: "n", count: 256)
        var taught = 0
        do {
            for number in 0..<20 {
                _ = try model.teach([example("more \(number)", "a", long)], time: 2)
                taught += 1
            }
            Issue.record("\(store.bytes) bytes")
        } catch {
            #expect(error.message.contains("taught_max_bytes"), "\(error)")
        }
        #expect(taught > 0 && taught < 8 && model.view.state.examples.count == taught + 1)
        #expect(try store.bytes <= 2_000 && store.bytes == (Data(contentsOf: journal)).count)
    }

    // MARK: Older journals

    private static func fixture(_ name: String) throws -> Data {
        try Data(
            contentsOf: SharedData.packageRoot.appendingPathComponent("Tests/TeachingTests/Fixtures/" + name))
    }

    /// The fixture was written by `TeachingProbe run FOLDER 7 48` before examples had names.
    @Test("a journal without names is read, and written byte for byte, as before there were names")
    func journalsWithoutNamesAreAsBefore() throws {
        let before = try Self.fixture("journal-without-names")
        let state = String(decoding: try Self.fixture("journal-without-names.txt"), as: UTF8.self)
        let written = try Shell.run(KillTests.probe.path, ["run", folder.path, "7", "48"])
        #expect(try written.status == 0 && (Data(contentsOf: journal)) == before, "\(written.errors)")
        let other = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: other.path + "/parts", withIntermediateDirectories: true)
        try before.write(to: URL(fileURLWithPath: other.path + "/parts/journal"))
        let read = try Shell.run(KillTests.probe.path, ["state", other.path])
        #expect(read.status == 0 && read.text == state, "\(read.errors)")
    }
}
