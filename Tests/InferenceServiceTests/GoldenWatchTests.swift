import InferenceService
import Testing

/// Goldens that differ while a version serves: it is loaded again once; after that the watchdog is not fed.
@Suite struct GoldenWatchTests {
    private static let cats = GoldenWatch.Version(name: "cats", version: "2")
    private static let dogs = GoldenWatch.Version(name: "dogs", version: "1")

    @Test func theFirstDifferenceIsForgivenAndTheSecondIsNot() {
        var watch = GoldenWatch()
        #expect(watch.differs(Self.cats))
        #expect(watch.broken(ready: [Self.cats]) == nil)
        #expect(!watch.differs(Self.cats))
        #expect(watch.differs(Self.dogs), "each version by itself")
        #expect(watch.differs(GoldenWatch.Version(name: "cats", version: "3")))
    }

    @Test func aVersionThatCannotBeLoadedAgainIsBrokenUntilItIs() {
        var watch = GoldenWatch()
        _ = watch.differs(Self.cats)
        #expect(watch.broken(ready: []) == nil, "it is being loaded")
        watch.reloadFailed(Self.cats)
        watch.reloadFailed(Self.dogs)
        #expect(watch.broken(ready: [Self.dogs]) == Self.cats)
        #expect(watch.broken(ready: [Self.cats, Self.dogs]) == nil)
        #expect(watch.broken(ready: []) == nil, "it was ready meanwhile")
    }
}
