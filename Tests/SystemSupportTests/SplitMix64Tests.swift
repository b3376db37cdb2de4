import SystemSupport
import Testing

/// SplitMix64, compared with the numbers that other implementations publish.
@Suite struct SplitMix64Tests {
    @Test("the first numbers of a seed are those of other implementations")
    func numbersAreThoseOfOthers() {
        var random = SplitMix64(seed: 1_234_567)
        #expect(SplitMix64.mixed(1_234_567) == 6_457_827_717_110_365_317)
        let numbers = (0..<3).map { _ in random.next() }
        #expect(numbers == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
    }
}
