import Testing
import Tokenizers

/// Each part of tokenizers, compared with results of the `tokenizers` package.
@Suite struct PartTests {
    @Test("every part has the package's results")
    func parts_haveResultsOfPackage() throws {
        let fixtures = try Fixtures()
        #expect(fixtures.cases.count == 84 && fixtures.texts.count == 12)
        for one in fixtures.cases {
            let tokenizer = try Tokenizer(json: one.json)
            #expect(one.results.count == fixtures.texts.count)
            for (text, expected) in zip(fixtures.texts, one.results) {
                let found = (try? tokenizer.encode(text)).map(PackagePython.Result.init)
                #expect(found == expected, "\(one.name): \(text.debugDescription)")
            }
        }
    }
}
