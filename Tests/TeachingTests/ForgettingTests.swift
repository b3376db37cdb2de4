import Foundation
import Teaching
import TestSupport
import Testing

/// After an example is forgotten, a model equals bit for bit one that was never taught the example.
@Suite struct ForgettingTests {
    @Test(
        "after forgetting, the model is as if never taught the example, and no file holds the example",
        arguments: MethodChoice.classifierNames)
    func forgettingEqualsNeverTaught(_ method: String) throws {
        let choice = try #require(MethodChoice(method))
        var random = SplitMix(seed: 320 + UInt64(method.utf8.count))
        for history in 0..<LongTests.times(12, long: 100) {
            let folder = TemporaryFolder(), other = TemporaryFolder()
            let store = try TaughtStore(folder: folder.path)
            let model = try store.create("parts", .test, dimension: 6, choice).model
            var taught: [String: TaughtModel.NewExample] = [:]
            var gone: [TaughtModel.NewExample] = []
            for step in 0..<Int.random(in: 5...25, using: &random) {
                let known = taught.keys.sorted().randomElement(using: &random)
                switch Int.random(in: 0..<10, using: &random) {
                case 0...1:
                    guard let known, let example = taught.removeValue(forKey: known) else { continue }
                    try model.forget(example.id)
                    gone.append(example)
                case 2:
                    guard let known, let label = taught[known]?.label else { continue }
                    try model.forget(label: label)
                    for (name, example) in taught where example.label == label {
                        gone.append(example)
                        taught[name] = nil
                    }
                case 3:
                    guard let known, let example = taught[known] else { continue }
                    let label = "class \(Int.random(in: 0..<4, using: &random))"
                    let moved = TaughtModel.NewExample(id: example.id, label: label, embedding: example.embedding)
                    _ = try model.teach([moved], time: step)
                    taught[known] = moved
                case 4:
                    if let version = model.view.state.versions.randomElement(using: &random) {
                        try model.serve(version.number)
                    }
                case 5: try model.evaluate(time: step)
                default:
                    let name = "picture \(history) \(step)"
                    let embedding = (0..<6).map { _ in Float.random(in: -1...1, using: &random) }
                    let example = TaughtModel.NewExample(
                        name, "class \(Int.random(in: 0..<4, using: &random))", embedding)
                    _ = try model.teach([example], time: step)
                    taught[name] = example
                }
            }
            if let last = model.view.state.versions.last { try model.serve(last.number) }
            try model.evaluate(time: 99)
            // Teach only the remaining examples, all at once and in another order.
            let fresh = try TaughtStore(folder: other.path).create("parts", .test, dimension: 6, choice).model
            _ = try fresh.teach(taught.values.shuffled(using: &random), time: 0)
            try fresh.evaluate(time: 0)
            #expect(model.view.head == fresh.view.head)
            #expect(model.view.head.map(TaughtFile.bytes) == fresh.view.head.map(TaughtFile.bytes))
            let found = model.view.state.served?.evaluation, wanted = fresh.view.state.served?.evaluation
            #expect(found == wanted)
            // No file contains a digest or an embedding of a forgotten example, unless it was taught again.
            let contents = folder.contents
            for example in gone {
                #expect(contents.range(of: Data(example.id.bytes)) == nil)
                let numbers = example.embedding.withUnsafeBytes { Data($0) }
                #expect(contents.range(of: numbers) == nil)
            }
        }
    }

    @Test("a method that was chosen because of forgotten examples is chosen again, as if they were never taught")
    func theMethodIsThatOfTheExamplesThatAreLeft() throws {
        let corners: [(x: Float, y: Float, label: String)] = [(1, 1, "a"), (1, -1, "b"), (-1, -1, "a"), (-1, 1, "b")]
        let examples = corners.enumerated().flatMap { number, corner in
            (0..<8).map { step in
                TaughtModel.NewExample(
                    "\(number) \(step)", corner.label, [corner.x + 0.02 * Float(step), corner.y - 0.01 * Float(step)])
            }
        }
        let folder = TemporaryFolder(), other = TemporaryFolder()
        let model = try TaughtStore(folder: folder.path).create("parts", .test, dimension: 2, .auto).model
        let fresh = try TaughtStore(folder: other.path).create("parts", .test, dimension: 2, .auto).model
        _ = try model.teach(examples, time: 1)
        try model.evaluate(time: 1)
        #expect(model.view.head?.method == .nearestNeighbors)
        // The remaining examples of each class form one cloud.
        for example in examples.suffix(16) { try model.forget(example.id) }
        _ = try fresh.teach(Array(examples.prefix(16)), time: 1)
        for one in [model, fresh] { try one.evaluate(time: 2) }
        #expect(model.view.head == fresh.view.head && model.view.head?.method == .nearestMean)
        #expect(model.view.state.served?.evaluation == fresh.view.state.served?.evaluation)
    }

    @Test("a picture is kept only if asked for, and is deleted when its example is forgotten")
    func picturesAreKeptOnlyWhereAskedAndForgottenWithTheirExample() throws {
        let folder = TemporaryFolder()
        let store = try TaughtStore(folder: folder.path)
        let model = try store.create("parts", .test, dimension: 1, .auto).model
        _ = try model.teach(
            [.init("kept picture", "a", [1], keep: true), .init("other picture", "a", [2])], time: 1)
        #expect(folder.contents.range(of: Data("kept picture".utf8)) != nil)
        #expect(folder.contents.range(of: Data("other picture".utf8)) == nil)
        try model.forget(label: "a")
        #expect(folder.contents.range(of: Data("kept picture".utf8)) == nil)
    }

    @Test(
        "a picture that could not be deleted is deleted by the next request, though its example is forgotten",
        arguments: [false, true])
    func aPictureThatStayedIsDeletedLater(byLabel: Bool) throws {
        let folder = TemporaryFolder()
        let store = try TaughtStore(folder: folder.path)
        let model = try store.create("parts", .test, dimension: 1, .auto).model
        let example = TaughtModel.NewExample("kept picture", "a", [1], keep: true)
        _ = try model.teach([example], time: 1)
        func forget() throws {
            if byLabel { try model.forget(label: "a") } else { try model.forget(example.id) }
        }
        // Restore the picture, as if the disk had failed between the journal and the picture.
        let picture = "\(folder.path)/parts/pictures/\(example.id)", files = FileManager.default
        try files.copyItem(atPath: picture, toPath: folder.path + "/aside")
        try forget()
        try files.createDirectory(atPath: folder.path + "/parts/pictures", withIntermediateDirectories: true)
        try files.moveItem(atPath: folder.path + "/aside", toPath: picture)
        #expect(throws: TeachingError.self) { try forget() }
        #expect(!files.fileExists(atPath: picture))
    }
}
