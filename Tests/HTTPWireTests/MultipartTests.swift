import HTTPWire
import Testing

/// Cases that the fixtures cannot express: boundaries in a Content-Type, and ranges in place.
@Suite struct MultipartTests {
    @Test(
        "a boundary is found in a multipart/form-data content type",
        arguments: [
            ("multipart/form-data; boundary=abc", "abc"), ("Multipart/Form-Data;BOUNDARY=\"a b\"", "a b"),
            ("multipart/form-data; charset=utf-8; boundary=----WebKitFormBoundaryX", "----WebKitFormBoundaryX"),
            ("multipart/form-data; boundary=a/b=c", "a/b=c"),
        ])
    func aBoundaryIsFound(contentType: String, expected: String) throws {
        #expect(try MultipartDecoder.boundary(contentType: contentType) == Array(expected.utf8))
    }

    @Test(
        "other content types have no boundary",
        arguments: [
            "image/jpeg", "", "multipart/mixed; boundary=a", "multipart/form-datax; boundary=a", ";boundary=a",
        ])
    func otherTypesHaveNone(contentType: String) throws {
        #expect(try MultipartDecoder.boundary(contentType: contentType) == nil)
    }

    @Test(
        "a missing or malformed boundary of multipart/form-data is an error",
        arguments: [
            "multipart/form-data", "multipart/form-data; boundary", "multipart/form-data; boundary=",
            "multipart/form-data; boundary=\"a", "multipart/form-data; boundary=\"a \"",
            "multipart/form-data; boundary=\"\"",
            "multipart/form-data; boundary=a; boundary=a", "multipart/form-data; boundary=\"a{b\"",
            "multipart/form-data; boundary=" + String(repeating: "a", count: 71),
            "multipart/form-data; boundary=\"a\"b",
            "multipart/form-data; boundary=a\u{E9}",
        ])
    func aMalformedBoundaryIsAnError(contentType: String) {
        #expect(throws: WireError.self) { try MultipartDecoder.boundary(contentType: contentType) }
    }

    @Test("the data of a part is one range of the buffer that was fed")
    func aPartIsOneRangeOfTheBufferThatWasFed() throws {
        let data = String(repeating: "\r\n--abd\r--abc\n--abc", count: 500)
        let prefix = "--abc\r\nContent-Disposition: form-data; name=image; filename=\"a\\\"b\"\r\n\r\n"
        let body = Array((prefix + data + "\r\n--abc--\r\n").utf8)
        var decoder = MultipartDecoder(boundary: Array("abc".utf8))
        var events: [MultipartDecoder.Event] = []
        let consumed = try body.withUnsafeBytes { bytes throws(WireError) in
            try decoder.feed(bytes) { event throws(WireError) in events.append(event) }
        }
        try decoder.finish()
        #expect(consumed == body.count)
        let start = prefix.utf8.count
        #expect(
            events == [
                .partBegin(PartHeaders(name: "image", filename: "a\"b")), .data(start..<(start + data.utf8.count)),
                .partEnd, .end,
            ])
    }

    @Test("a multipart body that stops before its last boundary is an error")
    func aBodyThatStopsIsIncomplete() throws {
        var decoder = MultipartDecoder(boundary: Array("abc".utf8))
        let body = Array("--abc\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--abc-".utf8)
        _ = try body.withUnsafeBytes { bytes throws(WireError) in
            try decoder.feed(bytes) { _ throws(WireError) in }
        }
        #expect(throws: WireError.self) { try decoder.finish() }
    }
}
