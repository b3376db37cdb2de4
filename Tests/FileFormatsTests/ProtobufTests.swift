import FileFormats
import Testing

/// Compared with a message written by Google's library.
@Suite struct ProtobufTests {
    private static func fields(_ source: ByteSource) throws -> [ProtobufField] {
        var walk = ProtobufWalk(source, 0..<source.count), fields: [ProtobufField] = []
        while let field = try walk.next() { fields.append(field) }
        return fields
    }

    @Test("protobuf fields of every wire type are read")
    func everyWireType_isRead() throws {
        let bytes = try Fixtures.bytes("message.pb")
        for source in Fixtures.sources(bytes) {
            let fields = try Self.fields(source)
            #expect(fields.map(\.number) == [1, 2, 3, 4, 5, 6, 8, 536_870_911])
            #expect(fields[0].value == .varint(UInt64(bitPattern: -1)) && fields[7].value == .varint(.max))
            guard case .bytes(let text) = fields[1].value, case .fixed32(let float) = fields[2].value,
                case .fixed64(let double) = fields[3].value, case .bytes(let packed) = fields[4].value,
                case .bytes(let inner) = fields[5].value, case .bytes(let empty) = fields[6].value
            else {
                Issue.record("\(fields)")
                return
            }
            #expect(String(decoding: bytes[text], as: UTF8.self) == "grüß" && empty.isEmpty)
            #expect(try Float(bitPattern: source.integer(UInt32.self, at: float.lowerBound)) == 1.5)
            #expect(try Double(bitPattern: source.integer(UInt64.self, at: double.lowerBound)) == -2.25)
            #expect(bytes[packed].elementsEqual([3, 0x8E, 2, 0x9E, 0xA7, 5]))
            var walk = ProtobufWalk(source, inner)
            #expect(try walk.next()?.value == .varint(300))
            guard case .bytes(let word)? = try walk.next()?.value else { return }
            #expect(String(decoding: bytes[word], as: UTF8.self) == "inner")
            #expect(try walk.next() == nil)
        }
    }

    @Test(
        "a damaged protobuf message is refused with the place of the damage",
        arguments: [
            ([0x08], "the number at byte 1 does not end"),
            ([0x08] + [UInt8](repeating: 0xFF, count: 12), "the number at byte 1 does not end"),
            ([UInt8](repeating: 0xFF, count: 12), "the number at byte 0 does not end"),
            ([0x12, 0x05, 0x41], "field 2 at byte 0 has 5 bytes, but 1 are left"),
            ([0x12] + [UInt8](repeating: 0xFF, count: 9) + [0x01], "has 18446744073709551615 bytes, but 0 are left"),
            ([0x08, 1, 0x1D, 0, 0], "field 3 at byte 2 has 4 bytes, but 2 are left"),
            ([0x21, 0], "field 4 at byte 0 has 8 bytes, but 1 are left"),
            ([0x0B], "field 1 at byte 0 has the unknown wire type 3"),
            ([0x00, 0x01], "the field at byte 0 has the number 0"),
            ([0x80, 0x80, 0x80, 0x80, 0x10, 1], "the field at byte 0 has the number 536870912"),
        ] as [([UInt8], String)])
    func damagedMessage_isRefusedWithItsPlace(_ bytes: [UInt8], _ words: String) {
        for source in Fixtures.sources(bytes) {
            let error = #expect(throws: FormatError.self) { try Self.fields(source) }
            #expect(error?.reason.contains(words) == true, "\(error?.reason ?? "")")
        }
    }

    @Test("a field that reaches beyond the end of its inner message is refused")
    func messageInAMessage_endsWhereItEnds() throws {
        // Field 1 has two bytes, but its inner field needs five; further bytes follow in the outer message.
        let source = ByteSource([0x0A, 2, 0x12, 5, 1, 2, 3, 4, 5])
        var inner = ProtobufWalk(source, 2..<4)
        #expect(throws: FormatError.self) { try inner.next() }
    }

    @Test("a protobuf message cut between fields has the first fields; cut within a field is refused")
    func cutMessage_hasAPrefixOfTheFields() throws {
        let bytes = try Fixtures.bytes("message.pb"), ends = try Self.fields(ByteSource(bytes)).map(\.end)
        for count in 0..<bytes.count {
            let source = ByteSource(Array(bytes.prefix(count)))
            if count == 0 || ends.contains(count) {
                #expect(try Self.fields(source).count == ends.count { $0 <= count })
            } else {
                #expect(throws: FormatError.self) { try Self.fields(source) }
            }
        }
    }

    /// By hand, from the specification of the encoding.
    @Test("fields are encoded as the specification says, negative numbers and packed ones too")
    func fieldsAreWritten() {
        #expect(ProtobufWriter.field(1, integer: 150) == [0x08, 0x96, 0x01])
        #expect(ProtobufWriter.field(2, "testing") == [0x12, 0x07] + Array("testing".utf8))
        #expect(ProtobufWriter.field(6, integers: [3, 270, 86942]) == [0x32, 6, 0x03, 0x8E, 0x02, 0x9E, 0xA7, 0x05])
        #expect(ProtobufWriter.field(1, integer: -1) == [0x08] + [UInt8](repeating: 0xFF, count: 9) + [0x01])
        #expect(ProtobufWriter.field(200, float: -2) == [0xC5, 0x0C, 0, 0, 0, 0xC0])
        #expect(ProtobufWriter.field(1, floats: [1, 0.5]) == [0x0A, 8, 0, 0, 0x80, 0x3F, 0, 0, 0, 0x3F])
        #expect(ProtobufWriter.field(1, doubles: [1]) == [0x0A, 8, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F])
    }

    @Test("a message of parts has the bytes of the same message written from inside out")
    func partsAreWrittenInOnePass() {
        let text = ProtobufWriter.field(3, String(repeating: "x", count: 200)), numbers: [Float] = [1, -2, 3, 4]
        let inner = text + ProtobufWriter.field(4, floats: numbers[1...2])
        let expected =
            text + ProtobufWriter.field(300, inner + ProtobufWriter.field(2, inner)) + ProtobufWriter.field(1, [])
        let leaves: [ProtobufPart] = [.fields(text), .floats(4, numbers[1...2])]
        #expect(
            ProtobufPart.bytes([.fields(text), .message(300, leaves + [.message(2, leaves)]), .message(1, [])])
                == expected)
    }
}
