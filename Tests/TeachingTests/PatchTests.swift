import FileFormats
import Foundation
import Teaching
import TestSupport
import Testing

/// Models with the method `normal` that compare patches, compared with plain loops in 64 bits and with numpy's figures.
@Suite struct PatchTests {
    private let folder = TemporaryFolder()

    // MARK: Plain loops

    /// The whole numbers that stand for a patch (docs/teach.md): its greatest one is 32,767 or -32,767.
    private static func rounded(_ patch: [Float]) -> [Double] {
        let greatest = Double(patch.map { abs($0) }.max() ?? 0)
        return greatest > 0 ? patch.map { (Double($0) / greatest * 32_767).rounded(.toNearestOrEven) } : [0]
    }

    private static func distance(_ a: [Float], _ b: [Float]) -> Double {
        var (product, one, other) = (0.0, 0.0, 0.0)
        let a = rounded(a), b = rounded(b)
        for (x, y) in zip(a, b) {
            product += x * y
            one += x * x
            other += y * y
        }
        guard one > 0, other > 0 else { return 1 }
        return 1 - min(max(product / (one.squareRoot() * other.squareRoot()), -1), 1)
    }

    private typealias Picture = [[Float]]

    /// The distance of each patch to the nearest one of some pictures.
    private static func distances(_ picture: Picture, _ others: [Picture]) -> [Double] {
        picture.map { patch in others.joined().map { distance(patch, $0) }.min() ?? .infinity }
    }

    private static func leftOut(_ pictures: [Picture]) -> [Double] {
        pictures.indices.map { one in
            distances(pictures[one], pictures.indices.filter { $0 != one }.map { pictures[$0] }).max() ?? 0
        }
    }

    /// The patches that the greedy algorithm chooses, beginning with the first one.
    private static func greedy(_ patches: [[Float]], _ maximum: Int) -> Set<Int> {
        var chosen: Set<Int> = [], nearest = patches.map { _ in Double.infinity }
        while chosen.count < min(maximum, patches.count) {
            let next = nearest.indices.max { (nearest[$0], $1) < (nearest[$1], $0) } ?? 0
            chosen.insert(next)
            for index in patches.indices {
                nearest[index] = min(nearest[index], distance(patches[index], patches[next]))
            }
            nearest[next] = -1
        }
        return chosen
    }

    private static func isNear(_ one: [Double], _ other: [Double]) -> Bool {
        one.count == other.count && zip(one, other).allSatisfy { abs($0 - $1) < 3e-6 }
    }

    // MARK: Models

    private static func vectors(_ picture: Picture) throws -> PatchVectors {
        try #require(PatchVectors(Array(picture.joined()), width: picture[0].count))
    }

    private static func example(_ name: String, _ picture: Picture) throws -> TaughtModel.NewExample {
        let bytes = Array(name.utf8)
        return TaughtModel.NewExample(
            id: bytes.withUnsafeBytes { ExampleID(of: $0) }, label: "normal", embedding: [1, 2],
            patches: try vectors(picture))
    }

    private func model(
        rows: Int, columns: Int, width: Int, falseAlarms: Double = 0.1, patches: Int = 100_000, in folder: String? = nil
    ) throws -> (store: TaughtStore, model: TaughtModel) {
        var limits = TeachingLimits()
        limits.patches = patches
        let store = try TaughtStore(folder: folder ?? self.folder.path, limits: limits)
        let grid = try #require(PatchGrid(rows: rows, columns: columns, width: width))
        let choice = MethodChoice.normal(falseAlarms: falseAlarms)
        return (store, try store.create("parts", .test, dimension: 2, choice, grid: grid).model)
    }

    /// The distances of a picture's patches, in several shares.
    private static func answer(_ model: TaughtModel, _ picture: Picture, shares: Int = 1) throws -> [Double] {
        let patches = try #require(model.view.head?.normal?.patches)
        let query = try #require(PatchQuery(vectors(picture), among: patches))
        return PatchQuery.distances(
            try (0..<shares).map { try #require(query.nearest(inShare: $0, of: shares) { false }) })
    }

    private static func draw(_ count: Int, _ width: Int, _ random: inout SplitMix) -> Picture {
        (0..<count).map { _ in (0..<width).map { _ in Float.random(in: -1...1, using: &random) } }
    }

    // MARK: Scores

    @Test("distances, scores, p and threshold are those of loops over all patches, in any shares")
    func answersAreExact() throws {
        let seed = SplitMix.seed(for: "patches answersAreExact")
        var random = SplitMix(seed: seed)
        for (rows, columns, width) in [(1, 1, 1), (2, 3, 7), (3, 2, 16), (1, 5, 33), (4, 4, 64)] {
            let (store, model) = try model(rows: rows, columns: columns, width: width)
            let comment = Comment(rawValue: "seed \(seed), \(rows) x \(columns) of \(width)")
            let base = Self.draw(rows * columns, width, &random)
            let pictures = (0..<24).map { number -> Picture in
                base.map { patch in
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0: patch.map { _ in 0 }
                    case 1: patch.map { $0 * 1e30 }
                    default: patch.map { $0 + Float.random(in: -0.3...0.3, using: &random) }
                    }
                }
            }
            _ = try model.teach(pictures.enumerated().map { try Self.example("\($0)", $1) }, time: 1)
            try model.evaluate(time: 1)
            let evaluation = try #require(model.view.state.served?.evaluation)
            let scores = try #require(evaluation.leftOut).scores
            let order = pictures.indices.sorted { Self.id("\($0)") < Self.id("\($1)") }
            #expect(Self.isNear(scores, Self.leftOut(order.map { pictures[$0] })), comment)
            #expect(evaluation.kept == nil && evaluation.examples == 24, comment)
            let threshold = scores.sorted(by: >)[1]
            for picture in [pictures[3], Self.draw(rows * columns, width, &random), base] {
                let found = try Self.answer(model, picture)
                #expect(Self.isNear(found, Self.distances(picture, pictures)), comment)
                for shares in 2...5 { #expect(try Self.answer(model, picture, shares: shares) == found, comment) }
                let anomaly = try #require(model.view.head?.answer(patchDistances: found)?.anomaly)
                #expect(anomaly.score == found.max() && anomaly.threshold == threshold, comment)
                #expect(anomaly.p == Double(1 + scores.count { $0 >= anomaly.score }) / 25, comment)
                #expect(anomaly.isAnomaly == (anomaly.score > threshold), comment)
            }
            // Whole pictures are not compared.
            #expect(model.view.head?.answer([1, 2]) == nil, comment)
            try store.remove("parts")
        }
    }

    private static func id(_ name: String) -> ExampleID {
        Array(name.utf8).withUnsafeBytes { ExampleID(of: $0) }
    }

    @Test("a taught picture has no distance, and equal patches have none whatever their length")
    func equalPatchesHaveNoDistance() throws {
        var random = SplitMix(seed: 3)
        for width in [1, 5, 384, 1_000] {
            let (store, model) = try model(rows: 1, columns: 2, width: width)
            let picture = Self.draw(2, width, &random)
            _ = try model.teach([Self.example("1", picture)], time: 1)
            let longer = picture.map { $0.map { $0 * 4 } }
            #expect(try Self.answer(model, picture) == [0, 0] && Self.answer(model, longer) == [0, 0])
            try store.remove("parts")
        }
    }

    @Test("the scores fit the files that numpy computed")
    func sharedScores() throws {
        guard let folder = SharedData.folder else { return }
        struct Asked: Decodable {
            let patches: [[[Int]]]
            let map: [[Double]]
            let score: Double
            let p: Double
        }
        struct Case: Decodable {
            let examples: [[[[Int]]]]
            let left_out_scores: [Double]
            let asked: [Asked]
        }
        let file = folder.appendingPathComponent("trust/normal/patches.json")
        let shared = try JSONDecoder().decode(Case.self, from: try Data(contentsOf: file))
        func picture(_ rows: [[[Int]]]) -> Picture { rows.joined().map { $0.map { Float($0) / 255 } } }
        let (_, model) = try model(rows: 4, columns: 4, width: 3)
        _ = try model.teach(
            shared.examples.enumerated().map { try Self.example("\($0)", picture($1)) }, time: 1)
        try model.evaluate(time: 1)
        let leftOut = try #require(model.view.head?.normal?.leftOut)
        func isNear(_ one: [Double], _ other: [Double]) -> Bool {
            one.count == other.count && zip(one, other).allSatisfy { abs($0 - $1) < 1e-5 }
        }
        #expect(isNear(leftOut.scores.sorted(), shared.left_out_scores.sorted()))
        for one in shared.asked {
            let found = try Self.answer(model, picture(one.patches))
            #expect(isNear(found, one.map.flatMap { $0 }))
            let anomaly = try #require(model.view.head?.answer(patchDistances: found)?.anomaly)
            #expect(abs(anomaly.score - one.score) < 1e-5 && anomaly.p == one.p)
        }
    }

    @Test("the share of normal pictures that are called anomalies is at most the one that was asked for")
    func falseAlarmsAreAsRareAsAskedFor() throws {
        let seed = SplitMix.seed(for: "patches falseAlarmsAreAsRareAsAskedFor")
        var random = SplitMix(seed: seed)
        let draws = LongTests.times(400, long: 10_000), share = 0.05
        var alarms = 0
        for _ in 0..<draws {
            // Pictures of three patches around a common place of each picture.
            let pictures = (0...39).map { _ -> Picture in
                let common = Self.draw(1, 4, &random)[0]
                return Self.draw(3, 4, &random).map { zip($0, common).map { $0 + 2 * $1 } }
            }
            let examples = try pictures.dropLast().enumerated().map { number, picture in
                (id: Self.id("\(number)"), patches: try Self.vectors(picture))
            }.sorted { $0.id < $1.id }
            var upkeep = LeftOutPatches()
            let updated = upkeep.update(to: examples), scores = try #require(updated)
            let threshold = try #require(LeftOutScores(scores, falseAlarms: share).threshold)
            let score = Self.distances(pictures[39], Array(pictures.dropLast())).max() ?? 0
            if score > threshold { alarms += 1 }
        }
        // Four standard deviations: one run in thirty thousand fails.
        let bound = share * Double(draws) + 4 * (share * (1 - share) * Double(draws)).squareRoot()
        #expect(Double(alarms) <= bound && alarms > 0, "seed \(seed): \(alarms) of \(draws)")
    }

    // MARK: Upkeep

    @Test("the scores after examples came and went are those of a fresh start, bit for bit, and survive cancellation")
    func scoresDoNotDependOnTheHistory() throws {
        let seed = SplitMix.seed(for: "patches scoresDoNotDependOnTheHistory")
        var random = SplitMix(seed: seed)
        var upkeep = LeftOutPatches()
        var examples: [ExampleID: Picture] = [:]
        for step in 0..<LongTests.times(300, long: 3_000) {
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let id = Self.id("picture \(Int.random(in: 0..<40, using: &random))")
                // Few different numbers, so that many distances are equal.
                let picture = (0..<3).map { _ in (0..<3).map { _ in Float(Int.random(in: -2...2, using: &random)) } }
                examples[id] = random.chance(40) ? nil : picture
            }
            if step % 97 == 96 { examples = [:] }
            let sorted = try examples.sorted { $0.key < $1.key }.map {
                (id: $0.key, patches: try Self.vectors($0.value))
            }
            if random.chance(40) {
                var left = Int.random(in: 0..<30, using: &random)
                var limits = LeftOutPatches.Limits()
                let isOver = { () -> Bool in
                    left -= 1
                    return left < 0
                }
                if random.chance(50) { limits.isOver = isOver } else { limits.isCancelled = isOver }
                if upkeep.update(to: sorted, limits) == nil { continue }
            }
            var fresh = LeftOutPatches()
            let updated = upkeep.update(to: sorted), anew = fresh.update(to: sorted), found = try #require(updated)
            #expect(anew == found, "seed \(seed), step \(step)")
            guard sorted.count > 1 else { continue }
            let pictures = examples.sorted { $0.key < $1.key }.map(\.value)
            #expect(Self.isNear(found, Self.leftOut(pictures)), "seed \(seed), step \(step)")
        }
    }

    // MARK: Thinning

    @Test(
        "of more patches than the limit those are compared that the greedy algorithm chooses, with scores against all")
    func thinningIsGreedy() throws {
        let seed = SplitMix.seed(for: "thinningIsGreedy")
        var random = SplitMix(seed: seed)
        for maximum in [1, 2, 17, 40, 59] {
            let folder = TemporaryFolder()
            let (_, model) = try model(rows: 2, columns: 3, width: 3, patches: maximum, in: folder.path)
            let pictures = (0..<10).map { _ in Self.draw(6, 3, &random) }
            _ = try model.teach(pictures.enumerated().map { try Self.example("\($0)", $1) }, time: 1)
            // Until then all are compared.
            #expect(model.view.head?.normal?.patches?.count == 60)
            var steps = 0
            // It goes on where it ended.
            while model.view.isEvaluating, steps < 1_000 {
                var left = 7
                try model.evaluate(time: 1) {
                    left -= 1
                    return left < 0
                }
                steps += 1
            }
            let order = pictures.indices.sorted { Self.id("\($0)") < Self.id("\($1)") }.map { pictures[$0] }
            let all = Array(order.joined()), chosen = Self.greedy(all, maximum)
            let kept = try #require(model.view.head?.normal?.patches)
            #expect(kept.count == maximum, "seed \(seed)")
            let expected = try chosen.sorted().map { try Self.vectors([all[$0]]).bytes }
            #expect(kept.pieces.flatMap(\.bytes) == expected.flatMap { $0 }, "seed \(seed), \(maximum)")
            let scores = try #require(model.view.head?.normal?.leftOut).scores
            #expect(Self.isNear(scores, Self.leftOut(order)), "seed \(seed)")
            let query = Self.draw(6, 3, &random), found = try Self.answer(model, query, shares: 3)
            #expect(Self.isNear(found, Self.distances(query, [chosen.sorted().map { all[$0] }])), "seed \(seed)")
        }
    }

    @Test("equal patches are chosen once")
    func equalPatchesAreChosenOnce() throws {
        let (_, model) = try model(rows: 1, columns: 4, width: 2, patches: 10)
        let pictures = (0..<5).map { number in (0..<4).map { [Float(1 + $0 % 2), Float(number % 2)] } }
        _ = try model.teach(pictures.enumerated().map { try Self.example("\($0)", $1) }, time: 1)
        try model.evaluate(time: 1)
        // Directions: (1, 0) twice, (1, 1), (2, 1)
        #expect(model.view.head?.normal?.patches?.count == 3)
    }

    @Test("later examples are compared with all their patches until they are evaluated")
    func laterExamplesCountWhole() throws {
        var random = SplitMix(seed: 11)
        let (_, model) = try model(rows: 1, columns: 4, width: 3, patches: 6)
        _ = try model.teach((0..<5).map { try Self.example("\($0)", Self.draw(4, 3, &random)) }, time: 1)
        try model.evaluate(time: 1)
        #expect(model.view.head?.normal?.patches?.count == 6)
        let later = Self.draw(4, 3, &random)
        _ = try model.teach([Self.example("later", later)], time: 1)
        #expect(model.view.head?.normal?.patches?.count == 10)
        #expect(try Self.answer(model, later) == [0, 0, 0, 0])
        try model.evaluate(time: 1)
        #expect(model.view.head?.normal?.patches?.count == 6)
        // The older version serves with its own choice.
        try model.serve(1)
        #expect(model.view.head?.normal?.patches?.count == 6)
        #expect(try Self.answer(model, later).contains { $0 > 0 })
    }

    // MARK: The store

    @Test("a model that learned patches is as after a fresh start, and forgets exactly")
    func forgettingEqualsNeverTaught() throws {
        let seed = SplitMix.seed(for: "patches forgettingEqualsNeverTaught")
        var random = SplitMix(seed: seed)
        for history in 0..<LongTests.times(12, long: 100) {
            let folder = TemporaryFolder(), other = TemporaryFolder()
            let maximum = [20, 1_000][history % 2]
            var (store, model) = try model(rows: 2, columns: 2, width: 5, patches: maximum, in: folder.path)
            var taught: [String: TaughtModel.NewExample] = [:], gone: [TaughtModel.NewExample] = []
            for step in 0..<Int.random(in: 10...40, using: &random) {
                switch Int.random(in: 0..<10, using: &random) {
                case 0...1:
                    guard let name = taught.keys.sorted().randomElement(using: &random),
                        let example = taught.removeValue(forKey: name)
                    else { continue }
                    try model.forget(example.id)
                    gone.append(example)
                case 2...3: try model.evaluate(time: step)
                case 4:
                    if let version = model.view.state.versions.randomElement(using: &random) {
                        try model.serve(version.number)
                    }
                case 5: (store, model) = try Self.reopened(&store, &model, folder.path, maximum)
                default:
                    let name = "picture \(history) \(step)"
                    let example = try Self.example(name, Self.draw(4, 5, &random))
                    _ = try model.teach([example], time: step)
                    taught[name] = example
                }
            }
            if let last = model.view.state.versions.last { try model.serve(last.number) }
            try model.evaluate(time: 99)
            let (_, fresh) = try self.model(rows: 2, columns: 2, width: 5, patches: maximum, in: other.path)
            _ = try fresh.teach(taught.values.shuffled(using: &random), time: 0)
            try fresh.evaluate(time: 0)
            #expect(model.view.head == fresh.view.head, "seed \(seed)")
            #expect(model.view.state.served?.evaluation == fresh.view.state.served?.evaluation, "seed \(seed)")
            let contents = folder.contents
            for example in gone {
                #expect(contents.range(of: Data(example.id.bytes)) == nil)
                let patches = try #require(example.patches)
                #expect(contents.range(of: Data(patches.bytes)) == nil)
            }
            for example in taught.values {
                #expect(contents.range(of: Data(try #require(example.patches).bytes)) != nil)
            }
            withExtendedLifetime(store) {}
        }
    }

    private static func reopened(
        _ store: inout TaughtStore, _ model: inout TaughtModel, _ folder: String, _ maximum: Int
    ) throws -> (TaughtStore, TaughtModel) {
        let before = model.view
        // The lock of the folder is released with the last reference.
        let elsewhere = TemporaryFolder()
        store = try TaughtStore(folder: elsewhere.path)
        model = try store.create("parts", .test, dimension: 5, .auto).model
        var limits = TeachingLimits()
        limits.patches = maximum
        let again = try TaughtStore(folder: folder, limits: limits)
        let found = try #require(again.model("parts"))
        #expect(found.view.state == before.state && found.view.head == before.head)
        return (again, found)
    }

    @Test("examples without patches, or with others, are refused")
    func otherPatchesAreRefused() throws {
        let (_, model) = try model(rows: 2, columns: 2, width: 3)
        let whole = TaughtModel.NewExample("1", "normal", [1, 2])
        let few = try Self.example("2", [[1, 2, 3], [1, 2, 3]]), narrow = try Self.example("3", Self.wrong(4, 2))
        for example in [whole, few, narrow] {
            let refused = #expect(throws: TeachingError.self) { try model.teach([example], time: 1) }
            #expect(refused?.message.contains("has no vectors of patches") == true)
        }
        #expect(model.view.state.examples.isEmpty)
        let known = try Self.example("4", Self.wrong(4, 3))
        _ = try model.teach([known], time: 1)
        // A known picture keeps its patches.
        let again = TaughtModel.NewExample(id: known.id, label: "normal", embedding: [1, 2])
        #expect(try model.teach([again], time: 1).map(\.isNew) == [false])
        #expect(PatchVectors([1, .nan], width: 2) == nil && PatchVectors([1, 2, 3], width: 2) == nil)
        let patches = try #require(model.view.head?.normal?.patches)
        #expect(PatchQuery(try Self.vectors(Self.wrong(3, 3)), among: patches) == nil)
    }

    private static func wrong(_ count: Int, _ width: Int) -> Picture {
        (0..<count).map { patch in (0..<width).map { Float(patch + $0 + 1) } }
    }

    @Test("another embedder brings other patches, or none")
    func rebuildingTakesOtherPatches() throws {
        let (_, model) = try model(rows: 1, columns: 2, width: 3)
        let example = try Self.example("1", Self.wrong(2, 3))
        _ = try model.teach([example], time: 1)
        let other = Embedder(model: "embedder", version: "2", digest: "sha256:2")
        let grid = try #require(PatchGrid(rows: 2, columns: 2, width: 5)), picture = Self.wrong(4, 5)
        #expect(throws: TeachingError.self) {
            try model.rebuild(other, dimension: 1, grid: grid, embeddings: [example.id: [1]])
        }
        try model.rebuild(
            other, dimension: 1, grid: grid, embeddings: [example.id: [1]],
            patches: [example.id: try Self.vectors(picture)])
        #expect(try Self.answer(model, picture) == [0, 0, 0, 0])
        try model.rebuild(.test, dimension: 2, embeddings: [example.id: [1, 2]])
        #expect(model.view.head?.answer([1, 2])?.anomaly?.score == 0 && model.view.state.grid == nil)
    }

    @Test("a file of patches answers bit for bit like the model, and damage is refused or does not trap")
    func filesAnswerLikeTheModel() throws {
        var random = SplitMix(seed: 9)
        for (count, maximum) in [(1, 100), (3, 7), (300, 100_000)] {
            let (store, model) = try model(rows: 2, columns: 2, width: 5, patches: maximum)
            let pictures = (0..<count).map { _ in Self.draw(4, 5, &random) }
            _ = try model.teach(pictures.enumerated().map { try Self.example("\($0)", $1) }, time: 1)
            try model.evaluate(time: 1)
            let head = try #require(model.view.head), bytes = TaughtFile.bytes(of: head)
            let read = try TaughtFile.head(bytes)
            #expect(read == head && TaughtFile.bytes(of: read) == bytes)
            let patches = try #require(read.normal?.patches), picture = Self.draw(4, 5, &random)
            let query = try #require(PatchQuery(try Self.vectors(picture), among: patches))
            let shares = try (0..<2).map { try #require(query.nearest(inShare: $0, of: 2) { false }) }
            let distances = PatchQuery.distances(shares)
            #expect(try distances == Self.answer(model, picture))
            #expect(read.answer(patchDistances: distances) == head.answer(patchDistances: distances))
            guard count < 10 else { continue }
            for length in 0..<bytes.count {
                #expect(throws: FormatError.self) { try TaughtFile.head(Array(bytes[..<length])) }
            }
            for _ in 0..<1_000 {
                var damaged = bytes
                damaged[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                guard let head = try? TaughtFile.head(damaged), let patches = head.normal?.patches,
                    let query = PatchQuery(try Self.vectors(picture), among: patches),
                    let found = query.nearest(inShare: 0, of: 1, isCancelled: { false })
                else { continue }
                #expect(head.answer(patchDistances: PatchQuery.distances([found])) != nil)
            }
            try store.remove("parts")
        }
    }
}
