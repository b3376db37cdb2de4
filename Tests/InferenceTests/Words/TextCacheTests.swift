import Inference
import Testing

/// The cache of text vectors: bounded, and never across models or texts.
@Suite struct TextCacheTests {
    private func embedding(_ number: Float, count: Int = 64) -> TextEmbedding {
        TextEmbedding(vector: [Float](repeating: number, count: count), tokens: 3, isTruncated: false)
    }

    @Test("a vector is found by its model and its bytes: equivalent spellings are different texts")
    func keys() {
        let cache = TextCache(capacity: 1 << 20)
        cache.keep(embedding(1), for: .init(space: "a", text: "caf\u{E9}"))
        #expect(cache.embedding(.init(space: "a", text: "caf\u{E9}"))?.vector.first == 1)
        #expect(cache.embedding(.init(space: "a", text: "cafe\u{301}")) == nil)
        #expect(cache.embedding(.init(space: "b", text: "caf\u{E9}")) == nil)
        #expect(cache.usage.hits == 1 && cache.usage.misses == 2 && cache.usage.texts == 1)
    }

    @Test("the least recently used vectors are dropped, and the bytes stay within the capacity")
    func bound() {
        let cache = TextCache(capacity: 20_000)
        for number in 0..<1_000 {
            cache.keep(embedding(Float(number)), for: .init(space: "a", text: "text \(number)"))
            #expect(cache.usage.bytes <= 20_000)
            // The first text is used all the time.
            #expect(cache.embedding(.init(space: "a", text: "text 0"))?.vector.first == 0)
        }
        #expect(cache.embedding(.init(space: "a", text: "text 999"))?.vector.first == 999)
        #expect(cache.embedding(.init(space: "a", text: "text 1")) == nil)
        let kept = cache.usage.texts
        #expect(kept > 10 && kept < 60, "\(kept)")
        cache.use(capacity: 0)
        #expect(cache.usage.bytes == 0 && cache.usage.texts == 0)
        cache.keep(embedding(1), for: .init(space: "a", text: "x"))
        #expect(cache.embedding(.init(space: "a", text: "x")) == nil)
    }
}
