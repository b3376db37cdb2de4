import Teaching
import TestSupport
import Testing

/// Compares examples and sums that are kept between changes with those from reading all examples again.
@Suite struct NewestExamplesTests {
    let folder = TemporaryFolder()

    /// An embedding whose sums depend on the order of addition: large numbers cancel out and leave rounding errors.
    private func embedding(_ random: inout SplitMix) -> [Float] {
        (0..<11).map { _ in Float.random(in: -1...1, using: &random) * (random.chance(50) ? 1 : 1e15) }
    }

    /// Compares all bytes of the served head with a head learned from all examples of its version.
    private func expectAsLearnedAnew(_ model: TaughtModel, _ context: String) throws {
        let view = model.view
        let served = try #require(view.head), anew = try #require(view.head(of: view.state.serving))
        #expect(TaughtFile.bytes(of: served) == TaughtFile.bytes(of: anew), "\(context)")
        let ids = view.state.examples.map(\.id)
        #expect(ids == ids.sorted() && ids.count == view.state.examples.count, "\(context)")
        guard view.state.serving == view.state.versions.last?.number else { return }
        let counts = Dictionary(grouping: view.state.examples, by: \.label).mapValues(\.count)
        #expect(view.state.counts == counts, "\(context)")
        #expect(view.classes.map(\.label) == served.labels, "\(context)")
        #expect(view.classes.allSatisfy { $0.examples == counts[$0.label] }, "\(context)")
    }

    @Test(
        "after each change, the serving classifier equals one that is made again from all examples, bit for bit",
        arguments: TeachingMethod.classifiers.filter { $0 != .logistic })
    func changesServeWhatAllExamplesGive(_ method: TeachingMethod) throws {
        var random = SplitMix(seed: 3_200)
        let model = try TaughtStore(folder: folder.path).create("parts", .test, dimension: 11, .fixed(method)).model
        // Few pictures of few classes, so that pictures move, and classes end and begin again.
        for step in 0..<LongTests.times(150, long: 1_500) {
            let count = step % 50 == 49 ? 120 : Int.random(in: 1...3, using: &random)
            let examples = (0..<count).map { _ in
                let picture = Int.random(in: 0..<60, using: &random), label = Int.random(in: 0..<25, using: &random)
                return TaughtModel.NewExample("\(picture)", "class \(label)", embedding(&random))
            }
            _ = try model.teach(examples, time: step)
            try expectAsLearnedAnew(model, "step \(step)")
            if random.chance(10), let first = model.view.state.versions.first {
                try model.serve(first.number)
                try expectAsLearnedAnew(model, "step \(step), version \(first.number)")
            }
            if random.chance(10), let one = model.view.state.examples.map(\.id).randomElement(using: &random) {
                try model.forget(one)
                if model.view.head != nil { try expectAsLearnedAnew(model, "step \(step), forgotten") }
            }
        }
    }

    @Test("after a change that was refused for its size, the next change does not contain it")
    func refusedChangesLeaveNothing() throws {
        var random = SplitMix(seed: 3_201)
        let store = try TaughtStore(folder: folder.path)
        let model = try store.create("parts", .test, dimension: 11, .fixed(.nearestMean)).model
        for number in 0..<9 {
            _ = try model.teach([.init("\(number)", "class \(number % 3)", embedding(&random))], time: 1)
        }
        var limits = TeachingLimits()
        limits.bytes = store.bytes
        store.set(limits: limits)
        let refused = [("new", "class 1"), ("other", "class 9"), ("0", "class 2")].map {
            TaughtModel.NewExample($0.0, $0.1, embedding(&random))
        }
        #expect(throws: TeachingError.self) { try model.teach(refused, time: 2) }
        store.set(limits: TeachingLimits())
        _ = try model.teach([.init("last", "class 0", embedding(&random))], time: 3)
        #expect(model.view.head?.labels == ["class 0", "class 1", "class 2"])
        try expectAsLearnedAnew(model, "after a refusal")
    }

    @Test("labels that are equal but have different bytes stay one class, named by its first example")
    func labelsOfOtherBytesAreOneClass() throws {
        var random = SplitMix(seed: 3_202)
        let model = try TaughtStore(folder: folder.path)
            .create("parts", .test, dimension: 11, .fixed(.nearestMean)).model
        for number in 0..<12 {
            let label = ["caf\u{e9}", "nut", "cafe\u{301}"][number % 3]
            _ = try model.teach([.init("\(number)", label, embedding(&random))], time: 1)
            try expectAsLearnedAnew(model, "example \(number)")
        }
        #expect(model.view.classes.map(\.examples) == [8, 4])
    }
}
