import Foundation
import Teaching
import Testing

/// Lists of examples in pages.
@Suite struct PagesTests {
    let folder = TemporaryFolder()

    /// All pages, each of at most `limit` examples.
    private static func pages(
        _ model: TaughtModel, _ limit: Int, label: String? = nil, between: (Int) throws -> Void = { _ in }
    ) throws -> [ExampleList.Page] {
        var pages: [ExampleList.Page] = []
        var after: ExampleID?
        repeat {
            let page = model.view.state.examples.page(after: after, limit: limit, label: label)
            pages.append(page)
            after = page.next
            try between(pages.count)
        } while after != nil
        return pages
    }

    private static func ids(_ pages: [ExampleList.Page]) -> [String] {
        pages.flatMap { $0.examples.map(\.id.description) }
    }

    @Test("pages of any length hold each example once, sorted by id, and the last has no next")
    func pagesHoldEachExampleOnce() throws {
        let store = try TaughtStore(folder: folder.path)
        let model = try store.create("parts", .test, dimension: 2, .fixed(.nearestMean)).model
        #expect(try Self.pages(model, 3).map(\.examples.count) == [0])
        let labels = ["bolt", "nut", "gear"]
        let examples = (0..<137).map { TaughtModel.NewExample("\($0)", labels[$0 % 3], [1, Float($0)]) }
        _ = try model.teach(examples, time: 7)
        // The expected order: identifiers sorted as text.
        let oracle = examples.map(\.id.description).sorted()
        for limit in [1, 2, 7, 136, 137, 138, 10_000] {
            let pages = try Self.pages(model, limit)
            #expect(Self.ids(pages) == oracle, "\(limit)")
            #expect(pages.map(\.examples.count).max() == min(limit, 137))
            #expect(pages.count == (137 + limit - 1) / limit, "\(limit): no page is empty")
            #expect(pages.dropLast().allSatisfy { $0.next == $0.examples.last?.id } && pages.last?.next == nil)
        }
        for label in labels {
            let wanted = examples.filter { $0.label == label }.map(\.id.description).sorted()
            for limit in [1, 5, 46, 1000] { #expect(Self.ids(try Self.pages(model, limit, label: label)) == wanted) }
        }
        #expect(try Self.pages(model, 5, label: "unknown").map(\.examples.count) == [0])
    }

    @Test("examples that are forgotten or taught between two pages neither hide nor repeat others")
    func changesBetweenPages() throws {
        let store = try TaughtStore(folder: folder.path)
        let model = try store.create("parts", .test, dimension: 2, .fixed(.nearestMean)).model
        _ = try model.teach((0..<60).map { .init("\($0)", "bolt", [1, Float($0)]) }, time: 7)
        let before = Self.ids(try Self.pages(model, 1000))
        var gone: Set<String> = [], new = 60
        let pages = try Self.pages(model, 7) { number in
            let page = model.view.state.examples.page(after: nil, limit: 7 * number)
            // Forget the last example of the page, after which the next page begins, and one that was not listed yet.
            let left = model.view.state.examples.map(\.id).filter { id in page.examples.allSatisfy { $0.id < id } }
            for id in [page.examples.last?.id, left.first].compactMap({ $0 }) {
                try model.forget(id)
                gone.insert(id.description)
            }
            _ = try model.teach([.init("\(new)", "bolt", [1, Float(new)])], time: 8)
            new += 1
        }
        let listed = Self.ids(pages)
        #expect(Set(listed).count == listed.count && listed == listed.sorted())
        #expect(Set(before).subtracting(gone).isSubset(of: listed))
    }
}
