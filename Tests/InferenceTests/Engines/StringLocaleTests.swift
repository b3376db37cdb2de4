internal import EngineONNXRuntime
import Foundation
import Inference
import TestSupport
import Testing

/// Text models load on systems without the locale that StringNormalizer requires.
struct StringLocaleTests {
    private func file(_ texts: [(String, String)]) -> [UInt8] {
        [UInt8](
            ONNXFile(
                [.init("StringNormalizer", ["x"], ["y"], texts: texts), .init("Identity", ["y"], ["z"])],
                inputs: [("x", [-1])], outputs: [("z", [-1])]
            ).bytes)
    }

    @Test("a StringNormalizer whose locale is installed is left unchanged")
    func nothingChangesWhereTheLocaleIsThere() {
        #expect(StringLocale.replaced(in: file([]), hasLocale: { _ in true }) == nil)
        #expect(StringLocale.replaced(in: file([("locale", "de_DE")]), hasLocale: { $0 == "de_DE" }) == nil)
    }

    @Test("a StringNormalizer whose locale is not installed gets C.UTF-8")
    func aLocaleThatIsMissingIsReplacedByTheOneThatEverySystemHas() {
        let expected = file([("case_change_action", "LOWER"), ("locale", "C.UTF-8")])
        #expect(
            StringLocale.replaced(in: file([("case_change_action", "LOWER")]), hasLocale: { _ in false }) == expected)
        let french = file([("locale", "fr_FR"), ("case_change_action", "LOWER")])
        #expect(StringLocale.replaced(in: french, hasLocale: { _ in false }) == expected)
    }

    @Test("a file without a StringNormalizer is left unchanged, and so is a file that is truncated within its graph")
    func otherFilesAndDamagedOnesStayAsTheyAre() {
        let other = [UInt8](ONNXFile.slow(layers: 2).bytes)
        #expect(StringLocale.replaced(in: other, hasLocale: { _ in false }) == nil)
        // The version of the operators, four bytes, comes after the graph.
        let whole = file([]), end = whole.count - 4
        for count in 0..<whole.count {
            let changed = StringLocale.replaced(in: Array(whole[..<count]), hasLocale: { _ in false })
            #expect((changed == nil) == (count != end), "\(count) of \(whole.count) bytes")
        }
    }
}
