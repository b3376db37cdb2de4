import LoadGenerator
import Testing

@Suite struct ResponseParserTests {
    /// Feeds text in pieces; returns the last answer.
    private func parse(_ text: String, pieces: [Int] = []) throws -> ResponseParser.Answer? {
        var parser = ResponseParser()
        var rest = Array(text.utf8)[...]
        var answer: ResponseParser.Answer?
        for size in pieces + [Int.max] {
            guard !rest.isEmpty else { break }
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(size)
            answer = try piece.withUnsafeBytes { raw throws(LoadError) in try parser.take(raw) }
        }
        return answer
    }

    private let plain = "HTTP/1.1 200 OK\r\nContent-Type: x\r\ncontent-length: 5\r\n\r\nhello"

    @Test("a response is read whole wherever its bytes are cut")
    func anAnswerIsReadWhereverItIsCut() throws {
        for first in 1..<plain.utf8.count {
            for second in [1, 2, 7] {
                let answer = try parse(plain, pieces: [first, second])
                #expect(answer?.status == 200 && answer?.bodyCount == 5 && answer?.keepAlive == true, "\(first)")
            }
        }
        let single = try parse(plain, pieces: Array(repeating: 1, count: plain.utf8.count))
        #expect(single?.bodyCount == 5)
    }

    @Test("a response is not reported before its last byte")
    func nothingIsReportedBeforeTheEnd() throws {
        #expect(try parse(String(plain.dropLast())) == nil)
        #expect(try parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r") == nil)
    }

    @Test("several responses are read one after another")
    func severalAnswersComeOneAfterAnother() throws {
        var parser = ResponseParser()
        for _ in 0..<3 {
            let answer = try Array(plain.utf8).withUnsafeBytes { raw throws(LoadError) in try parser.take(raw) }
            #expect(answer?.status == 200)
            #expect(parser.isAtStart)
        }
    }

    @Test("interim 1xx responses are skipped")
    func interimAnswersAreSkipped() throws {
        let answer = try parse("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nA: b\r\n\r\n" + plain)
        #expect(answer?.status == 200)
    }

    @Test("HTTP version and Connection field decide whether the connection is kept")
    func whetherTheConnectionGoesOn() throws {
        func keeps(_ head: String) throws -> Bool? {
            try parse("\(head)\r\nContent-Length: 0\r\n\r\n")?.keepAlive
        }
        #expect(try keeps("HTTP/1.1 200 OK\r\nConnection: close") == false)
        #expect(try keeps("HTTP/1.0 200 OK") == false)
        #expect(try keeps("HTTP/1.0 200 OK\r\nConnection: keep-alive") == true)
    }

    @Test("white space around a field value is ignored")
    func whiteSpaceAroundAValueIsNotPartOfIt() throws {
        #expect(try parse("HTTP/1.1 200 OK\r\nContent-Length:\t2 \t\r\n\r\nok")?.bodyCount == 2)
    }

    @Test("responses 204 and 304 have no body, with or without Content-Length")
    func statusesWithoutABodyNeedNoLength() throws {
        #expect(try parse("HTTP/1.1 204 No Content\r\n\r\n")?.status == 204)
        #expect(try parse("HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n")?.bodyCount == 0)
    }

    @Test("an error response keeps the beginning of its body as an excerpt")
    func errorsBringTheBeginningOfTheirBody() throws {
        let body = String(repeating: "e", count: 1000)
        let answer = try parse("HTTP/1.1 503 Busy\r\nContent-Length: 1000\r\n\r\n\(body)", pieces: [60, 100])
        #expect(answer?.excerpt.count == ResponseParser.excerptLimit)
        #expect(answer?.bodyCount == 1000)
    }

    @Test(
        "a response that cannot be read is refused with the cause",
        arguments: [
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding: chunked"),
            ("HTTP/1.1 200 OK\r\n\r\n", "no Content-Length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length is \"-1\""),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "Content-Length is \"2\""),
            ("HTTP/2 200\r\nContent-Length: 0\r\n\r\n", "not HTTP/1.1"),
            ("SSH-2.0-OpenSSH\r\n\r\n", "not HTTP/1.1"),
            ("HTTP/1.1 abc OK\r\n\r\n", "not HTTP/1.1"),
            ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "no colon"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", "1 bytes came after"),
        ])
    func whatIsNotReadIsNamed(_ text: String, _ words: String) {
        #expect {
            _ = try parse(text)
        } throws: { "\($0)".contains(words) }
    }

    @Test("a response head of 70,000 bytes without an end is refused")
    func aHeadWithoutAnEndIsGivenUp() {
        #expect(throws: LoadError.self) { try parse("HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 70_000)) }
    }
}
