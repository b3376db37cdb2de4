import CoreMLImport
import Foundation
import TestSupport
import Testing

/// docs/core-ml-supported.md lists exactly the names that the fixtures cover, and every translation has a fixture.
@Suite struct SupportedPageTests {
    private static let folders = [
        ("networks", "Neural networks"), ("programs", "ML Programs"), ("classical", "Classical models and pipelines"),
    ]

    @Test("docs/core-ml-supported.md lists exactly the names that the fixtures cover")
    func thePageListsWhatTheFixturesCover() throws {
        let page = try String(
            contentsOf: SharedData.packageRoot.appendingPathComponent("docs/core-ml-supported.md"), encoding: .utf8)
        var listed: [String: [String]] = [:]
        var title = ""
        for line in page.split(separator: "\n") {
            if line.hasPrefix("## ") { title = String(line.dropFirst(3)) }
            if line.hasPrefix("- ") { listed[title, default: []].append(String(line.dropFirst(2))) }
        }
        for (folder, title) in Self.folders {
            let covers = Set(Fixture.all(in: folder).flatMap(\.cases.covers))
            #expect(
                listed[title, default: []]
                    == covers.sorted { Array($0.unicodeScalars).lexicographicallyPrecedes($1.unicodeScalars) },
                "docs/core-ml-supported.md is out of date: Tests/FixtureMakers/make-coreml-fixtures page writes it")
        }
    }

    @Test("every supported layer of neural networks has a fixture")
    func everyLayerHasAFixture() {
        let covers = Set(
            Fixture.all(in: "networks").flatMap(\.cases.covers).map { String($0.prefix { $0 != " " }) })
        #expect(NetworkTranslator.layerNames.filter { !covers.contains($0) } == [])
    }
}
