import HTTPServer
import Testing

@Suite("Bodies")
struct HTTPBodyTests {
    @Test("a body holds the bytes that it was given", arguments: [0, 1, 4096, 131_071, 131_072, 1_000_000])
    func content(size: Int) {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        let body = HTTPBody(bytes)
        #expect(body.count == size)
        #expect(body.withUnsafeBytes { Array($0) } == bytes)
    }

    @Test("a body grows from the heap into mapped memory without losing a byte")
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

    @Test("a body is charged for resident bytes: written pages, whole small buffers, reused buffers")
    func charges() {
        let budget = ByteBudget(total: 64 << 20, largest: 8 << 20)
        func receive(_ count: Int, of length: Int) -> HTTPBody {
            let body = HTTPBody(budget: budget, longest: length)
            #expect(body.makeRoom(min(length, 256 << 10), target: length) == min(length, 256 << 10))
            [UInt8](repeating: 1, count: count).withUnsafeBytes { body.append($0) }
            body.trim()
            return body
        }
        do {
            let heap = receive(1, of: 10_000)
            #expect(heap.bytesCharged == 10_000)
            // A length that no other test uses, so that no buffer of this class is cached.
            let mapped = receive(1, of: 7_000_000)
            #expect(mapped.bytesCharged == 4096)
            let more = receive(5000, of: 7_000_001)
            #expect(more.bytesCharged == 8192)
            #expect(budget.used == 10_000 + 4096 + 8192)
        }
        #expect(budget.used == 0)
        do {
            let whole = HTTPBody(budget: budget, longest: 700_000)
            #expect(whole.makeRoom(700_000, target: 700_000) == 700_000)
            [UInt8](repeating: 1, count: 700_000).withUnsafeBytes { whole.append($0) }
            #expect(whole.bytesCharged == 700_000)
        }
        let again = receive(1, of: 690_000)
        #expect(again.bytesCharged >= 690_000, "its buffer is the one before")
        withExtendedLifetime(again) {}
    }

    @Test("a body gets no room and is charged nothing if the budget is used up")
    func noRoom() {
        let budget = ByteBudget(total: 1 << 20, largest: 1 << 19)
        let first = HTTPBody(budget: budget, longest: 1 << 19)
        #expect(first.makeRoom(300_000, target: 1 << 19) == 300_000)
        let second = HTTPBody(budget: budget, longest: 1 << 19)
        #expect(second.makeRoom(1 << 19, target: 1 << 19) == 1 << 19, "it overdraws")
        let third = HTTPBody(budget: budget, longest: 1 << 19)
        #expect(third.makeRoom(300_000, target: 1 << 19) == 0)
        #expect(third.bytesCharged == 0)
        withExtendedLifetime((first, second)) {}
    }

    @Test("a body in reused memory reveals nothing of the previous body")
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
