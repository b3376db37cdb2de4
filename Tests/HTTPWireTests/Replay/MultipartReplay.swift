import HTTPWire

/// A multipart body as a reader parses it.
struct MultipartReplay: Replay {
    private(set) var log = EventLog()
    private var decoder: MultipartDecoder
    private var failed = false

    init(boundary: [UInt8], limits: WireLimits) { decoder = MultipartDecoder(boundary: boundary, limits: limits) }

    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        if failed { return 0 }
        var rangesOfPart = 0
        do throws(WireError) {
            return try decoder.feed(bytes) { event throws(WireError) in
                switch event {
                case .partBegin(let headers):
                    rangesOfPart = 0
                    log.add("part \(headers.name)")
                    if let filename = headers.filename { log.add("filename \(filename)") }
                    if let type = headers.contentType { log.add("type \(type)") }
                case .data(let range):
                    rangesOfPart += 1
                    if rangesOfPart > 1 || range.isEmpty { log.add("fault: \(rangesOfPart) ranges, the last \(range)") }
                    log.addData(UnsafeRawBufferPointer(rebasing: bytes[range]))
                case .partEnd:
                    log.endData("data")
                    log.add("part end")
                case .end: log.add("end")
                }
            }
        } catch {
            log.endData("data")
            fail(error)
            return 0
        }
    }

    mutating func end(unread: Int) {
        if failed { return }
        log.endData("data")
        do throws(WireError) {
            try decoder.finish()
            if unread > 0 { log.add("\(unread) bytes unread") }
        } catch { fail(error) }
    }

    private mutating func fail(_ error: WireError) {
        failed = true
        log.add("error \(error.status.code) \(error.code.rawValue) \(error.label)")
        // A decoder repeats its error. (After an incomplete body, it has none yet.)
        var again: WireError? = error
        if error.label != "multipart_incomplete" {
            again = nil
            Array("\r\n--x--\r\n".utf8).withUnsafeBytes { bytes in
                do throws(WireError) { try decoder.feed(bytes) { _ throws(WireError) in } } catch { again = error }
            }
        }
        if again != error { log.add("fault: it went on after the error") }
    }
}
