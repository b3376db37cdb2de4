import FileFormats
import Foundation
import Testing

@Suite struct ByteSourceTests {
    @Test("a source in memory and a source read in pieces give the same bytes")
    func inMemoryAndPiecewise_giveTheSameBytes() throws {
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for source in Fixtures.sources(bytes) {
            for place in [0, 199_990, 70_000, 65_530, 3] {
                #expect(try Array(source.bytes(at: place, count: 10)) == Array(bytes[place..<place + 10]))
            }
            // Little-endian.
            #expect(try source.integer(UInt32.self, at: 1) == 0x7C5D_3E1F)
            #expect(try source.integer(Int16.self, at: 5) == Int16(bitPattern: 0xBA9B))
        }
    }

    @Test("bytes past the end of a source are refused")
    func bytesPastTheEnd_areRefused() {
        for source in Fixtures.sources([1, 2, 3]) {
            for (place, count) in [(0, 4), (3, 1), (4, 0), (-1, 1), (0, -1), (1, .max), (.max, .max)] {
                let error = #expect(throws: FormatError.self) { try source.bytes(at: place, count: count) }
                #expect(error?.reason.contains("ends at byte 3") == true)
            }
        }
    }

    @Test("a part above the size limit is refused")
    func partAboveTheLimit_isRefused() {
        for source in Fixtures.sources([UInt8](repeating: 0, count: 100)) {
            #expect(throws: FormatError("has a part of 11 bytes at byte 1: the limit is 10")) {
                try source.bytes(at: 1, count: 11, maximum: 10)
            }
        }
    }

    /// Each step back costs a fetch: a file with endlessly alternating offsets is refused.
    @Test("a file whose offsets alternate too often is refused")
    func fileThatRefersToItselfForEver_isGivenUp() throws {
        var fetches = 0
        let source = ByteSource(count: 1 << 20) {
            fetches += 1
            return Array(repeating: 0, count: $0.count)
        }
        for _ in 0..<10_000 {
            _ = try source.bytes(at: 0, count: 4)
            _ = try source.bytes(at: 4, count: 4)
            _ = try source.bytes(at: 900_000, count: 4)
        }
        #expect(fetches == 20_000)
        let error = #expect(throws: FormatError.self) { try source.bytes(at: 0, count: 4) }
        #expect(error?.reason.contains("contains too many references") == true)
    }

    @Test("a file that becomes shorter while being read is an error")
    func fileThatBecomesShorter_isAnError() {
        let source = ByteSource(count: 10) { _ in [1, 2, 3] }
        #expect(throws: FormatError("became shorter while it was read")) { try source.bytes(at: 0, count: 4) }
    }
}
