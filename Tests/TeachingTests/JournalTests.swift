import Foundation
import Teaching
import TestSupport
import Testing

/// The journal of a taught model: how a start reads it, and its size.
@Suite struct JournalTests {
    private let folder = TemporaryFolder()
    private var path: URL { URL(fileURLWithPath: folder.path + "/parts/journal") }

    /// The bytes of the journal.
    private func journalBytes() throws -> Int { try Data(contentsOf: path).count }

    private func limits(_ change: (inout TeachingLimits) -> Void = { _ in }) -> TeachingLimits {
        var limits = TeachingLimits()
        change(&limits)
        return limits
    }

    /// Calls `body` with a store on the folder and its taught model; the store is closed afterwards.
    private func open<Result>(
        _ limits: TeachingLimits = TeachingLimits(), _ body: (TaughtStore, TaughtModel) throws -> Result
    ) throws -> Result {
        let store = try TaughtStore(folder: folder.path, limits: limits)
        let known = store.model("parts")
        let model = try known ?? store.create("parts", .test, dimension: 2, .fixed(.nearestMean)).model
        return try withExtendedLifetime(store) { try body(store, model) }
    }

    private func keptEnds() -> [String] { folder.names.filter { $0.hasPrefix("parts/journal.cut-") } }

    // MARK: Versions

    @Test("after the number of kept versions was reduced, a start serves the same version with the same examples")
    func fewerVersionsThanBeforeAreRead() throws {
        let seed = UInt64.random(in: 0...(.max))
        print("seed \(seed)")
        var random = SplitMix(seed: seed)
        try open { _, model in
            for step in 0..<60 {
                let examples = Array(model.view.state.examples)
                switch Int.random(in: 0..<8, using: &random) {
                case 0...1:
                    if let version = model.view.state.versions.randomElement(using: &random) {
                        try model.serve(version.number)
                    }
                case 2: try model.evaluate(time: step)
                case 3 where examples.count > 3: try model.forget(examples[0].id)
                case 4...5 where !examples.isEmpty:
                    let example = examples[Int.random(in: 0..<examples.count, using: &random)]
                    _ = try model.teach(
                        [.init(id: example.id, label: "m\(step % 3)", embedding: example.embedding)], time: step)
                default: _ = try model.teach([.init("\(step)", "c\(step % 3)", [1, Float(step)])], time: step)
                }
            }
            for _ in 0..<2 { _ = try model.teach([.init("last", "x\(model.view.state.next)", [2, 1])], time: 99) }
            let versions = model.view.state.versions
            try model.serve(versions[Int.random(in: 0..<versions.count, using: &random)].number)
            // Then its threshold is its own, not that of an earlier version.
            try model.evaluate(time: 99)
        }
        let (before, head) = try open { _, model in (model.view.state, model.view.head) }
        for kept in 1...10 {
            let changed = limits { $0.versions = kept }
            let store = try TaughtStore(folder: folder.path, limits: changed)
            #expect(store.problems.isEmpty)
            let view = try #require(store.model("parts")).view
            #expect(view.head == head && view.state.serving == before.serving && view.state.next == before.next)
            let newest = before.versions.suffix(kept).map(\.number)
            #expect(
                view.state.versions.map(\.number)
                    == before.versions.map(\.number).filter {
                        newest.contains($0) || $0 == before.serving
                    })
            #expect(view.state.examples.map(\.label) == before.examples.map(\.label))
        }
    }

    // MARK: Damage at the end

    /// Teaches five examples, and a sixth in the last record. Returns the bytes of that record.
    private func teachSix() throws -> Data {
        try open { _, model in
            for number in 1...5 { _ = try model.teach([.init("\(number)", "a", [1, Float(number)])], time: 1) }
            let before = try journalBytes()
            _ = try model.teach([.init("6", "a", [1, 6])], time: 1)
            return try Data(contentsOf: path).dropFirst(before)
        }
    }

    @Test("a damaged last record is kept in a file next to the journal, and reported with its offset")
    func aDamagedLastRecordIsKeptAndSaid() throws {
        let last = try teachSix()
        let whole = try Data(contentsOf: path)
        for place in 0..<last.count {
            var bytes = whole
            bytes[whole.count - last.count + place] ^= 0x11
            try bytes.write(to: path)
            let store = try TaughtStore(folder: folder.path)
            #expect(store.model("parts")?.view.state.examples.count == 5, "byte \(place)")
            let kept = keptEnds()
            try #require(kept.count == 1)
            let contents = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + kept[0]))
            #expect(contents == bytes.suffix(last.count))
            let notice = store.notices.joined()
            #expect(store.notices.count == 1 && notice.contains("\(folder.path)/\(kept[0])"), "\(notice)")
            #expect(notice.contains("last \(last.count) bytes (from byte \(whole.count - last.count))"), "\(notice)")
            #expect(notice.contains("at most 1 acknowledged change is missing"), "byte \(place): \(notice)")
            #expect(try Data(contentsOf: path) == whole.dropLast(last.count))
            try FileManager.default.removeItem(atPath: folder.path + "/" + kept[0])
        }
    }

    @Test("damage over several records at the end is reported with the maximum number of lost changes")
    func severalDamagedRecordsAreCounted() throws {
        let last = try teachSix()
        var bytes = try Data(contentsOf: path)
        for place in (bytes.count - 2 * last.count)..<bytes.count { bytes[place] = 0 }
        try bytes.write(to: path)
        let store = try TaughtStore(folder: folder.path)
        #expect(store.model("parts")?.view.state.examples.count == 4)
        let notice = store.notices.joined()
        let number = notice.split(separator: "at most ").last?.split(separator: " ").first.flatMap { Int($0) } ?? 0
        #expect(number >= 2 && number < 20, "\(notice)")
    }

    @Test("an undamaged journal has no notice, and a kept end survives starts and counts in the bytes")
    func aKeptEndOutlivesStarts() throws {
        _ = try teachSix()
        try open { store, _ in #expect(store.notices.isEmpty) }
        var bytes = try Data(contentsOf: path)
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: path)
        let first = try open { store, _ in store.bytes }
        let second = try open { store, model in
            #expect(store.notices.isEmpty && keptEnds().count == 1)
            let before = store.bytes
            try model.forget(label: "a")
            #expect(keptEnds().isEmpty && store.bytes < before)
            return before
        }
        #expect(first == second)
    }

    @Test(
        "a request that forgets removes the kept ends, whether it finds the example to forget or not",
        arguments: ["1", "6", "never taught"])
    func forgettingRemovesKeptEnds(_ picture: String) throws {
        let last = try teachSix()
        var bytes = try Data(contentsOf: path)
        bytes[bytes.count - last.count + 20] ^= 1
        try bytes.write(to: path)
        try open { _, model in
            #expect(keptEnds().count == 1)
            let id = Array(picture.utf8).withUnsafeBytes { ExampleID(of: $0) }
            if picture == "1" {
                try model.forget(id)
            } else {
                #expect(throws: TeachingError.unknown("parts has no example with the id \(id)")) {
                    try model.forget(id)
                }
            }
            let sixth = [Float(1), 6].withUnsafeBytes { Data($0) }
            #expect(keptEnds().isEmpty && folder.contents.range(of: sixth) == nil)
        }
    }

    // MARK: Compaction

    private func moves(_ model: TaughtModel, _ count: Int) throws {
        for number in 0..<count {
            _ = try model.teach([.init("\(number % 4)", "class \(number % 3)", [1, Float(number % 4)])], time: number)
        }
    }

    @Test("two thousand moves of four examples leave a journal a few times as large as needed, with the same state")
    func theJournalIsCompacted() throws {
        let other = TemporaryFolder()
        let state = try open { store, model in
            try moves(model, 4)
            let minimum = try journalBytes()
            var longest = 0
            for _ in 0..<20 {
                try moves(model, 100)
                let length = try journalBytes()
                longest = max(longest, length)
                #expect(store.bytes == length)
            }
            #expect(longest < 10 * minimum + (16 << 10), "\(longest) bytes")
            return model.view
        }
        try open { store, model in
            #expect(model.view.head == state.head && model.view.state.versions == state.state.versions)
            #expect(model.view.state.serving == state.state.serving && model.view.state.next == state.state.next)
            for version in state.state.versions {
                #expect(model.view.head(of: version.number) == state.head(of: version.number))
            }
            let length = try journalBytes()
            #expect(store.bytes == length)
        }
        // A journal that grew without compaction has the same state, and is compacted at a start.
        let loose = limits { $0.slack = 1 << 40 }
        let long = try TaughtStore(folder: other.path, limits: loose)
            .create("parts", .test, dimension: 2, .fixed(.nearestMean)).model
        try moves(long, 1004)
        let file = URL(fileURLWithPath: other.path + "/parts/journal")
        #expect(try Data(contentsOf: file).count > 50_000)
        let store = try TaughtStore(folder: other.path)
        let length = try Data(contentsOf: file).count
        #expect(length < 10_000 && store.bytes == length, "\(length) bytes")
    }

    @Test("moves continue at the limit of bytes as long as the state itself fits")
    func compactionMakesRoomWithinTheLimitOfBytes() throws {
        try open(limits { $0.bytes = 4_000 }) { store, model in
            try moves(model, 500)
            #expect(store.bytes <= 4_000 && model.view.state.examples.count == 4)
        }
    }

    @Test("if a journal cannot be compacted, changes are still kept, and it is compacted later")
    func aFailedCompactionLosesNothing() throws {
        let obstacle = folder.path + "/parts/journal.new"
        try open { _, model in
            try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: true)
            try FileManager.default.createDirectory(atPath: obstacle + "/x", withIntermediateDirectories: true)
            try moves(model, 600)
            #expect(try journalBytes() > 30_000)
            try FileManager.default.removeItem(atPath: obstacle)
            let state = model.view.state
            try moves(model, 600)
            #expect(try journalBytes() < 30_000)
            #expect(model.view.state.next == state.next + 600)
        }
        try open { _, model in #expect(model.view.state.examples.count == 4) }
    }

    @Test("compaction removes forgotten examples and classes that only dropped versions had")
    func compactionKeepsForgettingExact() throws {
        try open(limits { ($0.slack, $0.versions) = (-1 << 20, 2) }) { _, model in
            _ = try model.teach([.init("gone", "a", [7, 8]), .init("1", "secret", [1, 1])], time: 1)
            try model.forget(Array("gone".utf8).withUnsafeBytes { ExampleID(of: $0) })
            for number in 0..<4 { _ = try model.teach([.init("1", "open \(number)", [1, 1])], time: 1) }
            let contents = folder.contents
            #expect(contents.range(of: [Float(7), 8].withUnsafeBytes { Data($0) }) == nil)
            #expect(contents.range(of: Data("secret".utf8)) == nil && contents.range(of: Data("open 0".utf8)) == nil)
            #expect(contents.range(of: Data("open 2".utf8)) != nil)
        }
    }
}
