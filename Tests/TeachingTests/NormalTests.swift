import FileFormats
import Foundation
import Teaching
import TestSupport
import Testing

/// Models with the method `normal`, compared with plain loops in 64 bits.
@Suite struct NormalTests {
    private let folder = TemporaryFolder()

    private static func distance(_ a: [Float], _ b: [Float]) -> Double {
        var (product, one, other) = (0.0, 0.0, 0.0)
        for (x, y) in zip(a, b) {
            product += Double(x) * Double(y)
            one += Double(x) * Double(x)
            other += Double(y) * Double(y)
        }
        guard one * other > 0 else { return 1 }
        return 1 - min(max(product / (one.squareRoot() * other.squareRoot()), -1), 1)
    }

    private static func nearest(_ query: [Float], _ rows: [[Float]]) -> Double {
        rows.map { distance(query, $0) }.min() ?? .infinity
    }

    private static func leftOut(_ rows: [[Float]]) -> [Double] {
        rows.indices.map { row in nearest(rows[row], rows.indices.filter { $0 != row }.map { rows[$0] }) }
    }

    private func model(
        dimension: Int, falseAlarms: Double = 0.1, in folder: String? = nil
    ) throws -> (store: TaughtStore, model: TaughtModel) {
        let store = try TaughtStore(folder: folder ?? self.folder.path)
        let choice = MethodChoice.normal(falseAlarms: falseAlarms)
        return (store, try store.create("parts", .test, dimension: dimension, choice).model)
    }

    /// Four numbers that are nearly normally distributed.
    private static func draw(_ random: inout SplitMix) -> [Float] {
        var row = [Float](repeating: 0, count: 4)
        for index in 0..<24 { row[index % 4] += Float.random(in: -1...1, using: &random) }
        return row
    }

    private static func isNear(_ one: [Double], _ other: [Double]) -> Bool {
        one.count == other.count && zip(one, other).allSatisfy { abs($0 - $1) < 1e-12 }
    }

    // MARK: Scores

    @Test("scores, p and threshold are those of a loop over all examples, also close to each other and without length")
    func answersAreExact() throws {
        let seed = SplitMix.seed(for: "answersAreExact")
        var random = SplitMix(seed: seed)
        for dimension in [1, 2, 7, 16, 33] {
            let (store, model) = try model(dimension: dimension)
            let base = (0..<dimension).map { _ in Float.random(in: -1...1, using: &random) }
            let rows = (0..<90).map { number -> [Float] in
                switch number % 9 {
                case 0: [Float](repeating: 0, count: dimension)
                case 1...5: base.map { $0 + Float.random(in: -1e-3...1e-3, using: &random) }
                case 6: base.map { $0 * Float.random(in: -1e18...1e18, using: &random) }
                default: base.map { _ in Float.random(in: -1...1, using: &random) }
                }
            }
            _ = try model.teach(rows.enumerated().map { .init("\($0)", "normal", $1) }, time: 1)
            try model.evaluate(time: 1)
            let comment = Comment(rawValue: "seed \(seed), dimension \(dimension)")
            let stored = model.view.state.examples.map(\.embedding)
            let evaluation = try #require(model.view.state.served?.evaluation)
            let scores = try #require(evaluation.leftOut).scores
            #expect(Self.isNear(scores, Self.leftOut(stored)), comment)
            #expect(evaluation.examples == 90 && evaluation.accuracy == nil && evaluation.interval == nil, comment)
            let threshold = scores.sorted(by: >)[8]
            let head = try #require(model.view.head)
            let near = base.map { $0 + Float.random(in: -1e-3...1e-3, using: &random) }
            for query in [near, rows[3], [Float](repeating: 0, count: dimension), base.map { -$0 }] {
                let answer = try #require(head.answer(query)), anomaly = try #require(answer.anomaly)
                #expect(abs(anomaly.score - Self.nearest(query, stored)) < 1e-12, comment)
                let asUnusual = scores.count { $0 >= anomaly.score }
                #expect(anomaly.p == Double(1 + asUnusual) / 91 && anomaly.threshold == threshold, comment)
                #expect(anomaly.isAnomaly == (anomaly.score > threshold), comment)
                #expect(answer.isKnown == anomaly.isAnomaly.map { !$0 } && answer.confidences == [1], comment)
            }
            // A taught picture is no anomaly: its distance is exactly 0.
            let own = try #require(rows.first { $0.contains { $0 != 0 } })
            #expect(head.answer(own)?.anomaly?.score == 0 && head.answer(own)?.anomaly?.p == 1, comment)
            try store.remove("parts")
        }
    }

    @Test("an anomaly is at the same time above the threshold and of a p within the share of false alarms")
    func thresholdAndShareAgree() {
        for count in 2...300 {
            let scores = (1...count).map { Double($0) }
            for falseAlarms in [0.0001, 0.003, 0.01, 0.05, 0.07, 0.1, 0.29, 1.0 / 3, 0.5] {
                let leftOut = LeftOutScores(scores.shuffled(), falseAlarms: falseAlarms)
                let isEnough = 1 / Double(count + 1) <= falseAlarms
                #expect((leftOut.threshold != nil) == isEnough && (leftOut.needed <= count) == isEnough)
                guard let threshold = leftOut.threshold else { continue }
                for score in 0...count + 1 {
                    for score in [Double(score), Double(score) + 0.5] {
                        #expect((score > threshold) == (leftOut.p(of: score) <= falseAlarms))
                    }
                }
            }
        }
        #expect(LeftOutScores([], falseAlarms: 0.01).needed == 99)
        #expect(LeftOutScores([], falseAlarms: 0.5).needed == 2)
        #expect(LeftOutScores([], falseAlarms: 0.0001).needed == 9_999)
    }

    @Test("the share of normal pictures that are called anomalies is at most the one that was asked for")
    func falseAlarmsAreAsRareAsAskedFor() throws {
        let seed = SplitMix.seed(for: "falseAlarmsAreAsRareAsAskedFor")
        var random = SplitMix(seed: seed)
        let draws = LongTests.times(1_000, long: 20_000), shares = [0.01, 0.05]
        var alarms = [0, 0]
        for _ in 0..<draws {
            let rows = (0...99).map { _ in Self.draw(&random) }
            let examples = rows.dropLast().enumerated().map { number, row in
                let picture = Array("\(number)".utf8)
                return (id: picture.withUnsafeBytes { ExampleID(of: $0) }, embedding: row)
            }.sorted { $0.id < $1.id }
            var upkeep = LeftOutUpkeep()
            let updated = upkeep.update(to: examples), scores = try #require(updated)
            let score = Self.nearest(rows[99], Array(rows.dropLast()))
            for (index, share) in shares.enumerated() {
                let threshold = try #require(LeftOutScores(scores, falseAlarms: share).threshold)
                if score > threshold { alarms[index] += 1 }
            }
        }
        for (share, found) in zip(shares, alarms) {
            // Four standard deviations: one run in thirty thousand fails.
            let bound = share * Double(draws) + 4 * (share * (1 - share) * Double(draws)).squareRoot()
            #expect(Double(found) <= bound && found > 0, "seed \(seed): \(found) of \(draws) at \(share)")
        }
    }

    // MARK: Upkeep

    @Test("the scores after examples came and went are those of a fresh start, bit for bit, and survive cancellation")
    func scoresDoNotDependOnTheHistory() throws {
        let seed = SplitMix.seed(for: "scoresDoNotDependOnTheHistory")
        var random = SplitMix(seed: seed)
        var upkeep = LeftOutUpkeep()
        var examples: [ExampleID: [Float]] = [:]
        for step in 0..<LongTests.times(300, long: 3_000) {
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let picture = Array("picture \(Int.random(in: 0..<60, using: &random))".utf8)
                let id = picture.withUnsafeBytes { ExampleID(of: $0) }
                // Few different numbers, so that many distances are equal.
                let embedding = (0..<3).map { _ in Float(Int.random(in: -2...2, using: &random)) }
                examples[id] = random.chance(40) ? nil : embedding
            }
            if step % 97 == 96 { examples = [:] }
            let sorted = examples.sorted { $0.key < $1.key }.map { (id: $0.key, embedding: $0.value) }
            if random.chance(30) {
                var left = Int.random(in: 0..<6, using: &random)
                let cancelled = upkeep.update(to: sorted) {
                    left -= 1
                    return left < 0
                }
                if cancelled == nil { continue }
            }
            var fresh = LeftOutUpkeep()
            let updated = upkeep.update(to: sorted), anew = fresh.update(to: sorted), found = try #require(updated)
            #expect(anew == found, "seed \(seed), step \(step)")
            if sorted.count > 1 {
                #expect(Self.isNear(found, Self.leftOut(sorted.map(\.embedding))), "seed \(seed), step \(step)")
            }
        }
    }

    @Test("a change compares only the examples that came, went, or lost their nearest one")
    func changesReadFewExamples() throws {
        var random = SplitMix(seed: 5)
        var upkeep = LeftOutUpkeep()
        var examples = (0..<200).map { number in
            let picture = Array("\(number)".utf8)
            let angle = Float(number) / 100
            return (
                id: picture.withUnsafeBytes { ExampleID(of: $0) },
                embedding: [1, angle, angle * angle, Float.random(in: 0...1e-3, using: &random)]
            )
        }.sorted { $0.id < $1.id }
        func passes() -> Int {
            var count = 0
            let scores = upkeep.update(to: examples) {
                count += 1
                return false
            }
            #expect(scores?.count == examples.count)
            return count
        }
        let first = passes(), again = passes()
        #expect(first == 200 && again == 0)
        let gone = examples.remove(at: 100), without = passes()
        #expect((1...8).contains(without))
        examples.insert(gone, at: 100)
        let with = passes()
        #expect(with == 1)
    }

    // MARK: The store

    @Test("a model that learned normal pictures is as after a fresh start, and forgets exactly")
    func forgettingEqualsNeverTaught() throws {
        let seed = SplitMix.seed(for: "normal forgettingEqualsNeverTaught")
        var random = SplitMix(seed: seed)
        for history in 0..<LongTests.times(12, long: 100) {
            let folder = TemporaryFolder(), other = TemporaryFolder()
            var (store, model) = try model(dimension: 5, in: folder.path)
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
                case 5:
                    // A restart.
                    (store, model) = (try Self.reopened(&store, &model, folder.path))
                default:
                    let name = "picture \(history) \(step)"
                    let embedding = (0..<5).map { _ in Float.random(in: -1...1, using: &random) }
                    let example = TaughtModel.NewExample(name, "normal", embedding)
                    _ = try model.teach([example], time: step)
                    taught[name] = example
                }
            }
            if let last = model.view.state.versions.last { try model.serve(last.number) }
            try model.evaluate(time: 99)
            let (_, fresh) = try self.model(dimension: 5, in: other.path)
            _ = try fresh.teach(taught.values.shuffled(using: &random), time: 0)
            try fresh.evaluate(time: 0)
            #expect(model.view.head == fresh.view.head, "seed \(seed)")
            #expect(model.view.state.served?.evaluation == fresh.view.state.served?.evaluation, "seed \(seed)")
            let contents = folder.contents
            for example in gone {
                #expect(contents.range(of: Data(example.id.bytes)) == nil)
                #expect(contents.range(of: example.embedding.withUnsafeBytes { Data($0) }) == nil)
            }
            withExtendedLifetime(store) {}
        }
    }

    private static func reopened(
        _ store: inout TaughtStore, _ model: inout TaughtModel, _ folder: String
    ) throws -> (TaughtStore, TaughtModel) {
        let before = model.view.state
        // The lock of the folder is released with the last reference.
        let elsewhere = TemporaryFolder()
        store = try TaughtStore(folder: elsewhere.path)
        model = try store.create("parts", .test, dimension: 5, .auto).model
        let again = try TaughtStore(folder: folder)
        let found = try #require(again.model("parts"))
        #expect(found.view.state == before)
        return (again, found)
    }

    @Test("until there are enough examples, nothing is called an anomaly, and the advice says how many are missing")
    func fewExamplesTellNothing() throws {
        let (_, model) = try model(dimension: 2)
        func anomaly() -> AnomalyAnswer? { model.view.head?.answer([1, 0.5])?.anomaly }
        #expect(anomaly() == nil)
        for number in 1...9 {
            _ = try model.teach([.init("\(number)", "normal", [1, Float(number) / 100])], time: 1)
            // The new example counts at once, the scores until the evaluation are those of the version before.
            #expect(anomaly()?.p == (number == 1 ? nil : 1 / Double(number == 2 ? 1 : number)))
            try model.evaluate(time: 1)
            let found = try #require(anomaly()), evaluation = try #require(model.view.state.served?.evaluation)
            #expect(found.p == 1 / Double(number == 1 ? 1 : number + 1))
            let missing = 9 - number
            #expect((found.isAnomaly == nil) == (missing > 0) && (found.threshold == nil) == (missing > 0))
            #expect(
                evaluation.advice
                    == (missing == 0
                        ? nil
                        : "\(missing) more normal \(missing == 1 ? "picture is" : "pictures are") needed to tell "
                            + "anomalies with \"false_alarms\" of 0.1"))
        }
        #expect(anomaly()?.isAnomaly == true)
    }

    @Test("only the label normal is taught, and another share of false alarms is a conflict")
    func otherLabelsAndSharesAreRefused() throws {
        let (store, model) = try model(dimension: 2)
        let refused = #expect(throws: TeachingError.self) {
            try model.teach([.init("1", "normal", [1, 0]), .init("2", "bolt", [0, 1])], time: 1)
        }
        #expect(refused?.message.contains("expected the label \"normal\", found \"bolt\"") == true)
        #expect(model.view.state.examples.isEmpty)
        for (choice, expected) in [
            (MethodChoice.normal(falseAlarms: 0.05), "has \"false_alarms\" of 0.1, not 0.05"),
            (.auto, "has the method normal, not auto"), (.fixed(.logistic), "not logistic"),
        ] {
            let conflict = #expect(throws: TeachingError.self) {
                try store.create("parts", .test, dimension: 2, choice)
            }
            #expect(conflict?.message.contains(expected) == true)
        }
        #expect(try !store.create("parts", .test, dimension: 2, .normal(falseAlarms: 0.1)).isNew)
    }

    @Test("a version serves with its own examples and scores")
    func versionsHaveTheirOwnScores() throws {
        let (_, model) = try model(dimension: 2, falseAlarms: 0.5)
        _ = try model.teach((0..<5).map { .init("\($0)", "normal", [1, Float($0)]) }, time: 1)
        try model.evaluate(time: 1)
        let first = model.view.head?.answer([1, -1])?.anomaly
        _ = try model.teach((5..<9).map { .init("\($0)", "normal", [1, -Float($0)]) }, time: 2)
        try model.evaluate(time: 2)
        #expect(model.view.head?.answer([1, -1])?.anomaly != first)
        try model.serve(1)
        #expect(model.view.head?.answer([1, -1])?.anomaly == first && first?.threshold != nil)
        #expect(model.view.head(of: 2)?.normal?.rows.count == 9 && model.view.head(of: 1)?.normal?.rows.count == 5)
    }

    @Test("the scores fit the files that numpy computed")
    func sharedScores() throws {
        guard let folder = SharedData.folder else { return }
        struct Asked: Decodable {
            let pixels: [[[Int]]]
            let score: Double
            let p: Double
        }
        struct Case: Decodable {
            let examples: [[[[Int]]]]
            let left_out_scores: [Double]
            let thresholds: [String: Double?]
            let asked: [Asked]
        }
        let file = folder.appendingPathComponent("trust/normal/vectors.json")
        let shared = try JSONDecoder().decode(Case.self, from: try Data(contentsOf: file))
        func vector(_ pixels: [[[Int]]]) -> [Float] {
            (0..<3).flatMap { channel in pixels.joined().map { Float($0[channel]) / 255 } }
        }
        let (_, model) = try model(dimension: 48, falseAlarms: 0.05)
        _ = try model.teach(
            shared.examples.enumerated().map { .init("\($0)", "normal", vector($1)) }, time: 1)
        try model.evaluate(time: 1)
        let leftOut = try #require(model.view.head?.normal?.leftOut)
        for (found, expected) in zip(leftOut.scores.sorted(), shared.left_out_scores.sorted()) {
            #expect(abs(found - expected) < 1e-6)
        }
        for (text, expected) in shared.thresholds {
            let found = LeftOutScores(leftOut.scores, falseAlarms: try #require(Double(text))).threshold
            #expect((found == nil) == (expected == nil) && abs((found ?? 0) - (expected ?? 0)) < 1e-6)
        }
        for one in shared.asked {
            let anomaly = try #require(model.view.head?.answer(vector(one.pixels))?.anomaly)
            #expect(abs(anomaly.score - one.score) < 1e-6 && anomaly.p == one.p)
        }
    }

    // MARK: Files

    @Test("a file of what is normal answers bit for bit like the model, and damage is refused or does not trap")
    func filesAnswerLikeTheModel() throws {
        var random = SplitMix(seed: 9)
        for count in [1, 2, 40] {
            let rows = (0..<count).map { _ in (0..<6).map { _ in Float.random(in: -1...1, using: &random) } }
            var normal = try #require(NormalExamples(rows, dimension: 6, falseAlarms: 0.07))
            normal.leftOut = LeftOutScores(count > 1 ? Self.leftOut(rows) : [], falseAlarms: 0.07)
            let head = TaughtClassifier(normal), bytes = TaughtFile.bytes(of: head)
            let read = try TaughtFile.head(bytes)
            #expect(read == head && TaughtFile.bytes(of: read) == bytes)
            #expect(read.answer([1, 0, 0, 0.5, 0, 1]) == head.answer([1, 0, 0, 0.5, 0, 1]))
            for length in 0..<bytes.count {
                #expect(throws: FormatError.self) { try TaughtFile.head(Array(bytes[..<length])) }
            }
            for _ in 0..<300 {
                var damaged = bytes
                damaged[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                if let head = try? TaughtFile.head(damaged) { _ = head.answer([1, 0, 0, 0.5, 0, 1]) }
            }
        }
    }

    @Test("what is normal is not exported")
    func normalIsNotExported() throws {
        let (_, model) = try model(dimension: 2)
        _ = try model.teach([.init("1", "normal", [1, 0])], time: 1)
        let view = model.view
        let refused = #expect(throws: TeachingError.self) {
            try CoreMLFile.bytes(of: view.head, view.state, name: "parts")
        }
        #expect(refused?.message.contains("is no classifier") == true)
    }
}
