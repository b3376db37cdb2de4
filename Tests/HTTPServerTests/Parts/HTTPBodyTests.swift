import HTTPServer
import Testing

@Suite("Bodies")
struct HTTPBodyTests {
    @Test("hold what they were given", arguments: [0, 1, 4096, 131_071, 131_072, 1_000_000])
    func content(size: Int) {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        let body = HTTPBody(bytes)
        #expect(body.count == size)
        #expect(body.withUnsafeBytes { Array($0) } == bytes)
    }

    @Test("grow from the heap into mapped memory without losing a byte")
    func growth() {
        let body = HTTPBody(budget: nil)
        var expected: [UInt8] = []
        var size = 1000
        while size < 2_000_000 {
            #expect(body.reserve(size))
            let piece = (expected.count..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            piece.withUnsafeBytes { body.append($0) }
            expected += piece
            size *= 2
        }
        #expect(body.withUnsafeBytes { Array($0) } == expected)
    }

    @Test("show nothing of those before them, whose memory they may have")
    func reuse() {
        for size in [131_072, 1_000_000, 200_000, 131_072, 3_000_000, 150_000] {
            for _ in 0..<5 {
                let body = HTTPBody([UInt8](repeating: 0xAA, count: size))
                #expect(body.count == size)
                let next = HTTPBody(budget: nil)
                #expect(next.reserve(size) && next.count == 0)
                #expect(next.withUnsafeBytes { $0.count } == 0)
            }
        }
    }
}
