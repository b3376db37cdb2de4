import Foundation
import Teaching
import TestSupport
import Testing

/// Searches for the nearest examples, compared with a plain loop in 64 bits.
@Suite struct SearchTests {
    private let folder = TemporaryFolder()

    private func model(dimension: Int) throws -> (store: TaughtStore, model: TaughtModel) {
        let store = try TaughtStore(folder: folder.path)
        return (store, try store.create("parts", .test, dimension: dimension, .fixed(.nearestMean)).model)
    }

    private struct Row {
        let id: ExampleID
        let label: String
        let values: [Float]
        let order: Int
    }

    private static func cosine(_ a: [Float], _ b: [Float]) -> Double {
        var (product, one, other) = (0.0, 0.0, 0.0)
        for (x, y) in zip(a, b) {
            product += Double(x) * Double(y)
            one += Double(x) * Double(x)
            other += Double(y) * Double(y)
        }
        return one * other > 0 ? product / (one * other).squareRoot() : 0
    }

    /// Compares an answer with all cosines: the order may differ from the oracle's only between cosines that differ by
    /// the rounding of 64 bits.
    private func check(
        _ found: [ExampleSearch.Found], _ rows: [Row], _ query: [Float], top: Int, _ comment: Comment
    ) throws {
        let oracle = rows.map { (row: $0, cosine: Self.cosine(query, $0.values)) }.sorted {
            $0.cosine != $1.cosine ? $0.cosine > $1.cosine : $0.row.order < $1.row.order
        }
        try #require(found.count == min(top, rows.count), comment)
        let byID = Dictionary(oracle.map { ($0.row.id, $0) }) { first, _ in first }
        #expect(Set(found.map(\.id)).count == found.count, comment)
        for (place, one) in found.enumerated() {
            let own = try #require(byID[one.id], comment)
            #expect(abs(one.similarity - own.cosine) < 1e-12 && one.label == own.row.label, comment)
            #expect(abs(own.cosine - oracle[place].cosine) < 1e-12, comment)
            // Equal embeddings give equal bits, so ties are ties.
            if place > 0, let before = byID[found[place - 1].id], before.row.values == own.row.values {
                #expect(before.row.order < own.row.order, comment)
            }
        }
    }

    @Test("a search finds the same examples in the same order as a loop over all cosines")
    func searchesAreExact() throws {
        let seed = SplitMix.seed(for: "searchesAreExact")
        var random = SplitMix(seed: seed)
        for dimension in [1, 2, 7, 16, 17, 129] {
            let (store, model) = try model(dimension: dimension)
            // Close together, so that 16 bits cannot tell many of them apart; with copies, zeros and other lengths.
            let base = (0..<dimension).map { _ in Float.random(in: -1...1, using: &random) }
            var rows: [Row] = []
            for order in 0..<250 {
                let values: [Float] =
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0 where !rows.isEmpty: rows[Int.random(in: 0..<rows.count, using: &random)].values
                    case 1: [Float](repeating: 0, count: dimension)
                    case 2: base.map { $0 * Float.random(in: -1e18...1e18, using: &random) }
                    case 3...6: base.map { $0 + Float.random(in: -1e-3...1e-3, using: &random) }
                    default: base.map { _ in Float.random(in: -1...1, using: &random) }
                    }
                let picture = Array("picture \(order)".utf8)
                rows.append(
                    Row(
                        id: picture.withUnsafeBytes { ExampleID(of: $0) }, label: "class \(order % 3)", values: values,
                        order: order))
                _ = try model.teach(
                    [.init(id: rows[order].id, label: rows[order].label, embedding: values)], time: 1)
            }
            let state = model.view.state
            let near = base.map { $0 + Float.random(in: -1e-3...1e-3, using: &random) }
            for query in [near, rows[7].values, [Float](repeating: 0, count: dimension), base.map { -$0 }] {
                for top in [1, 2, 10, 249, 250, 1000] {
                    let comment = Comment(rawValue: "seed \(seed), dimension \(dimension), top \(top)")
                    let search = try #require(ExampleSearch(query, in: state, top: top), comment)
                    let found = try #require(search.nearest(), comment)
                    try check(found, rows, query, top: top, comment)
                    // The shares of several threads give the same.
                    let shares = (0..<3).compactMap { search.nearest(inShare: $0, of: 3) { false } }
                    #expect(shares.count == 3, comment)
                    #expect(ExampleSearch.merged(shares, top: top).map(\.id) == found.map(\.id), comment)
                    let labelled = try #require(
                        ExampleSearch(query, in: state, top: top, label: "class 1")?.nearest(), comment)
                    try check(labelled, rows.filter { $0.label == "class 1" }, query, top: top, comment)
                }
            }
            try store.remove("parts")
        }
    }

    @Test("equally near examples come in the order of teaching, also after a start and a move")
    func tiesAreInTheOrderOfTeaching() throws {
        let pictures = (0..<40).map { "\($0)" }
        var ids: [ExampleID] = []
        do {
            let (store, model) = try model(dimension: 3)
            for picture in pictures {
                let example = TaughtModel.NewExample(picture, "a", [1, 2, 3])
                ids.append(example.id)
                _ = try model.teach([example], time: 5)
            }
            _ = try model.teach([.init(id: ids[3], label: "b", embedding: [1, 2, 3])], time: 9)
            try model.forget(ids.remove(at: 20))
            #expect(ids != ids.sorted())
            let found = try #require(ExampleSearch([2, 4, 6], in: model.view.state, top: 10)?.nearest())
            #expect(found.map(\.id) == Array(ids.prefix(10)) && found.allSatisfy { $0.similarity == 1 })
            #expect(found[3].label == "b")
            withExtendedLifetime(store) {}
        }
        let store = try TaughtStore(folder: folder.path)
        let again = try #require(store.model("parts")).view.state
        #expect(try #require(ExampleSearch([2, 4, 6], in: again, top: 100)?.nearest()).map(\.id) == ids)
    }

    @Test("a search answers from the version that serves, with the labels of that version")
    func searchesAreOfTheVersionThatServes() throws {
        let (_, model) = try model(dimension: 2)
        _ = try model.teach([.init("1", "a", [1, 0])], time: 1)
        _ = try model.teach([.init("2", "a", [1, 1])], time: 2)
        _ = try model.teach([.init("1", "b", [1, 0])], time: 3)
        func labels(_ label: String? = nil) throws -> [String] {
            let search = try #require(ExampleSearch([1, 0], in: model.view.state, top: 9, label: label))
            return try #require(search.nearest()).map(\.label)
        }
        #expect(try labels() == ["b", "a"] && (try labels("a")) == ["a"] && (try labels("c")) == [])
        try model.serve(2)
        #expect(try labels() == ["a", "a"] && (try labels("b")) == [])
        try model.serve(1)
        #expect(try labels() == ["a"])
    }

    @Test("a search sees what was taught, moved, forgotten and rebuilt since the last one")
    func searchesSeeChanges() throws {
        let seed = SplitMix.seed(for: "searchesSeeChanges")
        var random = SplitMix(seed: seed)
        let (_, model) = try model(dimension: 4)
        for step in 0..<300 {
            let examples = Array(model.view.state.examples)
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where examples.count > 2: try model.forget(examples[Int(step) % examples.count].id)
            case 1 where !examples.isEmpty:
                let one = examples[Int(step) % examples.count]
                _ = try model.teach([.init(id: one.id, label: "m", embedding: one.embedding)], time: step)
            case 2 where step % 50 == 2:
                let embeddings = Dictionary(
                    examples.map { ($0.id, (0..<4).map { _ in Float.random(in: -1...1, using: &random) }) }
                ) { first, _ in first }
                try model.rebuild(.test, dimension: 4, embeddings: embeddings)
            default:
                let values = (0..<4).map { _ in Float.random(in: -1...1, using: &random) }
                _ = try model.teach([.init("\(step)", "c", values)], time: step)
            }
            let query = (0..<4).map { _ in Float.random(in: -1...1, using: &random) }
            let state = model.view.state
            let rows = state.examples.enumerated().map {
                Row(id: $1.id, label: $1.label, values: $1.embedding, order: $0)
            }
            let found = try #require(ExampleSearch(query, in: state, top: 5)?.nearest())
            try check(found, rows, query, top: 5, Comment(rawValue: "seed \(seed), step \(step)"))
        }
    }

    @Test("a cancelled search ends, and an embedding that does not fit is refused")
    func searchesCanBeCancelled() throws {
        let (_, model) = try model(dimension: 2)
        #expect(try #require(ExampleSearch([1, 0], in: model.view.state, top: 3)?.nearest()).isEmpty)
        _ = try model.teach((0..<600).map { .init("\($0)", "a", [1, Float($0)]) }, time: 1)
        let state = model.view.state
        var asked = 0
        let search = try #require(ExampleSearch([1, 0], in: state, top: 600))
        let ended = search.nearest {
            asked += 1
            return asked > 3
        }
        #expect(ended == nil && asked == 4)
        // While the last ones are compared again.
        let parts = asked
        asked = 0
        _ = search.nearest {
            asked += 1
            return false
        }
        #expect(asked > parts + 2)
        let total = asked
        asked = 0
        let late = search.nearest {
            asked += 1
            return asked == total
        }
        #expect(late == nil)
        #expect(ExampleSearch([1], in: state, top: 3) == nil)
        #expect(ExampleSearch([1, .nan], in: state, top: 3) == nil)
        #expect(ExampleSearch([1, 0], in: state, top: 0) == nil)
    }

    @Test("searches of several threads at the same time give the same")
    func searchesAreThreadSafe() async throws {
        let (_, model) = try model(dimension: 8)
        var random = SplitMix(seed: 3)
        _ = try model.teach(
            (0..<500).map { number in
                .init("\(number)", "a", (0..<8).map { _ in Float.random(in: -1...1, using: &random) })
            }, time: 1)
        let search = try #require(ExampleSearch([1, 2, 3, 4, 5, 6, 7, 8], in: model.view.state, top: 20))
        let answers = await withTaskGroup(of: [ExampleID].self) { group in
            for _ in 0..<8 { group.addTask { search.nearest()?.map(\.id) ?? [] } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 8 && Set(answers).count == 1 && answers[0].count == 20)
    }
}
