import CoreMLImport
import Testing

@Suite struct MessageReaderTests {
    /// Examples from protobuf.dev/programming-guides/encoding.
    @Test("fields of every wire type in a Core ML message are read")
    func readsEveryWireType() throws {
        let message = try Message(
            MessageReader(
                Bytes(
                    [0x08, 0x96, 0x01]  // 1: 150
                        + [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]  // 2: "testing"
                        + [0x1D, 0x00, 0x00, 0xC0, 0x3F]  // 3: 1.5 as float
                        + [0x21, 0, 0, 0, 0, 0, 0, 0xF8, 0xBF]  // 4: -1.5 as double
                        + [0x32, 0x06, 0x03, 0x8E, 0x02, 0x9E, 0xA7, 0x05]  // 6: 3, 270, 86942, packed
                        + [0x30, 0x01]  // 6: 1 more, not packed
                        + [0x38, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]  // 7: -1
                )))
        #expect(try message.integer(1) == 150)
        #expect(try message.string(2) == "testing")
        #expect(try message.float(3) == 1.5)
        #expect(try message.double(4) == -1.5)
        #expect(try message.integers(6) == [3, 270, 86942, 1])
        #expect(try message.integer(7) == -1)
        #expect(try message.integer(99, default: 8) == 8)
    }

    @Test(
        "damaged protobuf bytes are refused",
        arguments: [
            [0x08] as [UInt8],  // no number
            [0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],  // a varint without an end
            [0x12, 0x05, 0x41],  // 5 bytes, 1 left
            [0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],  // 2^63 - 1 bytes
            [0x1D, 0, 0],  // half a float
            [0x0B],  // a group
            [0x00, 0x01],  // field 0
        ])
    func damagedBytesThrow(bytes: [UInt8]) {
        #expect(throws: Problem.self) { try Message(MessageReader(Bytes(bytes))) }
    }

    @Test("reading a protobuf field as another wire type is refused")
    func anotherWireTypeThanDeclaredThrows() throws {
        let message = try Message(MessageReader(Bytes([0x08, 0x01])))
        #expect(throws: Problem("damaged: field 1 should hold bytes, but has another wire type")) {
            try message.string(1)
        }
        #expect(throws: Problem.self) { try message.float(1) }
        #expect(throws: Problem.self) { try message.packed(1, width: 4) }
    }

    @Test("packed and unpacked lists of floats are read, and a list with half a float is refused")
    func listsOfFloatsAreWhole() throws {
        let one: [UInt8] = [0x0D, 0, 0, 0xC0, 0x3F], two: [UInt8] = [0x0A, 8, 0, 0, 0x80, 0x3F, 0, 0, 0, 0x40]
        #expect(try Message(MessageReader(Bytes(one))).floats(1) == [1.5])
        #expect(try Message(MessageReader(Bytes(two + one))).floats(1) == [1, 2, 1.5])
        #expect(throws: Problem.self) {
            _ = try Message(MessageReader(Bytes([0x0A, 5, 0, 0, 0x80, 0x3F, 0]))).floats(1)
        }
    }

    @Test("protobuf messages nested deeper than 100 levels are refused")
    func nestingIsBounded() throws {
        var bytes: [UInt8] = []
        for _ in 0..<120 {
            var length = bytes.count
            var head: [UInt8] = [0x0A]
            repeat {
                head.append(UInt8(length & 0x7F) | (length > 0x7F ? 0x80 : 0))
                length >>= 7
            } while length > 0
            bytes = head + bytes
        }
        var message = try Message(MessageReader(Bytes(bytes)))
        let problem = #expect(throws: Problem.self) {
            while let inner = try message.message(1) { message = inner }
        }
        #expect(problem?.message == "messages are nested deeper than 100 levels")
    }
}
