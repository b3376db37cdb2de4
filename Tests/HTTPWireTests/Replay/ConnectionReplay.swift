import HTTPWire

/// A connection as a server parses it: heads and bodies in sequence, until an error or the end of persistence.
struct ConnectionReplay: Replay {
    private enum State {
        case head
        case length(UInt64)
        case chunked
        case closed
        case failed
    }

    let limits: WireLimits
    private(set) var log = EventLog()
    private var state = State.head
    private var parser: RequestParser
    private var chunks = ChunkedDecoder()
    private var keepAlive = true

    init(limits: WireLimits) {
        self.limits = limits
        parser = RequestParser(limits: limits)
    }

    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        var consumed = 0
        do throws(WireError) {
            while let count = try step(UnsafeRawBufferPointer(rebasing: bytes[consumed...])) { consumed += count }
        } catch {
            log.endData("body")
            log.add("error \(error.status.code) \(error.code.rawValue) \(error.label)")
            checkThatItStays(error)
            state = .failed
        }
        return consumed
    }

    mutating func end(unread: Int) {
        switch state {
        case .head: if !parser.isAtStart { log.add("incomplete") }
        case .length, .chunked:
            log.endData("body")
            log.add("incomplete")
        case .closed: log.add(unread == 0 ? "closed" : "closed, \(unread) bytes unread")
        case .failed: break
        }
    }

    /// Takes the next step; returns the number of consumed bytes, or nil if it needs more, or there is no next step.
    private mutating func step(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> Int? {
        switch state {
        case .head:
            guard case .head(let head, let consumed) = try parser.parse(bytes) else { return nil }
            checkShape(of: UnsafeRawBufferPointer(rebasing: bytes[..<consumed]), head)
            begin(head)
            return consumed
        case .length(let remaining):
            guard remaining > 0 else {
                endBody()
                return 0
            }
            let count = Int(min(remaining, UInt64(bytes.count)))
            guard count > 0 else { return nil }
            log.addData(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            state = .length(remaining - UInt64(count))
            return count
        case .chunked:
            guard bytes.count > 0 else { return nil }
            let (consumed, done) = try chunks.decode(bytes) { data throws(WireError) in log.addData(data) }
            if done { endBody() }
            return consumed
        case .closed, .failed: return nil
        }
    }

    /// Checks the properties of every accepted head without the parser: its lines end with CR LF, the last line is the
    /// only empty one except for one before the request, no line starts with a blank, no byte is a control character
    /// except HTAB, and the lines equal the fields of the head.
    private mutating func checkShape(of bytes: UnsafeRawBufferPointer, _ head: RequestHead) {
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
        if lines.first == [0x0D] { lines.removeFirst() }
        let isWhole = lines.popLast() == [] && lines.allSatisfy { $0.last == 0x0D } && lines.popLast() == [0x0D]
        let text = lines.map { $0.dropLast() }
        let isClean = text.allSatisfy { line in
            line.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) } && line.first.map { $0 > 0x20 } == true
        }
        guard isWhole, isClean, text.count == head.fieldCount + 1 else {
            return log.add("fault: an accepted head is malformed")
        }
        for (index, line) in text.dropFirst().enumerated() {
            let field = head.field(at: index)
            let name = line.prefix { $0 != UInt8(ascii: ":") }
            let value = line.dropFirst(name.count + 1).drop(while: Self.isBlank)
            let count = value.count - value.reversed().prefix(while: Self.isBlank).count
            // Compared as bytes: a blank and a combining mark would be one character.
            let isSame =
                field.name.utf8.elementsEqual(name)
                && field.value.utf8.elementsEqual(String(decoding: value.prefix(count), as: UTF8.self).utf8)
            if !isSame || head.value(of: field.name) == nil { log.add("fault: field \(index) is not its line") }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private mutating func begin(_ head: RequestHead) {
        let target = head.target
        log.add("request \(head.method) \(target.raw) \(head.version)")
        if target.form != .origin { log.add("form \(target.form)") }
        if let authority = target.authority { log.add("authority \(authority)") }
        if target.path != target.raw { log.add("path \(target.path)") }
        if let query = target.query { log.add("query \(query)") }
        for item in target.queryItems() { log.add("item \(item.name)=\(item.value)") }
        for index in 0..<head.fieldCount {
            let field = head.field(at: index)
            log.add("field \(field.name): \(field.value)")
        }
        keepAlive = head.keepAlive
        var words = ["then", keepAlive ? "keep-alive" : "close"]
        if head.expectsContinue { words.append("continue") }
        switch head.framing {
        case .none:
            state = keepAlive ? .head : .closed
        case .length(let count):
            words.append("length=\(count)")
            state = .length(count)
        case .chunked:
            words.append("chunked")
            chunks = ChunkedDecoder(limits: limits)
            state = .chunked
        }
        log.add(words.joined(separator: " "))
    }

    private mutating func endBody() {
        log.endData("body")
        log.add("end")
        state = keepAlive ? .head : .closed
    }

    /// After an error, no further byte may be parsed, however well-formed.
    private mutating func checkThatItStays(_ error: WireError) {
        let input = Array("0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        for start in [0, 5] {
            var again: WireError?
            input[start...].withUnsafeBytes { bytes in
                do throws(WireError) {
                    if case .chunked = state {
                        _ = try chunks.decode(bytes) { _ throws(WireError) in }
                    } else {
                        _ = try parser.parse(bytes)
                    }
                } catch { again = error }
            }
            if again != error { log.add("fault: it went on after the error") }
        }
    }
}
