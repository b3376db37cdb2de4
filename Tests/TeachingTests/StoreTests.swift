import Foundation
import Teaching
import Testing

/// Taught models and their files: storing, refusing, forgetting.
@Suite struct StoreTests {
    let folder = TemporaryFolder()

    private func model(
        _ limits: TeachingLimits = TeachingLimits(), _ choice: MethodChoice = .fixed(.nearestMean)
    ) throws -> (TaughtStore, TaughtModel) {
        let store = try TaughtStore(folder: folder.path, limits: limits)
        return (store, try store.create("parts", .test, dimension: 2, choice).model)
    }

    private func error(_ body: () throws -> Void) -> TeachingError? {
        do { try body() } catch { return error as? TeachingError }
        return nil
    }

    @Test("examples, versions and evaluations survive a restart")
    func whatWasTaughtIsThereAfterARestart() throws {
        do {
            let (_, model) = try model()
            #expect(model.view.head == nil)
            let outcomes = try model.teach(
                [.init("1", "bolt", [1, 0]), .init("2", "nut", [0, 1]), .init("1", "bolt", [1, 0])], time: 7)
            #expect(outcomes.map(\.isNew) == [true, true, false])
            _ = try model.teach([.init("3", "nut", [0.1, 1])], time: 8)
            try model.evaluate(time: 9)
        }
        let store = try TaughtStore(folder: folder.path)
        let view = try #require(store.model("parts")).view
        #expect(
            view.state.examples.count == 3 && view.state.serving == 2 && view.state.versions.map(\.examples) == [2, 3])
        #expect(view.state.versions.last?.evaluation?.examples == 2)
        #expect(view.state.examples.map(\.added).sorted() == [7, 7, 8])
        #expect(try #require(view.head?.answer([1, 0.2])).first == 0)
        #expect(view.head?.threshold == view.state.versions.last?.evaluation?.threshold)
    }

    /// Until two classes were tested, no picture is called unknown because of a threshold measured with one class.
    @Test("a threshold measured with one class is dropped when a second class is taught")
    func theThresholdOfOneClassIsNotThatOfTwo() throws {
        let (_, model) = try model()
        _ = try model.teach([.init("1", "bolt", [1, 0.1]), .init("2", "bolt", [1, 0.11])], time: 1)
        try model.evaluate(time: 1)
        #expect(model.view.head?.threshold != nil)
        _ = try model.teach([.init("3", "nut", [0.1, 1]), .init("4", "nut", [0.1, 2])], time: 2)
        #expect(model.view.head?.threshold == nil && model.view.isEvaluating)
        try model.evaluate(time: 2)
        #expect(model.view.head?.threshold != nil)
    }

    @Test("if moves leave no class with two examples, the threshold of an earlier version is not used")
    func noThresholdWithoutAClassOfTwo() throws {
        let (_, model) = try model()
        _ = try model.teach(
            [.init("1", "bolt", [1, 0.1]), .init("2", "bolt", [1, 0.2]), .init("3", "nut", [0.1, 1])], time: 1)
        try model.evaluate(time: 1)
        #expect(model.view.head?.threshold != nil)
        _ = try model.teach([.init("2", "washer", [1, 0.2])], time: 2)
        try model.evaluate(time: 2)
        #expect(!model.view.isEvaluating && model.view.head?.threshold == nil)
    }

    @Test("a known picture moves to another class and is not counted twice")
    func knownPicturesMoveToAnotherClassAndAreNotCountedTwice() throws {
        let (_, model) = try model()
        _ = try model.teach([.init("1", "bolt", [1, 0]), .init("2", "nut", [0, 1])], time: 1)
        let again = try model.teach([.init("1", "bolt", [1, 0])], time: 2)
        #expect(again.map(\.isNew) == [false] && again.map(\.isMoved) == [false])
        #expect(model.view.state.serving == 1)
        let moved = try model.teach([.init("1", "nut", [1, 0])], time: 3)
        #expect(moved.map(\.isNew) == [false] && moved.map(\.isMoved) == [true])
        #expect(model.view.classes.map(\.label) == ["nut"] && model.view.state.serving == 2)
        try model.serve(1)
        #expect(model.view.classes.map(\.label) == ["bolt", "nut"])
    }

    @Test("an earlier version can serve again, and the next change starts from all examples")
    func versionsServeAgainAndTheNextChangeStartsFromAllExamples() throws {
        var limits = TeachingLimits()
        limits.versions = 3
        let (_, model) = try model(limits)
        for number in 1...5 { _ = try model.teach([.init("\(number)", "c\(number)", [1, Float(number)])], time: 1) }
        #expect(model.view.state.versions.map(\.number) == [3, 4, 5])
        try model.serve(3)
        #expect(model.view.head?.labels == ["c1", "c2", "c3"])
        #expect(error { try model.serve(2) } == .unknownVersion("parts keeps no version 2: it has 3, 4, 5"))
        _ = try model.teach([.init("6", "c6", [1, 6])], time: 1)
        #expect(model.view.head?.labels.count == 6 && model.view.state.serving == 6)
    }

    @Test("versions that hold a forgotten example are dropped")
    func versionsThatHoldAForgottenExampleAreDropped() throws {
        let (_, model) = try model()
        for number in 1...3 { _ = try model.teach([.init("\(number)", "c\(number)", [1, Float(number)])], time: 1) }
        let second = try #require(model.view.state.examples.first { $0.label == "c2" })
        try model.forget(second.id)
        #expect(model.view.state.versions.map(\.number) == [1, 4] && model.view.head?.labels == ["c1", "c3"])
        #expect(error { try model.forget(second.id) } == .unknown("parts has no example with the id \(second.id)"))
        try model.forget(label: "c1")
        #expect(model.view.state.versions.map(\.number) == [5])
        #expect(error { try model.forget(label: "c1") } == .unknown("parts has no class \"c1\""))
        try model.forget(label: "c3")
        #expect(model.view.head == nil && model.view.state.versions.isEmpty)
        _ = try model.teach([.init("9", "c9", [1, 1])], time: 1)
        #expect(model.view.state.serving == 7)
    }

    @Test("a version from before an example moved away from a forgotten class is dropped")
    func aForgottenClassIsNotServedUnderItsNameByVersionsBeforeAMove() throws {
        let (_, model) = try model()
        _ = try model.teach([.init("1", "secret", [1, 0]), .init("2", "secret", [0, 1])], time: 1)
        _ = try model.teach([.init("1", "public", [1, 0])], time: 1)
        try model.forget(label: "secret")
        #expect(model.view.state.versions.map(\.number) == [3])
        #expect(folder.contents.range(of: Data("secret".utf8)) == nil)
    }

    @Test("a change beyond a limit is refused with the name of the setting and changes nothing")
    func limitsNameTheirSettingAndChangeNothing() throws {
        var limits = TeachingLimits()
        (limits.models, limits.classes, limits.examples, limits.bytes) = (1, 2, 3, 2_000)
        let (store, model) = try model(limits)
        _ = try model.teach([.init("1", "a", [1, 0]), .init("2", "b", [0, 1])], time: 1)
        let before = folder.contents
        func refused(_ setting: String, _ body: () throws -> Void) {
            guard case .full(let text) = error(body) else {
                Issue.record("\(setting) is not obeyed")
                return
            }
            #expect(text.contains("`\(setting)`"))
        }
        refused("taught_max_models") { _ = try store.create("other", .test, dimension: 2, .auto) }
        refused("taught_max_classes") { _ = try model.teach([.init("3", "c", [1, 1])], time: 1) }
        refused("taught_max_examples") {
            _ = try model.teach([.init("3", "a", [1, 1]), .init("4", "a", [1, 1])], time: 1)
        }
        limits.examples = 1_000
        store.set(limits: limits)
        refused("taught_max_bytes") {
            _ = try model.teach((0..<60).map { .init("many \($0)", "a", [1, 1]) }, time: 1)
        }
        #expect(folder.contents == before && model.view.state.serving == 1)
        _ = try model.teach([.init("3", "a", [1, 1])], time: 1)
        #expect(model.view.state.examples.count == 3)
    }

    @Test("creating the same model again is accepted; another embedder or method is a conflict")
    func theSameModelIsCreatedOnceAndAnotherIsAConflict() throws {
        let (store, _) = try model(TeachingLimits(), .auto)
        #expect(try store.create("parts", .test, dimension: 2, .auto).isNew == false)
        let other = Embedder(model: "dinov2", version: "1", digest: "sha256:2")
        guard case .conflict = error({ _ = try store.create("parts", other, dimension: 2, .auto) }),
            case .conflict = error({ _ = try store.create("parts", .test, dimension: 2, .fixed(.logistic)) })
        else {
            Issue.record("another embedder or method is accepted")
            return
        }
        for name in ["", ".hidden", "a/b", "ä", String(repeating: "a", count: 65), "-x"] {
            guard case .invalid = error({ _ = try store.create(name, .test, dimension: 2, .auto) }) else {
                Issue.record("\"\(name)\" is accepted")
                continue
            }
        }
        #expect(try store.create("A.b_c-9", .test, dimension: 2, .auto).isNew)
    }

    @Test("invalid labels and embeddings are refused")
    func labelsAndEmbeddingsThatCannotBeAreRefused() throws {
        let (_, model) = try model()
        for label in ["", "a\nb", "a\u{7F}", String(repeating: "ä", count: 129)] {
            guard case .invalid = error({ _ = try model.teach([.init("1", label, [1, 0])], time: 1) }) else {
                Issue.record("\(label.debugDescription) is accepted")
                continue
            }
        }
        for embedding in [[1], [1, .nan], [1, 0, 0]] as [[Float]] {
            guard case .invalid = error({ _ = try model.teach([.init("1", "a", embedding)], time: 1) }) else {
                Issue.record("\(embedding) is accepted")
                continue
            }
        }
        _ = try model.teach([.init("1", String(repeating: "ä", count: 128), [1, 0])], time: 1)
    }

    @Test("a deleted model leaves no files and accepts no change")
    func deletedModelsLeaveNoFilesAndAcceptNothingMore() throws {
        let (store, model) = try model()
        _ = try model.teach([.init("1", "a", [1, 0], keep: true)], time: 1)
        #expect(store.bytes > 0 && folder.names.contains { $0.hasPrefix("parts/pictures/") })
        try store.remove("parts")
        #expect(folder.names == [".lock"] && store.bytes == 0 && store.model("parts") == nil)
        guard case .unknown = error({ _ = try model.teach([.init("2", "a", [1, 0])], time: 1) }),
            case .unknown = error({ try store.remove("parts") })
        else {
            Issue.record("a deleted model accepts changes")
            return
        }
    }

    @Test("the bytes of all files are counted, and the count is the same after a restart")
    func bytesOfAllFilesAreCounted() throws {
        var store: TaughtStore?, model: TaughtModel?
        (store, model) = try self.model()
        for number in 1...20 {
            _ = try model?.teach([.init("\(number)", "c\(number % 3)", [1, Float(number)], keep: true)], time: 1)
        }
        try model?.evaluate(time: 1)
        let taught = try #require(store?.bytes)
        try model?.forget(label: "c1")
        let left = try #require(store?.bytes)
        #expect(left < taught)
        (store, model) = (nil, nil)
        #expect(try TaughtStore(folder: folder.path).bytes == left)
    }

    @Test("a second store on a folder in use is refused")
    func aFolderBelongsToOneProcess() throws {
        let (store, _) = try model()
        guard case .storage(let text) = error({ _ = try TaughtStore(folder: folder.path) }) else {
            Issue.record("two stores share a folder")
            return
        }
        #expect(text.contains("in use by another process"))
        withExtendedLifetime(store) {}
    }

    @Test("concurrent writers wait for each other and lose no example")
    func writersWaitForEachOtherAndNothingIsLost() async throws {
        let (_, model) = try model()
        await withTaskGroup { group in
            for writer in 0..<4 {
                group.addTask {
                    for number in 0..<25 {
                        _ = try? model.teach([.init("\(writer) \(number)", "c\(writer)", [1, Float(number)])], time: 1)
                    }
                }
            }
        }
        #expect(model.view.state.examples.count == 100 && model.view.state.serving == 100)
        #expect(model.view.classes.map(\.examples) == [25, 25, 25, 25])
    }

    @Test("a better method becomes a new version with the same examples")
    func anotherMethodThatIsBetterBecomesANewVersionOfTheSameExamples() throws {
        let (_, model) = try model(TeachingLimits(), .auto)
        let corners: [(Float, Float, String)] = [(1, 1, "a"), (-1, -1, "a"), (1, -1, "b"), (-1, 1, "b")]
        let examples = corners.enumerated().flatMap { corner, place in
            (0..<8).map { number in
                TaughtModel.NewExample(
                    "\(corner) \(number)", place.2, [place.0 + 0.02 * Float(number), place.1 - 0.01 * Float(number)])
            }
        }
        _ = try model.teach(examples, time: 1)
        #expect(model.view.head?.method == .nearestMean && model.view.isEvaluating)
        #expect(model.view.head?.threshold == nil && model.view.evaluated == nil)
        try model.evaluate(time: 2)
        let view = model.view
        #expect(view.state.versions.map(\.method) == [.nearestMean, .nearestNeighbors])
        #expect(view.state.versions.map { $0.evaluation?.method } == [.nearestMean, .nearestNeighbors])
        #expect(view.state.serving == 2 && !view.isEvaluating && view.head?.threshold != nil)
        // Before it is evaluated, the next change is served with the method chosen last and its threshold.
        _ = try model.teach([.init("new", "c", [0, 3])], time: 3)
        #expect(model.view.head?.method == .nearestNeighbors && model.view.evaluated?.number == 2)
        #expect(model.view.head?.threshold == view.head?.threshold && model.view.isEvaluating)
    }

    @Test("a damaged journal is reported, and the name of its model stays taken")
    func damagedJournalsAreReportedAndTheirNameStaysTaken() throws {
        do {
            let (_, model) = try model()
            for number in 1...3 { _ = try model.teach([.init("\(number)", "a", [1, Float(number)])], time: 1) }
        }
        let path = URL(fileURLWithPath: folder.path + "/parts/journal")
        var bytes = try Data(contentsOf: path)
        bytes[60] ^= 1
        try bytes.write(to: path)
        let store = try TaughtStore(folder: folder.path)
        #expect(store.model("parts") == nil && store.problems["parts"]?.contains("damaged at byte 22") == true)
        guard case .conflict = error({ _ = try store.create("parts", .test, dimension: 2, .auto) }) else {
            Issue.record("a damaged model is written over")
            return
        }
    }

    @Test("a journal cut off anywhere keeps the records before the cut and takes new records")
    func journalsThatEndAnywhereHoldTheRecordsBefore() throws {
        do {
            let (_, model) = try model()
            for number in 1...3 { _ = try model.teach([.init("\(number)", "a", [1, Float(number)])], time: 1) }
        }
        let path = URL(fileURLWithPath: folder.path + "/parts/journal")
        let whole = try Data(contentsOf: path)
        var found: [Int] = []
        for length in (whole.count - 300)...whole.count {
            try whole.prefix(length).write(to: path)
            let store = try TaughtStore(folder: folder.path)
            let model = try #require(store.model("parts"))
            found.append(model.view.state.serving)
            // A cut-off end does not prevent the next change.
            _ = try model.teach([.init("more", "b", [0, 1])], time: 1)
            #expect(model.view.state.serving == found[found.count - 1] + 1)
        }
        #expect(found == found.sorted() && found.last == 3 && Set(found).count >= 3)
    }

    @Test("damage before the last record is always reported; zeros at the end are cut off")
    func damageAnywhereBeforeTheLastRecordIsNeverSilent() throws {
        let path = URL(fileURLWithPath: folder.path + "/parts/journal")
        var last = 0
        do {
            let (_, model) = try model()
            for number in 1...4 {
                last = try Data(contentsOf: path).count
                _ = try model.teach([.init("\(number)", "a", [1, Float(number)])], time: 1)
            }
        }
        let whole = try Data(contentsOf: path)
        for place in 22..<last {
            var bytes = whole
            bytes[place] ^= 0x11
            try bytes.write(to: path)
            let store = try TaughtStore(folder: folder.path)
            #expect(store.problems["parts"]?.contains("damaged at byte") == true, "byte \(place)")
            #expect(try Data(contentsOf: path) == bytes)
        }
        // Zeros at the end are left by a power failure during a record that was not acknowledged.
        try (whole + Data(count: 300)).write(to: path)
        #expect(try TaughtStore(folder: folder.path).model("parts")?.view.state.serving == 4)
        #expect(try Data(contentsOf: path) == whole)
    }

    @Test("half a record at the end of the journal does not damage the next record")
    func whatLiesBehindTheEndDoesNotStayBeforeTheNextRecord() throws {
        do {
            let (_, model) = try model()
            _ = try model.teach([.init("1", "a", [1, 0])], time: 1)
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.path + "/parts/journal"))
            try file.seekToEnd()
            try file.write(contentsOf: Data("half a record".utf8))
            _ = try model.teach([.init("2", "b", [0, 1])], time: 1)
        }
        let store = try TaughtStore(folder: folder.path)
        #expect(store.model("parts")?.view.classes.map(\.label) == ["a", "b"])
    }

    @Test("the limit of bytes holds for all models together, and forgetting makes room")
    func theLimitOfBytesIsThatOfAllFilesTogether() throws {
        var limits = TeachingLimits()
        limits.bytes = 1_500
        let (store, model) = try model(limits)
        let other = try store.create("other", .test, dimension: 2, .auto).model
        var taught = 0
        for number in 0..<40 {
            let example = TaughtModel.NewExample("\(number)", "a", [1, Float(number)])
            if case .full? = error({ _ = try (number % 2 == 0 ? model : other).teach([example], time: 1) }) { break }
            taught += 1
        }
        #expect(taught > 3 && taught < 40 && store.bytes <= 1_500)
        // Forgetting frees space.
        try model.forget(label: "a")
        _ = try other.teach([.init("more", "a", [1, 1])], time: 1)
    }

    @Test("class names are sorted by their UTF-8 bytes")
    func classesAreSortedByTheirBytes() throws {
        let (_, model) = try model()
        let labels = ["ä", "b", "B", "a b", "a", "aa", "Z", "\u{1F600}", "\u{FF5E}", "10", "9"]
        _ = try model.teach(labels.enumerated().map { .init("\($0)", $1, [1, Float($0)]) }, time: 1)
        // The order of Python's sorted(labels, key=str.encode).
        #expect(
            model.view.head?.labels == ["10", "9", "B", "Z", "a", "a b", "aa", "b", "ä", "\u{FF5E}", "\u{1F600}"])
    }
}
