import HTTPWire
import Testing

@Suite struct WireErrorTests {
    /// The error codes of the HTTP API by status.
    private let codes = [
        400: "bad_request", 413: "body_too_large", 414: "uri_too_long", 417: "expectation_failed",
        421: "misdirected_request", 431: "headers_too_large", 501: "not_implemented", 505: "version_not_supported",
    ]

    @Test(
        "every wire error reason has the code of its status, a sentence and a label",
        arguments: WireError.Reason.allCases)
    func everyReasonHasAStatusACodeASentenceAndALabel(reason: WireError.Reason) {
        #expect(reason.code.rawValue == codes[reason.code.status.code])
        #expect(!reason.sentence.hasSuffix("."))
        #expect(reason.rawValue.allSatisfy { $0.isLowercase || $0 == "_" || $0.isNumber })
    }

    @Test("the message of a wire error names the offending byte, and the label is a fixed word")
    func aMessageSaysWhatCameAndALabelNever() {
        var parser = RequestParser()
        let bytes = Array("GET / HTTP/1.1\r\nX(secret): b\r\n\r\n".utf8)
        let error = #expect(throws: WireError.self) { try bytes.withUnsafeBytes { try parser.parse($0) } }
        #expect(
            error?.message == "a field line does not start with a field name and a colon: '(' is not allowed in a name")
        #expect(error?.label == "field_name")
        #expect(error?.code == .badRequest)
        #expect(error?.status == .badRequest)
    }

    @Test("wire errors of the layer above are equal only with the same code, message and label")
    func theLayerAboveMakesItsOwn() {
        let error = WireError(.requestTimeout, message: "too slow", label: "slow_headers")
        #expect(error.status.code == 408 && error.code.rawValue == "request_timeout")
        #expect(error.message == "too slow" && error.label == "slow_headers")
        #expect(error == WireError(.requestTimeout, message: "too slow", label: "slow_headers"))
        #expect(error != WireError(.requestTimeout, message: "too slow", label: "slow_body"))
        #expect(error != WireError(.requestTimeout, message: "slower", label: "slow_headers"))
        #expect(error != WireError(.overloaded, message: "too slow", label: "slow_headers"))
    }
}
