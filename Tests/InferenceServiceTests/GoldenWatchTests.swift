import InferenceService
import Testing

/// Goldens that differ while a version serves: the version is loaded again once; after that the watchdog is not fed.
@Suite struct GoldenWatchTests {
    private static let cats = GoldenWatch.Version(name: "cats", version: "2")
    private static let dogs = GoldenWatch.Version(name: "dogs", version: "1")

    @Test("the first golden difference of each model version requests a reload, the second does not")
    func theFirstDifferenceIsForgivenAndTheSecondIsNot() {
        var watch = GoldenWatch()
        let differs1 = watch.differs(Self.cats)
        #expect(differs1)
        let differs2 = watch.broken(ready: [Self.cats])
        #expect(differs2 == nil)
        let differs3 = watch.differs(Self.cats)
        #expect(!differs3)
        let differs4 = watch.differs(Self.dogs)
        #expect(differs4, "each version by itself")
        let differs5 = watch.differs(GoldenWatch.Version(name: "cats", version: "3"))
        #expect(differs5)
    }

    @Test("a version whose goldens differed twice counts as broken for good, whatever is ready")
    func aVersionThatDiffersTwiceIsBrokenForGood() {
        var watch = GoldenWatch()
        _ = watch.differs(Self.cats)
        _ = watch.differs(Self.dogs)
        _ = watch.differs(Self.cats)
        for ready in [[Self.cats, Self.dogs], [Self.dogs], []] as [Set<GoldenWatch.Version>] {
            for _ in 0..<2 {
                let broken = watch.broken(ready: ready)
                #expect(broken == Self.cats, "\(ready)")
            }
        }
        watch.reloadFailed(Self.cats)
        let broken = watch.broken(ready: [Self.cats, Self.dogs])
        #expect(broken == Self.cats, "that it is ready again makes good a failed load alone")
    }

    @Test("a version whose reload failed counts as broken until the version is ready again")
    func aVersionThatCannotBeLoadedAgainIsBrokenUntilItIs() {
        var watch = GoldenWatch()
        _ = watch.differs(Self.cats)
        let differs6 = watch.broken(ready: [])
        #expect(differs6 == nil, "it is being loaded")
        watch.reloadFailed(Self.cats)
        watch.reloadFailed(Self.dogs)
        let differs7 = watch.broken(ready: [Self.dogs])
        #expect(differs7 == Self.cats)
        let differs8 = watch.broken(ready: [Self.cats, Self.dogs])
        #expect(differs8 == nil)
        let differs9 = watch.broken(ready: [])
        #expect(differs9 == nil, "it was ready meanwhile")
    }
}
