import FileFormats
import Testing

/// Compared with files written by NumPy, safetensors and Python's zipfile.
@Suite struct ArrayFileTests {
    @Test("a NumPy array has its shape, type and data range, and Fortran order is refused")
    func arraysOfNumPy_haveShapeTypeAndPlace() throws {
        let bytes = try Fixtures.bytes("halves.npy"), array = try NPYFile(bytes)
        #expect(array.shape == [2, 2] && array.type == .float16 && array.data == 128..<136)
        #expect(Array(bytes[array.data]) == [0x00, 0x3C, 0x00, 0xC0, 0x00, 0x38, 0x00, 0x44])
        let second = try Fixtures.bytes("version2.npy"), cube = try NPYFile(second)
        #expect(cube.shape == [1, 2, 3] && cube.type == .uint8 && Array(second[cube.data]) == [0, 1, 2, 3, 4, 5])
        #expect(throws: FormatError("is in Fortran order: save it with numpy.ascontiguousarray")) {
            try NPYFile(try Fixtures.bytes("fortran.npy"))
        }
    }

    @Test("a .npy file that is cut off or too long is refused")
    func cutArray_isRefused() throws {
        let bytes = try Fixtures.bytes("halves.npy")
        for count in 0..<bytes.count { #expect(throws: FormatError.self) { try NPYFile(Array(bytes.prefix(count))) } }
        #expect(throws: FormatError.self) { try NPYFile(bytes + [0]) }
    }

    @Test("tensors of a safetensors file are found by name, and a cut file is refused")
    func tensorsOfSafetensors_areFoundByName() throws {
        let bytes = try Fixtures.bytes("two.safetensors"), file = try SafeTensorsFile(bytes)
        #expect(file.names == ["classes", "other"] && file.metadata == ["labels": "cat"])
        let classes = try #require(try file.tensor("classes"))
        #expect(classes.shape == [1, 3] && classes.type == .float32)
        #expect(Array(bytes[classes.data]) == [0, 0, 0x80, 0x3F, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40])
        #expect(try file.tensor("other")?.typeName == "I8" && file.tensor("other")?.type == nil)
        #expect(try file.tensor("none") == nil)
        #expect(throws: FormatError.self) { try SafeTensorsFile(Array(bytes.prefix(100))) }
        let cut = try SafeTensorsFile(Array(bytes.dropLast(6)))
        #expect(throws: FormatError.self) { _ = (try cut.tensor("classes"), try cut.tensor("other")) }
    }
}

@Suite struct ZipDirectoryTests {
    @Test("files of a zip archive after other bytes are unpacked, up to the size limit")
    func filesOfAnArchiveBehindOtherBytes_areUnpacked() throws {
        for source in Fixtures.sources(try Fixtures.bytes("behind.zip")) {
            let zip = try #require(try ZipDirectory(source))
            #expect(zip.entries.map(\.name) == ["plain.txt", "folder/packed.txt"])
            let texts = try zip.entries.map {
                String(decoding: try zip.contents($0, source, maximum: 400), as: UTF8.self)
            }
            #expect(texts == ["cat\n", String(repeating: "dog\n", count: 100)])
            #expect(throws: FormatError.self) { try zip.contents(zip.entries[1], source, maximum: 399) }
        }
        #expect(try ZipDirectory(ByteSource([UInt8](repeating: 0, count: 100))) == nil)
    }
}
