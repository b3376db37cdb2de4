import FileFormats
import Testing

/// The format of a file, by its name and its first bytes.
@Suite struct RecognitionTests {
    @Test(
        "a file name of an unsupported model format gets advice",
        arguments: [
            ("m.pt", "PyTorch"), ("M.PTH", "PyTorch"), ("a/pytorch_model.bin", "weights without a network"),
            ("m.tar.gz", "an archive"), ("m.gguf", "a language model"), ("m.onnx", nil), ("pt", nil), ("", nil),
        ] as [(String, String?)])
    func nameOfAnotherFormat_hasAdvice(_ name: String, _ words: String?) {
        let advice = ForeignFile.advice(for: name)
        #expect(words.map { advice?.hasPrefix($0) == true } ?? (advice == nil), "\(advice ?? "nil")")
    }

    @Test(
        "the first bytes of a file of another kind give the reason for refusing the file",
        arguments: [
            ([], "is empty"), (Array("version https://git-lfs.github.com/spec/v1\n".utf8), "is a Git LFS pointer"),
            ([0x1F, 0x8B, 8], "is compressed with gzip"), (Array("PK\u{3}\u{4}".utf8), "is a zip archive"),
            ([UInt8](repeating: 0, count: 257) + Array("ustar".utf8), "is a tar archive"),
            (Array(" \n<!DOCTYPE HTML>".utf8), "is a web page"), (Array("404: not found\n".utf8), "is a text file"),
            ([8, 7, 0x12, 4, 0x70], nil),
        ] as [([UInt8], String?)])
    func firstBytesOfAnotherKind_haveAReason(_ head: [UInt8], _ words: String?) {
        let reason = ForeignFile.reason(head, isBinary: true)
        #expect(words.map { reason?.hasPrefix($0) == true } ?? (reason == nil), "\(reason ?? "nil")")
    }

    @Test("text is accepted as a model where the format may be text")
    func textIsAModel_whereTheFormatMayBeText() {
        #expect(ForeignFile.reason(Array("<?xml version=\"1.0\"?>".utf8), isBinary: false) == nil)
        #expect(ModelFormat.allCases.filter(\.mayBeText) == [.openvino, .paddle, .tensorflow])
    }
}
