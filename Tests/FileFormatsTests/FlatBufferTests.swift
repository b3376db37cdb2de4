import FileFormats
import TestSupport
import Testing

/// Compared with buffers written by Google's library.
@Suite struct FlatBufferTests {
    @Test("every kind of FlatBuffer field is read")
    func everyKindOfField_isRead() throws {
        for source in Fixtures.sources(try Fixtures.bytes("table.fb")) {
            let root = try FlatBuffer(source, identifier: "OCEL").root()
            #expect(try root.number(0, UInt8.self) == 200 && root.float(2) == 0.125)
            // Omitted, and beyond the end of the list of fields.
            #expect(try root.number(1, Int32.self) == nil && root.number(8, Int32.self) == nil)
            #expect(try root.integers(4) == [-1, 2, 2_147_483_647] && root.floats(5) == [0.5, -1.25])
            #expect(try root.bytes(6).map(Array.init) == [1, 2, 255] && root.vector(6, elementBytes: 1)?.count == 3)
            let tables = try #require(try root.tables(3))
            #expect(try tables.map { try $0.text(0) } == ["first", "zweite"])
            #expect(try tables[0].number(1, Int64.self) == nil && tables[1].number(1, Int64.self) == -5)
            #expect(try root.count(3) == 2 && root.element(3, 1)?.place == tables[1].place)
            #expect(try root.element(3, 2) == nil && root.table(7)?.place == tables[1].place)
            #expect(try root.tables(1) == nil && root.text(1) == nil && root.table(1) == nil)
        }
    }

    @Test("FlatBuffer lists and texts above their limit are refused")
    func listsAboveTheLimit_areRefused() throws {
        let root = try FlatBuffer(ByteSource(try Fixtures.bytes("table.fb")), identifier: "OCEL").root()
        #expect(throws: FormatError.self) { try root.integers(4, maximum: 2) }
        #expect(throws: FormatError.self) { try root.tables(3, maximum: 1) }
        #expect(throws: FormatError.self) { try root.tables(3)?.last?.text(0, maximum: 5) }
    }

    @Test("reading more than 200,000 tables of a FlatBuffer is refused")
    func tablesWithoutEnd_areRefused() throws {
        let root = try FlatBuffer(ByteSource(try Fixtures.bytes("table.fb")), identifier: "OCEL").root()
        let error = #expect(throws: FormatError.self) {
            for _ in 0...FlatBuffer.maximumTables { _ = try root.table(7) }
        }
        #expect(error?.reason == "has more than 200000 tables")
    }

    @Test("a FlatBuffer with another identifier or too few bytes is refused")
    func anotherIdentifier_isRefused() throws {
        let source = ByteSource(try Fixtures.bytes("table.fb"))
        #expect(throws: FormatError("begins with \"OCEL\" where a FlatBuffer has \"TFL3\"")) {
            try FlatBuffer(source, identifier: "TFL3")
        }
        #expect(throws: FormatError("has 3 bytes, too few for a FlatBuffer")) {
            try FlatBuffer(source, range: 4..<7, identifier: "OCEL")
        }
    }

    /// Truncated at every byte, and with every byte replaced: a value or an error, equal in memory and in pieces.
    @Test("damaged FlatBuffers give the same outcome in memory and read in pieces")
    func damagedBuffers_areReadTheSameInMemoryAndPiecewise() throws {
        let original = try Fixtures.bytes("table.fb")
        var damaged = (0..<original.count).map { Array(original.prefix($0)) }
        for place in original.indices {
            for byte: UInt8 in [0, 1, 4, 0x7F, 0x80, 0xFF] {
                var bytes = original
                bytes[place] = byte
                damaged.append(bytes)
            }
        }
        func outcome(_ source: ByteSource) -> String {
            do throws(FormatError) {
                let root = try FlatBuffer(source, identifier: "OCEL").root()
                var words = ["\(try root.number(0, UInt8.self) ?? 0)", "\(try root.integers(4) ?? [])"]
                words += ["\(try root.floats(5) ?? [])", "\(try root.bytes(6).map(Array.init) ?? [])"]
                for table in try root.tables(3) ?? [] { words.append("\(try table.text(0) ?? "")") }
                return words.joined(separator: " ")
            } catch {
                return error.reason
            }
        }
        for bytes in damaged {
            let outcomes = Fixtures.sources(bytes).map(outcome)
            #expect(outcomes[0] == outcomes[1] && !outcomes[0].isEmpty)
        }
    }

    @Test("a FlatBuffer offset outside the buffer's range is refused")
    func offsetsOutsideOfTheBuffersRange_areRefused() throws {
        let original = try Fixtures.bytes("table.fb")
        let source = ByteSource(original + [UInt8](repeating: 0, count: 1_000))
        // Within the source, but after the buffer.
        let root = try FlatBuffer(source, range: 0..<original.count, identifier: "OCEL").root()
        let place = try #require(try root.field(7))
        var bytes = original + [UInt8](repeating: 0, count: 1_000)
        bytes.replaceSubrange(place..<place + 4, with: [0, 2, 0, 0])
        let changed = try FlatBuffer(ByteSource(bytes), range: 0..<original.count, identifier: "OCEL").root()
        #expect(throws: FormatError.self) { try changed.table(7) }
    }

    @Test("a FlatBuffer list that ends behind the buffer is refused")
    func listsThatEndBehindTheBuffer_areRefused() throws {
        let original = try Fixtures.bytes("table.fb")
        var bytes = original + [UInt8](repeating: 0, count: 1_000)
        let whole = 0..<original.count
        let root = try FlatBuffer(ByteSource(bytes), range: whole, identifier: "OCEL").root()
        let start = try #require(try root.vector(6, elementBytes: 1)?.start)
        // As many elements as fit before the end of the buffer, and one more: the source continues after it.
        for (count, isInside) in [(original.count - start, true), (original.count - start + 1, false)] {
            withUnsafeBytes(of: UInt32(count).littleEndian) { bytes.replaceSubrange(start - 4..<start, with: $0) }
            let changed = try FlatBuffer(ByteSource(bytes), range: whole, identifier: "OCEL").root()
            let list = try? changed.vector(6, elementBytes: 1)
            #expect((list?.count == count) == isInside, "\(count) elements")
        }
    }

    @Test("numbers of a FlexBuffer map are read by name, and damaged maps have at most 256")
    func numbersOfAFlexBuffersMap_areReadByName() throws {
        let bytes = try Fixtures.bytes("map.flexbuffer")
        let map = try #require(FlexBuffer(bytes[...]))
        #expect(map.numbers == ["big": 1_099_511_627_776, "half": 0.5, "minus": -7, "yes": 1])
        #expect(FlexBuffer([1, 2]) == nil && FlexBuffer([]) == nil)
        var random = SplitMix(seed: 7)
        for _ in 0..<5_000 {
            var damaged = bytes
            for _ in 0..<3 {
                damaged[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
            }
            #expect((FlexBuffer(damaged[...])?.numbers.count ?? 0) <= 256)
        }
    }

    /// New tables before a buffer refer to the tables in it.
    @Test("a new root table before a FlatBuffer refers to the old tables")
    func frontOfABuffer_leadsIntoTheOldOne() throws {
        let original = try Fixtures.bytes("table.fb")
        let old = try FlatBuffer(ByteSource(original), identifier: "OCEL").root()
        let kinds: [FlatBufferFront.Kind] = [
            .number(1), .number(4), .number(4), .offset, .offset, .offset, .offset, .offset,
        ]
        var fields = try old.fields(kinds)
        fields[4] = .integers([7, -8])
        let file = try FlatBufferFront.writing(.table(fields), identifier: "OCEL", before: original, limit: 1 << 10)
        let root = try FlatBuffer(ByteSource(file), identifier: "OCEL").root()
        #expect(
            try root.integers(4) == [7, -8] && root.number(0, UInt8.self) == 200 && root.floats(5) == [0.5, -1.25])
        #expect(try root.tables(3)?.map { try $0.text(0) } == ["first", "zweite"])
        // A field that the kinds do not include.
        #expect(throws: FlatBufferFront.Unsuitable.self) { try old.fields(kinds.dropLast()) }
    }
}
